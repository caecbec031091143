"""Documents about three subjects, for the commands that read texts."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.cli.program import make_documents


@pytest.fixture(scope="session")
def documents() -> list[str]:
    """300 documents."""
    return make_documents(300)


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
