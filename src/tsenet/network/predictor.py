"""`Predictor`: outputs and activations of a network without torch, wherever predictions are made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet._system.threads import Workers, blas_threads, chunks
from tsenet.network.inputs import Inputs
from tsenet.network.topology import Activation, Block, Topology

Floats = NDArray[Any]  # float32 or float64, as the network's parameters
_CHUNK_ROWS = 256  # one task of a thread
_FEW_ROWS = 64  # with at most this many, SciPy is as fast as the kernels, and nothing is compiled


class Predictor:
    """A network as arrays, ready to predict.

    Parameters
    ----------
    topology : Topology
    arrays : dict of str to ndarray
        The parameters by the names that a `TSENet` gives them. They are not copied.
    """

    def __init__(self, topology: Topology, arrays: dict[str, Floats]) -> None:
        self.topology = topology
        self.arrays = arrays
        self.activation: Activation = topology.options.activation

    def outputs(
        self, inputs: Inputs, rows: NDArray[np.int64] | None = None, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """Raw outputs (n, C) of some rows of a table, or of all, on ``n_jobs`` threads."""
        parts = self._run(lambda layers: layers[-1], inputs, rows, n_jobs)
        return np.concatenate(parts or [np.empty((0, self.topology.layer_sizes[-1]))])

    def hidden(self, inputs: Inputs, n_jobs: int | None = None) -> NDArray[np.float32]:
        """Activations of all hidden units, level by level, then the feature layer: (N, units)."""

        def hidden_of(layers: list[Any]) -> NDArray[np.float32]:
            return np.concatenate(layers[1:-1], axis=1, dtype=np.float32)

        parts = self._run(hidden_of, inputs, None, n_jobs)
        n_units = sum(self.topology.hidden_sizes)
        return np.concatenate(parts or [np.empty((0, n_units), np.float32)])

    def _run(
        self,
        keep: Callable[[list[Any]], NDArray[Any]],
        inputs: Inputs,
        rows: NDArray[np.int64] | None,
        n_jobs: int | None,
    ) -> list[NDArray[Any]]:
        """What to keep of the layers of all rows, chunk by chunk; chunks do not depend on the number of threads."""
        n_inputs = self.topology.layer_sizes[0]
        if inputs.n_columns != n_inputs:
            raise ValueError(
                f"rows of {inputs.n_columns} columns for a network of {n_inputs} inputs"
            )

        values: Any = inputs.values if rows is None else inputs.values[rows]
        if values.shape[0] <= _FEW_ROWS:
            return [keep(self.layers(values))] if values.shape[0] else []

        def run(bounds: tuple[int, int]) -> NDArray[Any]:
            return keep(self.layers(values[slice(*bounds)]))

        with blas_threads(1), Workers(n_jobs) as workers:
            return list(workers.map(run, chunks(values.shape[0], _CHUNK_ROWS)))

    # ---- one pass

    def layers(self, values: Any) -> list[Any]:
        """All layers of a few rows (B, D), dense or CSR: the rows, activations (B, units), and outputs in float64."""
        layers = [values]
        for layer in range(1, self.topology.n_layers):
            layers.append(activated(self.sums(layer, layers), self.activation))
        layers.append(self.sums(self.topology.n_layers, layers))
        return layers

    def level_sums(self, values: Any, level: int) -> Floats:
        """What goes into the non-linearity of a level, counted from 1, for rows (B, D), dense or CSR: (B, units)."""
        layers = [values]
        for below in range(1, level):
            layers.append(activated(self.sums(below, layers), self.activation))
        return self.sums(level, layers)

    def sums(self, layer: int, layers: list[Any]) -> Floats:
        """What goes into the non-linearity of a layer, given those below: (B, units)."""
        blocks = self.topology.blocks_into(layer)
        if layer <= self.topology.n_levels:
            (block,) = blocks
            return self._sparse_sums(block, layers[block.below])

        if layer < self.topology.n_layers:  # the groups of the feature layer, side by side
            groups = []
            for block in blocks:
                product = _product(layers[block.below], self.arrays[block.weight])
                groups.append(product + self.arrays[f"{block.name}.bias"])
            return np.concatenate(groups, axis=1)

        output, *linear_skip = blocks
        outputs = _product(layers[output.below], self.arrays[output.weight]).astype(np.float64)
        outputs += self.arrays[f"{output.name}.bias"]
        for block in linear_skip:
            outputs += _product(layers[block.below], self.arrays[block.weight])

        return outputs

    def _sparse_sums(self, block: Block, below: Any) -> Floats:
        """Sums (B, units) of a level; few rows without numba, so that nothing is loaded or compiled."""
        links = block.links
        weight = self.arrays[block.weight]
        bias = self.arrays[f"{block.name}.bias"]
        is_dense = isinstance(below, np.ndarray)
        few = below.shape[0] <= _FEW_ROWS

        if few or weight.dtype == np.float64:  # explanations: no kernels are compiled for them
            matrix = self._matrices[block.name]
            if few and not is_dense:
                return np.asarray(_few_sums(below, matrix) + bias)
            product = below @ matrix
            return np.asarray((product if is_dense else product.toarray()) + bias)

        from tsenet.network import kernels

        weight = weight.reshape(-1, links.k)
        out = np.empty((links.n_units, below.shape[0]), weight.dtype)
        if is_dense:
            read = np.ascontiguousarray(below.T)
            kernels.units_forward(links.by_latent, weight, bias, read, out)
        else:
            rows = below.indptr.astype(np.int64), below.indices.astype(np.int32), below.data
            kernels.rows_forward(rows, links.by_input, weight, bias, out)

        return out.T

    @cached_property
    def _matrices(self) -> dict[str, csr_array]:
        """The weights of each level as a matrix (inputs, units), in the memory of the parameters."""
        return {
            block.name: block.matrix(self.arrays[block.weight])
            for block in self.topology.blocks
            if block.sparse is not None
        }


def _few_sums(rows: csr_array, matrix: csr_array) -> NDArray[np.float64]:
    """A few sparse rows times a sparse matrix, dense; SciPy's product takes ten times as long on one row."""
    n_rows, n_units = rows.shape[0], matrix.shape[1]
    first = matrix.indptr[rows.indices]
    n_weights = matrix.indptr[rows.indices + 1] - first  # of each entry of the rows
    end = np.cumsum(n_weights)
    weight = np.repeat(first - end + n_weights, n_weights) + np.arange(end[-1] if end.size else 0)
    row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
    place = np.repeat(row * n_units, n_weights) + matrix.indices[weight]
    added = np.repeat(rows.data, n_weights) * matrix.data[weight]
    sums: NDArray[Any] = np.bincount(place, added, n_rows * n_units)
    return sums.reshape(n_rows, n_units)


def _product(rows: Any, weight: Floats) -> Floats:
    """Rows times a dense weight; few in float64, since BLAS rounds a row otherwise if others come with it."""
    if isinstance(rows, np.ndarray) and len(rows) <= _FEW_ROWS:
        return np.asarray(rows.astype(np.float64) @ weight.astype(np.float64))
    return np.asarray(rows @ weight)


def activated(z: Floats, activation: Activation) -> Floats:
    """The non-linearity, in place; NaN stays NaN."""
    if activation == "relu":
        return np.maximum(z, 0, out=z)
    if activation == "tanh":
        return np.tanh(z, out=z)
    z *= 0.5
    np.tanh(z, out=z)
    z *= 0.5
    z += 0.5
    return z
