"""Documents about three subjects, for the commands that read texts."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.cli.program import SUBJECTS


@pytest.fixture(scope="session")
def documents() -> list[str]:
    """300 documents, each about one subject, with the odd word of another."""
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(300):
        own = int(rng.integers(3))
        chosen = [
            word
            for subject, words in enumerate(SUBJECTS)
            for word in words
            if rng.random() < (0.7 if subject == own else 0.05)
        ]
        texts.append("the " + " ".join(chosen))
    return texts


@pytest.fixture
def data(tmp_path: Path, documents: list[str]) -> Path:
    path = tmp_path / "in" / "news.csv"
    path.parent.mkdir()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body"])
        writer.writerows(enumerate(documents))
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    return folder / "topics"
