"""Gradients of the parameters, computed in blocks after both passes over a batch.

One task computes a block. The blocks do not depend on the number of threads, and the sums of a block run over all rows
in a fixed order: the gradient has the same bytes on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from tsenet._system.threads import chunks, chunks_of_equal_work
from tsenet.network.batch_state import BatchState, Float, SparseRows
from tsenet.network.kernels import block_kernels
from tsenet.network.kernels import group_kernels as groups
from tsenet.network.kernels import sparse_kernels as sparse
from tsenet.network.kernels.lane_kernels import WIDE
from tsenet.network.links import GatheredLinks
from tsenet.network.passes import TrainingPasses

BLOCK_PARAMETERS = 100_000  # parameters that read a sparse input, which leaves few sums for each
BLOCK_LINKS = (
    25_000  # weights between levels: what a block reads stays in the cache, and units recur
)
BLOCK_WEIGHTS = 50_000  # weights of a dense group, whose gradient is a matrix product


@dataclass(frozen=True)
class Block:
    """Places ``start:stop`` of a parameter's flat array; ``fill`` writes their gradient into a flat array."""

    name: str
    start: int
    stop: int
    fill: Callable[[BatchState, Float], None]


def blocks_of(passes: TrainingPasses, is_sparse: bool) -> list[Block]:
    """All parameters of a network in blocks, for sparse or dense rows."""
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
        found += _level_blocks(passes, k, is_sparse and k == 1)
    for level, place in passes.group_rows:
        found += _group_blocks(passes, level, place)
    if passes.linear_skip is not None:
        found += _weight_blocks("linear_skip", passes.linear_skip, 0, None)
    return found


def _sums(delta: Float, gradient: Float) -> None:
    """Sums over the rows of ``delta``: of (units, rows), or of its chunks one after another."""
    gradient[:] = 0
    for part in delta if delta.ndim == 3 else [delta]:
        groups.add_row_sums(part, gradient)


# ---- sparse layers: blocks of inputs, which own their links


def _level_blocks(passes: TrainingPasses, k: int, of_sparse_rows: bool) -> Iterator[Block]:
    blocks = passes.blocks[k - 1]
    size = BLOCK_PARAMETERS if of_sparse_rows else BLOCK_LINKS
    work = np.diff(blocks.latents.in_start).astype(np.int64) * blocks.k_in * blocks.k_out + 1
    for first, last in chunks_of_equal_work(work, size):
        start, stop = blocks.first_weight(first), blocks.first_weight(last)
        fill = _LinkGradient(passes, k, first, last)
        yield Block(f"layers.{k - 1}.weight", start, stop, fill)
    yield Block(f"layers.{k - 1}.bias", 0, blocks.n_units, partial(_bias_gradient, k))


def _bias_gradient(k: int, state: BatchState, gradient: Float) -> None:
    if k == 1 and isinstance(state.data, SparseRows):
        np.sum(state.level_rows, axis=0, out=gradient)
    else:
        _sums(state.delta[k], gradient)


@dataclass(frozen=True)
class _LinkGradient:
    """Gradient of the weights of input latents ``first..last`` of level k."""

    passes: TrainingPasses
    k: int
    first: int
    last: int

    @cached_property
    def gathered(self) -> GatheredLinks:
        return self.passes.blocks[self.k - 1].gathered(self.first, self.last)

    def __call__(self, state: BatchState, gradient: Float) -> None:
        links, (_, faces) = self.passes.links[self.k - 1], self.passes.faces[self.k - 1]
        data = state.data
        if self.k == 1 and isinstance(data, SparseRows):
            by_column = data.column_start, data.column_rows, data.column_values
            own = self.first, self.last, *by_column, links.in_start, links.in_unit
            if len(faces) == 1:  # single weights are gathered eight at a time
                sparse.rows_weight_gradient(*own, state.level_rows, gradient)
            else:
                block_kernels.rows_weight_gradient(*own, faces, state.level_rows, gradient)
            return
        wide = min(len(faces), 2)
        block_kernels.units_weight_gradient(
            *self.gathered,
            faces,
            (0,) * (WIDE // wide),
            (0,) * wide,
            state.level[self.k - 1],
            state.delta[self.k],
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
        return
    delta = state.output_rows if place is None else state.features_delta[place].T  # (rows, S)
    if isinstance(data, np.ndarray) and level == 0:
        np.matmul(data.T[first:last], delta[: len(data)], out=own)
    else:
        np.matmul(state.read_level[level][first:last], delta, out=own)
