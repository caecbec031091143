"""`BatchState`: the memory of one training step, chunk by chunk of the batch's rows.

A batch is cut into chunks of at most 64 rows, each of the same width, a multiple of 16; rows that fill up the last one
are empty and have no gradient. The width depends on the size of the batch alone, not on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.network.kernels.lane_kernels import LANES

CHUNK_ROWS = 64

Float = NDArray[Any]  # float32 or float64, as the network's parameters


@dataclass(frozen=True)
class SparseRows:
    """A sparse batch as arrays, by row and, for gradients, by column."""

    row_start: NDArray[np.int64]
    columns: NDArray[np.uint32]
    values: Float
    column_start: NDArray[np.uint32]
    column_rows: NDArray[np.uint32]
    column_values: Float


@dataclass(frozen=True)
class Layout:
    """Numbers of units a state has to hold.

    Attributes
    ----------
    sizes : tuple of int
        Of all levels, the input first.
    n_features, n_outputs : int
    n_skip : int
        Feature units that read the input.
    read_levels : tuple of int
        Levels, from 1 on, that a dense group reads.
    """

    sizes: tuple[int, ...]
    n_features: int
    n_outputs: int
    n_skip: int
    read_levels: tuple[int, ...]


@dataclass(frozen=True)
class Chunk:
    """A chunk's part of the state: ``level[k]`` (units, b) activations, ``delta[k]`` their gradients, k = 0 the input.

    Of sparse rows, ``level_rows`` (b, units), ``skip_rows`` (b, S) and ``output_rows`` (b, C) hold the products with
    the input, then the gradients by them.
    """

    first: int
    level: list[Float]
    delta: list[Float]
    features: Float
    features_delta: Float
    output: Float
    level_rows: Float
    skip_rows: Float
    output_rows: Float


class BatchState:
    """Activations and gradients of batches of one size.

    Parameters
    ----------
    layout : Layout
    n_rows : int
        Rows B of the batch.
    is_sparse : bool
    dtype
        Of the network's parameters.

    Attributes
    ----------
    data : SparseRows or ndarray (B, D)
        The batch.
    level, delta : list of ndarray, (chunks, units, b)
        Activations, k = 0 the input of a dense batch, and the gradients by the sums behind them.
    read_level : dict of int to ndarray, (units, rows)
        Activations of levels that dense groups read, of all chunks side by side.
    features, features_delta : ndarray (F, rows)
        The same of the feature layer.
    level_rows, skip_rows, output_rows : ndarray (rows, units)
        Gradients by row: of level 1 and of the skip group of a sparse input, and of the outputs.
    """

    def __init__(self, layout: Layout, n_rows: int, is_sparse: bool, dtype: Any) -> None:
        self.n_rows = n_rows
        n_chunks = -(-n_rows // CHUNK_ROWS)
        self.width = -(-n_rows // (n_chunks * LANES)) * LANES
        n_filled = n_chunks * self.width

        def zeros(*shape: int) -> Float:
            return np.zeros(shape, dtype)

        self.data: SparseRows | Float = zeros(0, 0)
        sizes = (0 if is_sparse else layout.sizes[0], *layout.sizes[1:])
        self.level = [zeros(n_chunks, size, self.width) for size in sizes]
        self.delta = [zeros(n_chunks, size, self.width) for size in (0, *sizes[1:])]
        self.read_level = {k: zeros(sizes[k], n_filled) for k in layout.read_levels}
        self.features = zeros(layout.n_features, n_filled)
        self.features_delta = zeros(layout.n_features, n_filled)
        self.level_rows = zeros(n_filled, sizes[1] if is_sparse else 0)
        self.skip_rows = zeros(n_filled, layout.n_skip if is_sparse else 0)
        self.output_rows = zeros(n_filled, layout.n_outputs)
        features = zeros(2, n_chunks, layout.n_features, self.width)
        output = zeros(n_chunks, layout.n_outputs, self.width)
        self.chunks = []
        for c in range(n_chunks):
            rows = slice(c * self.width, (c + 1) * self.width)
            self.chunks.append(
                Chunk(
                    rows.start,
                    [level[c] for level in self.level],
                    [delta[c] for delta in self.delta],
                    features[0, c],
                    features[1, c],
                    output[c],
                    self.level_rows[rows],
                    self.skip_rows[rows],
                    self.output_rows[rows],
                )
            )

    def outputs(self) -> Float:
        """Outputs of all rows: (B, C)."""
        return np.concatenate([chunk.output.T for chunk in self.chunks])[: self.n_rows]

    def set_output_gradient(self, delta: Float) -> None:
        """Begin the backward pass with the gradient by the outputs (B, C)."""
        self.output_rows[: self.n_rows] = delta
        self.output_rows[self.n_rows :] = 0

    def gather(self, chunk: Chunk) -> None:
        """Put what matrix products need of a chunk beside that of the others."""
        rows = slice(chunk.first, chunk.first + self.width)
        for k, level in self.read_level.items():
            level[:, rows] = chunk.level[k]
        self.features[:, rows] = chunk.features
        self.features_delta[:, rows] = chunk.features_delta
