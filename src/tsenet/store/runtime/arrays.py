"""The network of a model file as plain arrays, in the form that the forward pass reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.expansion.wiring import Wiring
from tsenet.network.links import BlockLinks, Links
from tsenet.network.options import NetworkOptions
from tsenet.store.network_files import check_size, full_weights

__all__ = ["ArrayNet", "net_of_arrays"]

Arrays = dict[str, NDArray[Any]]


class ArrayLayer(NamedTuple):
    """A sparse layer."""

    blocks: BlockLinks
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]


class ArrayGroup(NamedTuple):
    """A dense group: weight (D, S)."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]


class ArrayNet(NamedTuple):
    """A network without batch normalisation; its parts have the names that a `TSENet` gives them."""

    activation: str
    layer_sizes: tuple[int, ...]
    layers: list[ArrayLayer]
    skips: list[ArrayGroup]
    top: ArrayGroup
    output: ArrayGroup
    linear_skip: NDArray[np.float32] | None
    has_norm: bool = False


def net_of_arrays(
    wiring: Wiring, options: NetworkOptions, n_outputs: int, arrays: Arrays
) -> ArrayNet:
    """Build the network of a file.

    Raises
    ------
    ValueError
        If the weights do not fit the wiring and the options, or are not finite.
    """
    check_size(wiring, options, n_outputs, arrays)
    k = options.units_per_latent
    blocks = [
        BlockLinks(Links.of(layer), k if depth else 1, k)
        for depth, layer in enumerate(wiring.layers)
    ]
    sizes = (wiring.layer_sizes[0], *(block.n_units for block in blocks))
    weights = full_weights(_shapes(blocks, sizes, options, n_outputs), arrays)
    _check(weights, _shapes(blocks, sizes, options, n_outputs))
    groups = {
        name.removesuffix(".weight"): ArrayGroup(array, weights[name.replace("weight", "bias")])
        for name, array in weights.items()
        if name.endswith(".weight")
    }
    return ArrayNet(
        options.activation,
        sizes,
        [ArrayLayer(block, *groups[f"layers.{depth}"]) for depth, block in enumerate(blocks)],
        [groups[f"skips.{depth}"] for depth in range(len(blocks)) if options.skip_units],
        groups["top"],
        groups["output"],
        weights.get("linear_skip"),
    )


def _shapes(
    blocks: list[BlockLinks], sizes: tuple[int, ...], options: NetworkOptions, n_outputs: int
) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter."""
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


def _check(weights: Arrays, shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse weights that are not those of the network: kernels would read past their end."""
    if weights.keys() != shapes.keys():
        raise ValueError(f"weights missing or unknown: {sorted(weights.keys() ^ shapes.keys())}")
    for name, weight in weights.items():
        if weight.shape != shapes[name] or weight.dtype != np.float32:
            raise ValueError(f"{name} is {weight.dtype} {weight.shape}, not float32 {shapes[name]}")
        if not np.isfinite(weight).all():
            raise ValueError(f"the weights {name} are not all finite")
