"""Rows to train on, with the targets known for some of them, and which of them are held out for validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.data.order import first_of_groups
from tsenet.errors import DataError
from tsenet.network.batches import Inputs
from tsenet.training.loop import Batch

__all__ = ["Labelled", "TrainingRows", "batch_bounds", "is_known", "split_rows"]

#: With fewer rows, a validation part would be too small to be informative.
FEWEST_ROWS = 20


class Labelled(NamedTuple):
    """Rows of a table whose targets are known: their numbers, targets, weights, and which are duplicates.

    A source of batches for the training loop.
    """

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

    @property
    def n_rows(self) -> int:
        """Rows of an epoch."""
        return self.rows.size

    def batches(self, seed: int, epoch: int, n_batches: int) -> Iterator[Batch]:
        """Shuffle the rows and cut them into batches of about the same size."""
        order = np.random.default_rng([seed, epoch]).permutation(self.n_rows)
        for start, stop in batch_bounds(self.n_rows, n_batches):
            chosen = order[start:stop]  # (B,)
            weights = None if self.weights is None else self.weights[chosen]
            yield Batch(self.rows[chosen], self.targets[chosen], weights)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What a network is fitted to.

    Attributes
    ----------
    inputs : Inputs
        All rows (N, D), labelled or not.
    labelled : Labelled
        Those with a known target.
    embeddings : float64 (N, d) or None
        Other vectors of all rows, which only the linear teacher reads.
    """

    inputs: Inputs
    labelled: Labelled
    embeddings: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        targets: NDArray[Any],
        weights: NDArray[np.float64] | None,
        duplicate_groups: NDArray[np.int64],
        embeddings: NDArray[np.float64] | None = None,
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
        embeddings : float64 (N, d), optional

        Raises
        ------
        DataError
            If no row has a label.
        """
        rows = np.flatnonzero(is_known(targets))
        if not rows.size:
            raise DataError("no row has a label to train on")
        found = None if weights is None else weights[rows]
        labelled = Labelled(rows, targets[rows], found, duplicate_groups[rows])
        return cls(inputs, labelled, embeddings)


def is_known(targets: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have a target: (N,). Class −1 and NaN mean that there is none."""
    if targets.ndim == 2:
        return np.asarray(~np.isnan(targets).all(axis=1))
    return np.asarray(targets >= 0 if targets.dtype.kind in "iu" else ~np.isnan(targets))


def batch_bounds(n_rows: int, n_batches: int) -> Iterator[tuple[int, int]]:
    """First and last row of each batch. Sizes differ by at most one: a small last batch would count for too much."""
    for batch in range(n_batches):
        yield n_rows * batch // n_batches, n_rows * (batch + 1) // n_batches


# ---- which rows are held out


def split_rows(
    n_rows: int,
    fraction: float,
    seed: Any,
    classes: NDArray[np.int64] | None = None,
    duplicate_groups: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split row numbers into those for training and those for validation, both ascending.

    Parameters
    ----------
    n_rows : int
    fraction : float
        Share of the rows for validation, above 0 and below 1.
    seed
        Of NumPy's generator.
    classes : int64 (n_rows,), optional
        Class number of each row: each class gets its share of the validation rows, up to rounding. Training
        always keeps a row of every class.
    duplicate_groups : int64 (n_rows,), optional
        Rows of one group go to the same side: a duplicate of a training row tells nothing about new rows.
    """
    everything = np.arange(n_rows, dtype=np.int64)
    if duplicate_groups is not None:
        held_out_rows = _split_groups(duplicate_groups, fraction, seed, classes)
        if held_out_rows is not None:
            return everything[~held_out_rows], everything[held_out_rows]
    if n_rows < FEWEST_ROWS:
        return everything, everything[:0]
    order = np.random.default_rng(seed).permutation(n_rows)
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    n_chosen = min(n_rows - 1, max(1, round(fraction * n_rows)))
    chosen = order[((np.arange(n_chosen) + 0.5) * n_rows / n_chosen).astype(np.int64)]
    held_out = np.zeros(n_rows, bool)
    held_out[chosen] = True
    if classes is not None:  # give back a row of each class that would be left without one
        first = np.unique(classes[order], return_index=True)[1]
        lost = np.bincount(classes[~held_out], minlength=classes.max() + 1) == 0
        keep = order[first]
        held_out[keep[lost[classes[keep]]]] = False
    return everything[~held_out], everything[held_out]


def _split_groups(
    groups: NDArray[np.int64], fraction: float, seed: Any, classes: NDArray[np.int64] | None
) -> NDArray[np.bool_] | None:
    """Which rows are held out if groups of duplicates are split: (n_rows,); None if no row has a duplicate."""
    first, group = first_of_groups(groups)
    if first.size == groups.size:
        return None
    of_first = None if classes is None else classes[first]
    _, chosen = split_rows(first.size, fraction, seed, of_first)
    held_out = np.isin(group, chosen)
    if classes is not None:  # duplicate rows may be of several classes
        for lost in np.setdiff1d(classes, classes[~held_out]):
            held_out &= group != group[np.argmax(classes == lost)]
    return held_out
