"""The protocols of fitted models: who follows them, and that explanations read nothing beyond them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.tree import DecisionTreeClassifier

from tests.explain.models import dense_rows, fitted, mixed_rows, targets, wiring
from tsenet import LatentTreeTransformer, TSENetClassifier, TSENetRegressor
from tsenet.baselines import DenseClassifier, DenseRegressor
from tsenet.explain import FittedNetwork, WiredNetwork, describe_units, explain_prediction
from tsenet.explain.fitted import output_scale, rule_of
from tsenet.explain.report import report_payload

WIRED = {
    "net_",
    "wiring_",
    "tree_",
    "history_",
    "binary_rule_",
    "output_names_",
    "output_scale_",
    "output_shift_",
    "network_inputs",
    "transform",
    "get_feature_names_out",
    "predict",
    "score",
}
OPTIONAL = {"classes_", "source_", "get_params"}


class Stranger:
    """Passes on what the protocol names, of a model of a class it has nothing to do with; refuses the rest."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        if name not in WIRED | OPTIONAL:
            raise AttributeError(name)
        return getattr(self._model, name)


@pytest.mark.parametrize("kind", ["binary", "classes", "labels", "value", "values"])
def test_explanations_read_the_protocol_alone(kind: str) -> None:
    rows: Any = dense_rows()
    model: Any = fitted(kind, rows)
    check_that_a_stranger_is_explained_alike(model, rows, targets(kind, rows))


def test_and_of_categories_too() -> None:
    rows = mixed_rows()
    names = [f"c{j}" for j in range(8)] + [f"colour={c}" for c in ("blue", "green", "red", "white")]
    model = fitted(rows=rows, wiring=wiring(names=tuple(names)))
    check_that_a_stranger_is_explained_alike(model, rows, targets("classes", rows))


def check_that_a_stranger_is_explained_alike(model: Any, rows: Any, y: Any) -> None:
    stranger = Stranger(model)
    assert describe_units(stranger, rows) == describe_units(model, rows)
    row = rows[3:4]
    assert explain_prediction(stranger, row) == explain_prediction(model, row)
    shown: dict[str, Any] = dict(report_payload(stranger, rows, y))
    wanted: dict[str, Any] = dict(report_payload(model, rows, y))
    assert shown.pop("title") == "Stranger"
    assert wanted.pop("title") == type(model).__name__
    assert shown == wanted


@pytest.mark.parametrize("made", [TSENetClassifier, TSENetRegressor])
def test_our_networks_follow_it_once_they_are_fitted(made: Any) -> None:
    assert not isinstance(made(), FittedNetwork)
    model = fitted("classes" if made is TSENetClassifier else "value")
    assert isinstance(model, FittedNetwork)
    assert isinstance(model, WiredNetwork)


@pytest.mark.parametrize("made", [DenseClassifier, DenseRegressor])
def test_dense_networks_follow_it_without_a_wiring(made: Any) -> None:
    X = dense_rows()
    model = made(hidden=(4,), max_epochs=1, random_state=0).fit(X, X[:, 0] > X[:, 0].mean())
    assert isinstance(model, FittedNetwork)
    assert not isinstance(model, WiredNetwork)


def test_other_models_do_not() -> None:
    X = dense_rows()
    y = X[:, 0] > X[:, 0].mean()
    transformer = LatentTreeTransformer(random_state=0).fit(X.mean(axis=0) < X)
    # scikit-learn's decision tree also has a tree_, which is none of ours
    others = (PCA(2).fit(X), DecisionTreeClassifier().fit(X, y), transformer)
    assert not any(isinstance(model, FittedNetwork) for model in others)
    assert [rule_of(model) for model in others] == [None, None, transformer.tree_.rule]
    scale, shift = output_scale(others[0], 2)
    np.testing.assert_array_equal([scale, shift], [[1, 1], [0, 0]])
