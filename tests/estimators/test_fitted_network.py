"""What people ask a fitted network: its hidden units, and which columns matter."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_selection import SelectFromModel

import tsenet
from tests.builders import QUICK
from tsenet import TSENetClassifier, TSENetRegressor
from tsenet.data.table import Table
from tsenet.explain import explain_prediction
from tsenet.explain.affine import column_importances

FAST = {**QUICK, "max_epochs": 8}

Floats = NDArray[np.float64]


def test_pickle_keeps_the_answers(classifier: TSENetClassifier, rows: Floats) -> None:
    again = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(again.predict_proba(rows), classifier.predict_proba(rows))


def test_hidden_units_and_their_names(classifier: TSENetClassifier, rows: Floats) -> None:
    hidden = classifier.transform(rows)
    names = classifier.get_feature_names_out().tolist()
    assert hidden.shape == (600, len(names))
    assert len(set(names)) == len(names)
    assert classifier.tree_ is not None
    k = classifier.net_.units_per_latent
    n_latents = k * classifier.tree_.n_latents
    assert names[:n_latents:k] == [f"{name}/1" for name in classifier.tree_.latent_names]
    assert names[k - 1] == f"{classifier.tree_.latent_names[0]}/{k}"
    assert names[n_latents] == "skip0.0"
    assert names[-1] == "top.7"
    weight, bias = (
        classifier.net_.output.weight.detach().numpy(),
        classifier.net_.output.bias.detach(),
    )
    outputs = hidden[:, n_latents:] @ weight + bias.numpy()
    scaled = classifier.scaling_.apply(Table.of(rows)).values
    if classifier.net_.linear_skip is not None:
        outputs += scaled @ classifier.net_.linear_skip.detach().numpy()
    assert np.allclose(outputs, classifier.decision_function(rows), atol=1e-4)


def test_importances_find_the_columns_that_matter(
    noisy_classifier: TSENetClassifier,
    noisy_rows: Floats,
    noisy_kinds: NDArray[Any],
    tmp_path: Path,
) -> None:
    shares = noisy_classifier.feature_importances_
    assert shares.shape == (10,)
    assert shares.sum() == pytest.approx(1)
    assert shares[4:8].min() > 2 * max(shares[:4].max(), shares[8:].max())
    noisy_classifier.save(tmp_path / "m.tsenet")
    assert np.array_equal(tsenet.load(tmp_path / "m.tsenet").feature_importances_, shares)
    again = pickle.loads(pickle.dumps(noisy_classifier))
    assert np.array_equal(again.feature_importances_, shares)
    assert again._importance_rows is None  # no training rows in a pickle
    chosen = SelectFromModel(noisy_classifier, prefit=True, max_features=4).get_support()
    assert np.flatnonzero(chosen).tolist() == [4, 5, 6, 7]


def test_importances_of_categories_and_sparse_rows(
    noisy_rows: Floats, noisy_kinds: NDArray[Any]
) -> None:
    frame = pd.DataFrame({"noise": noisy_rows[:, 8], "kind": noisy_kinds})
    shares = TSENetClassifier(**FAST).fit(frame, noisy_kinds).feature_importances_
    assert shares.shape == (2,)
    assert shares[1] > 0.8
    counts = sp.csr_array(noisy_rows[:, :8])
    sparse = TSENetRegressor(**FAST).fit(counts, noisy_rows[:, :4].sum(axis=1))
    assert sparse.feature_importances_[:4].sum() > 0.8


def test_importances_are_mean_contributions(
    noisy_classifier: TSENetClassifier, noisy_rows: Floats
) -> None:
    few = noisy_rows[:30]
    (inputs,) = noisy_classifier.network_inputs(few)
    found = column_importances(
        noisy_classifier.net_.predictor(), inputs, noisy_classifier.binary_rule_
    )
    expected = np.zeros(10)
    for row in few:
        added = np.zeros((3, 10))  # what each class has more than the first
        for k, name in enumerate(noisy_classifier.classes_[1:], start=1):
            why = explain_prediction(
                noisy_classifier, row, target=name, against=noisy_classifier.classes_[0]
            )
            for part in why.features:
                added[k, int(part.name.removeprefix("x"))] = part.contribution
        expected += np.abs(added - added.mean(axis=0)).sum(axis=0)
    assert np.allclose(found, expected / expected.sum(), atol=1e-9)
