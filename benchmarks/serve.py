"""Load test of ``examples/serve.py`` over the loopback: latency at a fixed rate, bad requests, what they leave."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.measure import ROOT
from reproduce.markdown import table

CLIENTS = 8
HOST = "127.0.0.1"

TEXTS = ["goal referee goal stadium", "senate ballot voters", "striker goal", "ballot"] * 50
SUBJECTS = ["sport", "politics", "sport", "politics"] * 50
GOOD = json.dumps({"texts": ["the referee saw a goal in the stadium"]}).encode()


def _request(body: bytes, head: str = "POST /predict HTTP/1.1", length: str | None = None) -> bytes:
    length = str(len(body)) if length is None else length
    line = f"Content-Length: {length}\r\n" if length else ""
    return f"{head}\r\nHost: x\r\nConnection: close\r\n{line}\r\n".encode() + body


#: Requests that must be refused with a 4xx. The last few leave without waiting for an answer.
BAD = {
    "not JSON": _request(b"{texts"),
    "no UTF-8": _request(b'{"texts": ["\xff\xfe"]}'),
    "deep": _request(b"[" * 100_000),
    "many digits": _request(b'{"rows": [[' + b"9" * 5000 + b"]]}"),
    "infinite": _request(b'{"rows": [[Infinity]]}'),
    "a list": _request(b"[1, 2]"),
    "nothing": _request(b'{"texts": []}'),
    "too many": _request(json.dumps({"texts": ["x"] * 1001}).encode()),
    "numbers as texts": _request(b'{"texts": [1, null]}'),
    "ragged": _request(b'{"rows": [[1], [1, 2]]}'),
    "other columns": _request(b'{"rows": [[1, 2, 3]]}'),
    "words as numbers": _request(b'{"rows": [["a", {}]]}'),
    "unknown key": _request(b'{"table": []}'),
    "no length": _request(GOOD, length=""),
    "negative length": _request(GOOD, length="-5"),
    "huge length": _request(b"", length="99999999999999999999"),
    "1 GB": _request(b"", length="1000000000"),
    "other path": _request(GOOD, head="POST /../../etc/passwd HTTP/1.1"),
    "GET": _request(b"", head="GET /predict HTTP/1.1"),
    "DELETE": _request(b"", head="DELETE /predict HTTP/1.1"),
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
    "long line": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    "many heads": b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
    "half a body": _request(b'{"texts"', length="500"),
}
LEAVES = {"half a body"}
NO_STATUS = LEAVES


def ask_badly(port: int, name: str) -> int | None:
    """Send a bad request; the status of the answer, None if the client did not wait for one or was cut off."""
    with socket.create_connection((HOST, port), timeout=30) as connection:
        try:
            connection.sendall(BAD[name])
            if name in LEAVES:
                return None
            answer = connection.recv(4096)
        except ConnectionError:
            return None  # it was refused before all was sent
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.") else None


@contextmanager
def service(model: Path, *options: str) -> Iterator[tuple[int, int]]:
    """The example as a process of its own on one core: its port and process."""
    command = [sys.executable, str(ROOT / "examples" / "serve.py"), str(model), "--port", "0"]
    command += options
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    core = min(os.sched_getaffinity(0))
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    ) as process:
        try:
            os.sched_setaffinity(process.pid, {core})
            assert process.stdout is not None
            yield int(process.stdout.readline().rpartition(":")[2]), process.pid
        finally:
            process.terminate()
            process.wait(60)


def state(process: int) -> dict[str, float]:
    """Memory in MB, threads, open files and CPU seconds of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return {
        "memory": int(fields["VmRSS"].split()[0]) / 1024,
        "threads": int(fields["Threads"]),
        "files": len(list(Path(f"/proc/{process}/fd").iterdir())),
        "cpu": (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"),
    }


def settled(process: int, wanted: dict[str, float], seconds: float = 20.0) -> dict[str, float]:
    """The state after what clients that left had open, threads and files, is closed, or after some seconds."""
    end, now = time.monotonic() + seconds, state(process)
    while (
        any(now[k] > wanted.get(k, np.inf) for k in ("threads", "files")) and time.monotonic() < end
    ):
        time.sleep(0.1)
        now = state(process)
    return now


def latencies(port: int, rate: float, seconds: float) -> np.ndarray:
    """Seconds from when each request was due until its answer was there, at a fixed rate."""
    due = time.perf_counter() + 0.5 + np.arange(int(rate * seconds)) / rate

    def client(own: np.ndarray) -> list[float]:
        taken = []
        connection = http.client.HTTPConnection(HOST, port, timeout=60)
        for moment in own:
            time.sleep(max(0.0, moment - time.perf_counter()))
            connection.request("POST", "/predict", GOOD)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            json.loads(answer.read())
            taken.append(time.perf_counter() - moment)
        connection.close()
        return taken

    with ThreadPoolExecutor(CLIENTS) as pool:
        return np.concatenate(list(pool.map(client, [due[k::CLIENTS] for k in range(CLIENTS)])))


def run(
    rate: Annotated[float, typer.Option(help="Requests per second.")] = 200.0,
    seconds: Annotated[float, typer.Option(help="Duration.")] = 20.0,
    bad: Annotated[int, typer.Option(help="Bad requests afterwards.")] = 10_000,
) -> str:
    """Load test of examples/serve.py on one core: latency, bad requests, memory, threads and files after them."""
    from tsenet import TSENetClassifier

    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "model.tsenet")
        TSENetClassifier(max_epochs=2, random_state=0).fit(TEXTS, SUBJECTS).save(path)
        with service(path) as (port, process):
            latencies(port, 50, 2)  # kernels are loaded, buffers are made
            before = settled(process, {"threads": 1})
            taken = latencies(port, rate, seconds)
            after_good = settled(process, before)
            names = itertools.islice(itertools.cycle(BAD), bad)
            answers: Counter[Any] = Counter(ask_badly(port, name) for name in names)
            after = settled(process, before)
            assert latencies(port, 50, 1).size == 50  # it still answers
    assert all(status is None or 400 <= status < 500 for status in answers)
    ms = 1e3 * np.quantile(taken, [0.5, 0.99])
    said = ", ".join(
        f"{count:,} × {status or 'cut off'}" for status, count in answers.most_common()
    )
    load = (after_good["cpu"] - before["cpu"]) / seconds
    body: list[list[object]] = [
        [f"{rate:g} requests/s for {seconds:g} s", f"p50 {ms[0]:.1f} ms, p99 {ms[1]:.1f} ms"],
        ["CPU seconds per second", f"{load:.2f}"],
        [f"{bad:,} bad requests", said],
        *(
            [name, f"{before[key]:.0f} → {after[key]:.0f}"]
            for name, key in (("memory, MB", "memory"), ("threads", "threads"), ("files", "files"))
        ),
    ]
    return table(["", ""], body)
