"""A web server in the test's own process that can be told to misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server has and how it behaves.

    Attributes
    ----------
    files : dict of str to bytes
    ranges : bool
        Whether it can send a part of a file.
    cut_after : list of int
        For the coming answers: break the connection after so many bytes.
    codes : list of int
        For the coming answers: only this status.
    tag : str
        The ETag, or "" for none.
    wrong_part : bool
        Answer to a range with another one.
    asked : list of (path, range header)
    """

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    cut_after: list[int] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    tag: str = '"one"'
    wrong_part: bool = False
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            site.asked.append((self.path, wanted))
            if site.codes:
                self.send_error(site.codes.pop(0))
                return
            content = site.files.get(self.path.lstrip("/"))
            if content is None:
                self.send_error(404)
                return
            start, code = 0, 200
            same = self.headers.get("If-Range") in (None, site.tag)
            if wanted and site.ranges and same:
                start, code = int(wanted.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(content) and code == 206:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if site.wrong_part and code == 206:
                start = 0
            body = content[start:]
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            if site.tag:
                self.send_header("ETag", site.tag)
            if code == 206:
                last = len(content) - 1
                self.send_header("Content-Range", f"bytes {start}-{last}/{len(content)}")
            self.end_headers()
            if site.cut_after:
                body = body[: site.cut_after.pop(0)]
                self.close_connection = True
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

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
