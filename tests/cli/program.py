"""Running the program inside a test, documents for it to read, and what it wrote."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner, Result

from tsenet.cli.app import app

SUBJECTS = (
    ("football", "goal", "referee", "stadium"),
    ("election", "senate", "ballot", "candidate"),
    ("galaxy", "telescope", "orbit", "comet"),
)
# Options that make the commands quick on small data.
QUICK_TOPICS = ("--quiet",)
QUICK_FIT = ("--set", "max_epochs=20", "--set", "learning_rate=0.01", "--jobs", "1", "--quiet")


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def fine(*arguments: object) -> str:
    """What a command that has to succeed prints."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def error_of(*arguments: object) -> str:
    """What a command that has to fail prints: one line."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1
    return result.stderr


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def make_documents(n: int) -> list[str]:
    """Texts, each about one subject, with the odd word of another."""
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(n):
        own = int(rng.integers(3))
        chosen = [
            word
            for subject, words in enumerate(SUBJECTS)
            for word in words
            if rng.random() < (0.7 if subject == own else 0.05)
        ]
        texts.append("the " + " ".join(chosen))
    return texts


# ---- tables, and what commands say about them

N_ROWS = 300
COLUMNS = [*"abcdefgh", "colour"]
TARGETS = ("kind", "three", "amount", "has1", "has2")


def fit_command(data: Path, out: Path, *targets: str) -> list[object]:
    """A command that fits a model of the table of `frame` (conftest.py) to some of its targets."""
    named = [part for name in targets for part in ("--target", name)]
    left = [part for name in TARGETS if name not in targets for part in ("--ignore", name)]
    return ["fit", data, *named, *left, "--id", "key", "-o", out, *QUICK_FIT]


def predicted(*arguments: object) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(fine("predict", *arguments, "--quiet")))


def scores_of(*arguments: object) -> dict[str, object]:
    scores: dict[str, object] = json.loads(fine("evaluate", *arguments, "--json", "--quiet"))
    return scores
