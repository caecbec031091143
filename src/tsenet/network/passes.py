"""Forward and backward pass of a training step, in kernels, on a CPU.

A chunk's passes touch only its own part of the `BatchState`. Activations are kept by unit, (units, rows). The gradients
equal autograd's (tests/training/test_fused.py). Validation and prediction have their own forward pass, without dropout:
`tsenet.network.forward`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache, cached_property
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from tsenet.network.batch_state import BatchState, Chunk, Float, Layout, SparseRows
from tsenet.network.batches import Batch, SparseBatch
from tsenet.network.kernels import block_kernels
from tsenet.network.kernels import group_kernels as groups
from tsenet.network.kernels.activation_kernels import (
    KIND_OF_ACTIVATION,
    activate,
    activation_gradient,
)
from tsenet.network.kernels.lane_kernels import LANES, vectors_of
from tsenet.network.tsenet import TSENet

_LANES = (0,) * LANES


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
        self.dropouts = list(net.dropouts)  # a list is looked up faster than a module's
        self.vectors = [(vectors_of(b.k_in), vectors_of(b.k_out)) for b in self.blocks]
        self._packed = [np.empty(blocks.n_weights, self.dtype) for blocks in self.blocks]
        n_skip = self.skips[0][1].size if self.skips else 0
        read = tuple(k for k, _ in self.group_rows if k > 0)
        n_features, n_outputs = self.output[0].shape
        self.layout = Layout(self.sizes, n_features, n_outputs, n_skip, read)

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

    def read(self, batch: Batch, state: BatchState) -> None:
        """Put a batch into a state, as arrays of the network's type: a sparse one by row and by column."""
        self._check(batch)
        if not isinstance(batch, SparseBatch):
            state.data = np.ascontiguousarray(batch.numpy(), self.dtype)
            return
        values = batch.values.numpy().astype(self.dtype, copy=False)
        row_start, columns = batch.row_start.numpy(), batch.columns.numpy().astype(np.uint32)
        column_start = np.zeros(batch.n_columns + 1, np.uint32)
        column_rows = np.empty(columns.size, np.uint32)
        column_values = np.empty(columns.size, self.dtype)
        groups.transpose_batch(row_start, columns, values, column_start, column_rows, column_values)
        n_filled = len(state.output_rows) - state.n_rows
        row_start = np.append(row_start, np.full(n_filled, row_start[-1]))
        state.data = SparseRows(
            row_start, columns, values, column_start, column_rows, column_values
        )

    def _check(self, batch: Batch) -> None:
        """Refuse rows of another width, which a kernel would read past their end."""
        width = batch.n_columns if isinstance(batch, SparseBatch) else batch.shape[1]
        if width != self.sizes[0]:
            raise ValueError(f"rows of {width} columns for a network of {self.sizes[0]} inputs")

    # ---- forward

    def pack(self, is_sparse: bool) -> None:
        """Make the blocks ready for the forward pass: call it after each change of the weights.

        Each unit then reads its weights one after another; a sparse input reads them as they are.
        """
        for k, blocks in enumerate(self.blocks):
            if k > 0 or not is_sparse:
                links = blocks.unit_weight, blocks.unit_step
                n_links, packed = blocks.latents.n_links, self._packed[k]
                block_kernels.pack_blocks(
                    0, n_links, *links, *self.faces[k], self.weight[k], packed
                )

    def forward(self, data: SparseRows | Float, chunk: Chunk) -> None:
        """Fill a chunk's activations and output."""
        if not isinstance(data, SparseRows):
            rows = data[chunk.first : chunk.first + chunk.output.shape[1]]
            groups.transpose_into(rows, 0, chunk.level[0])
        for k in range(1, self.n_levels + 1):
            if k == 1 and isinstance(data, SparseRows):
                self._lowest_level(data, chunk)
            else:
                self._level(k, chunk)
            dropout = self.dropouts[k - 1]
            activate(self.kind, dropout.key, chunk.first, dropout.threshold, chunk.level[k])
        for level, place in self.group_rows:
            self._feature_group(level, data, chunk, chunk.features[place])
        last = self.dropouts[-1]
        activate(self.kind, last.key, chunk.first, last.threshold, chunk.features)
        weight, bias = self.output
        output = chunk.output
        np.dot(weight.T, chunk.features, out=output)
        output += bias[:, None]
        if self.linear_skip is None:
            return
        if isinstance(data, SparseRows):
            output += self._input_group(data, chunk, self.linear_skip, chunk.output_rows).T
        else:
            output += self.linear_skip.T @ chunk.level[0]

    def _input_group(self, data: SparseRows, chunk: Chunk, weight: Float, rows: Float) -> Float:
        """A chunk's sparse rows times a dense weight (D, S), into ``rows`` (b, S)."""
        rows[:] = 0
        row_start = data.row_start[chunk.first : chunk.first + len(rows) + 1]
        groups.group_forward(0, len(rows), row_start, data.columns, data.values, weight, rows)
        return rows

    def _lowest_level(self, data: SparseRows, chunk: Chunk) -> None:
        """Fill the sums that go into the non-linearity of level 1, over sparse rows."""
        links, (_, faces) = self.links[0], self.faces[0]
        n_rows = len(chunk.level_rows)
        block_kernels.rows_forward(
            0,
            n_rows,
            data.row_start[chunk.first : chunk.first + n_rows + 1],
            data.columns,
            data.values,
            links.in_start,
            links.in_unit,
            self.weight[0],
            faces,
            self.bias[0],
            chunk.level_rows,
        )
        groups.transpose_into(chunk.level_rows, 0, chunk.level[1])

    def _level(self, k: int, chunk: Chunk) -> None:
        """Fill the sums that go into the non-linearity of level k."""
        links = self.links[k - 1]
        block_kernels.units_forward(
            links.unit_start,
            links.unit_input,
            self._packed[k - 1],
            self.bias[k - 1],
            *self.faces[k - 1],
            _LANES,
            self.vectors[k - 1][1],
            chunk.level[k - 1],
            chunk.level[k],
        )

    def _feature_group(
        self, level: int, data: SparseRows | Float, chunk: Chunk, out: Float
    ) -> None:
        """Fill the sums that go into the non-linearity of the group that reads a level."""
        weight, bias = self.group(level)
        if level == 0 and isinstance(data, SparseRows):
            groups.transpose_add_bias(
                self._input_group(data, chunk, weight, chunk.skip_rows), bias, out
            )
        else:
            np.matmul(weight.T, chunk.level[level], out=out)
            out += bias[:, None]

    # ---- backward

    def backward(self, state: BatchState, chunk: Chunk) -> None:
        """Fill the gradients by the sums that go into each non-linearity, from those by the outputs."""
        np.dot(self.output[0], chunk.output_rows.T, out=chunk.features_delta)
        last = self.dropouts[-1]
        activation_gradient(
            self.kind, last.key, chunk.first, last.threshold, chunk.features, chunk.features_delta
        )
        for level, place in reversed(self.group_rows):
            if level > 0:
                np.dot(self.group(level)[0], chunk.features_delta[place], out=chunk.delta[level])
        for k in range(self.n_levels, 0, -1):
            dropout = self.dropouts[k - 1]
            drawn = self.kind, dropout.key, chunk.first, dropout.threshold
            activation_gradient(*drawn, chunk.level[k], chunk.delta[k])
            if k > 1:
                self._to_below(k, chunk)
        if isinstance(state.data, SparseRows):
            groups.transpose_into(chunk.delta[1], 0, chunk.level_rows)
            skip = chunk.features_delta[: chunk.skip_rows.shape[1]]
            groups.transpose_into(skip, 0, chunk.skip_rows)
        state.gather(chunk)

    def _to_below(self, k: int, chunk: Chunk) -> None:
        """What reaches level k − 1 through level k, added to what skip groups ask of it."""
        links = self.links[k - 1]
        block_kernels.units_input_gradient(
            links.in_start,
            links.in_unit,
            self.weight[k - 1],
            *self.faces[k - 1],
            _LANES,
            self.vectors[k - 1][0],
            bool(self.skips),
            chunk.delta[k],
            chunk.delta[k - 1],
        )
