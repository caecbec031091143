"""Loaded models predict without torch, and answer as they did before."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tsenet
from tests.store.models import SMALL, models, rows
from tsenet.explain.prediction import explain_prediction

TEXTS = ["goal referee goal stadium", "senate ballot voters", "striker goal", "ballot"] * 15
SUBJECTS = ["sport", "politics", "sport", "politics"] * 15

IN_ANOTHER_PROCESS = """
import json, sys
import tsenet
model = tsenet.load(sys.argv[1])
texts = json.loads(sys.argv[2])
found = model.predict_proba(texts[:1]), model.predict_proba(texts * 40), model.transform(texts)
print(json.dumps(["torch" in sys.modules, *(part[0].tolist() for part in found)]))
"""


def loaded(model: Any, folder: Path) -> Any:
    model.save(folder / "m.tsenet")
    return tsenet.load(folder / "m.tsenet")


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", ["labels", "regressor"])
def test_answers_are_the_same(name: str, sparse: bool, tmp_path: Path) -> None:
    model, X = models()[name], sp.csr_array(rows()) if sparse else rows()
    again = loaded(model, tmp_path)

    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(again.transform(X), model.transform(X), rtol=1e-5, atol=1e-5)
    one = X[[3]]
    np.testing.assert_allclose(again.predict(one), again.predict(X)[3:4], rtol=1e-5, atol=1e-5)
    assert again.n_parameters_ == model.n_parameters_


def test_torch_is_not_imported(tmp_path: Path) -> None:
    model = tsenet.TSENetClassifier(**SMALL).fit(TEXTS, SUBJECTS)
    model.save(tmp_path / "m.tsenet")
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, tmp_path / "m.tsenet", json.dumps(TEXTS)]
    run = subprocess.run(map(str, command), capture_output=True, text=True, check=True, timeout=300)
    has_torch, one, many, hidden = json.loads(run.stdout)

    assert not has_torch
    np.testing.assert_allclose(one, model.predict_proba(TEXTS[:1])[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(many, one, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(hidden, model.transform(TEXTS)[0], rtol=1e-5, atol=1e-5)


def test_a_loaded_model_is_explained_pickled_pruned_and_trained_further(tmp_path: Path) -> None:
    model = tsenet.TSENetClassifier(**SMALL).fit(TEXTS, SUBJECTS)
    again = loaded(model, tmp_path)
    answers = model.predict_proba(TEXTS)

    copied = pickle.loads(pickle.dumps(again))
    np.testing.assert_allclose(copied.predict_proba(TEXTS), answers, rtol=1e-5, atol=1e-5)
    assert explain_prediction(again, TEXTS[:1]).features
    np.testing.assert_allclose(again.predict_proba(TEXTS), answers, rtol=1e-5, atol=1e-5)
    again.partial_fit(TEXTS, SUBJECTS)
    assert not np.allclose(again.predict_proba(TEXTS), answers, rtol=1e-5)
