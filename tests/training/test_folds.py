"""Folds of labelled rows: each class with its share, duplicates together."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.examples import labelled, table
from tsenet.training.linear_teacher import stratified_folds
from tsenet.training.losses import MulticlassLoss


def folds_of(classes: Any, groups: Any, n_folds: int, rng: np.random.Generator) -> Any:
    rows = labelled(table(len(classes))[0], classes)._replace(duplicate_groups=groups)
    return stratified_folds(rows, MulticlassLoss(4), n_folds, rng)


def test_each_class_has_its_share_of_every_fold() -> None:
    classes = np.repeat([0, 1, 2], [500, 400, 100])
    folds = [folds_of(classes, None, 10, np.random.default_rng(k)) for k in (0, 0, 1)]
    for fold in folds:
        for k in range(10):
            assert np.abs(np.bincount(classes[fold == k]) - [50, 40, 10]).max() <= 1
    assert np.array_equal(folds[0], folds[1])
    assert not np.array_equal(folds[0], folds[2])


@settings(deadline=None)
@given(
    copies=st.lists(st.integers(1, 4), min_size=5, max_size=60),
    n_classes=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_duplicates_of_a_row_stay_together(copies: list[int], n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(copies)), copies))
    classes = rng.integers(0, n_classes, groups.size)
    fold = folds_of(classes, groups, 5, rng)
    assert set(fold) == set(range(5))
    assert all(np.unique(fold[groups == group]).size == 1 for group in groups)


def test_few_rows_have_a_fold_each() -> None:
    fold = folds_of(np.array([0, 1, 1]), np.zeros(3, np.int64), 5, np.random.default_rng(0))
    assert sorted(fold) == [0, 1, 2]
