"""Pictures: what is drawn is what was given, and the numbers behind them are scikit-learn's or counted by hand."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import PathPatch, Rectangle
from sklearn.calibration import calibration_curve

from tests.builders import planted_tree
from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain import plots
from tsenet.explain.plots._axes import COLOURS
from tsenet.explain.plots.calibration import calibration_of
from tsenet.explain.topics import topic_tree
from tsenet.explain.units import Feature, Unit, Units
from tsenet.training.history import History


@pytest.fixture(autouse=True)
def quiet_pyplot() -> Iterator[None]:
    """No window, no figure left open; and whatever was drawn can be rendered."""
    with mpl.rc_context({"backend": "agg"}):
        yield
        for number in pyplot.get_fignums():
            pyplot.figure(number).canvas.draw()
        pyplot.close("all")


def said(ax: Axes) -> list[str]:
    """What the legend says."""
    legend = ax.get_legend()
    assert legend is not None
    return [entry.get_text() for entry in legend.get_texts()]


def check_labelled(ax: Axes) -> None:
    assert ax.get_title()
    assert ax.get_xlabel()
    assert ax.get_ylabel()


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
    COUNTS = {  # noqa: RUF012
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


class TestCalibration:
    @pytest.mark.parametrize("n_bins", [1, 5, 10])
    def test_it_is_scikit_learns(self, n_bins: int) -> None:
        rng = np.random.default_rng(0)
        chance = np.r_[rng.random(300), 0.0, 1.0, 0.2, 0.5]
        event = (rng.random(304) < chance**2).astype(int)
        observed, predicted = calibration_curve(event, chance, n_bins=n_bins)
        found = calibration_of(event, chance, n_bins)
        np.testing.assert_allclose(found.observed, observed)
        np.testing.assert_allclose(found.predicted, predicted)
        assert found.n_rows.sum() == 304
        error = (np.abs(observed - predicted) * found.n_rows).sum() / 304
        assert found.error == pytest.approx(error)

    def test_several_classes_by_their_most_probable(self) -> None:
        rng = np.random.default_rng(1)
        chance = rng.dirichlet(np.ones(4), size=200)
        y = rng.integers(4, size=200)
        right, sure = chance.argmax(axis=1) == y, chance.max(axis=1)
        found, wanted = calibration_of(y, chance), calibration_of(right, sure)
        np.testing.assert_array_equal(found.observed, wanted.observed)
        np.testing.assert_array_equal(found.predicted, wanted.predicted)

    def test_drawing_two_models_on_one_axes(self) -> None:
        rng = np.random.default_rng(0)
        chance = rng.random(400)
        event = rng.random(400) < chance
        ax = plots.plot_calibration(event, chance, label="one")
        found = calibration_of(event, chance)
        np.testing.assert_allclose(np.asarray(ax.lines[1].get_ydata()), found.observed)
        assert plots.plot_calibration(event, chance**2, ax, label="two") is ax
        check_labelled(ax)
        assert said(ax)[0] == "perfectly calibrated"
        assert said(ax)[1] == f"one: error {found.error:.3f}"
        assert said(ax)[2].startswith("two: ")
        assert ax.lines[1].get_color() != ax.lines[2].get_color()

    @pytest.mark.parametrize(
        ("y", "chance", "n_bins"),
        [
            ([0, 1], [0.5], 10),
            ([0, 2], [0.5, 0.5], 10),
            ([0, 1], [0.5, 1.5], 10),
            ([0, 1], [0.5, np.nan], 10),
            ([0, 1], [0.5, 0.5], 0),
            ([], [], 10),
        ],
    )
    def test_bad_numbers_are_refused(self, y: Any, chance: Any, n_bins: int) -> None:
        with pytest.raises(DataError):
            calibration_of(y, chance, n_bins)


class TestTree:
    def test_every_topic_that_is_drawn(self) -> None:
        tree = planted_tree(np.random.default_rng(0), (40, 12, 4, 2))
        ax = plots.plot_tree(tree)
        marks = [len(np.asarray(c.get_offsets())) for c in ax.collections]
        assert marks == [2, 4, 12]
        assert sum(isinstance(patch, PathPatch) for patch in ax.patches) == 16  # all but the roots
        assert [label.get_text() for label in ax.get_xticklabels()] == [
            "level 3",
            "level 2",
            "level 1",
        ]
        assert ax.get_title() == "Tree of topics: 18 of 18 drawn"

    def test_words_stand_beside_their_topic(self) -> None:
        tree = planted_tree(np.random.default_rng(0), (40, 12, 4, 2))
        topics = topic_tree(tree)
        ax = plots.plot_tree(topics, n_words=2)
        lowest = [child for root in topics for middle in root.children for child in middle.children]
        wanted = [", ".join(word.word for word in topic.words[:2]) for topic in lowest]
        assert [text.get_text() for text in ax.texts] == wanted
        heights = [text.xy[1] for text in ax.texts]  # type: ignore[attr-defined]
        assert heights == [-float(k) for k in range(12)]

    def test_no_more_than_there_is_room_for(self) -> None:
        tree = planted_tree(np.random.default_rng(0), (40, 12, 4, 2))
        ax = plots.plot_tree(tree, max_topics=5)
        assert [len(np.asarray(c.get_offsets())) for c in ax.collections] == [2, 4]
        assert ax.get_title() == "Tree of topics: 6 of 18 drawn"
        one = plots.plot_tree(tree, max_topics=1)
        assert len(one.texts) == 1

    def test_a_word_with_dollars(self) -> None:
        from tsenet.explain.topics import Topic, TopicWord

        word = TopicWord("$5 and $6_", 0.1, 0.5, 0.1)
        ax = plots.plot_tree([Topic("Z1.0", 1, "", 0.5, (word,)), Topic("Z1.1", 1, "", 0.5, ())])
        assert [text.get_text() for text in ax.texts] == ["$5 and $6_", "Z1.1"]

    def test_nothing_to_draw(self) -> None:
        with pytest.raises(DataError, match="no latents"):
            plots.plot_tree([])
        with pytest.raises(DataError, match="max_topics"):
            plots.plot_tree(planted_tree(np.random.default_rng(0), (8, 2)), max_topics=0)


class TestReceptiveField:
    NAMES = tuple(f"x{j}" for j in range(6))

    def units(self, *features: Feature) -> Units:
        return Units((Unit("Z1.0", 1, "", features, 0.0, 0.25, (), None),), None, 8, self.NAMES)

    def test_pixels_are_correlations(self) -> None:
        ax = plots.plot_receptive_field(
            self.units(Feature("x4", 0.5, 1.0), Feature("x0", -0.2, None)), "Z1.0", (2, 3)
        )
        image = np.ma.filled(ax.images[0].get_array(), np.nan)
        np.testing.assert_array_equal(image, [[-0.2, np.nan, np.nan], [np.nan, 0.5, np.nan]])
        assert ax.images[0].get_clim() == (-0.5, 0.5)
        assert ax.get_title() == "Z1.0, active in 25 % of images"

    def test_direct_links_are_framed(self) -> None:
        ax = plots.plot_receptive_field(
            self.units(Feature("x4", 0.5, 1.0), Feature("x0", -0.2, None)), "Z1.0", (2, 3)
        )
        (frame,) = (c for c in ax.collections if isinstance(c, LineCollection))
        sides = {tuple(map(tuple, side.tolist())) for side in map(np.asarray, frame.get_segments())}
        assert sides == {  # pixel (1, 1) covers 0.5 … 1.5 in both directions
            ((0.5, 0.5), (1.5, 0.5)),
            ((0.5, 1.5), (1.5, 1.5)),
            ((0.5, 0.5), (0.5, 1.5)),
            ((1.5, 0.5), (1.5, 1.5)),
        }

    def test_a_unit_that_reads_all_needs_no_frame(self) -> None:
        ax = plots.plot_receptive_field(self.units(Feature("x4", 0.5, 1.0)), "Z1.0", (2, 3))
        assert not any(isinstance(c, LineCollection) for c in ax.collections)

    def test_a_constant_unit(self) -> None:
        assert plots.plot_receptive_field(self.units(), "Z1.0", (3, 2)).images

    def test_bad_questions_are_refused(self) -> None:
        with pytest.raises(DataError, match="does not have 6 pixels"):
            plots.plot_receptive_field(self.units(), "Z1.0", (2, 2))
        with pytest.raises(DataError, match="no unit 'Z9'"):
            plots.plot_receptive_field(self.units(), "Z9", (2, 3))


def test_the_users_axes_are_used() -> None:
    _, ax = pyplot.subplots()
    assert plots.plot_history(TestHistory.HISTORY, ax) is ax
    assert plots.plot_frontier([1, 2], [0.5, 0.6], ["a", "b"], ax) is ax
    assert len(pyplot.get_fignums()) == 1


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"tsenet\[plot\]"):
        plots.plot_history(TestHistory.HISTORY)


# Machado et al. (2009): what people who lack one kind of cone see, in linear RGB.
BLIND = {
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_colours_can_be_told_apart(kind: str) -> None:
    rgb = np.array([to_rgb(colour) for colour in COLOURS])
    assert len({to_hex(colour) for colour in COLOURS}) == len(COLOURS)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(BLIND[kind]).T, 0, 1)
    shown = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
    away = np.linalg.norm(shown[:, None] - shown[None], axis=2)
    assert away[~np.eye(len(COLOURS), dtype=bool)].min() > 0.1
