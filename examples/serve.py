"""A small prediction service: one saved model, JSON over HTTP, with Starlette and uvicorn and without torch.

Run it with ``python examples/serve.py model.tsenet --port 8000`` (``pip install '.[serve]'`` in a clone) and ask it:

    curl localhost:8000/predict -d '{"texts": ["the referee saw a goal"]}'
    curl localhost:8000/predict -d '{"rows": [[5.1, 3.5, 1.4, 0.2]]}'
    curl localhost:8000/predict -d '{"rows": [{"age": 31, "colour": "red", "joined": "2024-05-31"}]}'

Rows are lists, in the order of the columns that the model was fitted on, or objects with the names of columns. A value
that is null, "" or left out is missing.

The answer is ``{"predictions": […], "probabilities": [[…]], "classes": […]}``; a regressor gives ``predictions`` alone.
What cannot be answered gets a 4xx with ``{"error": "…"}``. ``GET /health`` says that the model is loaded. A request may
hold 1 MB and 1,000 rows, and must be complete ten seconds after its connection was opened or its predecessor was
answered, however slowly its bytes come. More than 64 connections at a time, or 16 of one address, get a 503.

The service speaks plain HTTP and knows no users: put it behind a proxy that does, and let that count addresses
(``--per-address 64``), since all requests then have the proxy's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import math
import os
import signal
import socket
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import uvicorn
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

import tsenet
from tsenet.data import DataFile
from tsenet.errors import TSENetError

MAX_BYTES = 1_000_000
MAX_ROWS = 1_000
MAX_CONNECTIONS = 64
MAX_PER_ADDRESS = 16
SECONDS = 10.0  # until a request must be complete, and again until its answer must be read

_log = logging.getLogger("serve")

#: What a request may hold.
_KINDS: dict[str, tuple[type, ...]] = {"rows": (list, dict), "texts": (str,)}


class RefusedError(Exception):
    """A request that cannot be answered: the status and what is wrong."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


# ---- answers


class Service:
    """What one model says to requests.

    Parameters
    ----------
    path : path
        A file that `TSENetClassifier.save` or `TSENetRegressor.save` wrote.
    """

    def __init__(self, path: Path) -> None:
        self.model = tsenet.load(path)
        self.model.n_jobs = 1  # requests run side by side already

    def answer(self, asked: Any) -> dict[str, Any]:
        """Return the predictions for the rows or texts of a request."""
        if not isinstance(asked, dict) or len(asked) != 1 or next(iter(asked)) not in _KINDS:
            raise RefusedError(
                400, 'send {"rows": [[…], …]}, {"rows": [{…}, …]} or {"texts": ["…", …]}'
            )
        ((kind, items),) = asked.items()
        if not isinstance(items, list) or not items:
            raise RefusedError(400, f"{kind} must be a list that is not empty")
        if len(items) > MAX_ROWS:
            raise RefusedError(413, f"{len(items)} {kind}: at most {MAX_ROWS} in one request")
        if not any(all(isinstance(item, form) for item in items) for form in _KINDS[kind]):
            forms = " or all be a ".join(form.__name__ for form in _KINDS[kind])
            raise RefusedError(400, f"{kind} must all be a {forms}")
        try:
            rows = items if kind == "texts" else self._table(items)
            answer = {"predictions": self.model.predict(rows).tolist()}
            if hasattr(self.model, "classes_"):
                answer["probabilities"] = self.model.predict_proba(rows).tolist()
                answer["classes"] = self.model.classes_.tolist()
        except TSENetError as error:
            raise RefusedError(400, str(error)) from error
        return answer

    def _table(self, rows: list[Any]) -> Any:
        """Return rows as the model takes them."""
        names = self.model.binary_rule_.names_in
        if isinstance(rows[0], list):
            cells = [cell for row in rows for cell in row]
            if not any(isinstance(cell, str) for cell in cells):
                return rows  # numbers
            if any(len(row) != len(names) for row in rows):
                raise RefusedError(400, f"each row must have {len(names)} values, or be an object")
            rows = [dict(zip(names, row, strict=True)) for row in rows]

        import pandas as pd  # 70 MB, for rows with names alone

        frame = pd.DataFrame(rows, dtype=object)
        # The model's column "sold: year" is made of the request's "sold".
        source = {name: name.rpartition(": ")[0] for name in names}
        unknown = next((name for name in frame if name not in {*source, *source.values()}), None)
        if unknown is not None:
            raise RefusedError(400, f"the model has no column {unknown!r}")
        for name in frame:
            if any(isinstance(value, dict | list) for value in frame[name]):
                raise RefusedError(400, f"{name!r} must hold texts or numbers")

        missing = [name for name in names if not {name, source[name]} & set(frame)]
        file = DataFile(Path("request"), frame.reindex(columns=[*frame, *missing]))
        return file.table_for(self.model.binary_rule_)


# ---- requests


def application(service: Service, seconds: float = SECONDS) -> Starlette:
    """Return the ASGI application, which any ASGI server can run."""
    processors = CapacityLimiter(os.cpu_count() or 1)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "columns": service.model.n_features_in_})

    async def predict(request: Request) -> Response:
        asked = await _json(request, seconds)
        answer = await run_sync(service.answer, asked, limiter=processors)
        return JSONResponse(answer)

    return Starlette(
        routes=[
            Route("/health", health, methods=["GET"]),
            Route("/predict", predict, methods=["POST"]),
        ],
        exception_handlers={
            RefusedError: _refused,
            HTTPException: _not_found,
            ClientDisconnect: _left,
            Exception: _failed,
        },
    )


async def _json(request: Request, seconds: float) -> Any:
    """Read the request's JSON, which must be complete in time."""
    try:
        async with asyncio.timeout(seconds):
            body = await _body(request)
    except TimeoutError as error:
        raise RefusedError(408, f"the request was not complete after {seconds:g} s") from error
    try:
        return json.loads(body, parse_constant=_missing)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the body is not JSON: {error}") from error


async def _body(request: Request) -> bytes:
    too_long = RefusedError(413, f"at most {MAX_BYTES} bytes in one request")
    length = request.headers.get("content-length", "0")
    if len(length) > 9 or int(length) > MAX_BYTES:
        raise too_long
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise too_long
    return bytes(body)


def _missing(name: str) -> float:
    """NaN is a missing value; infinity is none."""
    if name == "NaN":
        return math.nan
    raise ValueError(f"{name} is not a number")


def _refused(request: Request, error: Any) -> Response:
    # After 408 and 413 the rest of the body is on its way, and is not read.
    headers = {"Connection": "close"} if error.status in (408, 413) else None
    return JSONResponse({"error": str(error)}, error.status, headers)


def _not_found(request: Request, error: Any) -> Response:
    return JSONResponse({"error": "GET /health or POST /predict"}, error.status_code)


def _left(request: Request, error: Exception) -> Response:
    _log.debug("a client left before its request was complete")
    return Response(status_code=400)  # nobody reads it


def _failed(request: Request, error: Exception) -> Response:
    """The server logs the error, too."""
    return JSONResponse({"error": "internal error"}, 500)


# ---- connections


class Connection(H11Protocol):
    """A connection that ends where a request is not complete in time, or an answer is not read in time.

    uvicorn bounds the time between requests, but not that of a request; without a bound, a few clients that send a
    byte now and then hold all connections for ever.
    """

    #: Open connections by address; how many an address may have, and the time for a request.
    opened: ClassVar[Counter[str]] = Counter()
    per_address = MAX_PER_ADDRESS
    seconds = SECONDS
    address: str | None = None
    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Count the connection, or send it away."""
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if peer else ""
        full = self.opened.total() >= MAX_CONNECTIONS
        if full or self.opened[address] >= self.per_address:
            transport.write(
                b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            transport.close()
            return
        self.address = address
        self.opened[address] += 1
        super().connection_made(transport)
        self._set_deadline()

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless the connection was sent away."""
        if self.address is not None:
            super().data_received(data)

    def eof_received(self) -> None:
        """Take the end of what the client sends."""
        if self.address is not None:
            super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self.address is None:
            return
        if self.deadline is not None:
            self.deadline.cancel()
        self.opened[self.address] -= 1
        if not self.opened[self.address]:
            del self.opened[self.address]
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Give the client its time to read, and to send the next request."""
        super().on_response_complete()
        self._set_deadline()

    def _set_deadline(self, answering: bool = False) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
        self.deadline = self.loop.call_later(self.seconds, self._on_deadline, answering)

    def _on_deadline(self, answering: bool) -> None:
        if self.cycle is not None and not self.cycle.response_complete and not answering:
            # A body that is late is refused where it is read; and the answer has as much time again.
            self._set_deadline(answering=True)
        elif self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, help="a saved classifier or regressor")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0: a free one")
    parser.add_argument(
        "--per-address",
        type=int,
        default=MAX_PER_ADDRESS,
        help=f"connections of one address; default: {MAX_PER_ADDRESS}",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help=f"until a request must be complete; default: {SECONDS:g}",
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.ERROR, format="%(message)s")  # no line for each bad request
    Connection.per_address = options.per_address
    Connection.seconds = options.seconds
    try:
        app = application(Service(options.model), options.seconds)
        listener = socket.create_server((options.host, options.port), backlog=128)
    except (TSENetError, OSError) as error:
        parser.exit(1, f"error: {error}\n")
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)

    # uvicorn ends in order at these signals once it runs, and then raises them again for this handler, which also takes
    # those that come while it starts.
    def end(number: int, frame: object) -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    print(f"http://{options.host}:{listener.getsockname()[1]}", flush=True)
    server.run(sockets=[listener])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
