"""Which source files a result depends on, and that it is stale once one of them has changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reproduce.rivals.folds
from reproduce import code
from reproduce.code import code_of_method, packed, unpacked
from reproduce.dataset_context import DatasetContext
from reproduce.execute import execute
from reproduce.runs import Result, Run, is_stale
from reproduce.sources import note_files, path_of, recorded_files
from tests.reproduce.tiny import tiny_text

SHORT = {"max_epochs": 2}
NETWORK = "tsenet/network/sparse_linear.py"
TREE = "tsenet/skeleton/hlta.py"
KERNELS = "tsenet/baselines/_dense_kernels.py"


def files_of(result: Result) -> frozenset[str]:
    return unpacked(result.extra["source"])


@pytest.fixture(scope="module")
def shared() -> DatasetContext:
    return DatasetContext(tiny_text(), loaded_by=["tsenet/datasets/corpora.py"])


@pytest.fixture(scope="module")
def learned(shared: DatasetContext) -> Result:
    return execute(Run("e", "tiny", "tsenet-paper", SHORT), shared)


@pytest.fixture(scope="module")
def dense(shared: DatasetContext, learned: Result) -> Result:
    """After the other: what the process has loaded and done before does not count."""
    del learned
    return execute(Run("e", "tiny", "fnn", {**SHORT, "hidden": [8]}), shared)


def test_a_result_names_the_files_it_depends_on(learned: Result, dense: Result) -> None:
    assert {NETWORK, TREE, "tsenet/estimators/tsenet_estimator.py"} <= files_of(learned)
    assert {KERNELS, "tsenet/estimators/network_estimator.py"} <= files_of(dense)
    for result in (learned, dense):
        assert {"tsenet/datasets/corpora.py", "reproduce/scoring.py"} <= files_of(result)
        assert all(path_of(file).exists() for file in files_of(result))


def test_a_result_does_not_name_what_it_does_not_use(learned: Result, dense: Result) -> None:
    assert not {TREE, "tsenet/estimators/tsenet_estimator.py"} & files_of(dense)
    assert KERNELS not in files_of(learned)
    for result in (learned, dense):
        assert not any(file.startswith(("tsenet/cli", "tsenet/scale")) for file in files_of(result))
        assert "tsenet/errors.py" not in files_of(result)


def test_of_a_rival_only_its_own_files(shared: DatasetContext) -> None:
    files = files_of(execute(Run("e", "tiny", "logistic", {}), shared))
    assert "reproduce/rivals/tfidf.py" in files
    assert not any(file.startswith(("tsenet/network", "tsenet/training")) for file in files)


@pytest.mark.parametrize("from_disk", [False, True])
def test_a_structure_used_again_counts_too(tmp_path: Path, from_disk: bool) -> None:
    first = DatasetContext(tiny_text(), tmp_path)
    one = execute(Run("e", "tiny", "tsenet-paper", SHORT), first)
    again = DatasetContext(tiny_text(), tmp_path) if from_disk else first
    other = execute(Run("e", "tiny", "random-paper", SHORT), again)
    assert TREE in files_of(one) & files_of(other)


@pytest.mark.parametrize(("changed", "stale"), [(TREE, True), ("tsenet/cli/app.py", False)])
def test_a_change_of_such_a_file_makes_it_stale(
    learned: Result, monkeypatch: pytest.MonkeyPatch, changed: str, stale: bool
) -> None:
    run = Run("e", "tiny", "tsenet-paper", SHORT)
    assert not is_stale(run, learned)
    true = code._digest_of_file
    code_of_method.cache_clear()
    monkeypatch.setattr(
        code, "_digest_of_file", lambda file: "other" if file == changed else true(file)
    )
    try:
        assert is_stale(run, learned) == stale
    finally:
        code_of_method.cache_clear()


def test_a_result_that_names_no_files_is_stale() -> None:
    assert is_stale(Run("e", "d", "fnn"), Result(0.5, 0.5, 1, 1.0, 1.0))


def test_a_file_that_is_gone_is_a_change() -> None:
    gone = frozenset({"tsenet/network/never.py"})
    assert code_of_method("table3", "fnn", gone) != code_of_method("table3", "fnn", frozenset())


def test_recordings_may_be_nested() -> None:
    own = "reproduce/rivals/folds.py"
    with recorded_files() as outer:
        with recorded_files() as inner:
            reproduce.rivals.folds.folds_of(np.arange(40) % 2, 0)
        with recorded_files() as other:
            note_files(["tsenet/network/links.py"])
    assert inner == {own}
    assert other == {"tsenet/network/links.py"}
    assert outer == {own, "tsenet/network/links.py"}
    note_files(["tsenet/network/links.py"])  # none is under way: nothing to add to


def test_files_are_stored_by_folder() -> None:
    files = frozenset({"tsenet/network/links.py", "tsenet/network/maps.py", "reproduce/scoring.py"})
    assert packed(files) == {"reproduce": "scoring", "tsenet/network": "links maps"}
    assert unpacked(packed(files)) == files
