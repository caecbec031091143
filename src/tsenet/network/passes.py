"""Forward and backward pass of a training step, in kernels, on a CPU.

The batch is cut into chunks of 64 rows, whatever the number of threads; a chunk's passes touch only its own buffers.
Activations are kept by unit, (units, rows). The gradients equal autograd's (tests/training/test_fused.py). Validation
and prediction have their own forward pass, without dropout: `tsenet.network.forward`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tsenet.network.batches import Batch, SparseBatch
from tsenet.network.kernels import block_kernels
from tsenet.network.kernels import group_kernels as groups
from tsenet.network.kernels import sparse_kernels as sparse
from tsenet.network.kernels.activation_kernels import (
    KIND_OF_ACTIVATION,
    activate,
    activation_gradient,
)
from tsenet.network.kernels.lane_kernels import rows_at_a_time
from tsenet.network.links import BlockLinks
from tsenet.network.sparse_linear import DENSE_ABOVE
from tsenet.network.tsenet import TSENet

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


@dataclass
class Chunk:
    """Buffers of up to 64 rows: ``level[k]`` (units, b) activations, ``delta[k]`` their gradients, k = 0 the input.

    ``by_row`` holds the products of sparse input rows with the weights of level 1, of the input's skip group and of its
    linear skip, each (b, units).
    """

    first: int
    level: list[Float]
    delta: list[Float]
    features: Float
    features_delta: Float
    output: Float
    by_row: list[Float]


@dataclass(frozen=True)
class PackedBlocks:
    """A layer's blocks one after another, unit by unit, as the forward pass reads them."""

    weight: Float
    start: NDArray[np.int64]
    step: NDArray[np.int64]

    @classmethod
    def of(cls, blocks: BlockLinks, dtype: Any) -> PackedBlocks:
        """Memory for a layer's blocks."""
        n_links, size = blocks.latents.n_links, blocks.k_in * blocks.k_out
        return cls(
            np.empty(blocks.n_weights, dtype),
            np.arange(n_links) * size,
            np.full(n_links, blocks.k_out),
        )

    def copy_from(self, blocks: BlockLinks, faces: Any, weight: Float) -> None:
        """Copy the layer's weights."""
        k_in, k_out = faces
        links = blocks.unit_weight, blocks.unit_step
        block_kernels.pack_blocks(0, self.start.size, *links, k_in, k_out, weight, self.weight)


@cache
def _libraries() -> ThreadpoolController:
    """Handle on the thread pools of BLAS and OpenMP; found once, since the search takes milliseconds."""
    return ThreadpoolController()


class TrainingPasses:
    """Forward and backward pass over chunks of rows, with dropout.

    Parameters
    ----------
    net : TSENet
        Without batch normalisation. Its parameters are read as arrays that share the module's memory.
    """

    def __init__(self, net: TSENet) -> None:
        if net.has_norm:
            raise ValueError(
                "a network with batch normalisation has no passes in kernels: train it by autograd"
            )
        self.net = net
        self.blocks = [layer.blocks for layer in net.layers]
        self.links = [blocks.latents for blocks in self.blocks]
        self.faces = [((0,) * b.k_in, (0,) * b.k_out) for b in self.blocks]
        self.weight: list[Float] = [layer.weight.detach().numpy() for layer in net.layers]
        self.bias: list[Float] = [layer.bias.detach().numpy() for layer in net.layers]
        self.skips = [(g.weight.detach().numpy(), g.bias.detach().numpy()) for g in net.skips]
        self.top = (net.top.weight.detach().numpy(), net.top.bias.detach().numpy())
        skip = net.linear_skip
        self.linear_skip: Float | None = None if skip is None else skip.detach().numpy()
        self.output = (net.output.weight.detach().numpy(), net.output.bias.detach().numpy())
        self.dtype = self.top[0].dtype
        self.kind = KIND_OF_ACTIVATION[net.activation]
        self.sizes = net.layer_sizes
        self._packed: list[PackedBlocks | None] = [
            None if blocks.is_plain else PackedBlocks.of(blocks, self.dtype)
            for blocks in self.blocks
        ]
        self._chunk = lru_cache(maxsize=64)(self._new_chunk)

    def one_blas_thread(self) -> AbstractContextManager[Any]:
        """Limit BLAS to one thread: the engine's own threads use the cores, and sums do not depend on their number."""
        limiter: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
        return limiter

    # ---- layout

    @property
    def n_levels(self) -> int:
        """Number of sparse layers L."""
        return len(self.links)

    @cached_property
    def group_rows(self) -> list[tuple[int, slice]]:
        """For each feature group (level it reads, its place in the feature layer); the top group is last."""
        skip = self.skips[0][1].size if self.skips else 0
        rows = [(k, slice(k * skip, (k + 1) * skip)) for k in range(len(self.skips))]
        start = len(self.skips) * skip
        return [*rows, (self.n_levels, slice(start, start + self.top[1].size))]

    def group(self, level: int) -> tuple[Float, Float]:
        """Weight (D, S) and bias of the feature group that reads a level."""
        return self.top if level == self.n_levels else self.skips[level]

    def _new_chunk(self, number: int, n_rows: int, with_input: bool) -> Chunk:
        shapes = [(size, n_rows) for size in self.sizes]
        if not with_input:
            shapes[0] = (0, n_rows)
        n_features = self.output[0].shape[0]
        skip = self.skips[0][1].size if self.skips else 0
        by_row = [self.sizes[1], skip, 0 if self.linear_skip is None else self.output[1].size]
        return Chunk(
            number * CHUNK_ROWS,
            [np.empty(shape, self.dtype) for shape in shapes],
            [np.empty(shape if k else (0, 0), self.dtype) for k, shape in enumerate(shapes)],
            np.empty((n_features, n_rows), self.dtype),
            np.empty((n_features, n_rows), self.dtype),
            np.empty((self.output[1].size, n_rows), self.dtype),
            [np.empty((n_rows, 0 if with_input else size), self.dtype) for size in by_row],
        )

    def chunks(self, n_rows: int, sparse_input: bool) -> list[Chunk]:
        """Buffers for a batch; the next batch of this size gets the same ones."""
        return [
            self._chunk(number, min(CHUNK_ROWS, n_rows - start), not sparse_input)
            for number, start in enumerate(range(0, n_rows, CHUNK_ROWS))
        ]

    def read(self, batch: Batch) -> SparseRows | Float:
        """The batch as arrays of the network's type: a sparse one also by column, a dense one by input, (D, B)."""
        self._check(batch)
        if not isinstance(batch, SparseBatch):
            return np.array(batch.numpy().T, self.dtype, order="C", copy=True)
        values = batch.values.numpy().astype(self.dtype, copy=False)
        row_start, columns = batch.row_start.numpy(), batch.columns.numpy().astype(np.uint32)
        column_start = np.zeros(batch.n_columns + 1, np.uint32)
        column_rows = np.empty(columns.size, np.uint32)
        column_values = np.empty(columns.size, self.dtype)
        groups.transpose_batch(row_start, columns, values, column_start, column_rows, column_values)
        return SparseRows(row_start, columns, values, column_start, column_rows, column_values)

    def _check(self, batch: Batch) -> None:
        """Refuse rows of another width, which a kernel would read past their end."""
        width = batch.n_columns if isinstance(batch, SparseBatch) else batch.shape[1]
        if width != self.sizes[0]:
            raise ValueError(f"rows of {width} columns for a network of {self.sizes[0]} inputs")

    # ---- forward

    def pack(self, sparse_input: bool) -> None:
        """Make the blocks ready for the forward pass: call it after each change of the weights."""
        for k, packed in enumerate(self._packed):
            if packed is not None and (k > 0 or not sparse_input):
                packed.copy_from(self.blocks[k], self.faces[k], self.weight[k])

    def forward(self, data: SparseRows | Float, chunk: Chunk) -> None:
        """Fill a chunk's activations and output."""
        n_rows = chunk.output.shape[1]
        if not isinstance(data, SparseRows):
            chunk.level[0][:] = data[:, chunk.first : chunk.first + n_rows]
        *dropouts, last = self.net.dropouts
        for k in range(1, self.n_levels + 1):
            self._level(k, data, chunk)
            dropout = dropouts[k - 1]
            row = dropout.first_row + chunk.first
            activate(self.kind, dropout.key, row, dropout.threshold, chunk.level[k])
        for level, place in self.group_rows:
            self._feature_group(level, data, chunk, chunk.features[place])
        row = last.first_row + chunk.first
        activate(self.kind, last.key, row, last.threshold, chunk.features)
        weight, bias = self.output
        np.dot(weight.T, chunk.features, out=chunk.output)
        chunk.output += bias[:, None]
        if self.linear_skip is None:
            return
        if isinstance(data, SparseRows):
            chunk.output += self._input_group(data, chunk, self.linear_skip, chunk.by_row[2]).T
        else:
            chunk.output += self.linear_skip.T @ chunk.level[0]

    def _input_group(self, data: SparseRows, chunk: Chunk, weight: Float, rows: Float) -> Float:
        """A chunk's sparse rows times a dense weight (D, S), into ``rows`` (b, S)."""
        rows[:] = 0
        row_start = data.row_start[chunk.first : chunk.first + len(rows) + 1]
        groups.group_forward(0, len(rows), row_start, data.columns, data.values, weight, rows)
        return rows

    def _level(self, k: int, data: SparseRows | Float, chunk: Chunk) -> None:
        """Fill the sums that go into the non-linearity of level k."""
        links, weight, bias, out = (
            self.links[k - 1],
            self.weight[k - 1],
            self.bias[k - 1],
            chunk.level[k],
        )
        packed = self._packed[k - 1]
        if k == 1 and isinstance(data, SparseRows):
            n_rows = out.shape[1]
            row_start = data.row_start[chunk.first : chunk.first + n_rows + 1]
            rows = chunk.by_row[0]
            rows[:] = 0
            batch = (0, n_rows, row_start, data.columns, data.values)
            if packed is None:
                sparse.rows_forward(*batch, links.in_start, links.in_unit, weight, rows)
            else:
                _, faces = self.faces[0]
                block_kernels.rows_forward(
                    *batch, links.in_start, links.in_unit, weight, faces, rows
                )
            groups.transpose_add_bias(rows, bias, out)
        elif packed is not None:
            groups.fill_rows(bias, out)
            block_kernels.units_forward(
                links.unit_start,
                links.unit_input,
                packed.start,
                packed.step,
                packed.weight,
                *self.faces[k - 1],
                rows_at_a_time(self.blocks[k - 1].k_out),
                chunk.level[k - 1],
                out,
            )
        elif links.density < DENSE_ABOVE:
            groups.fill_rows(bias, out)
            sparse.units_forward(
                0,
                links.n_units,
                links.unit_start,
                links.unit_input,
                links.unit_link,
                weight,
                chunk.level[k - 1],
                out,
            )
        else:
            np.dot(self.dense(k).T, chunk.level[k - 1], out=out)
            out += bias[:, None]

    def dense(self, k: int) -> Float:
        """Weight of level k, of one unit per latent, as a dense (D, U) array."""
        links = self.links[k - 1]
        full = np.zeros((links.n_inputs, links.n_units), self.dtype)
        full[links.input_of_link(), links.in_unit] = self.weight[k - 1]
        return full

    def _feature_group(
        self, level: int, data: SparseRows | Float, chunk: Chunk, out: Float
    ) -> None:
        """Fill the sums that go into the non-linearity of the group that reads a level."""
        weight, bias = self.group(level)
        if level == 0 and isinstance(data, SparseRows):
            groups.transpose_add_bias(
                self._input_group(data, chunk, weight, chunk.by_row[1]), bias, out
            )
        else:
            np.matmul(weight.T, chunk.level[level], out=out)
            out += bias[:, None]

    # ---- backward

    def backward(self, chunk: Chunk, output_delta: Float) -> None:
        """Fill the gradients by the sums that go into each non-linearity, from those by the outputs (C, b)."""
        *dropouts, last = self.net.dropouts
        np.dot(self.output[0], output_delta, out=chunk.features_delta)
        row = last.first_row + chunk.first
        activation_gradient(
            self.kind, last.key, row, last.threshold, chunk.features, chunk.features_delta
        )
        for level, place in reversed(self.group_rows):
            if level > 0:
                np.dot(self.group(level)[0], chunk.features_delta[place], out=chunk.delta[level])
        if not self.skips:
            for delta in chunk.delta[1:-1]:
                delta[:] = 0
        for k in range(self.n_levels, 0, -1):
            activation_gradient(
                self.kind,
                dropouts[k - 1].key,
                row,
                dropouts[k - 1].threshold,
                chunk.level[k],
                chunk.delta[k],
            )
            if k > 1:
                self._to_below(k, chunk)

    def _to_below(self, k: int, chunk: Chunk) -> None:
        """Add to the gradient by level k − 1 what reaches it through level k."""
        links, blocks = self.links[k - 1], self.blocks[k - 1]
        if not blocks.is_plain:
            block_kernels.units_input_gradient(
                links.in_start,
                links.in_unit,
                blocks.in_weight,
                blocks.in_step,
                self.weight[k - 1],
                *self.faces[k - 1],
                rows_at_a_time(blocks.k_in),
                chunk.delta[k],
                chunk.delta[k - 1],
            )
        elif links.density < DENSE_ABOVE:
            sparse.units_input_gradient(
                0,
                links.n_inputs,
                links.in_start,
                links.in_unit,
                self.weight[k - 1],
                chunk.delta[k],
                chunk.delta[k - 1],
            )
        else:
            chunk.delta[k - 1] += self.dense(k) @ chunk.delta[k]
