"""Label efficiency on tables: which rivals, the mean over tasks, and what the page and the pictures say."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from reproduce.cells import Measured
from reproduce.dataset_context import DatasetContext, QuickSize
from reproduce.experiment import Request
from reproduce.label_efficiency import _curves, _difference, cells, make
from reproduce.methods import METHODS
from reproduce.render import ExperimentReport, write
from reproduce.rivals import TwoStage
from reproduce.run_context import RunContext
from reproduce.runner import Runner
from reproduce.runs import Run
from reproduce.stats import PairedComparison, Spread
from reproduce.summary import CellSummary
from reproduce.table3 import TASKS
from tests.reproduce.tiny import tiny_task, tiny_text
from tsenet.datasets import load
from tsenet.errors import DataError

SIZE = QuickSize(n_train=260, n_validation=60, n_test=80)
LINEAR = ("logistic", "pca", "boosting")


def names(text: bool) -> set[str]:
    return {cell.name for cell in cells("any", 100, text=text)}


def context_of(dataset: Any, method: str, n_labels: int | None, **settings: Any) -> RunContext:
    return RunContext(
        DatasetContext(dataset), Run("e", dataset.name, method, settings, 0, n_labels)
    )


# ---- which rivals


def test_words_and_columns_have_rivals_of_their_own() -> None:
    of_words = {"pivot", "svd", "ppmi", "em-bayes", "complement-nb", "linear-svc", "self-training"}
    assert names(text=True) - names(text=False) == {*of_words, "start"}
    assert names(text=False) - names(text=True) == {"pca", "boosting"}
    for text in (True, False):
        assert {cell.method for cell in cells("any", None, text=text)} <= set(METHODS)


def test_text_is_told_from_tables_without_loading(tmp_path: Path) -> None:
    mine = {"a": tiny_text("a"), "b": tiny_task("b"), "imdb": tiny_task("imdb")}
    runner = Runner(tmp_path, datasets=mine)
    assert [runner.is_text(name) for name in mine] == [True, False, False]
    known = {"ag_news": True, "20newsgroups_headers": True, "tox21/NR-AR": False, "digits": False}
    assert {name: runner.is_text(name) for name in known} == known
    with pytest.raises(DataError, match="'nothing'"):
        runner.is_text("nothing")


# ---- the methods


def test_rows_without_labels_of_a_task() -> None:
    """Hidden labels are −1 beside 0 and 1, and −1 is no class."""
    task = tiny_task("tox21/NR-AR")
    context = context_of(task, "tsenet", 20, max_epochs=2)
    X, y = context.all_rows()
    shown = y >= 0
    assert X.shape[0] == y.size == len(task.train)
    assert np.count_nonzero(shown) == 20
    assert set(y[~shown]) == {-1}
    assert set(y[shown]) == {0, 1}
    assert np.array_equal(y[shown], task.train.y[shown])
    assert METHODS["tsenet"](context).classes_.tolist() == [0, 1]


@pytest.mark.parametrize(("name", "scoring"), [("tox21/NR-AR", "roc_auc"), ("mine", "accuracy")])
def test_c_is_chosen_by_what_is_scored(name: str, scoring: str) -> None:
    task = tiny_task(name)
    model = METHODS["scaled-logistic"](context_of(task, "scaled-logistic", 60))
    assert isinstance(model, TwoStage)
    assert model.classifier_.scoring == scoring
    seen = model.transform(task.train.X)  # scaled by all rows, not by the 60
    assert np.allclose(seen.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(seen.std(axis=0), 1, atol=1e-5)


def test_no_more_components_than_columns() -> None:
    task = tiny_task("mine")
    model = METHODS["scaled-logistic"](context_of(task, "scaled-logistic", 60, n_components=50))
    assert model.transform(task.test.X).shape == (len(task.test), 15)


def test_boosting_learns_from_the_labels_it_has() -> None:
    task = tiny_task("mine")
    context = context_of(task, "boosting", 60)
    model = METHODS["boosting"](context)
    expected = HistGradientBoostingClassifier(random_state=0).fit(context.X, context.y)
    assert len(context.y) == 60
    assert np.allclose(model.predict_proba(task.test.X), expected.predict_proba(task.test.X))


# ---- the report


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExperimentReport, Runner]:
    """Two tasks, digits, and text, on one page."""
    folder = tmp_path_factory.mktemp("tables")
    tasks = {name: tiny_task(name, seed) for seed, name in enumerate(TASKS[:2])}
    mine = {**tasks, "digits": load("digits"), "tiny": tiny_text()}
    runner = Runner(folder, seeds=2, quick=SIZE, n_jobs=1, datasets=mine)
    request = Request(tuple(mine), ("tsenet", "logistic"), n_labels=(20, 1_000, None))
    report = make(runner, request)
    write(report, folder)
    return folder, report, runner


def lines_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "label-efficiency-quick.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_has_the_mean_and_the_file_each_task(
    tables: tuple[Path, ExperimentReport, Runner],
) -> None:
    folder, report, runner = tables
    heads = [line for line in report.markdown.splitlines() if line.startswith("## ")]
    mean = "tox21, 2 tasks (mean)"
    assert heads[:-1] == ["## digits", "## tiny", f"## {mean}"]
    assert set(runner.skipped) == {
        f"{name} with 1000 labels" for name in (*TASKS[:2], "digits", "tiny")
    }
    found = {(x["dataset"], x["method"], x["n_labels"]): float(x["mean"]) for x in lines_of(folder)}
    assert {key[0] for key in found} == {*TASKS[:2], "digits", "tiny", mean}
    for method in ("tsenet", "logistic"):
        for count in ("20", "all"):
            each = [found[task, method, count] for task in TASKS[:2]]
            assert found[mean, method, count] == pytest.approx(np.mean(each))
    assert found[mean, "logistic", "20"] != found[mean, "logistic", "all"]
    section = report.markdown.partition(f"## {mean}")[2]
    assert f"{found[mean, 'tsenet', '20']:.4f} ±" in section  # areas, not percent
    assert "each task are in the CSV" in section


def test_accuracies_and_areas_are_drawn_apart(
    tables: tuple[Path, ExperimentReport, Runner],
) -> None:
    folder, report, _ = tables
    assert set(report.figures) == {"", "-areas"}
    shown = {
        end: [(axes.get_title(), axes.get_ylabel()) for axes in figure.axes]
        for end, figure in report.figures.items()
    }
    assert shown[""] == [("digits", "test accuracy"), ("tiny", "test accuracy")]
    assert shown["-areas"] == [("tox21, 2 tasks (mean)", "test area under the ROC curve")]
    (areas,) = report.figures["-areas"].axes
    sizes = [len(tiny_task(name, k).train) for k, name in enumerate(TASKS[:2])]
    assert sizes[0] != sizes[1]
    assert max(sizes) < SIZE.n_train
    x: Any = areas.lines[0].get_xdata()
    assert x.tolist() == [20, round(np.mean(sizes))]
    assert (folder / "label-efficiency-quick-areas.png").exists()
    assert "label-efficiency-quick-areas.png" in report.markdown


def test_a_method_looks_the_same_beside_text_and_tables() -> None:
    looks: dict[str, set[int]] = {}
    for text in (True, False):
        lines = [
            CellSummary(
                Measured(cell, finals=()), "auc", Spread(0.5, None, 1), None, 0.0, 0.0, None
            )
            for cell in cells("any", 100, text=text)
        ]
        for curve in _curves(lines):
            looks.setdefault(curve.title, set()).add(curve.look)
            assert [(point.x, point.y) for point in curve.points] == [(100, 0.5)]
    assert len(looks) == 18
    assert all(len(own) == 1 for own in looks.values())
    assert len(set.union(*looks.values())) == 18


def test_one_task_is_shown_itself(tmp_path: Path) -> None:
    runner = Runner(
        tmp_path, seeds=1, quick=SIZE, n_jobs=1, datasets={TASKS[0]: tiny_task(TASKS[0])}
    )
    report = make(runner, Request((TASKS[0],), LINEAR, n_labels=(20, None)))
    assert f"## {TASKS[0]}" in report.markdown
    for title in ("Logistic regression", "PCA + logistic regression", "Gradient boosting"):
        assert title in report.markdown
    assert set(report.figures) == {"-areas"}


def test_a_difference_is_tsenet_minus_the_method() -> None:
    def shown(difference: float) -> str:
        against = PairedComparison(difference, 0.5, "")  # the method minus TSE-Net
        one = Measured(cells("any", 100)[1])
        return _difference(CellSummary(one, "accuracy", None, None, 0.0, 0.0, against))

    assert shown(0.02) == "−2.00 (0.500)"
    assert shown(0.0) == "+0.00 (0.500)"
