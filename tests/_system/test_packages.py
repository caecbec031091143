"""Without torch: trees, topics and predictions work; what needs it says so before any work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.models import SMALL
from tsenet import TSENetClassifier

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
