"""The network of a model file as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.expansion.wiring import Wiring
from tsenet.network.links import Links
from tsenet.network.options import NetworkOptions
from tsenet.network.predictor import Predictor
from tsenet.store.network_files import check_size, full_weights

__all__ = ["net_of_arrays"]

Arrays = dict[str, NDArray[Any]]


def net_of_arrays(
    wiring: Wiring, options: NetworkOptions, n_outputs: int, arrays: Arrays
) -> Predictor:
    """Build the network of a file.

    Raises
    ------
    ValueError
        If the weights do not fit the wiring and the options, or are not finite.
    """
    check_size(wiring, options, n_outputs, arrays)
    links = Links.of_wiring(wiring, options.units_per_latent)
    shapes = parameter_shapes(links, options, n_outputs)
    weights = full_weights(shapes, arrays)
    if weights.keys() != shapes.keys():
        raise ValueError(f"weights missing or unknown: {sorted(weights.keys() ^ shapes.keys())}")
    for name, weight in weights.items():
        if weight.shape != shapes[name] or weight.dtype != np.float32:
            raise ValueError(f"{name} is {weight.dtype} {weight.shape}, not float32 {shapes[name]}")
        if not np.isfinite(weight).all():
            raise ValueError(f"the weights {name} are not all finite")
    return Predictor(links, weights, options.activation)


def parameter_shapes(
    links: list[Links], options: NetworkOptions, n_outputs: int
) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter of a network."""
    sizes = [links[0].n_inputs, *(part.n_units for part in links)]
    width, top = options.skip_units, options.feature_units
    groups = {"top": (sizes[-1], top), "output": (width * len(links) + top, n_outputs)}
    if width:
        groups.update({f"skips.{depth}": (size, width) for depth, size in enumerate(sizes[:-1])})
    shapes: dict[str, tuple[int, ...]] = {}
    for depth, part in enumerate(links):
        shapes[f"layers.{depth}.weight"] = (part.n_weights,)
        shapes[f"layers.{depth}.bias"] = (part.n_units,)
    for name, shape in groups.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[1:]
    if options.linear_skip:
        shapes["linear_skip"] = (sizes[0], n_outputs)
    return shapes
