"""A trained network written out as linear maps and slopes, in float64: what explanations are computed from.

At a given row every non-linearity f acts as a straight line: ``f(z) = slope · z + f(0)`` with the *secant* slope
``(f(z) − f(0)) / z``. So the whole network is an affine map at that row, and its output is exactly the sum of
what each input adds and what the biases add. For ReLU the secant is the derivative: this is gradient × input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.errors import DataError

if TYPE_CHECKING:
    from torch import nn

Floats = NDArray[np.float64]
Slopes = Literal["secant", "tangent"]


class LinearMap(NamedTuple):
    """``z = W x + b``: ``weight`` (U, D), a CSR matrix where the layer has links; ``bias`` (U,)."""

    weight: Any
    bias: Floats

    def forward(self, below: Any) -> Floats:
        """(B, U) of (B, D), dense or CSR."""
        if sp.issparse(self.weight):
            product = self.weight @ below.T  # (U, B)
            dense = product.toarray() if sp.issparse(product) else product
            return np.asarray(dense, np.float64).T + self.bias
        return np.asarray(below @ self.weight.T, np.float64) + self.bias

    def backward(self, gradient: Floats) -> Floats:
        """Gradient of the inputs, (B, D), from that of the outputs, (B, U)."""
        if sp.issparse(self.weight):
            return np.asarray(self.weight.T @ gradient.T, np.float64).T
        return gradient @ np.asarray(self.weight, np.float64)

    def link_weights(self, unit: int, columns: Sequence[int]) -> list[float | None]:
        """Weights of a unit's links to some inputs; None where there is no link."""
        if not sp.issparse(self.weight):
            found: list[float | None] = self.weight[unit, list(columns)].tolist()
            return found
        own = slice(self.weight.indptr[unit], self.weight.indptr[unit + 1])
        inputs, weights = self.weight.indices[own].tolist(), self.weight.data[own].tolist()
        weight_of = dict(zip(inputs, weights, strict=True))
        return [weight_of.get(column) for column in columns]


class Group(NamedTuple):
    """Units of the feature layer that read one level: their ``place`` in that layer, and their map."""

    level: int
    place: slice
    linear: LinearMap


class Pass(NamedTuple):
    """A forward pass over B rows.

    ``sums`` and ``activations`` hold (B, units) of the levels 1 … L and last of the feature layer; ``inputs`` is what
    the rows were; ``outputs`` (B, C).
    """

    inputs: Any
    sums: list[Floats]
    activations: list[Floats]
    outputs: Floats


@dataclass(frozen=True)
class AffineNetwork:
    """A stack of levels, a feature layer that reads some of them, outputs that read the feature layer.

    Attributes
    ----------
    levels : tuple of LinearMap
        Level k reads level k − 1; level 0 is the input.
    groups : tuple of Group
        The feature layer.
    output : LinearMap
    activation : {"relu", "tanh", "sigmoid"}
    linear_skip : (D, C) or None
        Weights from the input to the outputs; None if there are none.
    """

    levels: tuple[LinearMap, ...]
    groups: tuple[Group, ...]
    output: LinearMap
    activation: str
    linear_skip: Floats | None = None

    @classmethod
    def of(cls, net: nn.Module) -> AffineNetwork:
        """Write out a TSENet, or a plain stack of layers such as the dense baseline."""
        from tsenet.network.tsenet import TSENet

        return _of_tsenet(net) if isinstance(net, TSENet) else _of_stack(net)

    @property
    def n_levels(self) -> int:
        """Number of levels L below the feature layer."""
        return len(self.levels)

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """Units of the levels 1 … L and of the feature layer."""
        return (*(level.bias.size for level in self.levels), self.output.weight.shape[1])

    def forward(self, inputs: Any) -> Pass:
        """Pass rows (B, D), dense or CSR, through the network."""
        below, sums, activations = inputs, [], []
        for level in self.levels:
            sums.append(level.forward(below))
            activations.append(below := activate(self.activation, sums[-1]))
        read = [inputs, *activations]
        sums.append(np.concatenate([g.linear.forward(read[g.level]) for g in self.groups], axis=1))
        activations.append(activate(self.activation, sums[-1]))
        outputs = self.output.forward(activations[-1])
        if self.linear_skip is not None:
            outputs = outputs + inputs @ self.linear_skip
        return Pass(inputs, sums, activations, outputs)

    def start(self, seed: Floats, n_rows: int = 1) -> dict[int, Floats]:
        """Where ``backward`` starts for a combination of outputs, seed (C,): layer to (n_rows, units)."""
        ends = {self.n_levels + 1: seed @ self.output.weight}
        if self.linear_skip is not None:
            ends[0] = self.linear_skip @ seed
        return {layer: np.tile(gradient, (n_rows, 1)) for layer, gradient in ends.items()}

    def slopes(self, rows: Pass, kind: Slopes) -> list[Floats]:
        """Slope of every unit at every row, shaped as ``rows.sums``."""
        return [slope(self.activation, z, kind) for z in rows.sums]

    def backward(
        self,
        start: Mapping[int, Floats],
        slopes: Sequence[Floats],
        *,
        lowest: int = 1,
        read_below: int | None = None,
    ) -> dict[int, Floats]:
        """How much a quantity changes with each activation below it, along all paths.

        Parameters
        ----------
        start : dict of layer to (B, units)
            How much it changes with the activations it is made of; layer L + 1 is the feature layer.
        slopes : list of (B, units) or (1, units)
            As ``slopes`` gives them.
        lowest : int
            The lowest layer wanted; 0 is the input.
        read_below : int, optional
            Only paths that enter the feature layer from a layer below this one.

        Returns
        -------
        dict of layer to (B, units)
            For every layer from which there is a path.
        """
        found = dict(start)
        features = start.get(self.n_levels + 1)
        for k in range(self.n_levels, lowest - 1, -1):
            parts = [start[k]] if k in start else []
            if features is not None and (read_below is None or k < read_below):
                down = features * slopes[-1]
                parts += [g.linear.backward(down[:, g.place]) for g in self.groups if g.level == k]
            if k < self.n_levels and k + 1 in found:
                parts.append(self.levels[k].backward(found[k + 1] * slopes[k]))
            if parts:
                found[k] = sum(parts[1:], parts[0])
        return found

    def bias_part(self, found: Mapping[int, Floats], slopes: Sequence[Floats]) -> Floats:
        """What the biases of the layers in ``found``, and f(0), add to the quantity: (B,)."""
        total = np.zeros(1)
        for k, gradient in found.items():
            if k > 0:
                own = slopes[k - 1] * self.bias(k) + at_zero(self.activation)
                total = total + (gradient * own).sum(axis=1)
        return total

    def bias(self, layer: int) -> Floats:
        """Biases of the units of a level, or of the feature layer (L + 1): (units,)."""
        if layer <= self.n_levels:
            return self.levels[layer - 1].bias
        return np.concatenate([group.linear.bias for group in self.groups])

    def link_weights(self, layer: int, unit: int, columns: Sequence[int]) -> list[float | None]:
        """Weights of the links from some inputs to a unit; None where there is no link."""
        if layer == 1 and self.levels:
            return self.levels[0].link_weights(unit, columns)
        for group in self.groups:
            own = layer > self.n_levels and group.place.start <= unit < group.place.stop
            if own and group.level == 0:
                return group.linear.link_weights(unit - group.place.start, columns)
        return [None] * len(columns)

    @property
    def n_inputs(self) -> int:
        """Number of inputs D."""
        first = self.levels[0] if self.levels else self.groups[0].linear
        return int(first.weight.shape[1])


def _of_tsenet(net: Any) -> AffineNetwork:
    levels = [_linear(layer) for layer in net.layers]
    groups, start = [], 0
    for level, module in [*enumerate(net.skips), (len(levels), net.top)]:
        linear = _linear(module)
        groups.append(Group(level, slice(start, start + linear.bias.size), linear))
        start += linear.bias.size
    linear_skip = None if net.linear_skip is None else _array(net.linear_skip)
    return AffineNetwork(
        tuple(levels), tuple(groups), _linear(net.output), net.activation, linear_skip
    )


def _of_stack(net: Any) -> AffineNetwork:
    """A stack of hidden layers, of which the last is the feature layer."""
    layers = list(getattr(net, "layers", ()))
    if len(layers) < 2:
        raise DataError(
            f"a {type(net).__name__} is neither a TSENet nor a stack of layers: "
            "its predictions cannot be taken apart"
        )
    mask_of = getattr(net, "mask", lambda _: None)  # of weights that were not pruned
    *levels, features, output = (_linear(layer, mask_of(k)) for k, layer in enumerate(layers))
    group = Group(len(levels), slice(0, features.bias.size), features)
    return AffineNetwork(tuple(levels), (group,), output, getattr(net, "activation", "relu"))


def _linear(module: Any, mask: Any = None) -> LinearMap:
    """The weights of one of our layers, of which a mask (D, S) may keep a part, or of torch's own linear layer."""
    from torch import nn

    weight = _array(module.weight)
    if isinstance(module, nn.Linear):
        bias = np.zeros(len(weight)) if module.bias is None else _array(module.bias)
        return LinearMap(weight, bias)
    if hasattr(module, "links"):
        return LinearMap(module.links.matrix(weight).T.tocsr(), _array(module.bias))
    if mask is not None:
        kept, inputs = np.nonzero(mask.cpu().numpy().T)
        starts = np.searchsorted(kept, np.arange(weight.shape[1] + 1))
        matrix = sp.csr_array((weight[inputs, kept], inputs, starts), shape=weight.T.shape)
        return LinearMap(matrix, _array(module.bias))
    return LinearMap(weight.T, _array(module.bias))


def _array(tensor: Any) -> Floats:
    array: Floats = tensor.detach().cpu().numpy().astype(np.float64)
    return array


def activate(activation: str, z: Floats) -> Floats:
    """Apply the activation function to sums z."""
    if activation == "relu":
        return np.maximum(z, 0.0)
    if activation == "tanh":
        return np.tanh(z)
    half: Floats = 0.5 * np.tanh(0.5 * z) + 0.5  # the sigmoid, without overflow
    return half


def at_zero(activation: str) -> float:
    """f(0)."""
    return 0.5 if activation == "sigmoid" else 0.0


def slope(activation: str, z: Floats, kind: Slopes) -> Floats:
    """The derivative at z, or the slope of the line through (0, f(0)) and (z, f(z))."""
    if activation == "relu":
        return (z > 0).astype(np.float64)
    active = activate(activation, z)
    tangent = 1.0 - active**2 if activation == "tanh" else active * (1.0 - active)
    if kind == "tangent":
        return tangent
    # tanh(z / 2) / 2 is sigmoid(z) − ½ without cancellation
    rise = active if activation == "tanh" else 0.5 * np.tanh(0.5 * z)
    away = np.abs(z) > 1e-150  # nearer to 0 the line is the tangent, to the last digit
    return np.divide(rise, z, out=tangent, where=away)
