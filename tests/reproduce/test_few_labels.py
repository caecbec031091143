"""Few labels: rows without labels, the gradient boosting of tables, and differences as the page shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from reproduce.cells import Measured
from reproduce.dataset_context import DatasetContext
from reproduce.few_labels import _difference, cells
from reproduce.methods import METHODS
from reproduce.run_context import RunContext
from reproduce.runner import Runner
from reproduce.runs import Run
from reproduce.stats import PairedComparison
from reproduce.summary import CellSummary
from tests.reproduce.tiny import tiny_task, tiny_text
from tsenet.errors import DataError


def context_of(dataset: Any, method: str, n_labels: int | None, **settings: Any) -> RunContext:
    return RunContext(
        DatasetContext(dataset), Run("e", dataset.name, method, settings, 0, n_labels)
    )


def test_text_is_told_from_tables_without_loading(tmp_path: Path) -> None:
    mine = {"a": tiny_text("a"), "b": tiny_task("b"), "imdb": tiny_task("imdb")}
    runner = Runner(tmp_path, datasets=mine)
    assert [runner.is_text(name) for name in mine] == [True, False, False]
    known = {"ag_news": True, "20newsgroups_headers": True, "tox21/NR-AR": False, "digits": False}
    assert {name: runner.is_text(name) for name in known} == known
    with pytest.raises(DataError, match="'nothing'"):
        runner.is_text("nothing")


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


def test_boosting_learns_from_the_labels_it_has() -> None:
    task = tiny_task("mine")
    context = context_of(task, "boosting", 60)
    model = METHODS["boosting"](context)
    expected = HistGradientBoostingClassifier(random_state=0).fit(context.X, context.y)
    assert len(context.y) == 60
    assert np.allclose(model.predict_proba(task.test.X), expected.predict_proba(task.test.X))


def test_a_difference_is_tsenet_minus_the_method() -> None:
    def shown(difference: float) -> str:
        against = PairedComparison(difference, 0.5, "")  # the method minus TSE-Net
        one = Measured(cells("any", 100)[1])
        return _difference(CellSummary(one, "accuracy", None, None, 0.0, 0.0, against))

    assert shown(0.02) == "−2.00 (0.500)"
    assert shown(0.0) == "+0.00 (0.500)"
