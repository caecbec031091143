"""A local web server for tests that can be told to fail in several ways."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """The files of the server and how it answers.

    Attributes
    ----------
    files : dict of str to bytes
    cut_after : list of int
        For each of the next answers: break the connection after this many bytes.
    codes : list of int
        For each of the next answers: send this status and no file.
    sized : bool
        Whether the answers say how long they are.
    asked : list of str
        The paths of all requests so far.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: list[int] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    sized: bool = True
    asked: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            if site.codes:
                self.send_error(site.codes.pop(0))
                return
            body = site.files.get(self.path.lstrip("/"))
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            if site.sized:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if site.cut_after:
                body = body[: site.cut_after.pop(0)]
                self.close_connection = True
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
