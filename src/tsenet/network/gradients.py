"""Gradients of the parameters from what both passes left, by blocks that each belong to one task.

How parameters are cut into blocks does not depend on the number of threads, and a block's sums are taken over all rows
in a fixed order, so the gradient has the same bytes on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from tsenet._system.threads import chunks, chunks_of_equal_work
from tsenet.network import _group_kernels as groups
from tsenet.network import _sparse_kernels as sparse
from tsenet.network.passes import Chunk, Float, Passes, SparseRows
from tsenet.network.sparse_linear import DENSE_ABOVE

BLOCK_PARAMETERS = 100_000  # of what reads a sparse batch: few sums for each
BLOCK_LINKS = 8_192  # of links that read all rows
BLOCK_WEIGHTS = 50_000  # of a matrix product


@dataclass
class Passed:
    """A whole batch after both passes: activations ``level[k]`` (units, B), k = 0 the input; gradients ``delta[k]``.

    If the input is sparse, the gradients of what it leads to are kept by row instead: ``level_rows`` (B, units of level
    1), ``skip_rows`` (B, S). Those of the outputs are by row in any case: ``output_rows`` (B, C).
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
    def of(cls, passes: Passes, n_rows: int) -> Passed:
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
        """Copy what a chunk's passes left."""
        rows = slice(part.first, part.first + part.output.shape[1])
        is_sparse = isinstance(self.data, SparseRows)
        for k in range(1, len(self.level)):
            self.level[k][:, rows] = part.level[k]
            if k > 1 or not is_sparse:
                self.delta[k][:, rows] = part.delta[k]
        self.features[:, rows] = part.features
        self.features_delta[:, rows] = part.features_delta
        if is_sparse:
            groups.turn_back(part.delta[1], part.first, self.level_rows)
            skip = part.features_delta[: self.skip_rows.shape[1]]
            groups.turn_back(skip, part.first, self.skip_rows)


@dataclass(frozen=True)
class Block:
    """Places ``start:stop`` of a parameter's flat array; ``fill`` writes their gradient into a flat array."""

    name: str
    start: int
    stop: int
    fill: Callable[[Passed, Float], None]


def blocks_of(passes: Passes) -> list[Block]:
    """All parameters of a network in blocks."""
    weight, bias = passes.output

    def output_bias(passed: Passed, gradient: Float) -> None:
        np.sum(passed.output_rows, axis=0, out=gradient)

    def output_weight(passed: Passed, gradient: Float) -> None:
        np.matmul(passed.features, passed.output_rows, out=gradient.reshape(weight.shape))

    found = [
        Block("output.weight", 0, weight.size, output_weight),
        Block("output.bias", 0, bias.size, output_bias),
    ]
    for k in range(1, passes.n_levels + 1):
        found += _level_blocks(passes, k)
    for level, place in passes.group_rows:
        found += _group_blocks(passes, level, place)
    for level, weights in enumerate(passes.linear_skips):
        found += _weight_blocks(f"linear_skips.{level}", weights, level, None)
    return found


def _sums(delta: Float, gradient: Float) -> None:
    gradient[:] = 0
    groups.add_row_sums(delta, gradient)


# ---- sparse layers: blocks of inputs, which own their links


def _level_blocks(passes: Passes, k: int) -> Iterator[Block]:
    links = passes.links[k - 1]
    work = np.diff(links.in_start).astype(np.int64) + 1
    for first, last in chunks_of_equal_work(work, BLOCK_PARAMETERS if k == 1 else BLOCK_LINKS):
        start, stop = int(links.in_start[first]), int(links.in_start[last])
        fill = partial(_links_gradient, passes, k, first, last)
        yield Block(f"layers.{k - 1}.weight", start, stop, fill)
    yield Block(
        f"layers.{k - 1}.bias",
        0,
        links.n_units,
        partial(_bias_gradient, k),
    )


def _bias_gradient(k: int, passed: Passed, gradient: Float) -> None:
    if k == 1 and isinstance(passed.data, SparseRows):
        np.sum(passed.level_rows, axis=0, out=gradient)
    else:
        _sums(passed.delta[k], gradient)


def _links_gradient(
    passes: Passes, k: int, first: int, last: int, passed: Passed, gradient: Float
) -> None:
    """Gradient of the links of inputs ``first..last`` of level k."""
    links, data = passes.links[k - 1], passed.data
    if k == 1 and isinstance(data, SparseRows):
        by_column = (data.column_start, data.column_rows, data.column_values)
        sparse.rows_weight_gradient(
            first, last, *by_column, links.in_start, links.in_unit, passed.level_rows, gradient
        )
        return
    below, delta = passed.level[k - 1], passed.delta[k]
    if links.density < DENSE_ABOVE:
        sparse.units_weight_gradient(
            first, last, links.in_start, links.in_unit, below, delta, gradient
        )
    else:
        own = slice(int(links.in_start[first]), int(links.in_start[last]))
        full = below[first:last] @ delta.T
        gradient[:] = full[links.input_of_link()[own] - first, links.in_unit[own]]


# ---- dense groups and linear skips: blocks of inputs


def _group_blocks(passes: Passes, level: int, place: slice) -> Iterator[Block]:
    name = f"skips.{level}" if level < len(passes.skips) else "top"
    weight, bias = passes.group(level)
    yield from _weight_blocks(f"{name}.weight", weight, level, place)
    yield Block(
        f"{name}.bias",
        0,
        bias.size,
        lambda passed, gradient: _sums(passed.features_delta[place], gradient),
    )


def _weight_blocks(name: str, weight: Float, level: int, place: slice | None) -> Iterator[Block]:
    """Weights (D, S) from a level to a place in the feature layer, or to the outputs."""
    n_inputs, n_units = weight.shape
    size = BLOCK_PARAMETERS if level == 0 else BLOCK_WEIGHTS
    for first, last in chunks(n_inputs, max(1, size // n_units)):
        fill = partial(_weight_gradient, level, place, first, last)
        yield Block(name, first * n_units, last * n_units, fill)


def _weight_gradient(
    level: int, place: slice | None, first: int, last: int, passed: Passed, gradient: Float
) -> None:
    """Gradient of the weights of inputs ``first..last``."""
    data, own = passed.data, gradient.reshape(last - first, -1)
    if level == 0 and isinstance(data, SparseRows):
        by_column = (data.column_start, data.column_rows, data.column_values)
        rows = passed.output_rows if place is None else passed.skip_rows
        groups.group_weight_gradient(first, last, *by_column, rows, own)
    else:
        asked = passed.output_rows if place is None else passed.features_delta[place].T  # (B, S)
        np.matmul(passed.level[level][first:last], asked, out=own)
