"""The default with one thing at a time as in the paper: the changes, and a report that never saw a test row."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from reproduce import differences
from reproduce.cells import Measured
from reproduce.dataset_context import QuickSize
from reproduce.differences import CHANGES, REFERENCE, cells
from reproduce.experiment import Request
from reproduce.methods import METHODS
from reproduce.render import ExperimentReport, write
from reproduce.run_context import TREE_ONLY
from reproduce.runner import CountsRunner
from tests.reproduce.tiny import tiny_text
from tsenet import TSENetClassifier

SIZE = QuickSize(n_train=200, n_validation=60, n_test=80)
SOME = (REFERENCE, "counts", "attached", "plain", "paper")


def report_on(folder: Path, methods: tuple[str, ...]) -> tuple[ExperimentReport, CountsRunner]:
    data = tiny_text()
    runner = CountsRunner(folder, seeds=2, quick=SIZE, n_jobs=1, datasets={data.name: data})
    report = differences.make(runner, Request((data.name,), methods, None, "a command"))
    write(report, folder)
    return report, runner


def test_each_change_is_the_papers_value_of_one_parameter() -> None:
    paper, default = TSENetClassifier.paper(), TSENetClassifier()
    covered: set[str] = set()
    for change in CHANGES:
        own = {name: value for name, value in change.settings.items() if name not in TREE_ONLY}
        assert set(own) <= set(default.get_params()), change.name
        if change.name == "plain":  # one switch; what it would change beside is held
            assert own["init"] == paper.init
            covered.add("init")
            continue
        assert len(change.settings) <= 1, change.name
        for name, value in own.items():
            assert value == getattr(paper, name), change.name
            assert value != getattr(default, name), change.name
        covered |= set(own)
    differing = {
        name for name, value in default.get_params().items() if value != getattr(paper, name)
    }
    # None stands for what plain training and sparse rows have anyway
    assert differing - covered == {"learning_rate"}


def test_its_cells_choose_nothing_and_see_no_test_rows() -> None:
    found = cells("ag_news")
    assert len({cell.name for cell in found}) == len(CHANGES)
    for cell in found:
        assert cell.method in METHODS
        assert not cell.final
        assert not cell.rounds


@pytest.mark.slow
def test_a_report_on_validation_rows(tmp_path: Path) -> None:
    report, runner = report_on(tmp_path, SOME)
    runs = runner.store("differences").items()
    assert len(runs) == 2 * len(SOME)
    assert all(result.test is None and result.validation is not None for _, result in runs)
    with (tmp_path / "differences-quick.csv").open(encoding="utf-8", newline="") as file:
        lines = {line["change"]: line for line in csv.DictReader(file)}
    assert set(lines) == set(SOME)
    assert lines[REFERENCE]["difference"] == lines[REFERENCE]["p"] == ""
    mean = {name: float(line["mean"]) for name, line in lines.items()}
    for name in SOME[1:]:
        got = float(lines[name]["difference"])
        np.testing.assert_allclose(got, mean[name] - mean[REFERENCE], atol=1e-12)
    assert report.values["change:tiny/counts"].endswith(")")
    assert "none has seen the test rows" in report.markdown
    again, second = report_on(tmp_path, SOME)
    assert second.n_executed == 0
    assert again.markdown == report.markdown


def test_without_runs_there_is_no_table(tmp_path: Path) -> None:
    data = tiny_text()
    runner = CountsRunner(tmp_path, execute=False, datasets={data.name: data})
    report = differences.make(runner, Request((data.name,), None, None, "a command"))
    assert not report.values
    assert not report.figures
    assert Measured(cells("tiny")[0]).results == ()
