"""The page and what it asks for: on this machine only, and only with the token of its address.

No other page can ask for anything: requests need a token in a header, which a browser sends across origins only if the
server agrees, and this one never does. A name that leads here by DNS fails, since only the host's own name is answered.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.resources import files
from typing import Any

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tsenet.errors import DataError, TSENetError
from tsenet.labelling.exporter import Exporter
from tsenet.labelling.lists import GoneError
from tsenet.labelling.session import ConflictError
from tsenet.labelling.workspace import Workspace

__all__ = ["Service", "application"]

MAX_BYTES = 1_000_000  # of a request
_SECONDS_TO_SEND = 10.0
_SECONDS_TO_WAIT = 20.0  # for a change, before the page asks again
_SCRIPTS = (
    "main.js",
    "api.js",
    "dom.js",
    "list.js",
    "reader.js",
    "topics.js",
    "classes.js",
    "quality.js",
)
_ASSETS = {"label.css": "text/css", **dict.fromkeys(_SCRIPTS, "text/javascript")}

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Answer = Callable[[Request], Awaitable[Response]]


class RefusedError(Exception):
    """A request that is not answered: the status and what is wrong."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Service:
    """A workspace as requests see it.

    Parameters
    ----------
    workspace : Workspace
    exporter : Exporter
    """

    def __init__(self, workspace: Workspace, exporter: Exporter) -> None:
        self.workspace = workspace
        self.exporter = exporter
        self.token = secrets.token_urlsafe(24)
        self.exporting: dict[str, Any] = {"stage": ""}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Event] = set()
        self._is_exporting = threading.Lock()
        self._has_ended = False
        workspace.changed = self._wake

    # ---- what windows ask for

    async def state(self, request: Request) -> Response:
        """The state, once it is newer than the version that the window has, or after 20 seconds."""
        shown = _number(request, "version", -1)
        self._loop = asyncio.get_running_loop()
        change = asyncio.Event()
        self._waiting.add(change)
        try:
            if self.workspace.version == shown and not self._has_ended:
                with suppress(TimeoutError):
                    await asyncio.wait_for(change.wait(), _SECONDS_TO_WAIT)
        finally:
            self._waiting.discard(change)

        state = await run_sync(self.workspace.state)
        return JSONResponse({**state, "export": self.exporting})

    async def topics(self, request: Request) -> Response:
        """The tree of topics."""
        return JSONResponse(await run_sync(self.workspace.topic_tree))

    async def view(self, request: Request) -> Response:
        """A new list of documents."""
        asked = request.query_params
        topic = _number(request, "topic", -1)
        view = await run_sync(
            self.workspace.view,
            None if topic < 0 else topic,
            asked.get("query", ""),
            asked.get("sort", "proposed"),
            asked.get("show", "all"),
            asked.get("after", ""),
            max(_number(request, "read", 0), 0),
        )
        return JSONResponse(view)

    async def page(self, request: Request) -> Response:
        """Some documents of a list."""
        name = request.query_params.get("view", "")
        start = _number(request, "start", 0)
        n = _number(request, "n", 50)
        return JSONResponse(await run_sync(self.workspace.page, name, start, n))

    async def read(self, request: Request) -> Response:
        """A whole document."""
        return JSONResponse(await run_sync(self.workspace.read, _number(request, "document", -1)))

    async def why(self, request: Request) -> Response:
        """Why a document has its prediction."""
        return JSONResponse(await run_sync(self.workspace.why, _number(request, "document", -1)))

    async def act(self, request: Request) -> Response:
        """Label, undo, and so on."""
        asked = await _json(request)
        by = asked.get("by")
        seen = asked.get("seen")
        action = asked.get("action")
        if not isinstance(by, str) or not 8 <= len(by) <= 40 or not isinstance(seen, int):
            raise RefusedError(400, "by is the window's name, seen the revision that it knows")

        return JSONResponse(await run_sync(self.workspace.act, action, by, seen))

    async def export(self, request: Request) -> Response:
        """Begin to write the files; the state says how far it is."""
        await _json(request)
        if not self._is_exporting.acquire(blocking=False):
            raise RefusedError(409, "the files are being written")

        threading.Thread(target=self._export, name="export", daemon=True).start()
        return JSONResponse({"stage": "Begun"})

    def end(self) -> None:
        """Answer the requests that wait for a change, since there will be none."""
        self._has_ended = True
        self._set_all()

    # ---- private

    def _export(self) -> None:
        """Write the files in a thread; say what was written, or what went wrong."""
        try:
            labels = self.workspace.training_labels()
            self._stage({"stage": "Begun"})
            done = self.exporter.run(
                self.workspace.session, labels, lambda name: self._stage({"stage": name})
            )
            self._stage({"stage": "", "done": done})
        except (TSENetError, OSError) as error:
            self._stage({"stage": "", "error": str(error)})
        finally:
            self._is_exporting.release()

    def _stage(self, now: dict[str, Any]) -> None:
        self.exporting = now
        self.workspace.touch()

    def _wake(self) -> None:
        """Wake the requests that wait for a change; called from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._set_all)

    def _set_all(self) -> None:
        for change in self._waiting:
            change.set()


def application(service: Service, port: int) -> Any:
    """Return the ASGI application.

    Parameters
    ----------
    service : Service
    port : int
        The port that it is served on, which a request's host must name.
    """
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    def guarded(answer: Answer, method: str) -> Route:
        """A path that needs the token in a header."""

        async def checked(request: Request) -> Response:
            _check_host(request, hosts)
            token = request.headers.get("x-tsenet-token", "")
            if not secrets.compare_digest(token.encode(), service.token.encode()):
                raise RefusedError(403, "open the address that `tsenet label` printed")
            return await answer(request)

        return Route(f"/api/{answer.__name__}", checked, methods=[method])

    async def page(request: Request) -> Response:
        _check_host(request, hosts)
        token = request.query_params.get("token", "")
        if not secrets.compare_digest(token.encode(), service.token.encode()):
            raise RefusedError(403, "open the address that `tsenet label` printed")
        return Response(_asset("label.html"), media_type="text/html")

    async def asset(request: Request) -> Response:
        _check_host(request, hosts)
        name = request.path_params["name"]
        if name not in _ASSETS:
            raise RefusedError(404, "there is no such file")
        return Response(_asset(name), media_type=_ASSETS[name])

    questions = (
        service.state,
        service.topics,
        service.view,
        service.page,
        service.read,
        service.why,
    )
    app = Starlette(
        routes=[
            Route("/", page),
            Route("/assets/{name}", asset),
            *(guarded(answer, "GET") for answer in questions),
            guarded(service.act, "POST"),
            guarded(service.export, "POST"),
        ],
        exception_handlers={
            RefusedError: _refused,
            DataError: _not_possible,
            HTTPException: _not_found,
            ClientDisconnect: _left,
            Exception: _failed,
        },
    )
    return _with_headers(app)


def _with_headers(app: Any) -> Any:
    """The application, with headers that keep other pages away in each of its answers, errors too."""
    extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def send_more(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        await app(scope, receive, send_more)

    return wrapped


def _check_host(request: Request, hosts: set[str]) -> None:
    """Refuse requests to another name, and those of other pages."""
    if request.headers.get("host", "") not in hosts:
        raise RefusedError(421, "this server answers to 127.0.0.1 and localhost only")
    origin = request.headers.get("origin")
    if origin is not None and origin.removeprefix("http://") not in hosts:
        raise RefusedError(403, "this server answers its own page only")


def _asset(name: str) -> str:
    return (files("tsenet.labelling") / "assets" / name).read_text("utf-8")


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None or text == "":
        return default
    if len(text) > 9 or not text.lstrip("-").isdecimal():
        raise RefusedError(400, f"{name} must be a whole number")
    return int(text)


async def _json(request: Request) -> dict[str, Any]:
    """Read an object of JSON, which must be complete in time."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise RefusedError(415, "send application/json")

    body = bytearray()
    try:
        async with asyncio.timeout(_SECONDS_TO_SEND):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise RefusedError(413, f"at most {MAX_BYTES:,} bytes in one request")
    except TimeoutError as error:
        raise RefusedError(408, "the request was not complete in time") from error

    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "the body is not JSON") from error
    if not isinstance(content, dict):
        raise RefusedError(400, "the body is not an object")
    return content


def _answer(error: Any, status: int) -> Response:
    return JSONResponse({"error": str(error)}, status)


def _refused(request: Request, error: Any) -> Response:
    return _answer(error, error.status)


def _not_possible(request: Request, error: Any) -> Response:
    if isinstance(error, ConflictError):
        return _answer(error, 409)
    if isinstance(error, GoneError):
        return _answer(error, 410)
    return _answer(error, 400)


def _not_found(request: Request, error: Any) -> Response:
    return _answer("there is no such page", error.status_code)


def _left(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it


def _failed(request: Request, error: Exception) -> Response:
    """The server logs the error, too."""
    return _answer("internal error: see the terminal", 500)
