"""Models without torch: the same answers as the full package."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tsenet
from tests.store.models import SMALL, forged, models, rows
from tsenet.errors import DataError, MissingDependencyError, ModelFileError

TEXTS = ["goal referee goal stadium", "senate ballot voters", "striker goal", "ballot"] * 15
SUBJECTS = ["sport", "politics", "sport", "politics"] * 15

IN_ANOTHER_PROCESS = """
import json, sys
import tsenet
model = tsenet.load(sys.argv[1], runtime="light")
found = model.predict_proba(json.loads(sys.argv[2]))
there = [name for name in ("torch", "sklearn", "pandas") if name in sys.modules]
print(json.dumps([there, [share.hex() for share in found.ravel().tolist()]]))
"""


def light(model: Any, folder: Path) -> Any:
    model.save(folder / "m.tsenet")
    return tsenet.load(folder / "m.tsenet", runtime="light")


@pytest.fixture(scope="module")
def of_texts() -> Any:
    return tsenet.TSENetClassifier(**SMALL).fit(TEXTS, SUBJECTS)


def test_categories(tmp_path: Path) -> None:
    model = models()["classifier"]
    X = rows()
    frame = pd.DataFrame(X[:, :6], columns=list("abcdef")).assign(
        colour=np.where(X[:, 6] > 0, "red", "green")
    )
    made = light(model, tmp_path)
    assert made.predict(frame).tolist() == model.predict(frame).tolist()
    assert made.classes_.tolist() == ["no", "yes"]
    with pytest.raises(DataError, match="features"):
        made.predict(X)


@pytest.mark.parametrize("sparse", [True, False])
def test_labels_have_the_same_bits(sparse: bool, tmp_path: Path) -> None:
    model = models()["labels"]
    X = sp.csr_array(rows()) if sparse else rows()
    made = light(model, tmp_path)
    assert np.array_equal(made.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(made.predict(X), model.predict(X))


def test_classes_and_values_have_the_same_bits(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(150, 6))
    X[::7, 2] = np.nan
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = tsenet.TSENetClassifier(**SMALL, activation="tanh").fit(X, y)
    assert np.array_equal(light(model, tmp_path).predict_proba(X), model.predict_proba(X))
    regressor = tsenet.TSENetRegressor(**SMALL).fit(X, 100 + 5 * X[:, 0])
    made = light(regressor, tmp_path)
    assert np.array_equal(made.predict(X), regressor.predict(X))
    assert np.array_equal(
        made.predict(sp.csr_array(np.nan_to_num(X))), regressor.predict(np.nan_to_num(X))
    )
    with pytest.raises(AttributeError, match="regressor"):
        made.predict_proba(X)
    with pytest.raises(DataError, match="too far"):
        made.predict(np.full((1, 6), 1e300))


def test_texts_without_torch_and_scikit_learn(of_texts: Any, tmp_path: Path) -> None:
    of_texts.save(tmp_path / "m.tsenet")
    new = ["the referee saw a goal", "a ballot", ""]
    run = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, tmp_path / "m.tsenet", json.dumps(new)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    there, found = json.loads(run.stdout)
    assert there == []
    assert found == [share.hex() for share in of_texts.predict_proba(new).ravel().tolist()]


def test_what_has_no_light_form(tmp_path: Path) -> None:
    with pytest.raises(MissingDependencyError, match="batch normalisation"):
        light(models()["regressor"], tmp_path)
    with pytest.raises(DataError, match="not for a LatentTree"):
        light(models()["tree"], tmp_path)
    with pytest.raises(ValueError, match="runtime"):
        tsenet.load(tmp_path / "m.tsenet", runtime="heavy")  # type: ignore[arg-type]  # as users may


@pytest.mark.parametrize("name", ["net.top.weight", "net.layers.0.bias", "scaling.scale"])
def test_forged_shapes_are_refused(name: str, tmp_path: Path) -> None:
    def shorten(_: Any, arrays: Any) -> None:
        arrays[name] = np.ascontiguousarray(arrays[name][:-1])

    forged(tmp_path / "m.tsenet", "classifier", shorten)
    with pytest.raises(ModelFileError):
        tsenet.load(tmp_path / "m.tsenet", runtime="light")
