"""Every example in README.md and docs/ runs, in the order of its page, and prints what the page says."""

from __future__ import annotations

import re
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
def test_the_readme_shows_what_its_examples_print(reader_folder: Path) -> None:
    """Another processor may train to slightly different numbers."""
    page = README.read_text("utf-8")
    blocks = re.findall(r"^```(?:text|console)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shown = "".join(line for line in "".join(blocks).splitlines(True) if not line.startswith("$"))
    printed = run_page(page, "README.md")
    number = r"\d[\d,.]*"
    assert re.sub(number, "N", printed) == re.sub(number, "N", shown)
    values, expected = (
        [float(found.replace(",", "").rstrip(".")) for found in re.findall(number, text)]
        for text in (printed, shown)
    )
    np.testing.assert_allclose(values, expected, rtol=0.1)


def test_the_readme_names_the_best_logistic_regression() -> None:
    docs = load_docstrings()
    labelled = docs.index % 11 == 0
    vectorizer = TfidfVectorizer().fit(docs["text"][labelled])
    X, y = vectorizer.transform(docs["text"]), docs["module"]
    scores = [
        LogisticRegression(C=C, max_iter=1000)
        .fit(X[labelled], y[labelled])
        .score(X[~labelled], y[~labelled])
        for C in (100, 1000, 10000)
    ]
    shown = re.search(r"Logistic regression on tf-idf: (\d+) %", README.read_text("utf-8"))
    assert shown is not None
    assert int(shown[1]) == pytest.approx(100 * max(scores), abs=2)
