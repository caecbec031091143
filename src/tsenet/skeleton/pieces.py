"""Pieces of documents: rows of about equal length, from which structure is learned (ADR 12).

In a long document nearly every word is more likely, so the lengths of documents correlate all words, and the groups and
latents found are partly about length. Rows cut into pieces of about equal size do not have this correlation, and no
data are lost.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tsenet.data.rows import BinaryRows
from tsenet.skeleton.kernels import piece_kernels
from tsenet.skeleton.kernels.pair_kernels import Csr
from tsenet.skeleton.passes import LengthSums

PIECE_SIZE = 30  # words in a piece, if the size is chosen automatically
# Rows are cut automatically if the standard deviation of their lengths is above this share of the mean, and if they
# hold at most this share of all variables, as documents do.
UNEVEN, FEW = 0.6, 0.1


def automatic_size(rows: BinaryRows) -> int | None:
    """Size of the pieces if none is given: None where rows vary little in length or hold many of the variables."""
    return size_for(LengthSums.of(np.diff(rows.indptr)), rows.n_columns)


def size_for(lengths: LengthSums, n_columns: int) -> int | None:
    """Size of the pieces for rows of these lengths; the sums are whole numbers, so their order does not matter."""
    n_rows, total, squares = lengths
    mean = total / n_rows
    deviation = math.sqrt(n_rows * squares - total * total) / n_rows
    return PIECE_SIZE if deviation > UNEVEN * mean and mean <= FEW * n_columns else None


def pieces_per_row(lengths: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Pieces of each row: the least number with which none holds more than ``size`` items."""
    return np.maximum(1, -(-lengths // size))


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
    if size is None or not is_cut(rows, size):
        return rows
    return cut_without(rows, rows.counts() == rows.n_rows, size, key)


def is_cut(rows: BinaryRows, size: int) -> bool:
    """Whether a row is longer than a piece."""
    return bool(np.diff(rows.indptr).max(initial=0) > size)


def cut_without(rows: BinaryRows, dropped: NDArray[np.bool_], size: int, key: int) -> BinaryRows:
    """Cut rows into pieces, leaving out some variables (V,); a row's pieces depend on no other row."""
    rows = _without(rows, dropped)
    n_pieces = pieces_per_row(np.diff(rows.indptr), size)
    total = int(n_pieces.sum())
    start = np.empty(total + 1, np.int64)
    items = np.empty(rows.nnz, np.int32)
    piece_kernels.cut_rows(Csr(rows.indptr, rows.indices), n_pieces, key, start, items)
    return BinaryRows(start, items, rows.n_columns)


def _without(rows: BinaryRows, dropped: NDArray[np.bool_]) -> BinaryRows:
    """The rows with some variables off everywhere."""
    if not dropped.any():
        return rows
    kept = ~dropped[rows.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return BinaryRows(ends, rows.indices[kept], rows.n_columns)
