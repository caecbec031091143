"""Without torch: trees, topics and loaded models work as they did; what needs it says so before any work."""

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
from tsenet import TSENetClassifier
from tsenet.explain.prediction import explain_prediction

TEXTS = ["goal referee goal stadium", "senate ballot voters", "striker goal", "ballot"] * 15
SUBJECTS = ["sport", "politics", "sport", "politics"] * 15

HIDDEN = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def find_others(cls, name, path=None, target=None):
    return None if name.split(".")[0] == "torch" else find(name, path, target)
PathFinder.find_spec = classmethod(find_others)
"""  # as if it were not installed

WORKS = """
import numpy as np, tsenet
rows = np.random.default_rng(0).random((60, 8)) < 0.4
wiring = tsenet.expand(tsenet.learn_tree(rows, random_state=0), rows, density=0.5)
assert tsenet.LatentTreeTransformer().fit_transform(rows).shape[0] == 60
model = tsenet.load(sys.argv[1])
print(model.predict(["the referee saw a goal"])[0])
"""

REFUSED = {
    "fit": "tsenet.TSENetClassifier().fit(3, 4)",
    "partial_fit": "tsenet.TSENetRegressor().partial_fit(3, 4)",
    "net_": "tsenet.load(sys.argv[1]).net_",
    "TSENet": "tsenet.TSENet",
    "warmup": "tsenet.warmup()",
}

REFUSING = """
import tsenet
for statement in {statements}:
    try:
        exec(statement)
    except Exception as error:
        print(type(error).__name__, error)
"""


def run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HIDDEN + program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "m.tsenet"
    TSENetClassifier(**SMALL).fit(TEXTS, SUBJECTS).save(path)
    return path


def test_what_works_without_torch(file: Path) -> None:
    finished = run(WORKS, file)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "sport\n"


def test_what_needs_torch_says_so(file: Path) -> None:
    finished = run(REFUSING.format(statements=list(REFUSED.values())), file)
    assert finished.returncode == 0, finished.stderr
    answers = finished.stdout.splitlines()
    assert len(answers) == len(REFUSED)
    for answer, name in zip(answers, REFUSED, strict=True):
        assert answer.startswith("MissingDependencyError "), name
        assert "needs torch: pip install torch" in answer, name


def test_the_program_predicts_and_refuses_to_train(file: Path, tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("text,subject\nthe referee saw a goal,sport\na ballot,politics\n", "utf-8")
    program = "from tsenet.__main__ import main\nsys.argv[0] = 'tsenet'\nmain()"
    finished = run(program, "predict", file, data, "--quiet")
    assert finished.returncode == 0, finished.stderr
    assert [line.split(",")[0] for line in finished.stdout.split()] == [
        "prediction",
        "sport",
        "politics",
    ]
    finished = run(
        program, "fit", data, "--target", "subject", "--text", "text", "-o", tmp_path / "m"
    )
    assert finished.returncode == 1
    assert finished.stderr.splitlines()[-1].startswith("error: training needs torch: pip install")


# ---- loaded models predict without torch, and answer as they did before


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
