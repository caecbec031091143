"""label: what is wrong is said before a page is opened."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.cli.program import error_of
from tsenet.labelling.journal import Journal


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "docs.csv"
    pd.DataFrame({"text": ["a goal", "a ballot", "a goal"], "same": "x"}).to_csv(path, index=False)
    return path


def test_a_file_of_labels_is_open_once(data: Path, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "docs.labels.jsonl")
    assert "open in another `tsenet label`" in error_of("label", data, "--quiet")
    journal.close()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--text", "body"], "body"),
        (["--text", "same"], "fewer than two different texts"),
        (["--target", "label"], "label"),
        (["--labels", "docs.csv"], "would replace the input"),
        (["--embeddings", "few.npy"], "2×4 numbers, not a vector for each of 3 rows"),
        (["--embeddings", "few.npy", "--encoder", "minilm"], "not both"),
    ],
)
def test_what_does_not_fit_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], says: str
) -> None:
    monkeypatch.chdir(data.parent)
    np.save("few.npy", np.zeros((2, 4)))
    assert says in error_of("label", "docs.csv", *options, "--quiet")
    assert not Path("docs.labels.jsonl").exists()


def test_standard_input_has_no_place_for_labels() -> None:
    assert "give the name of a file" in error_of("label", "-", "--quiet")


def test_without_the_extra_it_says_what_to_install(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.import_module

    def import_module(name: str, *arguments: Any) -> Any:
        if name in ("uvicorn", "starlette"):
            raise ImportError(name)
        return found(name, *arguments)

    monkeypatch.setattr("tsenet.errors.import_module", import_module)
    assert "pip install starlette uvicorn" in error_of("label", data, "--quiet")
