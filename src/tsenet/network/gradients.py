"""Gradients of the parameters, computed in blocks after both passes over a batch.

One task computes a block. The blocks do not depend on the number of threads, and the sums of a block run over all rows
in a fixed order: the gradient has the same bytes on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import chunks, chunks_of_equal_work
from tsenet.network.kernels import block_kernels
from tsenet.network.kernels import group_kernels as groups
from tsenet.network.kernels import sparse_kernels as sparse
from tsenet.network.passes import Chunk, Float, SparseRows, TrainingPasses
from tsenet.network.sparse_linear import DENSE_ABOVE

BLOCK_PARAMETERS = 100_000  # parameters that read the input; sparse rows leave few sums for each
BLOCK_LINKS = 8_192  # links between levels, whose sums run over all rows
BLOCK_BLOCKS = 50_000  # weights of links that are blocks: large enough for units to recur
BLOCK_WEIGHTS = 50_000  # weights of a dense group, whose gradient is a matrix product


@dataclass
class BatchState:
    """Activations and gradients of a whole batch after both passes.

    ``level[k]`` (units, B) are activations, k = 0 the input; ``delta[k]`` the gradients by the sums behind them. For a
    sparse input the gradients that its weights need are kept by row instead: ``level_rows`` (B, units of level 1) and
    ``skip_rows`` (B, S). Those by the outputs are always by row: ``output_rows`` (B, C).
    """

    data: SparseRows | Float
    level: list[Float]
    delta: list[Float]
    features: Float
    features_delta: Float
    level_rows: Float
    skip_rows: Float
    output_rows: Float

    @classmethod
    def of(cls, passes: TrainingPasses, n_rows: int) -> BatchState:
        """Buffers for batches of ``n_rows``."""

        def empty(*shape: int) -> Float:
            return np.empty(shape, passes.dtype)

        n_features, n_outputs = passes.output[0].shape
        return cls(
            empty(0, 0),
            [empty(size, n_rows) for size in (0, *passes.sizes[1:])],
            [empty(size, n_rows) for size in (0, *passes.sizes[1:])],
            empty(n_features, n_rows),
            empty(n_features, n_rows),
            empty(n_rows, passes.sizes[1]),
            empty(n_rows, passes.skips[0][1].size if passes.skips else 0),
            empty(n_rows, n_outputs),
        )

    def start(self, data: SparseRows | Float, output_delta: Float) -> None:
        """Begin with a batch and the gradient of its outputs (B, C)."""
        self.data = data
        if not isinstance(data, SparseRows):
            self.level[0] = data
        self.output_rows[:] = output_delta

    def take(self, part: Chunk) -> None:
        """Copy a chunk's activations and gradients."""
        rows = slice(part.first, part.first + part.output.shape[1])
        is_sparse = isinstance(self.data, SparseRows)
        for k in range(1, len(self.level)):
            self.level[k][:, rows] = part.level[k]
            if k > 1 or not is_sparse:
                self.delta[k][:, rows] = part.delta[k]
        self.features[:, rows] = part.features
        self.features_delta[:, rows] = part.features_delta
        if is_sparse:
            groups.transpose_into(part.delta[1], part.first, self.level_rows)
            skip = part.features_delta[: self.skip_rows.shape[1]]
            groups.transpose_into(skip, part.first, self.skip_rows)


@dataclass(frozen=True)
class Block:
    """Places ``start:stop`` of a parameter's flat array; ``fill`` writes their gradient into a flat array."""

    name: str
    start: int
    stop: int
    fill: Callable[[BatchState, Float], None]


def blocks_of(passes: TrainingPasses) -> list[Block]:
    """All parameters of a network in blocks."""
    weight, bias = passes.output

    def output_bias(state: BatchState, gradient: Float) -> None:
        np.sum(state.output_rows, axis=0, out=gradient)

    def output_weight(state: BatchState, gradient: Float) -> None:
        np.matmul(state.features, state.output_rows, out=gradient.reshape(weight.shape))

    found = [
        Block("output.weight", 0, weight.size, output_weight),
        Block("output.bias", 0, bias.size, output_bias),
    ]
    for k in range(1, passes.n_levels + 1):
        found += _level_blocks(passes, k)
    for level, place in passes.group_rows:
        found += _group_blocks(passes, level, place)
    if passes.linear_skip is not None:
        found += _weight_blocks("linear_skip", passes.linear_skip, 0, None)
    return found


def _sums(delta: Float, gradient: Float) -> None:
    gradient[:] = 0
    groups.add_row_sums(delta, gradient)


# ---- sparse layers: blocks of inputs, which own their links


def _level_blocks(passes: TrainingPasses, k: int) -> Iterator[Block]:
    blocks = passes.blocks[k - 1]
    work = np.diff(blocks.latents.in_start).astype(np.int64) * blocks.k_in * blocks.k_out + 1
    size = BLOCK_PARAMETERS if k == 1 else BLOCK_LINKS if blocks.is_plain else BLOCK_BLOCKS
    for first, last in chunks_of_equal_work(work, size):
        start, stop = blocks.first_weight(first), blocks.first_weight(last)
        fill = partial(_links_gradient, passes, k, first, last)
        if not blocks.is_plain:
            fill = partial(_blocks_gradient, passes, k, first, last, blocks.by_unit(first, last))
        yield Block(f"layers.{k - 1}.weight", start, stop, fill)
    yield Block(
        f"layers.{k - 1}.bias",
        0,
        blocks.n_units,
        partial(_bias_gradient, k),
    )


def _bias_gradient(k: int, state: BatchState, gradient: Float) -> None:
    if k == 1 and isinstance(state.data, SparseRows):
        np.sum(state.level_rows, axis=0, out=gradient)
    else:
        _sums(state.delta[k], gradient)


def _links_gradient(
    passes: TrainingPasses, k: int, first: int, last: int, state: BatchState, gradient: Float
) -> None:
    """Gradient of the links of inputs ``first..last`` of level k."""
    links, data = passes.links[k - 1], state.data
    if k == 1 and isinstance(data, SparseRows):
        by_column = (data.column_start, data.column_rows, data.column_values)
        sparse.rows_weight_gradient(
            first, last, *by_column, links.in_start, links.in_unit, state.level_rows, gradient
        )
        return
    below, delta = state.level[k - 1], state.delta[k]
    if links.density < DENSE_ABOVE:
        sparse.units_weight_gradient(
            first, last, links.in_start, links.in_unit, below, delta, gradient
        )
    else:
        own = slice(int(links.in_start[first]), int(links.in_start[last]))
        full = below[first:last] @ delta.T
        gradient[:] = full[links.input_of_link()[own] - first, links.in_unit[own]]


def _blocks_gradient(
    passes: TrainingPasses,
    k: int,
    first: int,
    last: int,
    order: NDArray[np.int64],
    state: BatchState,
    gradient: Float,
) -> None:
    """Gradient of the weights of input latents ``first..last`` of level k, whose links are ``order``."""
    links, blocks, data = passes.links[k - 1], passes.blocks[k - 1], state.data
    faces = passes.faces[k - 1]
    if k == 1 and isinstance(data, SparseRows):
        by_column = (data.column_start, data.column_rows, data.column_values)
        block_kernels.rows_weight_gradient(
            first,
            last,
            *by_column,
            links.in_start,
            links.in_unit,
            faces[1],
            state.level_rows,
            gradient,
        )
        return
    block_kernels.units_weight_gradient(
        order,
        blocks.first_weight(first),
        blocks.link_input,
        links.in_unit,
        blocks.in_weight,
        blocks.in_step,
        *faces,
        state.level[k - 1],
        state.delta[k],
        gradient,
    )


# ---- dense groups and the linear skip: blocks of inputs


def _group_blocks(passes: TrainingPasses, level: int, place: slice) -> Iterator[Block]:
    name = f"skips.{level}" if level < len(passes.skips) else "top"
    weight, bias = passes.group(level)
    yield from _weight_blocks(f"{name}.weight", weight, level, place)
    yield Block(
        f"{name}.bias",
        0,
        bias.size,
        lambda state, gradient: _sums(state.features_delta[place], gradient),
    )


def _weight_blocks(name: str, weight: Float, level: int, place: slice | None) -> Iterator[Block]:
    """Weights (D, S) from a level to a place in the feature layer, or to the outputs."""
    n_inputs, n_units = weight.shape
    size = BLOCK_PARAMETERS if level == 0 else BLOCK_WEIGHTS
    for first, last in chunks(n_inputs, max(1, size // n_units)):
        fill = partial(_weight_gradient, level, place, first, last)
        yield Block(name, first * n_units, last * n_units, fill)


def _weight_gradient(
    level: int, place: slice | None, first: int, last: int, state: BatchState, gradient: Float
) -> None:
    """Gradient of the weights of inputs ``first..last``."""
    data, own = state.data, gradient.reshape(last - first, -1)
    if level == 0 and isinstance(data, SparseRows):
        by_column = (data.column_start, data.column_rows, data.column_values)
        rows = state.output_rows if place is None else state.skip_rows
        groups.group_weight_gradient(first, last, *by_column, rows, own)
    else:
        delta = state.output_rows if place is None else state.features_delta[place].T  # (B, S)
        np.matmul(state.level[level][first:last], delta, out=own)
