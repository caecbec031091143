"""The forward pass without dropout: outputs and hidden activations, for validation, prediction and explanation.

There is one such pass. A row's answer has the same bits alone and among other rows, and on any number of threads.
Networks with batch normalisation are run by torch instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks
from tsenet.network.batches import Inputs
from tsenet.network.kernels import forward_kernels as kernels
from tsenet.network.kernels.activation_kernels import KIND_OF_ACTIVATION
from tsenet.network.sparse_linear import SparseLinear
from tsenet.network.tsenet import TSENet

__all__ = ["ForwardPass", "hidden_activations", "levels_of", "network_outputs"]

Float = NDArray[Any]  # float32 or float64, as the network's parameters

_CHUNK_ROWS = 64  # one task of a thread
_BLOCK_ROWS = 16 * _CHUNK_ROWS  # activations held in memory at a time


class Activations(NamedTuple):
    """What B rows make of a network: ``levels`` (B, units) each, ``features`` (B, F), ``outputs`` (B, C) float64."""

    levels: list[Float]
    features: Float
    outputs: NDArray[np.float64]


class ForwardPass:
    """The forward pass of a network on the CPU; it reads the module's own memory, so it follows training.

    Parameters
    ----------
    net : TSENet
        Without batch normalisation.
    """

    def __init__(self, net: TSENet) -> None:
        if net.has_norm:
            raise ValueError("a network with batch normalisation has no forward pass in kernels")
        self.kind = KIND_OF_ACTIVATION[net.activation]
        self.sizes = net.layer_sizes
        self.output_weight, self.output_bias = _arrays(net.output)
        self.dtype = self.output_weight.dtype
        self.levels: list[Any] = [_level_arrays(layer) for layer in net.layers]
        self.readers = self._readers(net)

    def _readers(self, net: TSENet) -> list[kernels.ReaderArrays]:
        """What reads the input and each level: a skip group or, last, the top group; the input has a linear skip."""
        skips = [_arrays(group) for group in net.skips]
        none = np.empty((0, 0), self.dtype), np.empty(0, self.dtype)
        groups = [*(skips or [none for _ in self.levels]), _arrays(net.top)]
        linear_skips = [self.output_weight[:0] for _ in groups]
        if net.linear_skip is not None:
            linear_skips[0] = net.linear_skip.detach().numpy()
        first_features = np.cumsum([0, *(bias.size for _, bias in groups)]).tolist()
        return [
            kernels.ReaderArrays(*group, linear_skip, first)
            for group, linear_skip, first in zip(groups, linear_skips, first_features, strict=False)
        ]

    def outputs(
        self, inputs: Inputs, rows: NDArray[np.int64] | None = None, workers: Workers | None = None
    ) -> NDArray[np.float64]:
        """Raw outputs (n, C) of some rows of a table, or of all."""
        n_rows = len(inputs) if rows is None else rows.size
        answer = np.empty((n_rows, self.output_bias.size))
        for part, activations in self.run(inputs, rows, workers):
            answer[part] = activations.outputs
        return answer

    def run(
        self, inputs: Inputs, rows: NDArray[np.int64] | None, workers: Workers | None
    ) -> Iterator[tuple[slice, Activations]]:
        """Chunk by chunk, which of the chosen rows it holds and their activations."""
        if inputs.n_columns != self.sizes[0]:
            raise ValueError(
                f"rows of {inputs.n_columns} columns for a network of {self.sizes[0]} inputs"
            )
        n_rows = len(inputs) if rows is None else rows.size
        run_all = map if workers is None else workers.map
        for start, stop in chunks(n_rows, _BLOCK_ROWS):
            values = inputs.values
            if rows is not None:
                values = values[rows[start:stop]]
            elif stop - start < n_rows:
                values = values[start:stop]
            run_chunk = self._sparse_runner(values) if inputs.is_sparse else self._runner(values)
            parts = chunks(stop - start, _CHUNK_ROWS)
            for (first, last), found in zip(parts, run_all(run_chunk, parts), strict=True):
                yield slice(start + first, start + last), found

    def _sparse_runner(self, values: Any) -> Callable[[tuple[int, int]], Activations]:
        """A function that runs rows ``first..last`` of a CSR matrix."""
        row_start = values.indptr.astype(np.int64)
        columns = values.indices.astype(np.uint32)
        numbers = np.array(values.data, self.dtype)

        def run(part: tuple[int, int]) -> Activations:
            first, last = part
            batch = row_start[first : last + 1], columns, numbers
            made = self._start(last - first)
            features, outputs, level = made
            if isinstance(self.levels[0], kernels.LevelArrays):
                kernels.run_sparse_rows(self.kind, *batch, self.readers[0], self.levels[0], *made)
            else:
                kernels.read_sparse_rows(*batch, self.readers[0], features, outputs)
                kernels.block_level_of_sparse_rows(self.kind, *batch, self.levels[0], level)
            return self._go_on(*made)

        return run

    def _runner(self, values: Float) -> Callable[[tuple[int, int]], Activations]:
        """A function that runs rows ``first..last`` of an array."""

        def run(part: tuple[int, int]) -> Activations:
            first, last = part
            rows = np.array(values[first:last], self.dtype, order="C")
            made = self._start(last - first)
            self._run_level(rows, self.readers[0], self.levels[0], *made)
            return self._go_on(*made)

        return run

    def _start(self, n_rows: int) -> tuple[Float, NDArray[np.float64], Float]:
        """Features to fill, outputs that begin with the biases, and level 1 to fill."""
        outputs = np.empty((n_rows, self.output_bias.size))
        outputs[:] = self.output_bias
        features = np.empty((n_rows, self.output_weight.shape[0]), self.dtype)
        return features, outputs, np.empty((n_rows, self.sizes[1]), self.dtype)

    def _run_level(
        self,
        below: Float,
        readers: kernels.ReaderArrays,
        layer: Any,
        features: Float,
        outputs: NDArray[np.float64],
        level: Float,
    ) -> None:
        """Fill the activations of a level over those of the one below, and add what else reads the latter."""
        if isinstance(layer, kernels.LevelArrays):
            kernels.run_level(self.kind, below, readers, layer, features, outputs, level)
        else:
            kernels.read_level(below, readers, features, outputs)
            kernels.block_level_of_level(self.kind, below, layer, level)

    def _go_on(self, features: Float, outputs: NDArray[np.float64], level: Float) -> Activations:
        """Run the levels above the first, the feature layer and the outputs."""
        levels = [level]
        for readers, layer in zip(self.readers[1:-1], self.levels[1:], strict=True):
            below, level = level, np.empty((len(features), layer.bias.size), self.dtype)
            self._run_level(below, readers, layer, features, outputs, level)
            levels.append(level)
        top = self.readers[-1]
        kernels.run_top(self.kind, level, top, self.output_weight, features, outputs)
        return Activations(levels, features, outputs)


def network_outputs(net: TSENet, inputs: Inputs, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Raw outputs (N, C) of a network on the CPU, without dropout; summed in float64.

    Parameters
    ----------
    net : TSENet
        In evaluation mode.
    inputs : Inputs
        N rows.
    n_jobs : int or None, default=None
        Threads; None takes every core. The answers do not depend on it.

    Returns
    -------
    ndarray of float64, (N, C)
    """
    answer = np.empty((len(inputs), net.output.bias.numel()))
    for rows, activations in _run(net, inputs, None, n_jobs):
        answer[rows] = activations.outputs
    return answer


def hidden_activations(
    net: TSENet, inputs: Inputs, n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Activations of all hidden units, level by level, then the feature layer: (N, units); as `network_outputs`."""
    n_units = sum(net.layer_sizes[1:]) + net.output.weight.shape[0]
    answer = np.empty((len(inputs), n_units), np.float32)
    for rows, activations in _run(net, inputs, None, n_jobs):
        np.concatenate([*activations.levels, activations.features], axis=1, out=answer[rows])
    return answer


def levels_of(
    net: TSENet, inputs: Inputs, rows: NDArray[np.int64], n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Activations (n, units) of all latents on some rows, level by level; as `network_outputs`."""
    answer = np.empty((rows.size, sum(net.layer_sizes[1:])), np.float32)
    for part, activations in _run(net, inputs, rows, n_jobs):
        np.concatenate(activations.levels, axis=1, out=answer[part])
    return answer


def _run(
    net: TSENet, inputs: Inputs, rows: NDArray[np.int64] | None, n_jobs: int | None
) -> Iterator[tuple[slice, Activations]]:
    """Part by part, which rows it holds and their activations."""
    n_rows = len(inputs) if rows is None else rows.size
    if net.has_norm:
        yield from _run_by_torch(net, inputs, np.arange(n_rows) if rows is None else rows)
        return
    with Workers(n_jobs if n_rows > _CHUNK_ROWS else 1) as workers:
        yield from ForwardPass(net).run(inputs, rows, workers)


def _run_by_torch(
    net: TSENet, inputs: Inputs, rows: NDArray[np.int64]
) -> Iterator[tuple[slice, Activations]]:
    for start, stop in chunks(rows.size, _BLOCK_ROWS):
        batch = inputs.batch(rows[start:stop])
        with torch.no_grad():
            levels, features, outputs = net.activations(batch)
        found = Activations(
            [level.numpy() for level in levels],
            features.numpy(),
            outputs.numpy().astype(np.float64),
        )
        yield slice(start, stop), found


def _level_arrays(layer: SparseLinear) -> kernels.LevelArrays | kernels.BlockLevelArrays:
    """A sparse layer as its kernels read it."""
    blocks = layer.blocks
    links = blocks.latents
    if blocks.is_plain:
        return kernels.LevelArrays(
            links.in_start,
            links.in_unit,
            links.unit_start,
            links.unit_input,
            links.unit_link,
            *_arrays(layer),
        )
    return kernels.BlockLevelArrays(
        links.in_start, links.in_unit, *_arrays(layer), (0,) * blocks.k_in, (0,) * blocks.k_out
    )


def _arrays(module: Any) -> tuple[Float, Float]:
    """Weight and bias of a layer or group: views of the module's memory."""
    return module.weight.detach().numpy(), module.bias.detach().numpy()
