"""A small prediction service: one saved model, JSON over HTTP, the standard library and tsenet without torch.

Run it with ``python examples/serve.py model.tsenet --port 8000`` and ask it:

    curl localhost:8000/predict -d '{"texts": ["the referee saw a goal"]}'
    curl localhost:8000/predict -d '{"rows": [[5.1, 3.5, 1.4, 0.2]]}'
    curl localhost:8000/predict -d '{"rows": [{"age": 31, "colour": "red", "joined": "2024-05-31"}]}'

Rows are lists, in the order of the columns that the model was fitted on, or objects with the names of columns. A value
that is null, "" or left out is missing.

The answer is ``{"predictions": […], "probabilities": [[…]], "classes": […]}``; a regressor gives ``predictions`` alone.
What cannot be answered gets a 4xx with ``{"error": "…"}``. ``GET /health`` says that the model is loaded. A request may
hold 1 MB and 1,000 rows, a client has ten seconds to send it, and more than 64 clients at a time get a 503.

The service speaks plain HTTP and knows no users: put it behind a proxy that does.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import signal
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd

import tsenet
from tsenet.data import DataFile
from tsenet.errors import TSENetError

MOST_BYTES = 1_000_000
MOST_ROWS = 1_000
MOST_CLIENTS = 64
SECONDS = 10.0

_log = logging.getLogger("serve")


class RefusedError(Exception):
    """A request that cannot be answered: the status and what is wrong."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Service(ThreadingHTTPServer):
    """One model, a thread for each client.

    Parameters
    ----------
    address : tuple of host and port
        Port 0 takes a free one; ``server_port`` says which.
    path : path
        A file that `TSENetClassifier.save` or `TSENetRegressor.save` wrote.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], path: Path) -> None:
        self.model = tsenet.load(path)
        self.model.n_jobs = 1  # clients run side by side already
        self._places = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__(address, Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Hand the client to a thread, or send it away if there are too many."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        try:
            request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        except OSError:
            pass  # it has left already
        finally:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one client until it leaves."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Note a client that broke off; the others are served on."""
        _log.debug("a client broke off", exc_info=True)

    def answer(self, asked: Any) -> dict[str, Any]:
        """What the model says to a request."""
        if not isinstance(asked, dict) or len(asked) != 1 or next(iter(asked)) not in _KINDS:
            raise RefusedError(
                400, 'send {"rows": [[…], …]}, {"rows": [{…}, …]} or {"texts": ["…", …]}'
            )
        ((kind, given),) = asked.items()
        if not isinstance(given, list) or not given:
            raise RefusedError(400, f"{kind} must be a list that is not empty")
        if len(given) > MOST_ROWS:
            raise RefusedError(413, f"{len(given)} {kind}: at most {MOST_ROWS} in one request")
        if not any(all(isinstance(one, form) for one in given) for form in _KINDS[kind]):
            forms = " or all be a ".join(form.__name__ for form in _KINDS[kind])
            raise RefusedError(400, f"{kind} must all be a {forms}")
        try:
            rows = given if kind == "texts" else self._table(given)
            found = {"predictions": self.model.predict(rows).tolist()}
            if hasattr(self.model, "classes_"):
                found["probabilities"] = self.model.predict_proba(rows).tolist()
                found["classes"] = self.model.classes_.tolist()
        except TSENetError as error:
            raise RefusedError(400, str(error)) from error
        return found

    def _table(self, rows: list[Any]) -> Any:
        """Rows as the model takes them."""
        names = self.model.binary_rule_.names_in
        if isinstance(rows[0], list):
            cells = [cell for row in rows for cell in row]
            if not any(isinstance(cell, str) for cell in cells):
                return rows  # numbers
            if any(len(row) != len(names) for row in rows):
                raise RefusedError(400, f"each row must have {len(names)} values, or be an object")
            rows = [dict(zip(names, row, strict=True)) for row in rows]
        given = pd.DataFrame(rows, dtype=object)
        source = {
            name: name.rpartition(": ")[0] for name in names
        }  # "sold: year" is made of "sold"
        unknown = next((name for name in given if name not in {*source, *source.values()}), None)
        if unknown is not None:
            raise RefusedError(400, f"the model has no column {unknown!r}")
        for name in given:
            if any(isinstance(value, dict | list) for value in given[name]):
                raise RefusedError(400, f"{name!r} must hold texts or numbers")
        missing = [name for name in names if not {name, source[name]} & set(given)]
        file = DataFile(Path("request"), given.reindex(columns=[*given, *missing]))
        return file.table_for(self.model.binary_rule_)


#: What a request may hold.
_KINDS: dict[str, tuple[type, ...]] = {"rows": (list, dict), "texts": (str,)}


class Handler(BaseHTTPRequestHandler):
    """Reads requests of one client and writes the answers."""

    server: Service
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "tsenet", ""
    timeout = SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1  # one packet for head and body

    def do_GET(self) -> None:
        """Say that the service is up."""
        if self.path == "/health":
            self._send(200, {"status": "ok", "columns": self.server.model.n_features_in_})
        else:
            self._send(404, {"error": "GET /health or POST /predict"})

    def do_POST(self) -> None:
        """Answer a request for predictions."""
        try:
            asked = self._body()
            if self.path != "/predict":
                raise RefusedError(404, "GET /health or POST /predict")
            answer = self.server.answer(asked)
        except RefusedError as refused:
            self._send(refused.status, {"error": str(refused)})
        except Exception:
            _log.exception("a request failed")
            self._send(500, {"error": "internal error"})
        else:
            self._send(200, answer)

    def _body(self) -> Any:
        """The request's JSON. Where its end is not known, the connection is closed after the answer."""
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            self.close_connection = True
            raise RefusedError(411, "a Content-Length is needed")
        if len(length) > 9 or int(length) > MOST_BYTES:
            self.close_connection = True
            raise RefusedError(413, f"at most {MOST_BYTES} bytes in one request")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            raise RefusedError(400, "the body ended early")
        try:
            return json.loads(body, parse_constant=_missing)
        except (ValueError, RecursionError) as error:
            raise RefusedError(400, f"the body is not JSON: {error}") from error

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Note requests only if asked to."""
        _log.debug(format, *arguments)


def _missing(name: str) -> float:
    """NaN is a missing value; infinity is none."""
    if name == "NaN":
        return math.nan
    raise ValueError(f"{name} is not a number")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, help="a saved classifier or regressor")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0: a free one")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        service = Service((options.host, options.port), options.model)
    except (TSENetError, OSError) as error:
        parser.exit(1, f"error: {error}\n")
    with service:
        # shutdown() waits for serve_forever, which runs in this thread: so another one calls it
        stop = threading.Thread(target=service.shutdown)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None if stop.ident else stop.start())
        print(f"http://{options.host}:{service.server_port}", flush=True)
        service.serve_forever(poll_interval=0.1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
