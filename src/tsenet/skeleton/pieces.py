"""Pieces of documents: rows of about equal length, from which structure is learned (docs/decisions.md).

In a long document nearly every word is more likely, so the lengths of documents correlate all words, and the groups and
latents found are partly about length. Rows cut into pieces of about equal size do not have this correlation, and no
data are lost.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.data.rows import BinaryRows
from tsenet.progress import Progress
from tsenet.scale.blocks import Blocks

PIECE_SIZE = 30  # words in a piece, if the size is chosen automatically
# Rows are cut automatically if the standard deviation of their lengths is above this share of the mean, and if they
# hold at most this share of all variables, as documents do.
UNEVEN, FEW = 0.6, 0.1


class RowSums(NamedTuple):
    """Sums over binary rows.

    Attributes
    ----------
    n_rows : int
    total, squares : int
        Sum of the lengths of the rows (how many variables are on in each), and of their squares.
    longest : int
        Length of the longest row.
    counts : int64 (V,)
        In how many rows each variable is on.
    """

    n_rows: int
    total: int
    squares: int
    longest: int
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: BinaryRows) -> RowSums:
        """The sums over one block."""
        lengths = np.diff(rows.indptr)
        squares, longest = int(lengths @ lengths), int(lengths.max(initial=0))
        return cls(rows.n_rows, rows.nnz, squares, longest, rows.counts())

    def combine(self, other: RowSums) -> RowSums:
        """The sums over the rows of both."""
        return RowSums(
            self.n_rows + other.n_rows,
            self.total + other.total,
            self.squares + other.squares,
            max(self.longest, other.longest),
            self.counts + other.counts,
        )

    def piece_size(self) -> int | None:
        """Size of the pieces if none is given: None where rows vary little in length or hold many of the variables."""
        mean = self.total / self.n_rows
        deviation = math.sqrt(self.n_rows * self.squares - self.total**2) / self.n_rows
        is_cut = deviation > UNEVEN * mean and mean <= FEW * self.counts.size
        return PIECE_SIZE if is_cut else None


def sums_of(rows: Blocks, progress: Progress | None = None) -> RowSums:
    """The sums over all rows."""
    sums: RowSums = rows.reduce(RowSums.of, RowSums.combine, stage="counts", progress=progress)
    return sums


def count_pieces(
    rows: Blocks, sums: RowSums, size: int | None, progress: Progress | None = None
) -> list[int]:
    """Number of pieces of each block; see :func:`cut_blocks`."""
    dropped = None if size is None or sums.longest <= size else sums.counts == sums.n_rows
    counted = rows.map(
        partial(_count_pieces, dropped, size), stage="counting pieces", progress=progress
    )
    return list(counted)


def cut_blocks(
    rows: Blocks, sums: RowSums, size: int | None, key: int, progress: Progress | None = None
) -> Blocks:
    """The pieces of all rows, as :func:`cut_into_pieces` makes them of one block."""
    if size is None or sums.longest <= size:
        return rows
    cut = partial(_cut, sums.counts == sums.n_rows, size, key)
    return rows.then(cut, sizes=count_pieces(rows, sums, size, progress))


def cut_into_pieces(rows: BinaryRows, size: int | None, key: int) -> BinaryRows:
    """Cut rows with more than ``size`` items into pieces of about equal size; shorter rows stay whole.

    Parameters
    ----------
    rows : BinaryRows
    size : int or None
        Most items in a piece; None leaves all rows whole. A variable that is on in every row is left out of the
        pieces if any row is cut: it stays constant.
    key : int
        Seed of the division, below 2⁶².

    Returns
    -------
    BinaryRows
        The pieces, in the order of their rows; ``rows`` itself if no row is longer than ``size``.
    """
    if size is None or np.diff(rows.indptr).max(initial=0) <= size:
        return rows
    return _cut(rows.counts() == rows.n_rows, size, key, rows)


def _cut(dropped: NDArray[np.bool_], size: int, key: int, rows: BinaryRows) -> BinaryRows:
    """Cut rows into pieces, leaving out some variables (V,); a row's pieces depend on no other row."""
    if dropped.any():
        kept = ~dropped[rows.indices]
        ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
        rows = BinaryRows(ends, rows.indices[kept], rows.n_columns)
    length = np.diff(rows.indptr)
    n_pieces = _pieces_per_row(length, size)
    row = np.repeat(np.arange(rows.n_rows), length)
    # A row's own key is a sum over its items, so that where an item goes depends on the row's items alone.
    ends = np.concatenate([[np.uint64(0)], np.cumsum(_mixed(rows.indices, np.uint64(key)))])
    own_key = ends[rows.indptr[1:]] - ends[rows.indptr[:-1]]
    order = np.lexsort((_mixed(rows.indices, own_key[row]), row))
    rank = np.arange(rows.nnz) - rows.indptr[row]
    piece = np.empty(rows.nnz, np.int64)
    piece[order] = (rank * n_pieces[row] + n_pieces[row] - 1) // length[row]
    piece += (np.cumsum(n_pieces) - n_pieces)[row]
    items = rows.indices[np.argsort(piece, kind="stable")]
    sizes = np.bincount(piece, minlength=int(n_pieces.sum()))
    return BinaryRows(np.concatenate([[0], np.cumsum(sizes)]), items, rows.n_columns)


def _mixed(items: NDArray[np.int32], key: Any) -> NDArray[np.uint64]:
    """Numbers that depend on (key, item) alone and look random: splitmix64's finaliser."""
    z = key + np.uint64(0x9E3779B97F4A7C15) * (items.astype(np.uint64) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)


def _pieces_per_row(lengths: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Pieces of each row: the least number with which none holds more than ``size`` items."""
    return np.maximum(1, -(-lengths // size))


def _count_pieces(dropped: NDArray[np.bool_] | None, size: int | None, rows: BinaryRows) -> int:
    if dropped is None or size is None:
        return rows.n_rows
    kept = np.concatenate([[0], np.cumsum(~dropped[rows.indices])])[rows.indptr]
    return int(_pieces_per_row(np.diff(kept), size).sum())
