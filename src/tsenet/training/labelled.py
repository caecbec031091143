"""Rows with known targets, among others of a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Labelled"]


class Labelled(NamedTuple):
    """Rows of a table whose targets are known: their numbers, targets, weights, and which are copies of each other."""

    rows: NDArray[np.int64]  # (n,)
    targets: NDArray[Any]  # (n,) or (n, C)
    weights: NDArray[np.float64] | None  # (n,)
    kinds: NDArray[np.int64]  # (n,), the same for equal rows

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[np.float64] | None,
        kinds: NDArray[np.int64],
    ) -> Labelled:
        """Some rows of targets (N,) or (N, C), weights (N,) and kinds (N,)."""
        return cls(rows, targets[rows], None if weights is None else weights[rows], kinds[rows])

    def take(self, which: NDArray[np.int64]) -> Labelled:
        """Some of them."""
        weights = None if self.weights is None else self.weights[which]
        return Labelled(self.rows[which], self.targets[which], weights, self.kinds[which])
