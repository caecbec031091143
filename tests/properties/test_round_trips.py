"""What was fitted can be saved, and loads as it was: models of random tables, odd as they may be."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier

from tests.builders import QUICK
from tsenet import LatentTreeTransformer, TSENetClassifier, TSENetRegressor, learn_tree, load, save
from tsenet.errors import TSENetError

pytestmark = pytest.mark.filterwarnings("ignore")  # of odd tables

FAST = {
    **QUICK,
    "tree_options": {"refine_steps": 1, "em_restarts": 1},
    "feature_units": 2,
    "max_epochs": 1,
}
SEVERAL = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)

VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 3.5, 1e-300, 1e300, -1e15, np.nan])
CATEGORIES = st.sampled_from(["", "a", "b", "☃ \n", None, "1", "nan"])
COLUMN_NAMES = st.sampled_from(["", "a", "A", "a=b", "x0", "été\n", '"', "0"])


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """A table of few rows, some of them repeated: dense, sparse, or a frame with categories and constant columns."""
    kind = draw(st.sampled_from(["dense", "counts", "frame", "texts"]))
    n_rows = draw(st.integers(3, 8))
    if kind == "texts":
        words = st.lists(st.sampled_from(["cat", "dog", "moon", "été", "a1", "x"]), max_size=4)
        made: Any = [" ".join(draw(words)) for _ in range(n_rows)]
    elif kind == "frame":
        names = draw(st.lists(COLUMN_NAMES, min_size=2, max_size=4, unique=True))
        columns = {}
        for name in names:
            values = VALUES if draw(st.booleans()) else CATEGORIES
            column = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
            columns[name] = column if draw(st.booleans()) else [column[0]] * n_rows
        made = pd.DataFrame(columns)
    else:
        n_columns = draw(st.integers(1, 5))
        values = VALUES if kind == "dense" else st.integers(0, 3)
        row = st.lists(values, min_size=n_columns, max_size=n_columns)
        made = np.array([draw(row) for _ in range(n_rows)], float)
        made = sp.csr_array(made) if kind == "counts" else made
    times = draw(st.sampled_from([1, 1, 5]))
    if isinstance(made, list):
        return made * times
    chosen = np.tile(np.arange(n_rows), times)
    return made.iloc[chosen] if isinstance(made, pd.DataFrame) else made[chosen]


def targets(draw: st.DrawFn, n_rows: int, classification: bool) -> Any:
    """Targets of rows, one or several, some of them unknown."""
    several = draw(st.booleans())
    if not classification:
        values = st.sampled_from([0.0, 1.0, -1e300, 1e-300, 2.5, np.nan])
    elif several:
        values = st.sampled_from([0.0, 1.0, np.nan])
    else:
        values = st.sampled_from(
            draw(
                st.sampled_from([["a", "\ud800", None], [0, 1, 2], [True, False], [1.0, 2.0, None]])
            )
        )
    n_columns = 2 if several else 1
    drawn = [draw(values) for _ in range(n_rows * n_columns)]
    return np.array(drawn, object).reshape(n_rows, 2) if several else drawn


@st.composite
def fits(draw: st.DrawFn) -> tuple[Any, Any, Any, dict[str, Any]]:
    """An estimator of a network, a table, its targets, and options of fit."""
    X = draw(tables())
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    options: dict[str, Any] = {
        "linear_skip": draw(st.sampled_from(["auto", True, False])),
        "init": draw(st.sampled_from(["principal", "principal", "random"])),
        "units_per_latent": draw(st.sampled_from([None, 1, 3])),
        "skip_units": draw(st.sampled_from([None, 0, 2])),
        "n_jobs": draw(st.sampled_from([None, 1])),
    }
    model: Any = draw(st.sampled_from([TSENetClassifier, TSENetRegressor]))(**{**FAST, **options})
    keeps = options["init"] == "principal" and options["linear_skip"] and draw(st.booleans())
    more = {"embeddings": np.eye(n_rows, 3), "inputs": "both"} if keeps else {}
    return model, X, targets(draw, n_rows, is_classifier(model)), more


def there_and_back(model: Any) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.tsenet")
        save(model, path)
        again = load(path)
        save(again, Path(folder, "again.tsenet"))
        assert Path(folder, "again.tsenet").read_bytes() == path.read_bytes()
    return again


@pytest.mark.slow
@SEVERAL
@given(fits())
def test_fitted_networks_come_back(fit: tuple[Any, Any, Any, dict[str, Any]]) -> None:
    model, X, y, options = fit
    try:
        model.fit(X, y, **options)
    except TSENetError:
        event("refused")
        return  # a table or targets that are refused
    again = there_and_back(model)
    rows = {"embeddings": options["embeddings"]} if options else {}
    try:
        answers = model.predict(X, **rows)
    except TSENetError:
        return  # rows with answers that are not finite
    assert np.array_equal(again.predict(X, **rows), answers)
    assert np.array_equal(again.feature_importances_, model.feature_importances_)
    assert again.cv_score_ == model.cv_score_


@pytest.mark.slow
@SEVERAL
@given(tables())
def test_trees_and_transformers_come_back(X: Any) -> None:
    options: dict[str, Any] = {"refine_steps": 1, "em_restarts": 1, "random_state": 0}
    try:
        transformer = LatentTreeTransformer(**options).fit(X)
        tree = learn_tree(X, **options)
    except TSENetError:
        return
    assert there_and_back(tree) == tree
    again = there_and_back(transformer)
    assert np.array_equal(again.transform(X), transformer.transform(X))
