"""The golden files, one of each kind, are read and answer as they did when they were written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.store.golden.make import ANSWERS, FOLDER, answers_of, golden_models
from tsenet.store import load

FILES = sorted(FOLDER.glob("*.tsenet"))


def same(found: Any, wanted: Any) -> bool:
    """Equal texts, and numbers that differ at most by what another processor rounds otherwise."""
    if isinstance(wanted, list) and wanted and isinstance(wanted[0], str):
        return bool(found == wanted)
    return np.shape(found) == np.shape(wanted) and np.allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_says_what_it_said(path: Path) -> None:
    wanted = json.loads(ANSWERS.read_text("utf-8"))[path.stem]
    found = answers_of(path.stem, load(path))
    assert len(found) == len(wanted)
    assert all(same(a, b) for a, b in zip(found, wanted, strict=True))


def test_there_is_a_file_of_every_kind() -> None:
    assert {path.stem for path in FILES} == golden_models().keys()
