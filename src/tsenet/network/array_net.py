"""`ArrayNet`: a network as plain arrays, without torch, in the form that the forward pass reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from tsenet.expansion.wiring import Wiring
from tsenet.network.links import BlockLinks, Links
from tsenet.network.options import Activation, NetworkOptions

if TYPE_CHECKING:
    from tsenet.network.tsenet import TSENet

__all__ = ["ArrayNet", "arrays_of", "parameter_shapes"]

Arrays = dict[str, NDArray[Any]]


class ArrayLayer(NamedTuple):
    """A sparse layer."""

    blocks: BlockLinks
    weight: NDArray[Any]
    bias: NDArray[Any]

    @property
    def links(self) -> Links:
        """The links between units."""
        return self.blocks.units


class ArrayGroup(NamedTuple):
    """A dense group: weight (D, S)."""

    weight: NDArray[Any]
    bias: NDArray[Any]


class ArrayNet(NamedTuple):
    """A network without batch normalisation; its parts have the names that a `TSENet` gives them."""

    wiring: Wiring
    activation: Activation
    units_per_latent: int
    layer_sizes: tuple[int, ...]
    layers: list[ArrayLayer]
    skips: list[ArrayGroup]
    top: ArrayGroup
    output: ArrayGroup
    linear_skip: NDArray[Any] | None
    arrays: Arrays  # all of these by the names of their parameters
    has_norm: bool = False

    @classmethod
    def of(cls, wiring: Wiring, options: NetworkOptions, arrays: Arrays) -> ArrayNet:
        """Build a network from its parameters, by name; their shapes must be right.

        Parameters
        ----------
        wiring : Wiring
        options : NetworkOptions
            Without batch normalisation.
        arrays : dict of str to ndarray
            Shapes as :func:`parameter_shapes` gives them.
        """
        blocks = _blocks(wiring, options)
        groups = {
            name.removesuffix(".weight"): ArrayGroup(array, arrays[name.replace("weight", "bias")])
            for name, array in arrays.items()
            if name.endswith(".weight")
        }
        return cls(
            wiring,
            options.activation,
            options.units_per_latent,
            (wiring.layer_sizes[0], *(block.n_units for block in blocks)),
            [ArrayLayer(block, *groups[f"layers.{depth}"]) for depth, block in enumerate(blocks)],
            [groups[f"skips.{depth}"] for depth in range(len(blocks)) if options.skip_units],
            groups["top"],
            groups["output"],
            arrays.get("linear_skip"),
            arrays,
        )


def arrays_of(net: TSENet | ArrayNet) -> Arrays:
    """The parameters of a network by name: views of its memory."""
    if isinstance(net, ArrayNet):
        return net.arrays
    return {name: parameter.detach().numpy() for name, parameter in net.named_parameters()}


def parameter_shapes(
    wiring: Wiring, options: NetworkOptions, n_outputs: int
) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter of a network without batch normalisation."""
    blocks = _blocks(wiring, options)
    sizes = [wiring.layer_sizes[0], *(block.n_units for block in blocks)]
    width, top = options.skip_units, options.feature_units
    groups = {"top": (sizes[-1], top), "output": (width * len(blocks) + top, n_outputs)}
    if width:
        groups.update({f"skips.{depth}": (size, width) for depth, size in enumerate(sizes[:-1])})
    shapes: dict[str, tuple[int, ...]] = {}
    for depth, block in enumerate(blocks):
        shapes[f"layers.{depth}.weight"] = (block.n_weights,)
        shapes[f"layers.{depth}.bias"] = (block.n_units,)
    for name, shape in groups.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[1:]
    if options.linear_skip:
        shapes["linear_skip"] = (sizes[0], n_outputs)
    return shapes


def _blocks(wiring: Wiring, options: NetworkOptions) -> list[BlockLinks]:
    """The links of each layer."""
    k = options.units_per_latent
    return [
        BlockLinks(Links.of(layer), k if depth else 1, k)
        for depth, layer in enumerate(wiring.layers)
    ]
