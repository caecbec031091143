"""Checkpoints of a whole fit: a crashed one goes on and ends with the same weights."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from tests.builders import one_latent_rows
from tsenet import ModelFileError, TSENetClassifier, TSENetRegressor
from tsenet.training.callbacks import Callback

ROWS = one_latent_rows(np.random.default_rng(0), 700, (4, 4, 4, 5)).astype(np.float64)
CLASSES = ROWS[:, :12].reshape(700, 3, 4).sum(axis=2).argmax(axis=1)
QUICK: dict[str, Any] = {
    "max_epochs": 4,
    "skip_units": 8,
    "feature_units": 8,
    "max_top": 2,
    "n_jobs": 1,
}


class CrashError(Exception):
    """Stands for the end of the process."""


class CrashAfter(Callback):
    """Fails after so many epochs, over all candidate networks."""

    def __init__(self, n_epochs: int) -> None:
        self.left = n_epochs

    def on_epoch_end(self, *_: Any) -> None:
        self.left -= 1
        if self.left == 0:
            raise CrashError


def weights_of(model: Any) -> list[NDArray[Any]]:
    return [p.detach().numpy() for p in model.net_.parameters()]


def same(one: Any, other: Any) -> bool:
    pairs = zip(weights_of(one), weights_of(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("crashes", [(1,), (3,), (5,), (1, 2, 3)])
def test_a_crashed_fit_goes_on(crashes: tuple[int, ...], tmp_path: Path) -> None:
    whole = TSENetClassifier(**QUICK, random_state=0).fit(ROWS, CLASSES)
    for n_epochs in crashes:
        crashing = TSENetClassifier(**QUICK, random_state=0, callbacks=[CrashAfter(n_epochs)])
        with pytest.raises(CrashError):
            crashing.fit(ROWS, CLASSES, checkpoint=tmp_path / "run")
    resumed = TSENetClassifier(**QUICK, random_state=0).fit(
        ROWS, CLASSES, checkpoint=tmp_path / "run"
    )
    assert same(resumed, whole)
    assert resumed.wiring_ == whole.wiring_
    assert resumed.history_.validation_loss == whole.history_.validation_loss


def test_a_finished_run_is_read_not_trained(tmp_path: Path) -> None:
    class Count(Callback):
        n_batches = 0

        def on_batch_end(self, *_: Any) -> None:
            self.n_batches += 1

    first = TSENetClassifier(**QUICK, random_state=0).fit(ROWS, CLASSES, checkpoint=tmp_path)
    count = Count()
    again = TSENetClassifier(**QUICK, random_state=0, callbacks=[count])
    assert same(again.fit(ROWS, CLASSES, checkpoint=tmp_path), first)
    assert count.n_batches == 0


def test_a_run_without_a_seed_keeps_the_one_it_drew(tmp_path: Path) -> None:
    crashing = TSENetClassifier(**QUICK, callbacks=[CrashAfter(2)])
    with pytest.raises(CrashError):
        crashing.fit(ROWS, CLASSES, checkpoint=tmp_path)
    resumed = TSENetClassifier(**QUICK).fit(ROWS, CLASSES, checkpoint=tmp_path)
    assert same(TSENetClassifier(**QUICK).fit(ROWS, CLASSES, checkpoint=tmp_path), resumed)


def test_sparse_rows_and_regression(tmp_path: Path) -> None:
    options = {**QUICK, "linear_skip": False}
    rows, sums = sp.csr_array(ROWS), ROWS.sum(axis=1)
    whole = TSENetRegressor(**options, random_state=1).fit(rows, sums)
    crashing = TSENetRegressor(**options, random_state=1, callbacks=[CrashAfter(2)])
    with pytest.raises(CrashError):
        crashing.fit(rows, sums, checkpoint=tmp_path)
    resumed = TSENetRegressor(**options, random_state=1).fit(rows, sums, checkpoint=tmp_path)
    assert same(resumed, whole)


def test_another_run_is_refused(tmp_path: Path) -> None:
    def fit(rows: Any = ROWS, classes: Any = CLASSES, **changes: Any) -> None:
        options = {**QUICK, "random_state": 0, **changes}
        TSENetClassifier(**options).fit(rows, classes, checkpoint=tmp_path)

    fit()
    fit(n_jobs=2, verbose=False)  # which change nothing
    other_rows = ROWS.copy()
    other_rows[0, 0] += 1
    for change, says in (
        ({"rows": other_rows}, "data"),
        ({"classes": (CLASSES + 1) % 3}, "data"),
        ({"dropout": 0.1}, "parameters"),
        ({"random_state": 1}, "parameters"),
    ):
        with pytest.raises(ModelFileError, match=f"another run, with other {says}"):
            fit(**change)  # type: ignore[arg-type]  # each change is of one kind
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ModelFileError, match="damaged"):
        fit()


def test_not_together_with_a_warm_start(tmp_path: Path) -> None:
    model = TSENetClassifier(**QUICK, random_state=0, warm_start=True).fit(ROWS, CLASSES)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(ROWS, CLASSES, checkpoint=tmp_path)


LONG = {**QUICK, "max_epochs": 60, "patience": 60, "random_state": 0}
PROGRAM = """
import sys
from tests.estimators.test_checkpoint import CLASSES, LONG, ROWS
from tsenet import TSENetClassifier
TSENetClassifier(**LONG).fit(ROWS, CLASSES, checkpoint=sys.argv[1]).save(sys.argv[2])
"""


@pytest.mark.slow
def test_killed_processes(tmp_path: Path) -> None:
    """kill −9 as soon as new checkpoints appear, twice; the last process ends as a fit that was left alone.

    Kills at random points are in ``tests/reliability/test_resume.py``.
    """
    root = Path(__file__).parents[2]
    paths = [str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def start(folder: str, out: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path / folder), str(tmp_path / out)],
            env=environment,
        )

    seen: set[str] = set()
    for _ in range(2):
        process = start("killed", "never")
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            states = {
                f"{p.name} {p.stat().st_mtime_ns}"
                for p in (tmp_path / "killed").rglob("*")
                if p.is_file() and not p.name.startswith(".")
            }
            if len(states - seen) >= 3:
                seen |= states
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start("killed", "resumed.tsenet").wait() == 0
    import tsenet

    alone = TSENetClassifier(**LONG).fit(ROWS, CLASSES)
    assert same(tsenet.load(tmp_path / "resumed.tsenet"), alone)
    assert json.loads((tmp_path / "killed" / "run.json").read_text())["run"]["estimator"]
