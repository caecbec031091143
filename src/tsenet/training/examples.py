"""Rows with targets, and how they are cut into batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tsenet.network.inputs import Inputs


class Examples(NamedTuple):
    """Rows of a table with their targets: to train on, to validate on, or the batch of one step."""

    inputs: Inputs  # the table (N, D)
    rows: NDArray[np.int64]  # (n,), numbers of rows
    targets: NDArray[Any]  # (n,) or (n, C), as the loss wants them
    weights: NDArray[Any] | None = None  # (n,) or (n, C)
    duplicate_groups: NDArray[np.int64] | None = None  # (n,), the same number for equal rows

    def take(self, which: NDArray[Any]) -> Examples:
        """Some of them."""
        parts = (None if part is None else part[which] for part in self[1:])
        return Examples(self.inputs, *parts)  # type: ignore[arg-type]  # mypy sees one type for all

    @property
    def n_rows(self) -> int:
        """Rows of an epoch."""
        return self.rows.size

    def batches(self, seed: int, epoch: int, n_batches: int) -> Iterator[Examples]:
        """Shuffle the rows and cut them into batches of about the same size."""
        order = np.random.default_rng([seed, epoch]).permutation(self.n_rows)
        for start, stop in batch_bounds(self.n_rows, n_batches):
            yield self.take(order[start:stop])


def batch_bounds(n_rows: int, n_batches: int) -> Iterator[tuple[int, int]]:
    """First and last row of each batch. Sizes differ by at most one: a small last batch would count for too much."""
    for batch in range(n_batches):
        yield n_rows * batch // n_batches, n_rows * (batch + 1) // n_batches
