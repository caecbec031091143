"""The network of a model file as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.expansion.wiring import Wiring
from tsenet.network.array_net import ArrayNet, parameter_shapes
from tsenet.network.options import NetworkOptions
from tsenet.store.network_files import check_size, full_weights

__all__ = ["net_of_arrays"]

Arrays = dict[str, NDArray[Any]]


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
    shapes = parameter_shapes(wiring, options, n_outputs)
    weights = full_weights(shapes, arrays)
    if weights.keys() != shapes.keys():
        raise ValueError(f"weights missing or unknown: {sorted(weights.keys() ^ shapes.keys())}")
    for name, weight in weights.items():
        if weight.shape != shapes[name] or weight.dtype != np.float32:
            raise ValueError(f"{name} is {weight.dtype} {weight.shape}, not float32 {shapes[name]}")
        if not np.isfinite(weight).all():
            raise ValueError(f"the weights {name} are not all finite")
    return ArrayNet.of(wiring, options, weights)
