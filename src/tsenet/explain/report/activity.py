"""In which rows the topics of a tree are on: one pass over the posteriors, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.table import Table

if TYPE_CHECKING:
    from tsenet.explain.report.along import Bins
    from tsenet.progress import Progress
    from tsenet.skeleton.tree import LatentTree

__all__ = ["Activity", "tree_activity"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Posteriors are made in blocks of about this many numbers (32 MB), never all at once.
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Activity:
    """Activity of L latents in the rows.

    Attributes
    ----------
    mean : float64 (L,)
        Mean posterior P(on | row): the expected share of rows in which the latent is on.
    rows : int64 (L, R)
        The rows in which it is most surely on, surest first; the first of equals.
    posterior : float64 (L, R)
        P(on | row) there.
    along : float64 (L, B) or None
        Mean posterior in each bin; 0 in an empty one.
    """

    mean: Floats
    rows: Ints
    posterior: Floats
    along: Floats | None


def tree_activity(
    tree: LatentTree, X: Any, n_rows: int, bins: Bins | None, progress: Progress
) -> Activity:
    """Compute the activity of all latents in one pass over the rows."""
    table = Table.of(X, missing=True)
    n_latents = tree.n_latents
    step = max(1, _BLOCK // max(1, n_latents))
    total = np.zeros(n_latents)
    best = np.empty((0, n_latents))
    best_rows = np.empty((0, n_latents), np.int64)
    along = None if bins is None else np.zeros((len(bins.names), n_latents))
    progress.start("rows of each topic", -(-table.n_rows // step))
    for start in range(0, table.n_rows, step):
        rows = np.arange(start, min(start + step, table.n_rows))
        posterior = tree.posterior(table.take(rows))  # (rows, L)
        total += posterior.sum(axis=0)
        if along is not None and bins is not None:
            along += _membership(bins.of_row[rows], len(bins.names)) @ posterior
        candidates = np.concatenate([best, posterior])
        numbers = np.concatenate(
            [best_rows, np.broadcast_to(rows[:, None], (rows.size, n_latents))]
        )
        place = largest(candidates, n_rows)
        best = np.take_along_axis(candidates, place, axis=0)
        best_rows = np.take_along_axis(numbers, place, axis=0)
        progress.advance()
    progress.finish()
    if along is not None and bins is not None:
        along /= np.maximum(1, bins.counts)[:, None]
    return Activity(total / table.n_rows, best_rows.T, best.T, None if along is None else along.T)


def _membership(bin_of_row: Ints, n_bins: int) -> sp.csr_array:
    """Which rows are in which bin, as zeros and ones: (B, rows)."""
    inside = np.flatnonzero(bin_of_row >= 0)
    ones = np.ones(inside.size)
    return sp.csr_array((ones, (bin_of_row[inside], inside)), shape=(n_bins, bin_of_row.size))


def largest(values: Floats, n_best: int) -> Ints:
    """Places of the largest entries of each column, largest first, the first of equals: (≤ n_best, columns)."""
    n_rows, n_columns = values.shape
    n_best = min(n_best, n_rows)
    if n_best == 0 or n_columns == 0:
        return np.empty((n_best, n_columns), np.int64)
    # Only what reaches the n-th largest has to be sorted.
    floor = np.partition(values, n_rows - n_best, axis=0)[n_rows - n_best]
    row, column = np.nonzero(values >= floor)
    order = np.lexsort((row, -values[row, column], column))
    first = np.searchsorted(column[order], np.arange(n_columns))
    place: Ints = row[order[first + np.arange(n_best)[:, None]]]
    return place
