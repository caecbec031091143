"""A trained network written out as linear maps, in float64: what explanations are computed from.

At a given row a ReLU multiplies its sum by 1 or 0. So the whole network is an affine map at that row, and its output
is exactly the sum of the contributions of the inputs, gradient × input, and of the biases. Of another non-linearity f
a unit's slope is that of the line from f(0) to its activation, (f(z) − f(0)) / z, so that the sum is exact, too; f(0)
counts among the biases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.network.inputs import Inputs
from tsenet.network.predictor import Predictor, activated
from tsenet.network.topology import Activation

Floats = NDArray[np.float64]


class Pass(NamedTuple):
    """What rows make of a network.

    Attributes
    ----------
    values : list
        Activations of every layer, the inputs first, (B, units) each; the last are the outputs.
    slopes : list
        By what each unit multiplies its sum, (B, units); the first entry, of the inputs, is empty.
    """

    values: list[Any]
    slopes: list[Floats]


class AffineNetwork:
    """The blocks of a TSE-Net as linear maps; layers are numbered as in its `Topology`.

    Parameters
    ----------
    predictor : Predictor
        The network's parameters.
    """

    def __init__(self, predictor: Predictor) -> None:
        self.topology = predictor.topology
        self.activation = predictor.activation

        arrays = {name: array.astype(np.float64) for name, array in predictor.arrays.items()}
        self._predictor = Predictor(self.topology, arrays)
        self._matrices = {
            block.name: block.matrix(arrays[block.weight]) for block in self.topology.blocks
        }

        self.biases: list[Floats] = []
        for layer in range(1, self.topology.n_layers + 1):
            names = [block.bias for block in self.topology.blocks_into(layer)]
            self.biases.append(np.concatenate([arrays[name] for name in names if name is not None]))

    @property
    def n_layers(self) -> int:
        """Number of layers above the inputs, outputs included."""
        return self.topology.n_layers

    @property
    def hidden_sizes(self) -> list[int]:
        """Units of levels 1 … L and of the feature layer."""
        return self.topology.hidden_sizes

    def forward(self, inputs: Any) -> Pass:
        """Pass rows (B, D), dense or CSR, through the network."""
        rows = inputs.astype(np.float64)
        values = [rows]
        slopes = [np.empty(0)]
        for layer in range(1, self.n_layers + 1):
            sums = np.asarray(self._predictor.sums(layer, values), np.float64)
            if layer == self.n_layers:
                slopes.append(np.ones_like(sums))
                values.append(sums)
            else:
                slopes.append(_slopes(sums, self.activation))
                values.append(activated(sums, self.activation))
        return Pass(values, slopes)

    def backward(
        self,
        layer: int,
        gradient: Floats,
        rows: Pass,
        *,
        lowest: int = 0,
    ) -> dict[int, Floats]:
        """Propagate the gradient of a quantity down along all paths.

        Parameters
        ----------
        layer : int
            The layer that the quantity depends on directly.
        gradient : (B, units)
            How much it changes with the activations of that layer.
        rows : Pass
            From :meth:`forward`, of B rows or of one.
        lowest : int
            The lowest layer to reach; 0 is the input.

        Returns
        -------
        dict of layer to (B, units)
        """
        widths = [rows.values[0].shape[1], *(bias.size for bias in self.biases)]
        gradients = {k: np.zeros((len(gradient), widths[k])) for k in range(lowest, layer)}
        gradients[layer] = gradient

        for k in range(layer, lowest, -1):
            of_sums = gradients[k] * rows.slopes[k]  # (B, units)
            for block in self.topology.blocks_into(k):
                if block.below >= lowest:
                    weight = self._matrices[block.name]
                    gradients[block.below] += _product(of_sums[:, block.units], weight.T)
        return gradients

    def output_gradients(
        self, rows: Pass, outputs: Floats, *, lowest: int = 0
    ) -> Iterator[dict[int, Floats]]:
        """Gradients of combinations of the outputs (K, C), one after another, so that few are in memory."""
        for weights in outputs:
            start = np.tile(weights, (rows.values[0].shape[0], 1))
            yield self.backward(self.n_layers, start, rows, lowest=lowest)

    def bias_contribution(self, gradients: Mapping[int, Floats], rows: Pass) -> Floats:
        """What the biases of the layers in ``gradients`` add to the quantity: (B,)."""
        at_rest = float(activated(np.zeros(1), self.activation)[0])  # f(0)
        of_biases = []
        of_rest = []
        for k, gradient in gradients.items():
            if k == 0:
                continue
            of_biases.append((gradient * rows.slopes[k]) @ self.biases[k - 1])
            if at_rest and k < self.n_layers:  # the outputs are sums, without f
                of_rest.append(at_rest * gradient.sum(axis=1))
        return np.asarray(np.sum([*of_biases, *of_rest], axis=0))

    def input_weights(self) -> Any:
        """Weights of the links from inputs to hidden units: csc_array (D, U), units as in ``transform``."""
        n_inputs = self.topology.layer_sizes[0]
        columns = []
        for layer in range(1, self.n_layers):
            for block in self.topology.blocks_into(layer):
                reads_inputs = block.below == 0
                weight = self._matrices[block.name] if reads_inputs else (n_inputs, block.n_units)
                columns.append(sp.csc_array(weight))
        return sp.csc_array(sp.hstack(columns))


def column_importances(predictor: Predictor, inputs: Inputs, rule: BinaryRule) -> Floats:
    """How much each column matters to the outputs, as a share of all: (V,).

    The mean size of what the column adds to the outputs, as :func:`tsenet.explain.explain_prediction` has it. Only
    differences between the outputs of several classes matter, so each is taken against the mean of all.
    """
    network = AffineNetwork(predictor)
    values = sp.csr_array(inputs.values)
    rows = network.forward(values)
    directions = np.eye(rows.values[-1].shape[1])
    if len(directions) > 2:
        directions -= directions.mean(axis=0)

    sizes = np.zeros(inputs.n_columns)  # Σ |gradient · input| over rows and outputs
    for gradient in network.output_gradients(rows, directions):
        added = abs(values.multiply(gradient[0]))  # (B, D)
        sizes += np.asarray(added.sum(axis=0)).ravel()

    of_column = np.bincount(rule.sources, sizes, rule.n_columns_in)
    return np.asarray(of_column / max(of_column.sum(), np.finfo(np.float64).tiny))


def strongest(added: Floats) -> list[int]:
    """Where contributions are not 0, the largest in size first."""
    order = np.argsort(-np.abs(added), kind="stable")
    return list(order[: np.count_nonzero(added)].tolist())


def _slopes(z: Floats, activation: Activation) -> Floats:
    """(f(z) − f(0)) / z of a non-linearity f; its slope at 0 where z is 0."""
    if activation == "relu":
        return (z > 0).astype(np.float64)
    inner = z if activation == "tanh" else 0.5 * z
    ratio = np.divide(np.tanh(inner), inner, out=np.ones_like(z), where=inner != 0)
    return ratio if activation == "tanh" else 0.25 * ratio


def _product(rows: Any, weight: Any) -> Floats:
    """The product of two matrices, each dense or sparse, as a dense one."""
    product = rows @ weight
    return np.asarray(product.toarray() if sp.issparse(product) else product, np.float64)
