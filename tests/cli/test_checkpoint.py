"""``--checkpoint``: the same command, run again after a crash, continues and gives the same result."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tsenet
from tests.cli.program import fine, make_documents, run
from tsenet.progress import Progress

FIT = ("fit", "news.csv", "--text", "body", "--target", "sport", "--skip-units", "4")
EPOCHS = ("--max-epochs", "8", "--patience", "8")
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

    monkeypatch.setattr("tsenet.cli.fit.shown_progress", shown)
    frame = pd.DataFrame({"body": make_documents(2100)})  # with fewer, nothing but a linear start
    frame["sport"] = ["goal" in text for text in frame["body"]]
    frame.loc[::7, "sport"] = True
    frame.to_csv(tmp_path / "news.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return watches


@pytest.mark.parametrize("function", [tsenet.TSENetClassifier.fit, tsenet.TSENetRegressor.fit])
def test_the_library_has_the_parameter(function: object) -> None:
    assert callable(function)
    assert inspect.signature(function).parameters["checkpoint"].default is None


def test_fit_continues(watch: list[Watch]) -> None:
    fine(*FIT, *EPOCHS, "-o", "straight.tsenet")
    watch.append(Watch("training"))
    stopped = run(*FIT, *EPOCHS, "-o", "again.tsenet", *KEPT)
    assert isinstance(stopped.exception, CrashError)
    assert not Path("again.tsenet").exists()
    watch.append(Watch())
    fine(*FIT, *EPOCHS, "-o", "again.tsenet", *KEPT)
    again, straight = tsenet.load("again.tsenet"), tsenet.load("straight.tsenet")
    arrays = again.to_parts()[1]
    for name, array in straight.to_parts()[1].items():
        assert np.array_equal(array, arrays[name]), name
    assert again.history_.validation_loss == straight.history_.validation_loss
    # the epochs before the crash are not done again
    assert watch[0].first_steps["training"] == 0
    assert watch[2].first_steps["training"] > 0


def test_the_folder_of_another_run_is_refused(watch: list[Watch]) -> None:
    fine(*FIT, "--max-epochs", "1", "-o", "first.tsenet", *KEPT)
    refused = run(*FIT, "--max-epochs", "1", "--seed", "1", "-o", "second.tsenet", *KEPT)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("error: ")
    assert "kept" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert not Path("second.tsenet").exists()
