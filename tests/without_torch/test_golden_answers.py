"""Golden files answered without torch; `make matrix` runs this where it is not installed."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.store.golden.make import ANSWERS, FOLDER, NEW_TEXTS, answers_of
from tsenet import load


@pytest.mark.parametrize("name", ["texts", "labels", "classifier"])
def test_answers_are_those_that_were_written_down(name: str) -> None:
    wanted = json.loads(ANSWERS.read_text("utf-8"))[name]
    found = answers_of(name, load(FOLDER / f"{name}.tsenet"))
    assert np.allclose(found[0], wanted[0], rtol=1e-5, atol=1e-5)
    assert found[1:] == wanted[1:]


def test_the_program_answers(tmp_path: Path) -> None:
    data = tmp_path / "texts.csv"
    with data.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["text"], *([text] for text in NEW_TEXTS)])
    command = [sys.executable, "-m", "tsenet", "predict", FOLDER / "texts.tsenet", data]
    run = subprocess.run(
        [*map(str, command), "--quiet"], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    first = [row[0] for row in csv.reader(run.stdout.splitlines())]
    assert first == ["prediction", *json.loads(ANSWERS.read_text("utf-8"))["texts"][1]]
