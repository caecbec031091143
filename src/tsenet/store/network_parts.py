"""What a model file holds of a network: columns, scaling, targets, wiring and weights, written and read here only.

A weight array of which most are zeros, as in a pruned network, is two arrays: ``NAME``, the values that are not 0, and
``NAME.at``, where they are in the flat array. All other arrays are stored as they are.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.data.scaling import Scaling
from tsenet.expansion.wiring import Wiring
from tsenet.network.predictor import NetworkOptions
from tsenet.store.files import arrays_under
from tsenet.training.targets import Targets, targets_from_parts

__all__ = [
    "NetworkParts",
    "names_or",
    "names_unless",
    "network_arrays",
    "read_network",
]

Arrays = dict[str, NDArray[Any]]
_FEW = 10_000_000  # up to this many weights, any share may be zeros …
_MOST = 200  # … a larger network has at most this many weights for each stored one


class NetworkParts(NamedTuple):
    """A network and what surrounds it, as read from a file."""

    rule: BinaryRule
    scaling: Scaling
    targets: Targets
    wiring: Wiring
    options: NetworkOptions
    weights: Arrays
    source: dict[str, Any] | None


def network_arrays(weights: Arrays) -> Arrays:
    """The file form of the parameters of a network, by name."""
    arrays: Arrays = {}
    n_values = {name: int(np.count_nonzero(array)) for name, array in weights.items()}
    n_weights = sum(array.size for array in weights.values())
    may_leave_out = n_weights <= _FEW + _MOST * sum(n_values.values())
    for name, array in weights.items():
        is_weight = name == "linear_skip" or name.endswith(".weight")
        if may_leave_out and is_weight and 2 * n_values[name] < array.size < 2**31:
            places = np.flatnonzero(array)
            arrays[name] = array.reshape(-1)[places]
            arrays[f"{name}.at"] = places.astype(np.int32)
        else:
            arrays[name] = array
    return arrays


def read_network(meta: dict[str, Any], arrays: Arrays) -> NetworkParts:
    """Read a network; sizes are compared with what the file holds before memory is taken.

    Raises
    ------
    ValueError, KeyError, TypeError, DataError
        If the parts are not valid or do not belong together.
    """
    options = NetworkOptions(**meta["network"])
    stored = arrays_under("net", arrays)
    n_weights = sum(array.size for array in stored.values())
    if "n_labels" in meta["target"] and meta["target"]["n_labels"] > n_weights:
        raise ValueError(f"there are no weights for {meta['target']['n_labels']} labels")
    targets = targets_from_parts(meta["target"], arrays_under("target", arrays))
    inputs, *latents = meta["wiring"]["names"]
    n_inputs = inputs if type(inputs) is int else len(inputs)
    n_bits = 8 * sum(array.nbytes for array in arrays.values())
    if not 0 <= n_inputs <= n_bits:
        raise ValueError(f"{n_inputs:,} inputs, but {n_bits:,} bits in all")
    rule = BinaryRule.from_dict(meta["rule"], n_inputs)
    fields = {**meta["wiring"], "names": [names_or(inputs, rule.names), *latents]}
    wiring = Wiring.from_parts(fields, arrays_under("wiring", arrays))
    if wiring.layer_sizes[0] != rule.n_variables:
        raise ValueError("the wiring does not fit the columns")
    if not isinstance(meta["source"], dict | None):
        raise ValueError("source must be an object or null")
    return NetworkParts(
        rule,
        _scaling(arrays, bool(meta["counts"]), rule),
        targets,
        wiring,
        options,
        _weights(stored, _weight_shapes(wiring, options, targets.loss.n_outputs)),
        meta["source"],
    )


def _weight_shapes(
    wiring: Wiring, options: NetworkOptions, n_outputs: int
) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter."""
    n_inputs, *n_latents = wiring.layer_sizes
    k, width, top = options.units_per_latent, options.skip_units, options.feature_units
    sizes = [n_inputs, *(k * n for n in n_latents)]
    groups = {"top": (sizes[-1], top), "output": (width * len(n_latents) + top, n_outputs)}
    if width:
        groups |= {f"skips.{depth}": (size, width) for depth, size in enumerate(sizes[:-1])}
    shapes: dict[str, tuple[int, ...]] = {}
    for depth, layer in enumerate(wiring.layers):
        shapes[f"layers.{depth}.weight"] = (layer.n_edges * k * (k if depth else 1),)
        shapes[f"layers.{depth}.bias"] = (sizes[depth + 1],)
    for name, shape in groups.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[1:]}
    if options.linear_skip:
        shapes["linear_skip"] = (n_inputs, n_outputs)
    return shapes


def _weights(stored: Arrays, shapes: dict[str, tuple[int, ...]]) -> Arrays:
    """The parameters with their zeros."""
    n_weights = sum(prod(shape) for shape in shapes.values())
    n_stored = sum(array.size for name, array in stored.items() if not name.endswith(".at"))
    if n_weights > _FEW + _MOST * n_stored:
        raise ValueError(f"a network of {n_weights:,} weights, but the file holds {n_stored:,}")
    weights: Arrays = {}
    for name, array in stored.items():
        if not np.isfinite(array).all():
            raise ValueError(f"the weights {name} are not all finite")
        if not name.endswith(".at"):
            at = stored.get(f"{name}.at")
            full = array if at is None else _with_zeros(name, array, at, shapes[name])
            if full.dtype != np.float32 or full.shape != shapes.get(name):
                raise ValueError(f"{name} is {full.dtype} {full.shape}, not {shapes.get(name)}")
            weights[name] = full
    missing = shapes.keys() - weights.keys()
    if missing:
        raise ValueError(f"weights missing: {sorted(missing)}")
    return weights


def _with_zeros(
    name: str, values: NDArray[Any], at: NDArray[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    size = prod(shape)
    if (
        at.dtype != np.int32
        or at.ndim != 1
        or at.shape != values.shape
        or (at.size and (at[0] < 0 or at[-1] >= size))
        or (at[1:] <= at[:-1]).any()
    ):
        raise ValueError(f"{name}.at must be ascending places of the values in {size:,} weights")
    full = np.zeros(size, values.dtype)
    full[at] = values
    return full.reshape(shape)


def _scaling(arrays: Arrays, counts: bool, rule: BinaryRule) -> Scaling:
    shift, scale, limit = (arrays[f"scaling.{name}"] for name in ("shift", "scale", "limit"))
    n_columns = rule.n_columns_in
    if (
        (shift.shape, scale.shape, counts)
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
    if categories:
        if shift.size + scale.size != 2 * n_columns:
            raise ValueError("columns of categories need a scaling of each column")
        if shift[categories].any() or (scale[categories] != 1).any():
            raise ValueError("the codes of categories must not be scaled")
    return Scaling(shift, scale, counts, limit)


def names_unless(names: Any, known: tuple[str, ...]) -> list[str] | int:
    """Names as a list; only their number if they are known already."""
    found = list(names)
    return len(found) if found == list(known) else found


def names_or(names: Any, known: tuple[str, ...]) -> Any:
    """The inverse of :func:`names_unless`."""
    return known if type(names) is int and names == len(known) else names
