"""`TrainingPass`: outputs and gradients of a network for one training step on a CPU, without autograd.

Autograd spends a third of a millisecond on what it keeps account of, more than a small network's arithmetic takes.
The passes here are the same sums in the same order of layers; `TSENet` in torch is their oracle in the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet.network import kernels
from tsenet.network.inputs import kernel_rows
from tsenet.network.predictor import activated
from tsenet.network.sparse_linear import DropoutMask
from tsenet.network.topology import Block, Links
from tsenet.network.tsenet import TSENet

Floats = NDArray[Any]  # of the parameters' type

_NO_DROPOUT = np.empty((0, 0), np.uint8)


class FlatParameters:
    """All parameters of a network side by side in memory, skip groups last, and their gradients likewise.

    The optimiser then updates one or two long arrays instead of a dozen short ones.

    Parameters
    ----------
    net : TSENet
        On the CPU. Its parameters become views of ``weights``.

    Attributes
    ----------
    weights, gradients : (P,)
    n_without_skips : int
        Where the skip groups begin.
    weight, gradient : dict of str to ndarray
        Views of both, by the names of the parameters.
    """

    def __init__(self, net: TSENet) -> None:
        parameters = dict(net.named_parameters())
        names = sorted(parameters, key=lambda name: name.startswith("skips."))  # these last
        n_all = sum(parameter.numel() for parameter in parameters.values())
        dtype = net.output.weight.detach().numpy().dtype
        self.weights = np.empty(n_all, dtype)
        self.gradients = np.zeros(n_all, dtype)
        self.n_without_skips = 0
        self.weight: dict[str, Floats] = {}
        self.gradient: dict[str, Floats] = {}

        first = 0
        for name in names:
            parameter = parameters[name]
            size = parameter.numel()
            if not name.startswith("skips."):
                self.n_without_skips += size
            place = slice(first, first + size)
            self.weight[name] = self.weights[place].reshape(parameter.shape)
            self.gradient[name] = self.gradients[place].reshape(parameter.shape)
            self.weight[name][...] = parameter.detach().numpy()
            parameter.data = torch.from_numpy(self.weight[name])
            first += size


class TrainingPass:
    """The forward and the backward pass of a training step.

    Activations are (units, B), one row for each unit, as the kernels want them.

    Parameters
    ----------
    net : TSENet
        On the CPU.

    Attributes
    ----------
    parameters : FlatParameters
        ``backward`` fills their gradients.
    skips_are_off : bool
        Whether the skip groups gave 0 in the last forward pass; their gradients are then not filled.
    """

    def __init__(self, net: TSENet) -> None:
        self.parameters = FlatParameters(net)
        self.skips_are_off = False
        self._topology = net.topology
        self._options = net.options
        self._dropout = net.dropout
        self._rectified = net.options.activation == "relu"
        self._memory: dict[tuple[str, int], Floats] = {}

        # The blocks that feed each level, the feature layer, and the outputs.
        n_levels = self._topology.n_levels
        self._levels = [self._topology.blocks_into(level)[0] for level in range(1, n_levels + 1)]
        self._groups = self._topology.blocks_into(n_levels + 1)
        self._outputs = self._topology.blocks_into(n_levels + 2)

    def forward(self, rows: Any, generator: np.random.Generator | None) -> Floats:
        """Raw outputs (B, C) of rows (B, D), dense or CSR, with dropout by the generator's numbers, if there is one."""
        if rows.shape[1] != self._topology.layer_sizes[0]:
            raise ValueError(
                f"rows of {rows.shape[1]} columns for a network of {self._topology.layer_sizes[0]} inputs"
            )

        weight = self.parameters.weight
        drawn = None
        if generator is not None and self._dropout:
            drawn = DropoutMask(self._dropout, generator)

        self._scale = 1.0 if drawn is None else drawn.scale
        self._masks: dict[str, Floats] = {}
        self._n_rows = n_rows = rows.shape[0]

        # what the first level reads: sparse rows as they are, dense ones as (D, B)
        is_dense = isinstance(rows, np.ndarray)
        self._layers: list[Any] = [np.ascontiguousarray(rows.T) if is_dense else rows]
        for block in self._levels:
            sums = self._new(block.name, (block.n_units, n_rows))
            _level_sums(self._layers[-1], block.links, weight, block, sums)
            self._layers.append(self._activate(block.name, sums, drawn))

        share = self._options.skip_dropout
        self.skips_are_off = (
            generator is not None and share > 0.0 and bool(generator.random() < share)
        )
        features = self._new("features", (self._topology.layer_sizes[-2], n_rows))
        for block in self._groups:
            group = features[block.units]  # (S, B)
            if self._is_off(block):
                group[...] = 0
            else:
                _dense_sums(self._layers[block.below], weight[block.weight], group)
                group += weight[f"{block.name}.bias"][:, None]

        self._layers.append(self._activate("features", features, drawn))

        output, *linear_skip = self._outputs
        outputs = features.T @ weight[output.weight]  # (B, C)
        outputs += weight[f"{output.name}.bias"]
        for block in linear_skip:
            outputs += rows @ weight[block.weight]

        return outputs

    def backward(self, slope: Floats) -> None:
        """Fill the gradients, given the derivative of the loss by the outputs (B, C) of the last forward pass."""
        weight = self.parameters.weight
        gradient = self.parameters.gradient
        layers = self._layers
        output, *linear_skip = self._outputs

        ones = np.ones(self._n_rows, slope.dtype)  # sums over rows as products: faster than `sum`

        np.matmul(layers[output.below], slope, out=gradient[output.weight])
        slope.sum(axis=0, out=gradient[f"{output.name}.bias"])
        for block in linear_skip:
            _weight_gradient(layers[0], slope.T, gradient[block.weight])

        # by the activations of the feature layer, then by its sums
        moved = weight[output.weight] @ slope.T  # (features, B)
        delta = self._activation_gradient("features", layers[output.below], moved)
        moved_of_level: dict[int, Floats] = {}
        for block in self._groups:
            if self._is_off(block):
                continue

            of_group = delta[block.units]  # (S, B)
            _weight_gradient(layers[block.below], of_group, gradient[block.weight])
            np.matmul(of_group, ones, out=gradient[f"{block.name}.bias"])
            if block.below:
                moved_of_level[block.below] = weight[block.weight] @ of_group

        for block in reversed(self._levels):
            active = layers[block.above]
            delta = self._activation_gradient(block.name, active, moved_of_level[block.above])
            below_gradient = np.empty((0, 0), active.dtype)
            if block.below:
                zeros = np.zeros_like(layers[block.below])
                below_gradient = moved_of_level.setdefault(block.below, zeros)
            _level_gradient(layers[block.below], block, weight, delta, gradient, below_gradient)
            np.matmul(delta, ones, out=gradient[f"{block.name}.bias"])

    def _is_off(self, block: Block) -> bool:
        return self.skips_are_off and block.name.startswith("skips.")

    def _activate(self, name: str, sums: Floats, drawn: DropoutMask | None) -> Floats:
        """The non-linearity and dropout of sums (units, B), in place."""
        if self._rectified:
            numbers = _NO_DROPOUT if drawn is None else drawn.draw(sums.shape)
            threshold = 0 if drawn is None else drawn.threshold
            kernels.activate(numbers, threshold, self._scale, sums)
            return sums

        activated(sums, self._options.activation)
        if drawn is not None:
            # the derivative needs the activation before dropout
            self._masks[name] = factors = drawn.factors(sums.shape).astype(sums.dtype)
            self._masks[f"{name} before"] = sums.copy()
            sums *= factors
        return sums

    def _activation_gradient(self, name: str, active: Floats, moved: Floats) -> Floats:
        """The gradient by the sums (units, B), from that by the activations."""
        delta = self._new(f"{name} gradient", active.shape)
        if self._rectified:
            kernels.activate_backward(self._scale, active, moved, delta)
            return delta

        before = self._masks.get(f"{name} before", active)
        if self._options.activation == "tanh":
            derivative = 1 - np.square(before)
        else:
            derivative = before * (1 - before)
        np.multiply(moved, derivative, out=delta)
        if name in self._masks:
            delta *= self._masks[name]
        return delta

    def _new(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Memory that steps on batches of one size share: new large arrays cost more than what is written to them."""
        key = name, self._n_rows
        if key not in self._memory:
            self._memory[key] = np.empty(shape, self.parameters.weights.dtype)
        return self._memory[key]


def _level_sums(
    below: Any, links: Links, weight: dict[str, Floats], block: Block, out: Floats
) -> None:
    """Fill ``out`` (units, B) with the sums of a level."""
    by_link = weight[block.weight].reshape(-1, links.k)
    bias = weight[f"{block.name}.bias"]
    if isinstance(below, np.ndarray):
        kernels.units_forward(links.by_latent, by_link, bias, below, out)
    else:
        kernels.rows_forward(kernel_rows(below), links.by_input, by_link, bias, out)


def _level_gradient(
    below: Any,
    block: Block,
    weight: dict[str, Floats],
    delta: Floats,
    gradient: dict[str, Floats],
    below_gradient: Floats,
) -> None:
    """Fill the gradient of a level's weights, and add that of what it reads to ``below_gradient``, if not empty."""
    links = block.links
    by_link = gradient[block.weight].reshape(-1, links.k)
    if isinstance(below, np.ndarray):
        of_link = weight[block.weight].reshape(-1, links.k)
        kernels.units_backward(links.by_latent, of_link, below, delta, by_link, below_gradient)
    else:
        by_link.fill(0)
        kernels.rows_backward(kernel_rows(below), links.by_input, delta, by_link)


def _dense_sums(below: Any, weight: Floats, out: Floats) -> None:
    """Fill ``out`` (S, B) with the products of a group of units."""
    if isinstance(below, np.ndarray):
        np.matmul(weight.T, below, out=out)
    else:
        out[...] = (below @ weight).T


def _weight_gradient(below: Any, delta: Floats, out: Floats) -> None:
    """Fill ``out`` (inputs, S) with the gradient of a group's weights, from delta (S, B)."""
    if isinstance(below, np.ndarray):
        np.matmul(below, delta.T, out=out)
    else:
        out[...] = below.T @ delta.T
