"""``--checkpoint``: the same command, run again after a crash, continues and gives the same result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.program import fine, make_documents, run
from tsenet.progress import Progress

TOPICS = ("topics", "news.csv", "--text", "body", "--refine-steps", "3", "--no-explorer")
KEPT = ("--checkpoint", "kept")


class CrashError(RuntimeError):
    """What ends a run early."""


class Watch(Progress):
    """Notes the stages of a run and how far the first step of each went; may end the run half-way through one."""

    def __init__(self, crash_in: str = "", error: BaseException | None = None) -> None:
        self.stages: list[str] = []
        self.first_steps: dict[str, int] = {}
        self._crash_in = crash_in
        self._error = CrashError() if error is None else error
        self._done = self._total = 0

    def start(self, stage: str, total: int | None = None) -> None:
        self.stages.append(stage)
        self._done, self._total = 0, total or 0

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.first_steps.setdefault(self.stages[-1], steps)
        self._done += steps
        if self.stages[-1] == self._crash_in and self._done > self._total / 2:
            raise self._error


@pytest.fixture
def watch(tmp_path: Path, documents: list[str], monkeypatch: pytest.MonkeyPatch) -> list[Watch]:
    """Runs take the last of these as their progress; the current folder has the documents."""
    watches = [Watch()]

    @contextmanager
    def shown(quiet: bool) -> Iterator[Progress]:
        yield watches[-1]

    monkeypatch.setattr("tsenet.cli.topics.shown_progress", shown)
    frame = pd.DataFrame({"body": make_documents(2100)})  # with fewer, nothing but a linear start
    frame["sport"] = ["goal" in text for text in frame["body"]]
    frame.loc[::7, "sport"] = True
    frame.to_csv(tmp_path / "news.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return watches


def test_topics_continue(watch: list[Watch]) -> None:
    fine(*TOPICS, "--out", "straight")
    watch.append(Watch("refine", KeyboardInterrupt()))
    stopped = run(*TOPICS, "--out", "again", *KEPT)
    assert stopped.exit_code == 130
    assert stopped.stderr == "interrupted, finished work is kept in kept\n"
    assert not Path("again").exists()
    watch.append(Watch())
    fine(*TOPICS, "--out", "again", *KEPT)
    for name in ("topics.md", "topics.json", "tree.tsenet"):
        assert Path("again", name).read_bytes() == Path("straight", name).read_bytes()
    # the layers were finished, so they are not learned again
    assert "islands" in watch[0].stages
    assert "islands" not in watch[2].stages
