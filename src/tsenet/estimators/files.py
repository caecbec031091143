"""The file form of the classifier and the regressor: plain fields and arrays, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.estimators.texts import fill_vectorizer, vectorizer_parts
from tsenet.skeleton.tree import LatentTree
from tsenet.store.files import arrays_under
from tsenet.store.network_parts import (
    names_or,
    names_unless,
    network_arrays,
    read_network,
)

if TYPE_CHECKING:
    from tsenet.estimators.tsenet_estimator import TSENetEstimator

Arrays = dict[str, NDArray[Any]]


def estimator_parts(estimator: TSENetEstimator) -> tuple[dict[str, Any], Arrays]:
    """Everything a fitted estimator needs to be the same again."""
    rule, tree, scaling = estimator.binary_rule_, estimator.tree_, estimator.scaling_
    names = getattr(estimator, "feature_names_in_", None)
    wiring, wiring_arrays = estimator.wiring_.to_parts()
    wiring["names"][0] = names_unless(wiring["names"][0], rule.names)
    target, target_arrays = estimator.targets_.to_parts()
    options = estimator._network_options.to_dict()
    history = estimator.history_.to_dict()
    del history["seconds"]  # the same seed gives the same bytes, at any speed
    meta = {
        "params": plain_parameters(estimator),
        "has_wiring": estimator.wiring is not None,
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else names_unless(names, rule.names_in),
        "tree": None,
        "rule": rule.to_dict(),
        "wiring": wiring,
        "network": {name: _plain(value) for name, value in options.items()},
        "target": target,
        "history": history,
        "n_runs": estimator._n_runs,
        "pruned": estimator._pruned,
        "counts": scaling.counts,
        "source": estimator.source_,
        **vectorizer_parts(estimator, rule.names_in),
    }
    arrays = {
        **_under("wiring", wiring_arrays),
        **_under("target", target_arrays),
        **_under("net", network_arrays(estimator._predictor.arrays)),
        "scaling.shift": scaling.shift,
        "scaling.scale": scaling.scale,
        "scaling.limit": scaling.limit,
        "importances": estimator.feature_importances_,
    }
    if estimator.cv_score_ is not None:
        arrays["cv_score"] = np.array(estimator.cv_score_[1:], np.float64)
    if tree is not None:
        meta["tree"] = {
            "inputs": names_unless(tree.names[: tree.n_observed], rule.names),
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
    check_threads(params)
    if isinstance(params.get("class_weight"), list):
        params["class_weight"] = _weights_of_pairs(params["class_weight"])
    return params


def fill_estimator(estimator: TSENetEstimator, meta: dict[str, Any], arrays: Arrays) -> None:
    """Give a new estimator what the file holds."""
    from tsenet.network.compact import n_used_parameters
    from tsenet.network.links import Links
    from tsenet.network.predictor import Predictor
    from tsenet.training.history import History
    from tsenet.training.metrics import CrossValidatedScore
    from tsenet.training.targets import ValueTargets

    parts = read_network(meta, arrays)
    rule = estimator.binary_rule_ = parts.rule
    estimator._set_targets(parts.targets)
    estimator.n_features_in_ = rule.n_columns_in
    if parts.feature_names is not None:
        estimator.feature_names_in_ = parts.feature_names
    estimator.wiring_ = parts.wiring
    if meta["has_wiring"]:
        estimator.wiring = parts.wiring
    estimator.tree_ = None
    if meta["tree"] is not None:
        names = [*names_or(meta["tree"]["inputs"], rule.names), *meta["tree"]["latents"]]
        fields = {"names": names, "rule": meta["rule"]}
        estimator.tree_ = LatentTree.from_parts(fields, arrays_under("tree", arrays))
        if estimator.tree_.n_observed != rule.n_variables:
            raise ValueError("the tree does not fit the columns")
    estimator.scaling_, estimator.source_ = parts.scaling, parts.source
    estimator._network_options = parts.options
    estimator._n_runs = meta["n_runs"]
    if type(estimator._n_runs) is not int or not 0 <= estimator._n_runs < 2**31:
        raise ValueError(f"the number of trainings is {estimator._n_runs!r}")
    fill_vectorizer(estimator, meta, rule.names_in)
    estimator.history_ = History.from_dict({**meta["history"], "seconds": []})
    estimator._importances = arrays["importances"]
    if estimator._importances.shape != (rule.n_columns_in,):
        raise ValueError(f"there must be one importance for each of {rule.n_columns_in} columns")
    estimator.cv_score_ = None
    if "cv_score" in arrays:
        value, low, high, n_rows = arrays["cv_score"].tolist()
        metric = "r2" if isinstance(parts.targets, ValueTargets) else "accuracy"
        estimator.cv_score_ = CrossValidatedScore(metric, value, low, high, int(n_rows))
    links = Links.of_wiring(parts.wiring, parts.options.units_per_latent)
    stored = estimator._stored = Predictor(links, parts.weights, parts.options.activation)
    estimator._pruned = bool(meta["pruned"])
    estimator.n_parameters_ = (
        n_used_parameters(stored)
        if estimator._pruned
        else sum(array.size for array in parts.weights.values())
    )


def check_threads(params: dict[str, Any]) -> None:
    """Refuse a number of threads that is none."""
    n_jobs = params.get("n_jobs")
    if n_jobs is not None and (type(n_jobs) is not int or n_jobs == 0 or abs(n_jobs) > 1_000_000):
        raise ValueError(f"n_jobs is {n_jobs!r}, not a number of threads")


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
