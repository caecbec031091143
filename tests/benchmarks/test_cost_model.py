"""The cost model: fitted to the stored runs, right about one it was not fitted to, and as the page shows it."""

from __future__ import annotations

import json

import pytest

from benchmarks import cost_model
from benchmarks.cost_model import Model, Work, moved
from benchmarks.report import PAGES


def fitted() -> tuple[Model, Work, dict[tuple[int, str], dict[str, float]]]:
    runs = json.loads(cost_model.RUNS.read_text())
    known = {(each["rows"], each["way"]): each for each in runs["scale_out"]}
    streamed = known[200_000, "streamed"]
    work = Work(200_000, 40, tuple(streamed["layers"]), 100_000, 1, 2e9)
    training = [each for each in runs["processes"] if each["processes"] == 1]
    return Model.of(streamed, training, work), work, known


def test_it_says_what_more_documents_cost_a_worker() -> None:
    model, work, known = fitted()
    more = known[400_000, "1 worker"]["cpu_workers"] - known[200_000, "1 worker"]["cpu_workers"]
    assert 200_000 * model.per_row(work) == pytest.approx(more, rel=0.15)


def test_it_gives_back_what_it_was_fitted_to() -> None:
    model, work, known = fitted()
    stages = known[200_000, "streamed"]["stages"]
    passes = model.passes(work)
    assert passes["expansion"] == pytest.approx(stages["counts of units"])
    assert passes["pairs"] == pytest.approx(stages["pairs"])
    # 100,000 documents, 256 in a batch, two epochs
    assert 200_000 * (model.row + model.step * 214_904 / 256) == pytest.approx(7.0, rel=1e-6)


def test_bytes_are_those_of_a_run() -> None:
    """The run of docs/results/scale.md: 100,000 documents, one worker; its counts of units were in 2 parts, not 4."""
    work = Work(100_000, 40, (10_000, 1124, 201, 19), 100_000, 1, 2e9)
    found = moved(work)
    assert found["structure sample"] == pytest.approx(16.8e6, rel=0.01)
    assert found["pairs"] == pytest.approx(16.8e6 + 15.4e6, rel=0.01)
    assert found["expansion"] * 3 / 7 == pytest.approx(292e6, rel=0.01)


def test_the_page_shows_it() -> None:
    page = (PAGES / "scale.md").read_text("utf-8")
    shown = page.split("<!-- cost-model -->")[1].split("<!-- /cost-model -->")[0]
    assert shown.strip() == cost_model.run().strip()
