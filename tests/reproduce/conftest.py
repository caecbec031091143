"""A small folder of data sets with the layout of ``TSENET_DATA``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduce import data
from reproduce.data import Fold

WORDS = {
    "sport": ["goal", "referee", "striker", "stadium", "coach", "league"],
    "politics": ["senate", "ballot", "voters", "minister", "treaty", "budget"],
    "science": ["atom", "laser", "galaxy", "protein", "theorem", "enzyme"],
}


def documents(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts of three subjects, most of whose words are their subject's, and the subjects."""
    rng = np.random.default_rng(seed)
    subjects = [list(WORDS)[k % 3] for k in range(n)]
    other = [word for words in WORDS.values() for word in words]
    texts = [
        " ".join([*rng.choice(WORDS[subject], 5), *rng.choice(other, 2)]) for subject in subjects
    ]
    return texts, subjects


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``TSENET_DATA`` with a text corpus (subj) and a table (sonar)."""
    suite = tmp_path / "suite"
    suite.mkdir()
    for side, n in (("train", 120), ("test", 60)):
        texts, subjects = documents(n, seed=n)
        frame = pd.DataFrame({"label": subjects, "text": texts})
        frame.to_csv(suite / f"subj-{side}.csv.xz", index=False)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    table["kind"] = rng.choice(["x", "y"], 80)
    table["TARGET"] = np.where(table["a"] > 0, "one", "two")
    table.to_csv(suite / "sonar.csv.xz", index=False)
    monkeypatch.setenv("TSENET_DATA", str(tmp_path))
    sizes = {"subj": (120, 60), "sonar": (80, 0)}
    small = {
        name: replace(source, n_train=sizes[name][0], n_test=sizes[name][1])
        for name, source in data.DATA.items()
        if name in sizes
    }
    monkeypatch.setattr(data, "DATA", {**data.DATA, **small})
    return tmp_path


@pytest.fixture
def text(folder: Path) -> Fold:
    return data.fold_of("subj", "test", 0)


@pytest.fixture
def dense(folder: Path) -> Fold:
    return data.fold_of("sonar", "test", 0)
