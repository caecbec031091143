"""Long rows, cut into pieces from which a tree is learned.

In a long document nearly every word is more likely, so the lengths of documents correlate all words, and the groups and
latents found are partly about length. Rows cut into pieces of about equal size do not have this correlation, and no
data are lost (docs/decisions.md).
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet._system.seeds import splitmix64
from tsenet.data.binary import BinaryRows
from tsenet.data.blocks import Blocks
from tsenet.progress import Progress

PIECE_SIZE = 30  # words in a piece, if the size is chosen automatically: about a paragraph
# Rows are cut automatically if the standard deviation of their lengths is above this share of the mean, …
MIN_UNEVENNESS = 0.6
# … and if they hold at most this share of all variables, as documents do.
MAX_SHARE_ON = 0.1


class RowSums(NamedTuple):
    """Sums over binary rows.

    Attributes
    ----------
    total, squares : int
        Sum of the lengths of the rows (how many variables are on in each), and of their squares.
    longest : int
        Length of the longest row.
    counts : int64 (V,)
        In how many rows each variable is on.
    """

    total: int
    squares: int
    longest: int
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: BinaryRows) -> RowSums:
        """The sums over one block."""
        lengths = np.diff(rows.indptr)
        return cls(
            total=rows.nnz,
            squares=int(lengths @ lengths),
            longest=int(lengths.max(initial=0)),
            counts=rows.counts(),
        )

    def combine(self, other: RowSums) -> RowSums:
        """The sums over the rows of both."""
        return RowSums(
            self.total + other.total,
            self.squares + other.squares,
            max(self.longest, other.longest),
            self.counts + other.counts,
        )

    def piece_size(self, n_rows: int) -> int | None:
        """Size of the pieces if none is given: None where rows vary little in length or hold many of the variables."""
        mean = self.total / n_rows
        deviation = math.sqrt(n_rows * self.squares - self.total**2) / n_rows
        is_uneven = deviation > MIN_UNEVENNESS * mean
        is_sparse = mean <= MAX_SHARE_ON * self.counts.size
        return PIECE_SIZE if is_uneven and is_sparse else None


def cut_blocks(
    rows: Blocks, sums: RowSums, size: int | None, key: int, progress: Progress
) -> Blocks:
    """The pieces of all rows, as :func:`cut_into_pieces` makes them of one block."""
    if size is None or sums.longest <= size:
        return rows

    dropped = sums.counts == rows.n_rows
    count = partial(_count_pieces, dropped, size)
    n_pieces = list(rows.map(count, stage="counting pieces", progress=progress))
    return rows.map_lazily(partial(_cut, dropped, size, key), sizes=n_pieces)


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
    is_kept = ~dropped[rows.indices]
    ends = _ends(dropped, rows)
    rows = BinaryRows(ends, rows.indices[is_kept], rows.n_columns)
    length = np.diff(rows.indptr)  # (N,)
    n_pieces = _pieces_per_row(length, size)  # (N,)
    row = np.repeat(np.arange(rows.n_rows), length)  # of each item, (nnz,)

    # A row's own key is a sum over its items, so that where an item goes depends on the row's items alone.
    running = np.zeros(rows.nnz + 1, np.uint64)
    np.cumsum(_hashed(rows.indices, np.uint64(key)), out=running[1:])
    row_key = running[rows.indptr[1:]] - running[rows.indptr[:-1]]  # (N,)

    # Shuffle the items of each row, and deal them out: the pieces of a row differ by one item at most.
    order = np.lexsort((_hashed(rows.indices, row_key[row]), row))
    rank = np.arange(rows.nnz) - rows.indptr[row]
    piece = np.empty(rows.nnz, np.int64)
    piece[order] = (rank * n_pieces[row] + n_pieces[row] - 1) // length[row]
    first_piece = np.cumsum(n_pieces) - n_pieces
    piece += first_piece[row]

    # Collect the items of each piece; they stay in ascending order.
    items = rows.indices[np.argsort(piece, kind="stable")]
    sizes = np.bincount(piece, minlength=int(n_pieces.sum()))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return BinaryRows(starts, items, rows.n_columns)


def _hashed(items: NDArray[np.int32], key: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    """Numbers that depend on (key, item) alone and look random: SplitMix64, ``item`` steps from the key."""
    return splitmix64(key + np.uint64(0x9E3779B97F4A7C15) * items.astype(np.uint64))


def _pieces_per_row(lengths: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Pieces of each row: the least number with which none holds more than ``size`` items."""
    return np.maximum(1, -(-lengths // size))


def _ends(dropped: NDArray[np.bool_], rows: BinaryRows) -> NDArray[np.int64]:
    """Where the rows end without some variables (V,)."""
    return np.concatenate([[0], np.cumsum(~dropped[rows.indices])])[rows.indptr]


def _count_pieces(dropped: NDArray[np.bool_], size: int, rows: BinaryRows) -> int:
    return int(_pieces_per_row(np.diff(_ends(dropped, rows)), size).sum())
