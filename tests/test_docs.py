"""Every example in README.md and docs/ runs, in the order of its page, and prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from tests.builders import random_tree
from tests.page_examples import blocks_of, run_page, write_documents
from tsenet.data import load_docstrings

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture
def reader_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with what the pages take for granted: docs.csv and a saved tree."""
    rng = np.random.default_rng(0)
    write_documents(tmp_path, rng)
    random_tree(rng, (6, 2)).save(tmp_path / "tree.tsenet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TSENET_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks_of(page.read_text("utf-8"))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_the_examples_run(page: Path, reader_folder: Path) -> None:
    run_page(page.read_text("utf-8"), page.name)


@pytest.mark.slow
def test_the_readme_shows_what_its_examples_print() -> None:
    """In an interpreter of its own, where nothing has added functions to the modules it reads."""
    program = [sys.executable, ROOT / "tests" / "page_examples.py", README]
    run = subprocess.run(program, capture_output=True, text=True, check=False, timeout=600)
    assert run.returncode == 0, run.stderr


def test_the_readme_names_the_best_logistic_regression() -> None:
    docs = load_docstrings()
    docs = docs[~docs["name"].str.contains("Halving")].reset_index()  # another test may add these
    labelled, y = docs.index % 11 == 0, docs["module"]
    X = TfidfVectorizer().fit(docs["text"][labelled]).transform(docs["text"])
    model = LogisticRegression(C=1000, max_iter=1000).fit(X[labelled], y[labelled])
    (shown,) = re.findall(r"Logistic regression on tf-idf: (\d+) %", README.read_text("utf-8"))
    assert int(shown) == pytest.approx(100 * model.score(X[~labelled], y[~labelled]), abs=2)
