"""Kernel that cuts long rows into pieces of about equal size (see :mod:`tsenet.skeleton.pieces`)."""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.skeleton.kernels.em_kernels import random_unit
from tsenet.skeleton.kernels.pair_kernels import Csr


@kernel
def cut_rows(rows: Csr, n_pieces: Array, key: Int, out_start: Array, out: Array) -> None:
    """Divide the items of each row at random among its pieces, items ascending within a piece.

    Where an item goes depends on the key and on the items of its row alone, not on the place of the row.

    Parameters
    ----------
    n_pieces : int64 (N,), at least 1 for every row.
    key : seed, below 2⁶².
    out_start, out : int64 (P + 1,) and int32 (nnz,), filled: the pieces, in the order of their rows.
    """
    row_start, row_items = rows.start, rows.items
    p = 0
    out_start[0] = 0
    for row in range(n_pieces.size):
        start = row_start[row]
        size = row_start[row + 1] - start
        k = n_pieces[row]
        if k == 1:
            for t in range(size):
                out[start + t] = row_items[start + t]
        else:
            mixed = np.uint64(key)
            for t in range(size):
                mixed = mixed * np.uint64(0x100000001B3) + np.uint64(row_items[start + t] + 1)
            own: Int = np.int64(mixed >> np.uint64(2))
            draw = np.empty(size)
            for t in range(size):
                item: Int = np.int64(row_items[start + t])
                draw[t] = random_unit(own, item)
            order = np.argsort(draw)
            for q in range(k):
                first = q * size // k
                last = (q + 1) * size // k
                for t in range(first, last):
                    out[start + t] = row_items[start + order[t]]
                out[start + first : start + last].sort()
        for q in range(k):
            p += 1
            out_start[p] = start + (q + 1) * size // k
