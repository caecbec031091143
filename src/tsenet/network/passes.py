"""Forward and backward pass of a TSENet written out in kernels, for training and inference on a CPU.

The batch is cut into chunks of 64 rows, whatever the number of threads; a chunk's passes touch only its own buffers.
Activations are batch-minor, (units, rows). The gradients equal autograd's (tests/training/test_fused.py).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tsenet._system.threads import Workers
from tsenet.network import _activation_kernels as bend
from tsenet.network import _group_kernels as groups
from tsenet.network import _sparse_kernels as sparse
from tsenet.network._document_kernels import document_outputs
from tsenet.network.batches import Batch, SparseBatch
from tsenet.network.sparse_linear import DENSE_ABOVE
from tsenet.network.tsenet import TSENet

CHUNK_ROWS = 64
DOCUMENT_ROWS = 32  # up to so many rows go through one by one, each as if it were alone: same bits in any company
_KIND = {"relu": bend.RELU, "tanh": bend.TANH, "sigmoid": bend.SIGMOID}

Float = NDArray[Any]  # float32 or float64, as the network's parameters


@dataclass(frozen=True)
class SparseRows:
    """A sparse batch as arrays, by row and (for gradients) by column."""

    row_start: NDArray[np.int64]
    columns: NDArray[np.uint32]
    values: Float
    column_start: NDArray[np.uint32]
    column_rows: NDArray[np.uint32]
    column_values: Float


@dataclass
class Chunk:
    """Buffers of up to 64 rows: ``level[k]`` (units, b) activations, ``delta[k]`` their gradients, k = 0 the input.

    ``by_row`` serves sparse input: what goes from it into level 1, its skip group and the outputs, (b, units).
    """

    first: int
    level: list[Float]
    delta: list[Float]
    features: Float
    features_delta: Float
    output: Float
    by_row: list[Float]


@cache
def _libraries() -> ThreadpoolController:
    """The libraries with threads of their own; found once, since looking takes milliseconds."""
    return ThreadpoolController()


class Passes:
    """The network's parameters as arrays (shared with the module), and its passes over chunks of rows."""

    def __init__(self, net: TSENet) -> None:
        if net.has_norm:
            raise ValueError(
                "a network with batch normalisation has no written-out passes: use autograd"
            )
        self.net = net
        self.links = [layer.links for layer in net.layers]
        self.weight: list[Float] = [layer.weight.detach().numpy() for layer in net.layers]
        self.bias: list[Float] = [layer.bias.detach().numpy() for layer in net.layers]
        self.skips = [(g.weight.detach().numpy(), g.bias.detach().numpy()) for g in net.skips]
        self.top = (net.top.weight.detach().numpy(), net.top.bias.detach().numpy())
        self.linear_skips: list[Float] = [weight.detach().numpy() for weight in net.linear_skips]
        self.output = (net.output.weight.detach().numpy(), net.output.bias.detach().numpy())
        self.dtype = self.top[0].dtype
        self.kind = _KIND[net.activation]
        self.sizes = net.wiring.layer_sizes
        self._chunk = lru_cache(maxsize=64)(self._new_chunk)

    def one_blas_thread(self) -> AbstractContextManager[Any]:
        """Our threads, not those of BLAS, share the cores; and a product's sums do not depend on threads."""
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
        by_row = [self.sizes[1], skip, self.output[1].size if self.linear_skips else 0]
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
        """Buffers for a batch; the same ones are handed out again for the next."""
        return [
            self._chunk(number, min(CHUNK_ROWS, n_rows - start), not sparse_input)
            for number, start in enumerate(range(0, n_rows, CHUNK_ROWS))
        ]

    def read(self, batch: Batch, training: bool) -> SparseRows | Float:
        """The batch as arrays of the network's type, input dropout applied; a dense one batch-minor, (D, B)."""
        self._check(batch)
        dropout = self.net.input_dropout
        drop = training and dropout.threshold > 0
        if not isinstance(batch, SparseBatch):
            below = np.array(batch.numpy().T, self.dtype, order="C", copy=True)
            if drop:
                factors = np.empty(below.shape, self.dtype)
                bend.dropout_factors(dropout.key, 0, dropout.threshold, factors)
                below *= factors
            return below
        values = batch.values.numpy().astype(self.dtype, copy=drop)
        if drop:
            factors = np.empty((1, values.size), self.dtype)
            bend.dropout_factors(dropout.key, 0, dropout.threshold, factors)
            values *= factors[0]
        row_start, columns = batch.row_start.numpy(), batch.columns.numpy().astype(np.uint32)
        column_start = np.zeros(batch.n_columns + 1 if training else 0, np.uint32)
        column_rows = np.empty(columns.size if training else 0, np.uint32)
        column_values = np.empty(columns.size if training else 0, self.dtype)
        if training:
            groups.transpose_batch(
                row_start, columns, values, column_start, column_rows, column_values
            )
        return SparseRows(row_start, columns, values, column_start, column_rows, column_values)

    def _check(self, batch: Batch) -> None:
        """Refuse rows of another width: a kernel would read past their end."""
        width = batch.n_columns if isinstance(batch, SparseBatch) else batch.shape[1]
        if width != self.sizes[0]:
            raise ValueError(f"rows of {width} columns for a network of {self.sizes[0]} inputs")

    # ---- inference

    def outputs(self, batch: Batch, workers: Workers) -> Float:
        """Raw outputs (B, C) without dropout."""
        n_rows = batch.n_rows if isinstance(batch, SparseBatch) else batch.shape[0]
        if n_rows <= DOCUMENT_ROWS:
            return self.documents(batch).astype(self.dtype, copy=False)
        answer = np.empty((n_rows, self.output[1].size), self.dtype)
        data = self.read(batch, training=False)
        parts = self.chunks(n_rows, isinstance(data, SparseRows))
        with self.one_blas_thread():
            for part in workers.map(partial(self._forward_part, data), parts):
                answer[part.first : part.first + part.output.shape[1]] = part.output.T
        return answer

    def _forward_part(self, data: SparseRows | Float, chunk: Chunk) -> Chunk:
        self.forward(data, chunk, False)
        return chunk

    def documents(self, batch: Batch) -> NDArray[np.float64]:
        """Raw outputs (B, C) of a few rows, one after another in a single kernel; the last layer in float64."""
        self._check(batch)
        if isinstance(batch, SparseBatch):
            row_start, columns = batch.row_start.numpy(), batch.columns.numpy().astype(np.uint32)
            values = batch.values.numpy().astype(self.dtype, copy=False)
        else:
            dense = batch.numpy()
            rows, columns = (place.astype(np.uint32) for place in np.nonzero(dense))
            row_start = np.searchsorted(rows, np.arange(dense.shape[0] + 1)).astype(np.int64)
            values = dense[rows, columns].astype(self.dtype, copy=False)
        outputs = np.empty((row_start.size - 1, self.output[1].size))
        arguments = (row_start, columns, values, *self._layers, self.kind, outputs)
        document_outputs(*arguments)
        return outputs

    @cached_property
    def _layers(self) -> tuple[Any, ...]:
        """All parameters, for a kernel."""
        all_groups = [*self.skips, self.top]
        return (
            tuple(links.in_start for links in self.links),
            tuple(links.in_unit for links in self.links),
            tuple(self.weight),
            tuple(self.bias),
            tuple(weight for weight, _ in all_groups),
            tuple(bias for _, bias in all_groups),
            *self.output,
            tuple(self.linear_skips or [self.output[0][:0]] * (self.n_levels + 1)),
        )

    # ---- forward

    def forward(self, data: SparseRows | Float, chunk: Chunk, training: bool) -> None:
        """Fill a chunk's activations and output."""
        n_rows = chunk.output.shape[1]
        if not isinstance(data, SparseRows):
            chunk.level[0][:] = data[:, chunk.first : chunk.first + n_rows]
        *dropouts, last = self.net.dropouts
        for k in range(1, self.n_levels + 1):
            self._level(k, data, chunk)
            threshold = dropouts[k - 1].threshold if training else 0
            bend.activate(self.kind, dropouts[k - 1].key, chunk.first, threshold, chunk.level[k])
        for level, place in self.group_rows:
            self._feature_group(level, data, chunk, chunk.features[place])
        threshold = last.threshold if training else 0
        bend.activate(self.kind, last.key, chunk.first, threshold, chunk.features)
        weight, bias = self.output
        np.dot(weight.T, chunk.features, out=chunk.output)
        chunk.output += bias[:, None]
        for level, weight in enumerate(self.linear_skips):
            if level == 0 and isinstance(data, SparseRows):
                chunk.output += self._input_group(data, chunk, weight, chunk.by_row[2]).T
            else:
                chunk.output += weight.T @ chunk.level[level]

    def _input_group(self, data: SparseRows, chunk: Chunk, weight: Float, rows: Float) -> Float:
        """A chunk's sparse rows times a dense weight (D, S), into ``rows`` (b, S)."""
        rows[:] = 0
        row_start = data.row_start[chunk.first : chunk.first + len(rows) + 1]
        groups.group_forward(0, len(rows), row_start, data.columns, data.values, weight, rows)
        return rows

    def _level(self, k: int, data: SparseRows | Float, chunk: Chunk) -> None:
        """What goes into the non-linearity of level k."""
        links, weight, bias, out = (
            self.links[k - 1],
            self.weight[k - 1],
            self.bias[k - 1],
            chunk.level[k],
        )
        if k == 1 and isinstance(data, SparseRows):
            n_rows = out.shape[1]
            row_start = data.row_start[chunk.first : chunk.first + n_rows + 1]
            rows = chunk.by_row[0]
            rows[:] = 0
            sparse.rows_forward(
                0,
                n_rows,
                row_start,
                data.columns,
                data.values,
                links.in_start,
                links.in_unit,
                weight,
                rows,
            )
            groups.turn(rows, bias, out)
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
        """Weight of level k as a dense (D, U) array."""
        links = self.links[k - 1]
        full = np.zeros((links.n_inputs, links.n_units), self.dtype)
        full[links.input_of_link(), links.in_unit] = self.weight[k - 1]
        return full

    def _feature_group(
        self, level: int, data: SparseRows | Float, chunk: Chunk, out: Float
    ) -> None:
        """What goes into the non-linearity of the group that reads a level."""
        weight, bias = self.group(level)
        if level == 0 and isinstance(data, SparseRows):
            groups.turn(self._input_group(data, chunk, weight, chunk.by_row[1]), bias, out)
        else:
            np.matmul(weight.T, chunk.level[level], out=out)
            out += bias[:, None]

    # ---- backward

    def backward(self, chunk: Chunk, output_delta: Float) -> None:
        """Fill the gradients of what goes into each non-linearity, from that of the outputs (C, b)."""
        *dropouts, last = self.net.dropouts
        np.dot(self.output[0], output_delta, out=chunk.features_delta)
        bend.activation_gradient(
            self.kind, last.key, chunk.first, last.threshold, chunk.features, chunk.features_delta
        )
        for level, place in reversed(self.group_rows):
            if level > 0:
                np.dot(self.group(level)[0], chunk.features_delta[place], out=chunk.delta[level])
        if not self.skips:
            for delta in chunk.delta[1:-1]:
                delta[:] = 0
        for level, weight in enumerate(self.linear_skips):
            if level > 0:
                chunk.delta[level] += weight @ output_delta
        for k in range(self.n_levels, 0, -1):
            bend.activation_gradient(
                self.kind,
                dropouts[k - 1].key,
                chunk.first,
                dropouts[k - 1].threshold,
                chunk.level[k],
                chunk.delta[k],
            )
            if k > 1:
                self._to_below(k, chunk)

    def _to_below(self, k: int, chunk: Chunk) -> None:
        """Add what level k asks of level k − 1."""
        links = self.links[k - 1]
        if links.density < DENSE_ABOVE:
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
