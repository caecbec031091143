"""Rows to train on: all rows of a table as the network reads them, and the targets known for some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.network.batches import Inputs

__all__ = ["Labelled", "TrainingRows"]


class Labelled(NamedTuple):
    """Rows of a table whose targets are known: their numbers, targets, weights, and which are duplicates."""

    rows: NDArray[np.int64]  # (n,)
    targets: NDArray[Any]  # (n,) or (n, C)
    weights: NDArray[np.float64] | None  # (n,)
    duplicate_groups: NDArray[np.int64]  # (n,), the same number for equal rows

    def take(self, which: NDArray[np.int64]) -> Labelled:
        """Some of them."""
        weights = None if self.weights is None else self.weights[which]
        return Labelled(
            self.rows[which], self.targets[which], weights, self.duplicate_groups[which]
        )


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What a network is fitted to.

    Attributes
    ----------
    inputs : Inputs
        All rows (N, D), labelled or not.
    labelled : Labelled
        Those with a known target.
    """

    inputs: Inputs
    labelled: Labelled

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        targets: NDArray[Any],
        weights: NDArray[np.float64] | None,
        duplicate_groups: NDArray[np.int64],
    ) -> TrainingRows:
        """Find the labelled rows: class −1 and NaN are no label.

        Parameters
        ----------
        inputs : Inputs
            (N, D).
        targets : (N,) or (N, C)
            As the loss wants them.
        weights : (N,), optional
        duplicate_groups : int64 (N,)
            As :func:`tsenet.data.order.duplicate_groups` finds them.

        Raises
        ------
        DataError
            If no row has a label.
        """
        if targets.ndim == 2:
            known = ~np.isnan(targets).all(axis=1)
        else:
            known = targets >= 0 if targets.dtype.kind in "iu" else ~np.isnan(targets)
        rows = np.flatnonzero(known)
        if not rows.size:
            raise DataError("no row has a label to train on")
        found = None if weights is None else weights[rows]
        return cls(inputs, Labelled(rows, targets[rows], found, duplicate_groups[rows]))
