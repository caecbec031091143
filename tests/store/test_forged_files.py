"""Files whose hashes fit and whose content is wrong: each is refused without much memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.store.models import forged, models
from tsenet.errors import ModelFileError
from tsenet.store import load, load_parts, save, save_parts

Change = Callable[[dict[str, Any], dict[str, Any]], None]


def put(*path_and_value: Any) -> Change:
    """Set a field of the metadata."""
    *path, last, value = path_and_value

    def change(meta: dict[str, Any], arrays: dict[str, Any]) -> None:
        for key in path:
            meta = meta[key]
        meta[last] = value

    return change


def array(name: str, change_array: Callable[[Any], Any]) -> Change:
    """Replace an array."""

    def change(meta: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = change_array(arrays[name])

    return change


def filled(value: Any) -> Callable[[Any], Any]:
    def change(old: Any) -> Any:
        new = old.copy()
        new.flat[0] = value
        return new

    return change


@pytest.mark.parametrize(
    "name", ["tree", "wiring", "transformer", "classifier", "labels", "regressor"]
)
def test_every_kind_comes_back(tmp_path: Path, name: str) -> None:
    path, again = tmp_path / "model.tsenet", tmp_path / "again.tsenet"
    save(models()[name], path)
    save(load(path), again)
    assert path.read_bytes() == again.read_bytes()


def wrapping(indptr: Any) -> Any:
    """Positions whose differences in int64 are never negative."""
    new = np.concatenate([indptr, indptr[-1:], indptr[-1:]])
    new[1:3] = 2**63 - 1, -(2**63) + indptr[-1] + 1
    return new


WIDE = {"n_columns_in": 10**8, "names_in": None, "thresholds": {}, "levels": {}}
GREEDY = {
    "columns of a rule": ("tree", put("rule", WIDE)),
    "columns of a model": ("classifier", put("rule", WIDE)),
    "classes": ("classifier", put("target", "classes", "type", "<U536870911")),
    "labels": ("labels", put("target", "n_labels", 10**9)),
    "skip units": ("classifier", put("network", "skip_units", 20_000_000)),
    "feature units": ("classifier", put("network", "feature_units", 2**40)),
    "units per latent": ("labels", put("network", "units_per_latent", 2**20)),
    "trainings": ("classifier", put("n_runs", 10**12)),
}


@pytest.mark.parametrize("case", GREEDY)
def test_small_files_cannot_claim_much(tmp_path: Path, case: str) -> None:
    path = tmp_path / "greedy.tsenet"
    forged(path, *GREEDY[case])
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * path.stat().st_size + 50e6


def test_lists_take_more_memory_than_bytes_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a file with too many is neither read nor, as nothing could read it, written."""
    path = tmp_path / "lists.tsenet"
    meta = {"source": [[]] * 500_001}
    with pytest.raises(ModelFileError, match="lists"):
        save_parts(path, "Thing", meta, {})
    assert not path.exists()
    with monkeypatch.context() as another_writer:
        another_writer.setattr("tsenet.store.files._MAX_CONTAINERS", 10**6)
        save_parts(path, "Thing", meta, {})
    with pytest.raises(ModelFileError, match="lists"):
        load_parts(path)


WRONG = {
    "positions that wrap around": ("wiring", array("0.indptr", wrapping)),
    "names that are numbers": ("wiring", put("names", [[1, 2], [3]])),
    "a rule that is none": ("wiring", put("link_rule", 3)),
    "infinite scale of a target": ("regressor", array("target.scale", filled(np.inf))),
    "negative scale of a target": ("regressor", array("target.scale", filled(-1.0))),
    "zero scale of a target": ("regressor", array("target.scale", filled(0.0))),
    "NaN shift of a target": ("regressor", array("target.shift", filled(np.nan))),
    "shift of another shape": ("regressor", array("target.shift", lambda a: a[:, None])),
    "shift of another length": ("regressor", array("target.shift", lambda a: a[:1])),
    "one target of two": ("regressor", put("target", "one_target", True)),
    "scaling of another shape": ("regressor", array("scaling.scale", lambda a: a[None])),
    "scaling of another type": ("regressor", array("scaling.scale", lambda a: a.astype("f4"))),
    "negative scale": ("regressor", array("scaling.scale", filled(-1.0))),
    "features of a transformer": ("transformer", put("tree", "rule", "n_columns_in", 7)),
    "half a feature": ("transformer", put("tree", "rule", "n_columns_in", 8.5)),
    "names of a transformer": ("transformer", put("tree", "rule", "names_in", ["a"])),
    "names that are no strings": ("classifier", put("rule", "names_in", [1, 2, 3, 4, 5, 6, 7])),
    "no thread": ("transformer", put("params", "n_jobs", 0)),
    "threads of text": ("classifier", put("params", "n_jobs", "all")),
    "half a thread": ("classifier", put("params", "n_jobs", 0.5)),
    "trainings before the first": ("classifier", put("n_runs", -1)),
    "a source of text": ("classifier", put("source", "file.csv")),
    "one class": ("classifier", put("target", "classes", {"type": "<U3", "values": ["yes"]})),
    "classes out of order": ("classifier", put("target", "classes", "values", ["yes", "no"])),
    "links to no unit": ("classifier", array("wiring.0.indices", filled(-1))),
    "links beyond the inputs": ("classifier", array("wiring.0.indices", filled(10**6))),
    "links that are missing": ("classifier", array("wiring.0.indices", lambda a: a[:-1])),
    "positions of links that wrap around": ("classifier", array("wiring.0.indptr", wrapping)),
    "importances of other columns": ("classifier", array("importances", lambda a: a[:-1])),
    "weights of another type": ("classifier", array("net.top.weight", lambda a: a.astype("f8"))),
    "weights of another shape": ("classifier", array("net.top.weight", lambda a: a.T)),
    "an infinite weight": ("classifier", array("net.top.weight", filled(np.inf))),
    "a whole number written with a point": ("classifier", put("network", "skip_units", 3.0)),
    "a number that is a truth value": ("classifier", put("network", "feature_units", True)),
    "a linear skip of text": ("classifier", put("network", "linear_skip", "x")),
    "a linear skip of 1": ("classifier", put("network", "linear_skip", 1)),
    "dropout of text": ("classifier", put("network", "dropout", "0.5")),
    "a truth value that is a number": ("classifier", put("pruned", 0)),
    "counts of text": ("classifier", put("counts", "")),
    "length 1 of no counts": ("classifier", put("unit_length", True)),
    "a score of nothing": ("classifier", put("cv_score", "scored", "guesses")),
    "a score of text": ("classifier", put("cv_score", "value", "0.9")),
    "a score of half a row": ("classifier", put("cv_score", "n_rows", 0.5)),
    "threads of another machine": ("classifier", put("params", "n_jobs", 2)),
    "half an epoch": ("classifier", put("history", "best_epoch", 0.5)),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parts_are_refused(tmp_path: Path, case: str) -> None:
    path = tmp_path / "wrong.tsenet"
    forged(path, *WRONG[case])
    with pytest.raises(ModelFileError, match="does not describe a valid"):
        load(path)
