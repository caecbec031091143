"""The file form of `TSENetClassifier` and `TSENetRegressor`: what a model file holds of them, both ways.

A weight array of which most are zeros, as in a pruned network, is two arrays: ``NAME``, the values that are not 0, and
``NAME.at``, where they are in the flat array. All other arrays are stored as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.data.mixed import ColumnSteps, MixedReader
from tsenet.data.scaling import Scaling
from tsenet.estimators.base import (
    as_json,
    fill_vectorizer,
    keep_columns,
    saved_params,
    vectorizer_parts,
)
from tsenet.estimators.structure import words_alone
from tsenet.expansion.wiring import Wiring
from tsenet.network.predictor import Predictor
from tsenet.network.topology import NetworkOptions, Topology
from tsenet.skeleton.tree import LatentTree
from tsenet.store.files import arrays_under
from tsenet.training.history import History
from tsenet.training.scores import CrossValidatedScore
from tsenet.training.targets import Targets, targets_from_parts

if TYPE_CHECKING:
    from tsenet.training.linear_teacher import Linear

_ANY_SHARE = 10_000_000  # up to this many weights of a network, any share may be zeros …
_MAX_EXPANSION = 200  # … a larger network has at most this many weights for each stored one

Arrays = dict[str, NDArray[Any]]


def to_parts(model: Any) -> tuple[dict[str, Any], Arrays]:
    """The fields and arrays of a fitted estimator."""
    rule: BinaryRule = model.binary_rule_
    scaling: Scaling = model.scaling_
    wiring, wiring_arrays = model.wiring_.to_parts()
    wiring["names"][0] = _names_unless(wiring["names"][0], rule.names)
    target, target_arrays = model.targets_.to_parts()
    history = model.history_.to_dict()
    del history["seconds"]  # the same seed gives the same bytes, at any speed

    meta = {
        "params": {**saved_params(model), "class_weight": _pairs_of(model.class_weight)},
        "has_wiring": model.wiring is not None,
        "has_skeleton": not isinstance(model.skeleton, str | None),
        "tree": None,
        "rule": rule.to_dict(),
        "wiring": wiring,
        "network": as_json(model._network_options.to_dict()),
        "target": target,
        "history": history,
        "n_runs": model._n_runs,
        "pruned": model._pruned,
        "counts": scaling.counts,
        "unit_length": scaling.unit_length,
        "source": model.source_,
        "mixed": None if model._mixed is None else model._mixed.to_parts(),
        "cv_score": None if model.cv_score_ is None else model.cv_score_._asdict(),
        **vectorizer_parts(model, _words(rule, model._mixed)),
    }
    arrays = {
        **_under("wiring", wiring_arrays),
        **_under("target", target_arrays),
        **_under("net", stored_weights(model._predictor.arrays)),
        "scaling.shift": scaling.shift,
        "scaling.scale": scaling.scale,
        "scaling.limit": scaling.limit,
        "importances": model.feature_importances_,
    }
    if model._of_embeddings is not None:
        arrays.update(_under("embeddings", model._of_embeddings._asdict()))

    if model.tree_ is not None:
        meta["tree"] = list(model.tree_.latent_names)  # the other names are those of the rule
        arrays.update(_under("tree", model.tree_.to_parts()[1]))

    return meta, arrays


def fill(model: Any, meta: dict[str, Any], arrays: Arrays) -> None:
    """Give an estimator what `to_parts` wrote; sizes are compared with what the file holds before memory is taken.

    Raises
    ------
    ValueError, KeyError, TypeError, DataError
        If the parts are not valid or do not belong together.
    """
    rule, targets, predictor = read_network(meta, arrays)
    model.binary_rule_ = rule
    model.targets_ = targets
    model.wiring_ = predictor.topology.wiring
    keep_columns(model, rule.names_in, rule.named)

    if meta.get("mixed") is None:
        fill_vectorizer(model, meta, rule.names_in)
    else:
        n_steps = len(ColumnSteps.of_parts(meta["mixed"]).names)
        fill_vectorizer(model, meta, rule.names_in[: rule.n_columns_in - n_steps])
        model._mixed = MixedReader.from_parts(meta["mixed"], model.vectorizer_, rule.names_in)

    n_steps = 0 if model._mixed is None else len(model._mixed.steps.names)
    model.scaling_ = _read_scaling(arrays, meta, n_steps, rule)
    if meta["has_wiring"]:
        model.wiring = model.wiring_

    model.tree_ = None
    if meta["tree"] is not None:
        fields = {"names": [*rule.names, *meta["tree"]], "rule": meta["rule"]}
        model.tree_ = LatentTree.from_parts(fields, arrays_under("tree", arrays))

    if meta.get("has_skeleton"):  # a topic model too comes back as its tree
        if model.tree_ is None:
            raise ValueError("there is no tree, but the model grew from a given one")
        model.skeleton = model.tree_
        if model._mixed is not None:
            model.skeleton = words_alone(model.tree_, model._mixed.n_words)

    model._stored = predictor
    model._network_options = predictor.topology.options
    model._pruned = bool(meta["pruned"])
    model._n_runs = meta["n_runs"]
    if type(model._n_runs) is not int or not 0 <= model._n_runs < 2**31:
        raise ValueError(f"the number of trainings is {model._n_runs!r}")
    model.history_ = History.from_dict({**meta["history"], "seconds": []})
    model._importances = arrays["importances"]
    if model._importances.shape != (rule.n_columns_in,):
        raise ValueError(f"there must be one importance for each of {rule.n_columns_in} columns")

    of_embeddings = arrays_under("embeddings", arrays)
    if of_embeddings:
        model._of_embeddings = _read_linear(of_embeddings, model.targets_.loss.n_outputs)

    if meta["cv_score"] is not None:
        model.cv_score_ = CrossValidatedScore(**meta["cv_score"])
        model.cv_score_.validate()

    model.source_ = meta["source"]
    if not isinstance(model.source_, dict | None):
        raise ValueError("source must be an object or null")


def read_network(meta: dict[str, Any], arrays: Arrays) -> tuple[BinaryRule, Targets, Predictor]:
    """The columns, the targets, and the network between them."""
    options = NetworkOptions(**meta["network"])
    stored = arrays_under("net", arrays)
    n_stored = sum(array.size for array in stored.values())
    if "n_labels" in meta["target"] and meta["target"]["n_labels"] > n_stored:
        raise ValueError(f"there are no weights for {meta['target']['n_labels']} labels")

    targets = targets_from_parts(meta["target"], arrays_under("target", arrays))

    inputs, *latents = meta["wiring"]["names"]
    n_inputs = inputs if type(inputs) is int else len(inputs)
    n_bits = 8 * sum(array.nbytes for array in arrays.values())
    if not 0 <= n_inputs <= n_bits:
        raise ValueError(f"{n_inputs:,} inputs, but {n_bits:,} bits in all")

    rule = BinaryRule.from_dict(meta["rule"], n_inputs)
    fields = {**meta["wiring"], "names": [_names_or(inputs, rule.names), *latents]}
    wiring = Wiring.from_parts(fields, arrays_under("wiring", arrays))
    if wiring.layer_sizes[0] != rule.n_variables:
        raise ValueError("the wiring does not fit the columns")

    topology = Topology(wiring, targets.loss.n_outputs, options)
    return rule, targets, Predictor(topology, weights_of(stored, topology.shapes()))


# ---- weights


def stored_weights(weights: Arrays) -> Arrays:
    """The file form of the parameters of a network, by name: those that are mostly zeros without them."""
    arrays: Arrays = {}
    n_values = {name: int(np.count_nonzero(array)) for name, array in weights.items()}
    n_weights = sum(array.size for array in weights.values())
    may_leave_out = n_weights <= _ANY_SHARE + _MAX_EXPANSION * sum(n_values.values())
    for name, array in weights.items():
        is_weight = name == "linear_skip" or name.endswith(".weight")
        if may_leave_out and is_weight and 2 * n_values[name] < array.size < 2**31:
            places = np.flatnonzero(array)
            arrays[name] = array.reshape(-1)[places]
            arrays[f"{name}.at"] = places.astype(np.int32)
        else:
            arrays[name] = array
    return arrays


def weights_of(stored: Arrays, shapes: dict[str, tuple[int, ...]]) -> Arrays:
    """The parameters with their zeros."""
    n_weights = sum(prod(shape) for shape in shapes.values())
    n_stored = sum(array.size for name, array in stored.items() if not name.endswith(".at"))
    if n_weights > _ANY_SHARE + _MAX_EXPANSION * n_stored:
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


def _words(rule: BinaryRule, mixed: MixedReader | None) -> Sequence[str]:
    """The columns that are words."""
    return rule.names_in if mixed is None else rule.names_in[: mixed.n_words]


def _read_scaling(arrays: Arrays, meta: dict[str, Any], n_steps: int, rule: BinaryRule) -> Scaling:
    """How a file says that columns are scaled."""
    counts = bool(meta["counts"])
    unit_length = bool(meta["unit_length"])
    shift = arrays["scaling.shift"]
    scale = arrays["scaling.scale"]
    limit = arrays["scaling.limit"]
    n_columns = rule.n_columns_in

    # One factor for all values; mean and deviation of each column; the weights of words.
    kinds = [
        ((0,), (1,), False),
        ((n_columns,), (n_columns,), False),
        ((0,), (n_columns,), True),
    ]
    fits = (shift.shape, scale.shape, counts) in kinds
    fits &= limit.shape == ((0,) if counts else scale.shape)
    fits &= counts or not unit_length
    for array in (shift, scale, limit):
        fits &= array.dtype == np.float64 and bool(np.isfinite(array).all())
    if not fits or (scale < 0).any() or (limit < 0).any():
        raise ValueError(f"the scaling does not fit the {n_columns} columns")

    categories = [j for j, levels in enumerate(rule.levels) if levels is not None]
    if categories:
        if shift.size + scale.size != 2 * n_columns:
            raise ValueError("columns of categories need a scaling of each column")
        if shift[categories].any() or (scale[categories] != 1).any():
            raise ValueError("the codes of categories must not be scaled")

    return Scaling(shift, scale, counts, limit, unit_length, n_steps if counts else 0)


# ---- names and parameters


def _names_unless(names: Any, known: tuple[str, ...]) -> list[str] | int:
    """Names as a list; only their number if they are known already."""
    found = list(names)
    return len(found) if found == list(known) else found


def _names_or(names: Any, known: tuple[str, ...]) -> Any:
    """The inverse of :func:`_names_unless`."""
    return known if type(names) is int and names == len(known) else names


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _read_linear(arrays: Arrays, n_outputs: int) -> Linear:
    """The part on embeddings that a file holds."""
    from tsenet.training.linear_teacher import Linear

    linear = Linear(**arrays)
    fits = linear.weight.ndim == 2 and linear.weight.shape[1:] == linear.bias.shape == (n_outputs,)
    if not fits or any(a.dtype != np.float64 or not np.isfinite(a).all() for a in linear):
        raise ValueError(f"the part on embeddings does not fit the {n_outputs} outputs")
    return linear


def _pairs_of(weights: Any) -> Any:
    """Class weights as JSON holds them: pairs, since classes need not be strings; {"label": pairs} for each label."""
    if isinstance(weights, dict):
        return as_json(list(weights.items()))
    if isinstance(weights, list):
        return [{"label": _pairs_of(each)} for each in weights]
    return as_json(weights)


def class_weight_of(pairs: Any) -> Any:
    """The class weights that a file holds as pairs."""
    if not isinstance(pairs, list):
        return pairs
    if pairs and isinstance(pairs[0], dict):
        return [dict(each["label"]) for each in pairs]
    return dict(pairs)
