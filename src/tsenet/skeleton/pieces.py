"""Pieces of documents: rows of about equal length, from which structure is learned (ADR 12).

In a long document nearly every word is more likely, so the lengths of documents correlate all words, and the groups and
latents found are partly about length. Rows cut into pieces of about equal size do not have this correlation, and no
data are lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tsenet.data.rows import BinaryRows
from tsenet.skeleton.kernels import piece_kernels
from tsenet.skeleton.kernels.pair_kernels import Csr

PIECE_SIZE = 30  # words in a piece, if the size is chosen automatically
# Rows are cut automatically if the standard deviation of their lengths is above this share of the mean, and if they
# hold at most this share of all variables, as documents do.
UNEVEN, FEW = 0.6, 0.1


def automatic_size(rows: BinaryRows) -> int | None:
    """Size of the pieces if none is given: None where rows vary little in length or hold many of the variables."""
    lengths = np.diff(rows.indptr)
    mean = lengths.mean()
    return PIECE_SIZE if lengths.std() > UNEVEN * mean and mean <= FEW * rows.n_columns else None


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
    if size is None:
        return rows
    n_pieces = pieces_per_row(np.diff(rows.indptr), size)
    if n_pieces.sum() == rows.n_rows:
        return rows
    rows = _without(rows, rows.counts() == rows.n_rows)
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
