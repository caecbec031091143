"""Contexts of columns: which others they occur with, along the leading singular directions of the rows.

A rare word meets few latents often enough for its information about them to be more than noise. Its context, pooled
over all words it occurs with, is known much better: two words that never meet are close if they meet the same others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet._system.threads import blas_threads
from tsenet.data.binary import BinaryRows
from tsenet.data.blocks import Blocks
from tsenet.data.directions import strongest_directions
from tsenet.data.scaling import unit_rows

N_DIRECTIONS = 100
OVERSAMPLING = 10  # directions sought beyond those kept: these then converge sooner
POWER_ITERATIONS = 4
MAX_ROWS = 100_000  # rows from which contexts are estimated: more change no link that matters

Float32 = NDArray[np.float32]


def context_vectors(blocks: Blocks, seed: np.random.SeedSequence) -> Float32:
    """Coordinates of the columns along at most 100 singular directions of the rows: (D, K).

    An entry of a row counts ln(N / n) if its column is on in n of N rows; rows have length 1. Directions count by
    their singular values.

    Parameters
    ----------
    blocks : Blocks
        N binary rows of D columns.
    seed : SeedSequence
        Of the rows that are used, if there are more than 100,000, and of the first guess.
    """
    rng = np.random.default_rng(seed)
    sampled = None
    if blocks.n_rows > MAX_ROWS:
        sampled = np.sort(rng.choice(blocks.n_rows, MAX_ROWS, replace=False))

    rows: BinaryRows = blocks.take(sampled)
    weighted = _weighted(rows)  # (N, D)
    n_kept = min(N_DIRECTIONS, *weighted.shape)
    n_sought = min(n_kept + OVERSAMPLING, *weighted.shape)
    guess = rng.standard_normal((rows.n_columns, n_sought), np.float32)  # (D, K')

    with blas_threads(1):  # a product's sums must not depend on threads
        squares, directions = strongest_directions(weighted, guess, POWER_ITERATIONS)

    strongest = slice(None, -n_kept - 1, -1)
    singular = np.sqrt(np.maximum(squares[strongest], 0.0))  # (K,)
    return np.asarray(directions[:, strongest] * singular, np.float32)


def contexts_above(below: Float32, parent: NDArray[np.int32], n_upper: int) -> Float32:
    """Contexts of latents, of length 1: the sums of their children's, (U, K) from (D, K)."""
    placed = np.flatnonzero(parent >= 0)
    total = np.zeros((n_upper, below.shape[1]))
    np.add.at(total, parent[placed], below[placed])
    return np.asarray(unit_rows(total), np.float32)


def _weighted(rows: BinaryRows) -> csr_array:
    """Rows of length 1 in which a column counts ln(N / n): (N, D)."""
    weight = np.log(rows.n_rows / np.maximum(rows.counts(), 1))
    values = weight[rows.indices].astype(np.float32)
    shape = (rows.n_rows, rows.n_columns)
    weighted: csr_array = unit_rows(csr_array((values, rows.indices, rows.indptr), shape=shape))
    return weighted
