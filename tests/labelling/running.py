"""`tsenet label` as a process of its own, and the texts that it is about."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd

SUBJECTS = {
    "sport": ["football", "goal", "referee", "stadium", "match", "team", "coach", "season"],
    "politics": ["election", "senate", "ballot", "candidate", "vote", "minister", "law", "party"],
    "space": ["galaxy", "telescope", "orbit", "comet", "moon", "rocket", "planet", "star"],
}
WINDOW = "window-one"


def make_texts(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Different texts, each mostly of the words of one subject, and their subjects."""
    rng = np.random.default_rng(seed)
    texts, truth = [], []
    for i in range(n):
        name = list(SUBJECTS)[int(rng.integers(3))]
        own = rng.choice(SUBJECTS[name], 4, replace=False).tolist()
        odd = rng.choice([word for words in SUBJECTS.values() for word in words], 1).tolist()
        texts.append(f"report {i}: {' '.join([*own, *odd])}")
        truth.append(name)
    return texts, truth


def write_csv(path: Path, texts: list[str], **columns: list[str]) -> Path:
    pd.DataFrame({"text": texts, **columns}).to_csv(path, index=False)
    return path


@dataclass(frozen=True)
class Place:
    """A running program: its address, the parts of it, and its process."""

    url: str
    port: int
    token: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """End it without warning."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ask(
        self,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        method: str | None = None,
    ) -> tuple[int, Any]:
        """Send a request as the page does, with other headers where these are given; status and JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        given = {"X-Tsenet-Token": self.token, "Content-Type": "application/json"}
        given = {name: value for name, value in (given | (headers or {})).items() if value}
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request(method or ("GET" if body is None else "POST"), path, data, given)
        answer = connection.getresponse()
        content = answer.read().decode()
        connection.close()
        is_json = (answer.getheader("content-type") or "").startswith("application/json")
        return answer.status, json.loads(content) if is_json else content

    def act(self, action: dict[str, Any], by: str = WINDOW, seen: int | None = None) -> Any:
        """Do something that has to succeed."""
        known = self.state()["revision"] if seen is None else seen
        status, answer = self.ask("/api/act", {"by": by, "seen": known, "action": action})
        assert status == 200, answer
        return answer

    def state(self) -> Any:
        status, answer = self.ask("/api/state")
        assert status == 200, answer
        return answer

    def wait_for(self, ready: Callable[[Any], bool], seconds: float = 300) -> Any:
        """The state, once it is as asked for."""
        end = time.monotonic() + seconds
        while not ready(found := self.state()):
            assert time.monotonic() < end, found
            assert not found["learner"]["failure"], found
            time.sleep(0.1)
        return found

    def view(self, **fields: Any) -> tuple[str, int]:
        """Make a list; its name and length."""
        query = "&".join(f"{name}={value}" for name, value in fields.items())
        status, answer = self.ask(f"/api/view?{query}")
        assert status == 200, answer
        return answer["view"], answer["n"]

    def items(self, view: str, n: int = 200) -> list[Any]:
        status, answer = self.ask(f"/api/page?view={view}&start=0&n={n}")
        assert status == 200, answer
        items: list[Any] = answer["items"]
        return items


@contextlib.contextmanager
def running(data: Path, *options: str) -> Iterator[Place]:
    command = [sys.executable, "-m", "tsenet", "label", str(data), "--no-browser", "--jobs", "1"]
    with subprocess.Popen([*command, *options, "--quiet"], stdout=subprocess.PIPE, text=True) as p:
        try:
            assert p.stdout is not None
            url = p.stdout.readline().strip()
            parts = urlsplit(url)
            assert parts.port is not None, "it did not start"
            yield Place(url, parts.port, parse_qs(parts.query)["token"][0], p)
        finally:
            if p.poll() is None:
                p.terminate()
            p.wait(timeout=30)
