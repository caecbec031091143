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
UNEVEN = 0.6  # standard deviation of the rows' lengths, as a share of the mean, from which rows are cut automatically


def automatic_size(rows: BinaryRows) -> int | None:
    """Size of the pieces if none is given: None where the rows vary little in length."""
    lengths = np.diff(rows.indptr)
    uneven = lengths.size > 0 and lengths.std() > UNEVEN * lengths.mean()
    return PIECE_SIZE if uneven else None


def pieces_per_row(lengths: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Pieces of each row: the least number with which none holds more than ``size`` items."""
    return np.maximum(1, -(-lengths // size))


def cut_into_pieces(rows: BinaryRows, size: int | None, key: int) -> BinaryRows:
    """Cut rows with more than ``size`` items into pieces of about equal size; shorter rows stay whole.

    Parameters
    ----------
    rows : BinaryRows
    size : int or None
        Most items in a piece; None leaves all rows whole.
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
    total = int(n_pieces.sum())
    if total == rows.n_rows:
        return rows
    start = np.empty(total + 1, np.int64)
    items = np.empty(rows.nnz, np.int32)
    piece_kernels.cut_rows(Csr(rows.indptr, rows.indices), n_pieces, key, start, items)
    return BinaryRows(start, items, rows.n_columns)
