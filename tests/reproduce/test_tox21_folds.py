"""Tox21 by folds: which compounds train, which are scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduce import runner, tox21_folds
from reproduce.scoring import metric_of
from reproduce.tox21_folds import FOLDS, tox21_fold
from tests.reproduce.tiny import tiny_labels
from tsenet.datasets import Dataset
from tsenet.errors import DataError


def with_names(dataset: Dataset) -> Dataset:
    n_rows = len(dataset.train)
    return replace(
        dataset, train=replace(dataset.train, texts=tuple(f"C{k // 2}" for k in range(n_rows)))
    )


def test_a_fold_takes_the_place_of_the_test_rows() -> None:
    whole = with_names(tiny_labels())
    n_rows = len(whole.train)
    folds = np.resize([0.0, 1.0, 2.0, 3.0, 4.0, np.nan], n_rows)
    parts = [tox21_fold(whole, name.partition(":")[2], folds) for name in FOLDS]
    for number, part in enumerate(parts):
        np.testing.assert_array_equal(part.test.X, whole.train.X[folds == number])
        np.testing.assert_array_equal(part.train.y, whole.train.y[~(folds == number)])
        assert len(part.train) + len(part.test) == n_rows
        assert part.validation is whole.validation
        assert metric_of(part) == "auc"
        assert part.name == FOLDS[number]
        assert part.card.in_training.shape == (len(part.test),)
    assert parts[0].card.in_training.all()  # each compound is there twice, in two folds


def test_folds_are_read_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compound that could not be described is in the file and not among the rows."""
    folder = tmp_path / "tox21"
    folder.mkdir()
    whole = with_names(tiny_labels())
    rows = [f"{text},training,{k % 5}.0" for k, text in enumerate(whole.train.texts or ())]
    rows[3:3] = ["unsound,training,1.0", "CC,test,"]
    rows[-1] = rows[-1].rpartition(",")[0] + ","
    (folder / "tox21.csv").write_text("\n".join(["smiles,set,CVfold", *rows]) + "\n")
    monkeypatch.setenv("TSENET_DATA", str(tmp_path))
    found = tox21_folds._folds_of(whole)
    np.testing.assert_array_equal(found[:-1], np.arange(len(whole.train) - 1) % 5)
    assert np.isnan(found[-1])
    other = replace(whole, train=replace(whole.train, texts=("N",) * len(whole.train)))
    with pytest.raises(DataError, match=r"not those of tox21\.csv"):
        tox21_folds._folds_of(other)


def test_there_are_five(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="tox21:fold5: there are tox21:fold0"):
        tox21_fold(tiny_labels(), "fold5")
    whole = with_names(tiny_labels())
    monkeypatch.setattr("tsenet.datasets.load", lambda name, **options: whole)
    monkeypatch.setattr(tox21_folds, "_folds_of", lambda dataset: np.arange(len(whole.train)) % 5)
    loaded = runner.Runner(tmp_path).context("tox21:fold2").dataset
    assert loaded.name == "tox21:fold2"
    assert len(loaded.test) == len(whole.train) // 5
