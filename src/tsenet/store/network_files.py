"""The file form of a network: its links as places, its weights without those that are 0.

A parameter with many zeros is two arrays: ``name``, the values that are not 0, and ``name.places``, where they stand in
the flat parameter. Other parameters are one array.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.scaling import Scaling
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.store.places import pack_places, unpack_places

if TYPE_CHECKING:
    from tsenet.data.binary import BinaryRule
    from tsenet.network.options import NetworkOptions
    from tsenet.network.tsenet import TSENet

__all__ = [
    "arrays_under",
    "check_size",
    "full_weights",
    "load_weights",
    "n_inputs_of",
    "names_or",
    "network_arrays",
    "scaling_of",
    "wiring_of_parts",
    "wiring_parts",
]

Arrays = dict[str, NDArray[Any]]
_SOME = 0.1  # share of zeros from which places are cheaper than the zeros
_FEW = 10_000_000  # a network of so many weights may be any part zeros …
_MOST = 200  # … a larger one has at most so many weights for one that is stored


def wiring_parts(wiring: Wiring) -> tuple[dict[str, Any], Arrays]:
    """The links of a wiring, and their log-odds if it has any."""
    arrays: Arrays = {}
    for k, layer in enumerate(wiring.layers):
        places = layer.upper_ends().astype(np.int64) * layer.n_lower + layer.indices
        arrays[f"{k}.links"] = pack_places(places, layer.n_upper * layer.n_lower)
        arrays[f"{k}.from_tree"] = np.packbits(layer.from_tree)
        if layer.log_odds.any():
            arrays[f"{k}.log_odds"] = layer.log_odds
    meta = {
        "names": [list(names) for names in wiring.names],
        "link_rule": wiring.link_rule,
        "n_links": [layer.n_edges for layer in wiring.layers],
    }
    return meta, arrays


def wiring_of_parts(meta: dict[str, Any], arrays: Arrays) -> Wiring:
    """The wiring that :func:`wiring_parts` described."""
    names = tuple(tuple(level) for level in meta["names"])
    if len(meta["n_links"]) != len(names) - 1:
        raise ValueError("the wiring needs a number of links for each of its layers")
    layers = []
    for k, n_links in enumerate(meta["n_links"]):
        n_lower, n_upper = len(names[k]), len(names[k + 1])
        places = unpack_places(arrays[f"{k}.links"], n_links, n_upper * n_lower)
        if arrays[f"{k}.from_tree"].shape != (-(-n_links // 8),):
            raise ValueError(f"layer {k + 1} needs one bit of from_tree per link")
        from_tree = np.unpackbits(arrays[f"{k}.from_tree"])[:n_links].astype(bool)
        upper, lower = np.divmod(places, max(1, n_lower))
        start = np.searchsorted(upper, np.arange(n_upper + 1))
        log_odds = arrays.get(f"{k}.log_odds", np.zeros(n_links, np.float32))
        layers.append(WiringLayer(start, lower, from_tree, log_odds, n_lower))
    return Wiring(tuple(layers), names, meta["link_rule"])


def network_arrays(net: TSENet) -> Arrays:
    """The parameters and buffers of a network by name."""
    arrays: Arrays = {}
    state = {name: tensor.numpy() for name, tensor in net.state_dict().items()}
    n_values = {name: int(np.count_nonzero(array)) for name, array in state.items()}
    n_stored = sum(n_values[name] for name, _ in net.named_parameters())
    may_leave_out = net.n_parameters <= _FEW + _MOST * n_stored
    for name, array in state.items():
        if may_leave_out and _is_weight(name) and n_values[name] < (1 - _SOME) * array.size:
            flat = array.reshape(-1)
            places = np.flatnonzero(flat)
            arrays[name] = flat[places]
            arrays[f"{name}.places"] = pack_places(places, flat.size)
        else:
            arrays[name] = array
    return arrays


def check_size(wiring: Wiring, options: NetworkOptions, n_outputs: int, arrays: Arrays) -> None:
    """Refuse a network that is far larger than what the file holds of it, before memory is taken.

    Raises
    ------
    ValueError
        Saying both sizes.
    """
    n_inputs, *n_latents = wiring.layer_sizes
    k = options.units_per_latent
    sizes = [n_inputs, *(k * n for n in n_latents)]
    links = [layer.n_edges * k * (k if depth else 1) for depth, layer in enumerate(wiring.layers)]
    n_features = options.skip_units * len(n_latents) + options.feature_units
    groups = sum(sizes[:-1]) * options.skip_units + sizes[-1] * options.feature_units
    n_weights = sum(links) + groups + (n_features + n_inputs * options.linear_skip) * n_outputs
    n_stored = sum(array.size for name, array in arrays.items() if not name.endswith(".places"))
    if n_weights > _FEW + _MOST * n_stored:
        raise ValueError(f"a network of {n_weights:,} weights, but the file holds {n_stored:,}")


def scaling_of(arrays: Arrays, counts: bool, rule: BinaryRule) -> Scaling:
    """The scaling of a file; raises ValueError if it is not one of the rule's columns."""
    shift, scale, limit = (arrays[f"scaling.{name}"] for name in ("shift", "scale", "limit"))
    scaling = Scaling(shift, scale, counts, limit)
    n_columns = rule.n_columns_in
    if (
        (scaling.shift.shape, scaling.scale.shape, scaling.counts)
        not in (
            ((0,), (1,), False),
            ((n_columns,), (n_columns,), False),
            ((0,), (n_columns,), True),
        )
        or limit.shape != ((0,) if counts else scale.shape)
        or any(a.dtype != np.float64 or not np.isfinite(a).all() for a in (shift, scale, limit))
        or (scale < 0).any()
        or (limit < 0).any()
    ):
        raise ValueError(f"the scaling does not fit the {n_columns} columns")
    categories = [j for j, levels in enumerate(rule.levels) if levels is not None]
    if categories and scaling.shift.size + scaling.scale.size == 2 * n_columns:
        if scaling.shift[categories].any() or (scaling.scale[categories] != 1).any():
            raise ValueError("the codes of categories must not be scaled")
    elif categories:
        raise ValueError("columns of categories need a scaling of each column")
    return scaling


def load_weights(net: TSENet, arrays: Arrays) -> None:
    """Give a network the parameters that :func:`network_arrays` wrote; it may be one without memory ("meta").

    Raises
    ------
    ValueError
        If they do not fit the network or are not finite.
    """
    import torch

    expected = net.state_dict()
    shapes = {name: tuple(tensor.shape) for name, tensor in expected.items()}
    weights = {
        name: torch.from_numpy(array) for name, array in full_weights(shapes, arrays).items()
    }
    _check_weights(expected, weights)
    net.load_state_dict(weights, assign=True)


def full_weights(shapes: dict[str, tuple[int, ...]], arrays: Arrays) -> Arrays:
    """The parameters that :func:`network_arrays` wrote, with their zeros; ``shapes``: what the network has.

    Raises
    ------
    ValueError
        If a parameter with places is not one of them, or is not a row of values.
    """
    weights = {}
    for name, array in arrays.items():
        if name.endswith(".places"):
            continue
        if f"{name}.places" in arrays:
            if array.ndim != 1 or name not in shapes:
                raise ValueError(f"{name} has places, but is not a row of values")
            full = np.zeros(prod(shapes[name]), array.dtype)
            full[unpack_places(arrays[f"{name}.places"], array.size, full.size)] = array
            weights[name] = full.reshape(shapes[name])
        else:
            weights[name] = array
    return weights


def _check_weights(expected: dict[str, Any], weights: dict[str, Any]) -> None:
    """Refuse weights that are not those of the network."""
    if expected.keys() != weights.keys():
        raise ValueError(f"weights missing or unknown: {sorted(expected.keys() ^ weights.keys())}")
    for name, weight in weights.items():
        wanted = expected[name]
        if weight.shape != wanted.shape or weight.dtype != wanted.dtype:
            raise ValueError(
                f"{name} is {weight.dtype} {tuple(weight.shape)}, "
                f"not {wanted.dtype} {tuple(wanted.shape)}"
            )
        if not np.isfinite(weight.numpy()).all():
            raise ValueError(f"the weights {name} are not all finite")


def _is_weight(name: str) -> bool:
    return name == "linear_skip" or name.endswith(".weight")


def names_or(names: Any, known: tuple[str, ...]) -> Any:
    """Names that a file holds: ``known``, if it holds only how many there are."""
    return known if names == len(known) else names


def n_inputs_of(meta: dict[str, Any], arrays: Arrays) -> int:
    """Number of inputs of the wiring; refused if the file is too small for so many."""
    given = meta["wiring"]["names"][0]
    n_inputs = given if type(given) is int else len(given)
    n_bits = 8 * sum(array.nbytes for array in arrays.values())
    if not 0 <= n_inputs <= n_bits:
        raise ValueError(f"{n_inputs:,} inputs, but {n_bits:,} bits in all")
    return n_inputs


def arrays_under(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with ``prefix.``, without it."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }
