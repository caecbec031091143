"""A trained network written out as linear maps, in float64: what explanations are computed from.

At a given row a ReLU multiplies its sum by 1 or 0. So the whole network is an affine map at that row, and its output
is exactly the sum of the contributions of the inputs, gradient × input, and of the biases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.network.predictor import Predictor

__all__ = ["AffineNetwork", "ForwardPass"]

Floats = NDArray[np.float64]


class _Linear(NamedTuple):
    """``z = x W + b``: ``weight`` (D, U), a CSR matrix where the layer has links; ``bias`` (U,)."""

    weight: Any
    bias: Floats

    def forward(self, below: Any) -> Floats:
        """(B, U) of (B, D), dense or CSR."""
        return _product(below, self.weight) + self.bias


class _Group(NamedTuple):
    """Units of the feature layer that read one level; ``units`` is where they are in that layer."""

    level: int
    units: slice
    linear: _Linear


class ForwardPass(NamedTuple):
    """A forward pass over B rows: ``activations`` (B, units) of each level and the feature layer, and ``outputs``."""

    activations: list[Floats]
    outputs: Floats

    @property
    def slopes(self) -> list[Floats]:
        """Slope of every unit at every row: 1 where it is on, else 0."""
        return [(activation > 0).astype(np.float64) for activation in self.activations]


class AffineNetwork:
    """The parameters of a TSE-Net as linear maps. Layers are numbered: 0 inputs, 1 … L levels, L + 1 feature layer.

    Parameters
    ----------
    predictor : Predictor
        The network's parameters.
    """

    def __init__(self, predictor: Predictor) -> None:
        arrays = {name: array.astype(np.float64) for name, array in predictor.arrays.items()}
        self.levels = [
            _Linear(links.matrix(arrays[f"layers.{k}.weight"]), arrays[f"layers.{k}.bias"])
            for k, links in enumerate(predictor.links)
        ]
        self.groups: list[_Group] = []
        first = 0
        for name, level in predictor.groups:
            linear = _Linear(arrays[f"{name}.weight"], arrays[f"{name}.bias"])
            self.groups.append(_Group(level, slice(first, first + linear.bias.size), linear))
            first += linear.bias.size
        self.output = _Linear(arrays["output.weight"], arrays["output.bias"])
        self.linear_skip: Floats | None = arrays.get("linear_skip")

    @property
    def n_levels(self) -> int:
        """Number of levels L below the feature layer."""
        return len(self.levels)

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """Units of levels 1 … L and of the feature layer."""
        return (*(level.bias.size for level in self.levels), len(self.output.weight))

    def forward(self, inputs: Any) -> ForwardPass:
        """Pass rows (B, D), dense or CSR, through the network."""
        read = [inputs]
        for level in self.levels:
            read.append(np.maximum(level.forward(read[-1]), 0.0))
        groups = [group.linear.forward(read[group.level]) for group in self.groups]
        activations = [*read[1:], np.maximum(np.concatenate(groups, axis=1), 0.0)]
        outputs = self.output.forward(activations[-1])
        if self.linear_skip is not None:
            outputs = outputs + _product(inputs, self.linear_skip)
        return ForwardPass(activations, outputs)

    def output_gradient(self, direction: Floats, n_rows: int = 1) -> dict[int, Floats]:
        """Gradients of a combination of outputs, ``direction`` (C,), by the layers they read: (n_rows, units) each."""
        gradients = {self.n_levels + 1: self.output.weight @ direction}
        if self.linear_skip is not None:
            gradients[0] = self.linear_skip @ direction
        return {layer: np.tile(gradient, (n_rows, 1)) for layer, gradient in gradients.items()}

    def backward(
        self,
        gradients: Mapping[int, Floats],
        slopes: Sequence[Floats],
        *,
        lowest: int = 1,
        skips_below: int | None = None,
    ) -> dict[int, Floats]:
        """Propagate gradients down along all paths.

        Parameters
        ----------
        gradients : dict of layer to (B, units)
            How much a quantity changes with the activations that it depends on directly.
        slopes : list of (B, units) or (1, units)
            Those of a forward pass.
        lowest : int
            The lowest layer to reach; 0 is the input.
        skips_below : int, optional
            Only paths that enter the feature layer from a layer below this one.

        Returns
        -------
        dict of layer to (B, units)
            For every layer from which there is a path.
        """
        result = dict(gradients)
        features = gradients.get(self.n_levels + 1)
        for k in range(self.n_levels, lowest - 1, -1):
            terms = [gradients[k]] if k in gradients else []
            if features is not None and (skips_below is None or k < skips_below):
                down = features * slopes[-1]
                terms += [
                    _product(down[:, group.units], group.linear.weight.T)
                    for group in self.groups
                    if group.level == k
                ]
            if k < self.n_levels and k + 1 in result:
                terms.append(_product(result[k + 1] * slopes[k], self.levels[k].weight.T))
            if terms:
                result[k] = sum(terms[1:], terms[0])
        return result

    def bias_contribution(
        self, gradients: Mapping[int, Floats], slopes: Sequence[Floats]
    ) -> Floats:
        """What the biases of the layers in ``gradients`` add to the quantity: (B,)."""
        total = np.zeros(1)
        for k, gradient in gradients.items():
            if k > 0:
                total = total + (gradient * slopes[k - 1] * self._bias(k)).sum(axis=1)
        return total

    def _bias(self, layer: int) -> Floats:
        """Biases of a layer's units: (units,)."""
        if layer <= self.n_levels:
            return self.levels[layer - 1].bias
        return np.concatenate([group.linear.bias for group in self.groups])

    def link_weights(self, unit: int, inputs: Sequence[int]) -> list[float | None]:
        """Weights of the links from some inputs to a hidden unit; None where there is none.

        Units are numbered level by level, then those of the feature layer, as the columns of ``transform``.
        """
        for units, weight in self._input_weights:
            column = unit - units.start
            if not 0 <= column < units.stop - units.start:
                continue
            if not sp.issparse(weight):
                return list(weight[list(inputs), column].tolist())
            links = slice(*weight.indptr[column : column + 2].tolist())
            ends = weight.indices[links].tolist(), weight.data[links].tolist()
            weight_of = dict(zip(*ends, strict=True))
            return [weight_of.get(j) for j in inputs]
        return [None] * len(inputs)

    @cached_property
    def _input_weights(self) -> list[tuple[slice, Any]]:
        """Hidden units that read the inputs, and their weights (D, units), by column where they are sparse."""
        weights: list[tuple[slice, Any]] = []
        if self.levels:
            first = self.levels[0]
            weights.append((slice(0, first.bias.size), sp.csc_array(first.weight)))
        start = sum(level.bias.size for level in self.levels)
        for group in self.groups:
            if group.level == 0:
                units = slice(start + group.units.start, start + group.units.stop)
                weights.append((units, group.linear.weight))
        return weights


def _product(rows: Any, weight: Any) -> Floats:
    """The product of two matrices, each dense or sparse, as a dense one."""
    product = rows @ weight
    return np.asarray(product.toarray() if sp.issparse(product) else product, np.float64)
