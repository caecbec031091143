"""The file form of the estimators: plain fields and arrays, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.packages import need_torch
from tsenet.data.binary import BinaryRule
from tsenet.estimators.texts import fill_vectorizer, vectorizer_parts
from tsenet.skeleton.tree import LatentTree
from tsenet.store.network_files import (
    arrays_under,
    check_size,
    load_weights,
    n_inputs_of,
    names_or,
    network_arrays,
    scaling_of,
    wiring_of_parts,
    wiring_parts,
)
from tsenet.training.targets import targets_from_parts

if TYPE_CHECKING:
    from tsenet.estimators.tsenet_estimator import TSENetEstimator

Arrays = dict[str, NDArray[Any]]


def estimator_parts(estimator: TSENetEstimator) -> tuple[dict[str, Any], Arrays]:
    """Everything a fitted estimator needs to be the same again."""
    names = getattr(estimator, "feature_names_in_", None)
    wiring, wiring_arrays = wiring_parts(estimator.wiring_)
    inputs = estimator.binary_rule_.names
    target, target_arrays = estimator.targets_.to_parts()
    options = estimator._network_options.to_dict()
    history = estimator.history_.to_dict()
    del history["seconds"]  # the same seed gives the same bytes, at any speed
    meta = {
        "params": plain_parameters(estimator),
        "has_wiring": estimator.wiring is not None,
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None
        if names is None
        else _unless(names, estimator.binary_rule_.names_in),
        "tree": None,
        "rule": estimator.binary_rule_.to_dict(),
        "wiring": {**wiring, "names": [_unless(wiring["names"][0], inputs), *wiring["names"][1:]]},
        "network": {name: _plain(value) for name, value in options.items()},
        "target": target,
        "history": history,
        "n_runs": estimator._n_runs,
        "pruned": estimator._pruned,
        "counts": estimator.scaling_.counts,
        "source": estimator.source_,
        **vectorizer_parts(estimator, estimator.binary_rule_.names_in),
    }
    arrays = {
        **_under("wiring", wiring_arrays),
        **_under("target", target_arrays),
        **_under("net", network_arrays(estimator.net_)),
        "scaling.shift": estimator.scaling_.shift,
        "scaling.scale": estimator.scaling_.scale,
        "scaling.limit": estimator.scaling_.limit,
        "importances": estimator.feature_importances_,
    }
    if estimator.tree_ is not None:
        tree = estimator.tree_
        meta["tree"] = {
            "inputs": _unless(tree.names[: tree.n_observed], inputs),
            "latents": list(tree.names[tree.n_observed :]),
        }
        arrays.update(_under("tree", tree.to_parts()[1]))
    return meta, arrays


def plain_parameters(estimator: TSENetEstimator) -> dict[str, Any]:
    """The parameters as JSON holds them, without the cluster; None for what is no plain value."""
    given = estimator.get_params(deep=False)
    given.pop("client", None)
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
    need_torch("a network that can be explained and trained on")
    import torch

    from tsenet.network.compact import n_used_parameters
    from tsenet.network.options import NetworkOptions
    from tsenet.network.tsenet import TSENet
    from tsenet.training.history import History

    check_parameters(meta)
    targets = targets_from_parts(meta["target"], arrays_under("target", arrays))
    net_arrays = arrays_under("net", arrays)
    n_outputs = targets.loss().n_outputs
    if n_outputs > sum(array.size for array in net_arrays.values()):
        raise ValueError(f"there are no weights for {n_outputs} outputs")
    estimator._set_targets(targets)
    estimator.n_features_in_ = meta["n_features_in"]
    rule = estimator.binary_rule_ = BinaryRule.from_dict(meta["rule"], n_inputs_of(meta, arrays))
    if meta["feature_names_in"] is not None:
        names = names_or(meta["feature_names_in"], rule.names_in)
        estimator.feature_names_in_ = np.array(names, dtype=object)
    inputs, *latents = meta["wiring"]["names"]
    wiring = {**meta["wiring"], "names": [names_or(inputs, rule.names), *latents]}
    estimator.wiring_ = wiring_of_parts(wiring, arrays_under("wiring", arrays))
    if meta["has_wiring"]:
        estimator.wiring = estimator.wiring_
    estimator.tree_ = None
    if meta["tree"] is not None:
        names = [*names_or(meta["tree"]["inputs"], rule.names), *meta["tree"]["latents"]]
        fields = {"names": names, "rule": meta["rule"]}
        estimator.tree_ = LatentTree.from_parts(fields, arrays_under("tree", arrays))
    estimator.scaling_ = scaling_of(arrays, bool(meta.get("counts", False)), rule)
    estimator._network_options = NetworkOptions(**meta["network"])
    estimator._n_runs = meta["n_runs"]
    estimator.source_ = meta["source"]
    fill_vectorizer(estimator, meta, rule.names_in)
    meta["history"].pop("seconds", None)  # in files of older versions
    estimator.history_ = History.from_dict({**meta["history"], "seconds": []})
    shares = arrays.get("importances")  # absent from files of earlier versions
    if shares is not None and shares.shape != (estimator.n_features_in_,):
        raise ValueError(
            f"there are {estimator.n_features_in_} columns, but {shares.shape} importances"
        )
    estimator._importances = shares
    options = estimator._network_options
    _check_fit(estimator)
    check_size(estimator.wiring_, options, n_outputs, net_arrays)
    with torch.device("meta"):  # shapes without memory
        net = TSENet(estimator.wiring_, n_outputs, **{**options.to_dict(), "init": None})
    load_weights(net, net_arrays)
    estimator.net_ = net.eval()
    estimator._pruned = bool(meta["pruned"])
    estimator.n_parameters_ = (
        n_used_parameters(net.predictor()) if estimator._pruned else net.n_parameters
    )


def _check_fit(estimator: TSENetEstimator) -> None:
    """Refuse parts that are each well formed but do not belong together."""
    rule = estimator.binary_rule_
    check_columns(estimator, rule.n_columns_in)
    if not isinstance(estimator._n_runs, int) or not 0 <= estimator._n_runs < 2**31:
        raise ValueError(f"the number of trainings is {estimator._n_runs!r}")
    if not isinstance(estimator.source_, dict | None):
        raise ValueError("source must be an object or null")
    tree = estimator.tree_
    if tree is not None and (
        tree.rule != rule or tree.n_observed != estimator.wiring_.layer_sizes[0]
    ):
        raise ValueError("the tree does not fit the columns")


def check_columns(estimator: Any, n_columns: int) -> None:
    """Refuse a number or names of columns that are not those of the rule."""
    names = getattr(estimator, "feature_names_in_", None)
    if type(estimator.n_features_in_) is not int or estimator.n_features_in_ != n_columns:
        raise ValueError(f"n_features_in is {estimator.n_features_in_!r}, not {n_columns}")
    if names is not None and (
        names.shape != (n_columns,) or not all(isinstance(name, str) for name in names)
    ):
        raise ValueError(f"feature_names_in must be {n_columns} names")


def check_parameters(meta: dict[str, Any]) -> None:
    """Refuse a number of threads that is none."""
    n_jobs = meta["params"].get("n_jobs")
    if n_jobs is not None and (type(n_jobs) is not int or n_jobs == 0 or abs(n_jobs) > 1_000_000):
        raise ValueError(f"n_jobs is {n_jobs!r}, not a number of threads")


def _unless(names: Any, known: tuple[str, ...]) -> list[str] | int:
    """Names as a list; only their number if they are known already."""
    found = list(names)
    return len(found) if found == list(known) else found


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
