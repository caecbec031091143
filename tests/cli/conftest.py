"""Tables and documents as files, and models of them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders import one_latent_rows
from tests.cli.program import N_ROWS, QUICK_TOPICS, fine, fit_command
from tests.explain.report.corpus import documents


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """Numbers, a category, a key, and targets that follow from them."""
    rows = one_latent_rows(np.random.default_rng(0), N_ROWS, (4, 4))
    frame = pd.DataFrame(rows.astype(int), columns=list("abcdefgh"))
    frame["colour"] = np.where(rows[:, :4].any(axis=1), "red", "blue")
    frame["key"] = [f"=row{i}" for i in range(N_ROWS)]
    frame["kind"] = np.where(rows[:, 4:].sum(axis=1) > 1, "much", "little")
    frame.loc[::3, "kind"] = ""
    frame.loc[::6, "kind"] = "  "
    frame["three"] = np.where(rows[:, 0], "A", np.where(rows[:, 7], "B", "C"))
    frame["amount"] = rows.sum(axis=1) * 1.5
    frame["has1"] = rows[:, 0].astype(float)
    frame["has2"] = np.where(np.arange(N_ROWS) % 5 == 0, np.nan, rows[:, 5])
    return frame


@pytest.fixture(scope="session")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows as csv, and models named after their targets, with what fit printed."""
    folder = tmp_path_factory.mktemp("models")
    frame.to_csv(folder / "d.csv", index=False)
    for targets in (["kind"], ["three"], ["amount"], ["has1", "has2"]):
        out = folder / f"{'-'.join(targets)}.tsenet"
        printed = fine(*fit_command(folder / "d.csv", out, *targets), "--json")
        out.with_suffix(".json").write_text(printed, "utf-8")
    return folder


@pytest.fixture(scope="session")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """News as csv with a subject and a month, a model of it, and its topics."""
    folder = tmp_path_factory.mktemp("report")
    texts, subjects = documents()
    with (folder / "news.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "subject", "month"])
        for k, (text, subject) in enumerate(zip(texts, subjects, strict=True)):
            shown = subject if k % 10 else ""
            writer.writerow([f"n{k}", text, shown, f"2024-{k % 4 + 1:02d}"])
    data = folder / "news.csv"
    model, topics = folder / "model.tsenet", folder / "topics"
    fine("fit", data, "--text", "text", "--target", "subject", "-o", model, *FIT)
    fine("topics", data, "--text", "text", "--along", "month", "-o", topics, *QUICK_TOPICS)
    return folder


FIT = ("--set", "max_top=2", "--set", "max_epochs=2", "--jobs", "1", "--quiet")
