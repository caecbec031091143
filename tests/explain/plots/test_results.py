"""Plots of results: what is drawn is what was given."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.patches import Rectangle

from tests.explain.plots.drawn import check_labelled, said
from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain import plots
from tsenet.training.history import History


class TestHistory:
    HISTORY = History(
        (3.0, 2.0, 1.5), (2.5, 1.9, 2.1), (0.5, 0.7, 0.6), (0.1,) * 3, (1.0,) * 3, 1, "max_epochs"
    )

    def test_losses(self) -> None:
        ax = plots.plot_history(self.HISTORY)
        check_labelled(ax)
        train, validation, best = ax.lines
        assert np.asarray(train.get_xydata()).tolist() == [[1, 3.0], [2, 2.0], [3, 1.5]]
        assert np.asarray(validation.get_ydata()).tolist() == [2.5, 1.9, 2.1]
        assert np.asarray(best.get_xdata()).tolist() == [2, 2]
        assert said(ax) == ["training, with dropout", "validation", "kept: epoch 2"]

    def test_scores(self) -> None:
        ax = plots.plot_history(self.HISTORY, series="score")
        assert np.asarray(ax.lines[0].get_ydata()).tolist() == [0.5, 0.7, 0.6]

    def test_without_validation(self) -> None:
        bare = History((3.0,), (), (), (0.1,), (1.0,))
        assert len(plots.plot_history(bare).lines) == 1
        with pytest.raises(DataError, match="no validation rows"):
            plots.plot_history(bare, series="score")
        with pytest.raises(DataError, match="no epoch"):
            plots.plot_history(History())


class TestParameters:
    COUNTS = {  # noqa: RUF012  # read, never changed
        "AG News": {"FNN": 1000, "TSE-Net": 100},
        "Tox21": {"FNN": 400, "TSE-Net": 30, "Backbone": 10},
    }

    def test_bars_are_the_numbers(self) -> None:
        ax = plots.plot_parameters(self.COUNTS)
        bars = [bar for bar in ax.patches if isinstance(bar, Rectangle)]
        assert [bar.get_height() for bar in bars] == [1000, 400, 100, 30, 10]
        assert said(ax) == ["FNN", "TSE-Net", "Backbone"]
        assert [text.get_text() for text in ax.texts] == ["10 %", "7.5 %", "2.5 %"]
        assert [label.get_text() for label in ax.get_xticklabels()] == ["AG News", "Tox21"]
        assert ax.get_ylim()[0] == 0  # bars that do not start at 0 lie

    def test_bars_stand_beside_each_other(self) -> None:
        bars = [
            bar for bar in plots.plot_parameters(self.COUNTS).patches if isinstance(bar, Rectangle)
        ]
        spans = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars)
        assert all(one[1] < other[0] for one, other in pairwise(spans))

    def test_another_reference(self) -> None:
        ax = plots.plot_parameters(self.COUNTS, reference="TSE-Net")
        assert [text.get_text() for text in ax.texts] == ["1e+03 %", "1.3e+03 %", "33 %"]
        with pytest.raises(DataError, match="not one of"):
            plots.plot_parameters(self.COUNTS, reference="CNN")

    @pytest.mark.parametrize("counts", [{}, {"task": {}}, {"task": {"FNN": 0}}])
    def test_nothing_to_draw(self, counts: Any) -> None:
        with pytest.raises(DataError):
            plots.plot_parameters(counts)


class TestFrontier:
    def test_nobody_beats_it(self) -> None:
        rng = np.random.default_rng(0)
        size, score = rng.integers(1, 30, 60), rng.integers(1, 30, 60) / 30
        found = plots.frontier_of(size, score).tolist()
        unbeaten = {
            (int(size[i]), float(score[i]))
            for i in range(60)
            if not any(
                size[j] <= size[i]
                and score[j] >= score[i]
                and (size[j], score[j]) != (size[i], score[i])
                for j in range(60)
            )
        }
        assert [(int(size[i]), float(score[i])) for i in found] == sorted(unbeaten)

    def test_drawing(self) -> None:
        ax = plots.plot_frontier([10, 100, 50], [0.5, 0.9, 0.4], ["a", "b", "a"], score_name="AUC")
        check_labelled(ax)
        assert ax.get_ylabel() == "AUC"
        assert said(ax) == ["frontier", "a", "b"]
        assert np.asarray(ax.collections[0].get_offsets()).tolist() == [[10, 0.5], [50, 0.4]]
        assert np.asarray(ax.lines[0].get_xydata()).tolist() == [[10, 0.5], [100, 0.9], [100, 0.9]]

    def test_bad_numbers_are_refused(self) -> None:
        with pytest.raises(DataError, match="as many"):
            plots.frontier_of([1, 2], [0.5])
        with pytest.raises(DataError, match="as many"):
            plots.frontier_of([], [])
        with pytest.raises(DataError, match="1 methods"):
            plots.plot_frontier([1, 2], [0.5, 0.6], ["a"])


def test_the_users_axes_are_used() -> None:
    _, ax = pyplot.subplots()
    assert plots.plot_history(TestHistory.HISTORY, ax) is ax
    assert plots.plot_frontier([1, 2], [0.5, 0.6], ["a", "b"], ax) is ax
    assert len(pyplot.get_fignums()) == 1


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"tsenet\[plot\]"):
        plots.plot_history(TestHistory.HISTORY)
