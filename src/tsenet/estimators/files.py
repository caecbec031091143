"""The file form of the estimators: plain fields and arrays, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.data.scaling import Scaling
from tsenet.estimators.texts import counter_fields, counter_of_fields
from tsenet.expansion.wiring import Wiring
from tsenet.skeleton.tree import LatentTree
from tsenet.training.targets import targets_from_parts

if TYPE_CHECKING:
    from tsenet.estimators.tsenet_estimator import TSENetEstimator

Arrays = dict[str, NDArray[Any]]


def estimator_parts(estimator: TSENetEstimator) -> tuple[dict[str, Any], Arrays]:
    """Everything a fitted estimator needs to be the same again."""
    names = getattr(estimator, "feature_names_in_", None)
    wiring, wiring_arrays = estimator.wiring_.to_parts()
    target, target_arrays = estimator.targets_.to_parts()
    options = estimator._network_options.to_dict()
    meta = {
        "params": plain_parameters(estimator),
        "has_wiring": estimator.wiring is not None,
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else names.tolist(),
        "tree": None,
        "rule": estimator.binary_rule_.to_dict(),
        "wiring": wiring,
        "network": {name: _plain(value) for name, value in options.items()},
        "target": target,
        "history": estimator.history_.to_dict(),
        "n_runs": estimator._n_runs,
        "pruned": estimator._kept_weights is not None,
        "counts": estimator.scaling_.counts,
        "source": estimator.source_,
        "words": counter_fields(estimator),
    }
    arrays = {
        **_under("wiring", wiring_arrays),
        **_under("target", target_arrays),
        **_under("net", {k: v.numpy() for k, v in estimator.net_.state_dict().items()}),
        "scaling.shift": estimator.scaling_.shift,
        "scaling.scale": estimator.scaling_.scale,
        "importances": estimator.feature_importances_,
    }
    if estimator.tree_ is not None:
        meta["tree"], tree_arrays = estimator.tree_.to_parts()
        arrays.update(_under("tree", tree_arrays))
    return meta, arrays


def plain_parameters(estimator: TSENetEstimator) -> dict[str, Any]:
    """The parameters as JSON holds them; None for what is no plain value."""
    given = estimator.get_params(deep=False)
    params = {name: _plain(value) for name, value in given.items()}
    if isinstance(given.get("class_weight"), dict | list):
        params["class_weight"] = _weights_as_pairs(given["class_weight"])
    return params


def parameters_of(meta: dict[str, Any]) -> dict[str, Any]:
    """The parameters to make the estimator with."""
    params = dict(meta["params"])
    if isinstance(params.get("class_weight"), list):
        params["class_weight"] = _weights_of_pairs(params["class_weight"])
    return params


def fill_estimator(estimator: TSENetEstimator, meta: dict[str, Any], arrays: Arrays) -> None:
    """Give a new estimator what the file holds."""
    import torch

    from tsenet.network.options import NetworkOptions
    from tsenet.network.tsenet import TSENet
    from tsenet.training.history import History

    estimator._set_targets(targets_from_parts(meta["target"], _of("target", arrays)))
    estimator.n_features_in_ = meta["n_features_in"]
    if meta["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(meta["feature_names_in"], dtype=object)
    estimator.wiring_ = Wiring.from_parts(meta["wiring"], _of("wiring", arrays))
    if meta["has_wiring"]:
        estimator.wiring = estimator.wiring_
    tree = meta["tree"]
    estimator.tree_ = None if tree is None else LatentTree.from_parts(tree, _of("tree", arrays))
    estimator.binary_rule_ = BinaryRule.from_dict(meta["rule"])
    estimator.scaling_ = Scaling(
        arrays["scaling.shift"], arrays["scaling.scale"], bool(meta.get("counts", False))
    )
    estimator._network_options = NetworkOptions(**meta["network"])
    estimator._n_runs = meta["n_runs"]
    estimator.source_ = meta["source"]
    names = list(estimator.binary_rule_.names_in)
    estimator.word_counter_ = counter_of_fields(meta.get("words"), names)
    estimator.history_ = History.from_dict(meta["history"])
    estimator._importances = arrays.get("importances")
    n_outputs = estimator.targets_.loss().n_outputs
    estimator.net_ = TSENet(estimator.wiring_, n_outputs, **estimator._network_options.to_dict())
    _check_fit(estimator)
    weights = {name: torch.from_numpy(array.copy()) for name, array in _of("net", arrays).items()}
    estimator.net_.load_state_dict(weights)
    if not all(bool(torch.isfinite(weight).all()) for weight in weights.values()):
        raise ValueError("the weights of the network are not all finite")
    estimator.net_.eval()
    estimator.n_parameters_ = estimator.net_.n_parameters
    if meta["pruned"]:
        estimator._kept_weights = {
            name: array != 0
            for name, array in _of("net", arrays).items()
            if not name.endswith("bias")
        }
        removed = sum(int((~mask).sum()) for mask in estimator._kept_weights.values())
        estimator.n_parameters_ -= removed


def _check_fit(estimator: TSENetEstimator) -> None:
    """Refuse parts that are each well formed but do not belong together."""
    rule, scaling = estimator.binary_rule_, estimator.scaling_
    n_columns = rule.n_columns_in
    if rule.n_variables != estimator.wiring_.layer_sizes[0]:
        raise ValueError(
            f"the wiring has {estimator.wiring_.layer_sizes[0]} inputs, "
            f"but the columns give {rule.n_variables}"
        )
    if (
        estimator.n_features_in_ != n_columns
        or len(getattr(estimator, "feature_names_in_", range(n_columns))) != n_columns
        or (scaling.shift.size, scaling.scale.size, scaling.counts)
        not in ((0, 1, False), (n_columns, n_columns, False), (0, n_columns, True))
        or not (np.isfinite(scaling.shift).all() and np.isfinite(scaling.scale).all())
    ):
        raise ValueError(f"names and scaling do not fit the {n_columns} columns")
    tree = estimator.tree_
    if tree is not None and (
        tree.rule != rule or tree.n_observed != estimator.wiring_.layer_sizes[0]
    ):
        raise ValueError("the tree does not fit the columns")


def _plain(value: Any) -> Any:
    """A parameter as JSON holds it; None for what is no plain value."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float | str | None) else None


def _weights_as_pairs(given: Any) -> list[Any]:
    """Class weights by their classes; JSON's keys are strings only, so pairs."""
    if isinstance(given, dict):
        return [[_plain(key), _plain(value)] for key, value in given.items()]
    return [{"label": _weights_as_pairs(each)} for each in given]


def _weights_of_pairs(pairs: list[Any]) -> Any:
    if pairs and isinstance(pairs[0], dict):
        return [_weights_of_pairs(each["label"]) for each in pairs]
    return dict(pairs)


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _of(prefix: str, arrays: Arrays) -> Arrays:
    start = f"{prefix}."
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }
