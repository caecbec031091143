"""`Predictor`: outputs and activations of a network without torch, wherever predictions are made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet._system.threads import Workers, blas_threads, chunks
from tsenet.network.inputs import Inputs, kernel_rows
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
        n_rows = len(inputs) if rows is None else rows.size
        many = inputs.is_sparse and n_rows > _FEW_ROWS
        answer = self._rectified_outputs() if many and self._is_rectified_tree else self._outputs
        parts = self._run(answer, inputs, rows, n_jobs)
        return np.concatenate(parts or [np.empty((0, self.topology.layer_sizes[-1]))])

    def hidden(self, inputs: Inputs, n_jobs: int | None = None) -> NDArray[np.float32]:
        """Activations of all hidden units, level by level, then the feature layer: (N, units)."""

        def hidden_of(values: Any) -> NDArray[np.float32]:
            return np.concatenate(self.layers(values)[1:-1], axis=1, dtype=np.float32)

        parts = self._run(hidden_of, inputs, None, n_jobs)
        n_units = sum(self.topology.hidden_sizes)
        return np.concatenate(parts or [np.empty((0, n_units), np.float32)])

    def _run(
        self,
        answer: Callable[[Any], NDArray[Any]],
        inputs: Inputs,
        rows: NDArray[np.int64] | None,
        n_jobs: int | None,
    ) -> list[NDArray[Any]]:
        """The answers for all rows, chunk by chunk; chunks do not depend on the number of threads."""
        n_inputs = self.topology.layer_sizes[0]
        if inputs.n_columns != n_inputs:
            raise ValueError(
                f"rows of {inputs.n_columns} columns for a network of {n_inputs} inputs"
            )

        values: Any = inputs.values if rows is None else inputs.values[rows]
        if values.shape[0] <= _FEW_ROWS:
            return [answer(values)] if values.shape[0] else []

        def run(bounds: tuple[int, int]) -> NDArray[Any]:
            return answer(_part(values, *bounds))

        with blas_threads(1), Workers(n_jobs) as workers:
            return list(workers.map(run, chunks(values.shape[0], _CHUNK_ROWS)))

    # ---- one pass

    def _outputs(self, values: Any) -> NDArray[np.float64]:
        """Raw outputs of a few rows."""
        outputs: NDArray[np.float64] = self.layers(values)[-1]
        return outputs

    @property
    def _is_rectified_tree(self) -> bool:
        """Whether only the second level reads the first, and both are rectified: one kernel then runs both."""
        options = self.topology.options
        is_float32 = self.arrays["output.weight"].dtype == np.float32
        is_tree = self.topology.n_levels > 1 and not options.skip_units
        return is_tree and is_float32 and self.activation == "relu"

    def _rectified_outputs(self) -> Callable[[Any], NDArray[np.float64]]:
        """A function that gives the raw outputs of sparse rows, without the values of the first level.

        Most units of the first level read none of a row's words, so they are what they are for an empty row. The sums
        of the second level for such a row are computed once, now.
        """
        lower, upper = (self.topology.blocks_into(level)[0] for level in (1, 2))
        empty = np.maximum(self.arrays[f"{lower.name}.bias"], 0)
        at_rest = self._matrices[upper.name] @ empty + self.arrays[f"{upper.name}.bias"]

        def outputs(values: Any) -> NDArray[np.float64]:
            second = self._second_level(values, lower, upper, at_rest)
            answers: NDArray[np.float64] = self._layers_above([values, None, second])[-1]
            return answers

        return outputs

    def _second_level(self, rows: csr_array, lower: Block, upper: Block, at_rest: Floats) -> Floats:
        """The second of two rectified levels (B, units), into which `at_rest` goes for rows of zeros."""
        from tsenet.network import kernels

        k = lower.links.k
        weights = [self.arrays[block.weight].reshape(-1, k) for block in (lower, upper)]
        active = np.empty((rows.shape[0], upper.n_units), weights[0].dtype)
        kernels.two_levels_forward(
            kernel_rows(rows),
            (*lower.links.by_input, weights[0], self.arrays[f"{lower.name}.bias"]),
            (*upper.links.by_input, weights[1], at_rest.astype(active.dtype)),
            (0,) * k,
            active,
        )
        return active

    def layers(self, values: Any) -> list[Any]:
        """All layers of a few rows (B, D), dense or CSR: the rows, activations (B, units), and outputs in float64."""
        return self._layers_above([values])

    def _layers_above(self, layers: list[Any]) -> list[Any]:
        """All layers, given the lowest."""
        for layer in range(len(layers), self.topology.n_layers):
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
                product += self.arrays[f"{block.name}.bias"]
                groups.append(product)
            return groups[0] if len(groups) == 1 else np.concatenate(groups, axis=1)

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
            product = matrix @ below.T
            return np.asarray((product if is_dense else product.toarray()).T + bias)

        from tsenet.network import kernels

        weight = weight.reshape(-1, links.k)
        out = np.empty((links.n_units, below.shape[0]), weight.dtype)
        if is_dense:
            read = np.ascontiguousarray(below.T)
            kernels.units_forward(links.by_latent, weight, bias, read, out)
        else:
            kernels.rows_forward(kernel_rows(below), links.by_input, weight, bias, out)

        return out.T

    @cached_property
    def _matrices(self) -> dict[str, Any]:
        """The weights of each level as a matrix (units, inputs) in CSC, in the memory of the parameters."""
        return {
            block.name: block.matrix(self.arrays[block.weight]).T
            for block in self.topology.blocks
            if block.sparse is not None
        }


def _part(values: Any, start: int, stop: int) -> Any:
    """Consecutive rows, dense or CSR, which share the memory of the values."""
    if isinstance(values, np.ndarray):
        return values[start:stop]

    row_start = values.indptr[start : stop + 1]
    entries = slice(row_start[0], row_start[-1])
    parts = (values.data[entries], values.indices[entries], row_start - row_start[0])
    return csr_array(parts, shape=(stop - start, values.shape[1]))


def _few_sums(rows: csr_array, matrix: Any) -> NDArray[np.float64]:
    """A few sparse rows times a matrix (units, inputs) in CSC; SciPy's product takes ten times as long on one row."""
    n_rows = rows.shape[0]
    n_units = matrix.shape[0]

    # The weights of each entry of the rows, one entry after the other.
    first = matrix.indptr[rows.indices]
    n_weights = matrix.indptr[rows.indices + 1] - first  # (nnz,)
    before = np.cumsum(n_weights) - n_weights
    weight = np.arange(n_weights.sum()) + np.repeat(first - before, n_weights)

    # The sum that each weight belongs to: unit by unit, row by row.
    place = matrix.indices[weight]
    if n_rows > 1:
        row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
        place = place + np.repeat(row * n_units, n_weights)

    added = np.repeat(rows.data, n_weights) * matrix.data[weight]
    sums: NDArray[Any] = np.bincount(place, added, n_rows * n_units)
    return sums.reshape(n_rows, n_units)


def _product(rows: Any, weight: Floats) -> Floats:
    """Rows times a dense weight; few in float64, since BLAS rounds a row otherwise if others come with it."""
    if isinstance(rows, np.ndarray) and len(rows) <= _FEW_ROWS:
        active = np.flatnonzero(rows.any(axis=0))  # of one row a third of the units
        return np.asarray(rows[:, active].astype(np.float64) @ weight[active].astype(np.float64))
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
