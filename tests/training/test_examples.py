"""Rows with targets: some of them, and the batches of an epoch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.training.examples import labelled, table
from tsenet.training.examples import batch_bounds


def test_some_rows_keep_their_targets_and_weights() -> None:
    inputs, targets = table(10)
    some = labelled(inputs, targets, np.arange(10.0)).take(np.array([7, 2]))
    assert some.n_rows == 2
    assert some.inputs is inputs
    assert some.rows.tolist() == [7, 2]
    assert some.targets.tolist() == targets[[7, 2]].tolist()
    assert some.weights is not None
    assert some.weights.tolist() == [7.0, 2.0]
    assert some.duplicate_groups is None


def test_an_epoch_has_every_row_once_in_an_order_of_its_own() -> None:
    examples = labelled(*table(10))
    epochs = [[b.rows.tolist() for b in examples.batches(0, epoch, 3)] for epoch in (0, 1)]
    again = [b.rows.tolist() for b in examples.batches(0, 0, 3)]
    assert epochs[0] == again
    assert epochs[0] != epochs[1]
    for batches in epochs:
        assert sorted(row for batch in batches for row in batch) == list(range(10))


@given(n_rows=st.integers(0, 200), n_batches=st.integers(1, 30))
def test_batches_differ_by_one_row_at_most(n_rows: int, n_batches: int) -> None:
    bounds = list(batch_bounds(n_rows, n_batches))
    sizes = [stop - start for start, stop in bounds]
    assert sum(sizes) == n_rows
    assert max(sizes) - min(sizes) <= 1
    assert [start for start, _ in bounds] == [0, *(stop for _, stop in bounds[:-1])]
