"""Plots: what is drawn is what the model has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from numpy.typing import NDArray

from tests.builders import cpt_of, level_of, node_names, planted_tree, presence_rule
from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain import Feature, Unit, Units, plots, topic_tree
from tsenet.skeleton.tree import LatentTree


@pytest.fixture(autouse=True)
def quiet_pyplot() -> Iterator[None]:
    """No window, no figure left open; and whatever was drawn can be rendered."""
    with mpl.rc_context({"backend": "agg"}):
        yield
        for number in pyplot.get_fignums():
            pyplot.figure(number).canvas.draw()
        pyplot.close("all")


def topics_frame() -> pd.DataFrame:
    """Seven top topics, the k-th with k below it; labels with characters that are special to matplotlib."""
    lines = []
    for k in range(7):
        words = [(f"${k}_{j}", float(9 - j)) for j in range(9)]
        lines.append((f"Z2.{k}", 2, None, f"$top {k}", words, 0.5 - 0.05 * k))
        lines += [(f"Z1.{k}{c}", 1, f"Z2.{k}", f"low {k}{c}", words, 0.01 * c) for c in range(k)]
    return pd.DataFrame(lines, columns=["id", "level", "parent", "label", "words", "share"])


def texts_of(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


class TestTopics:
    def test_bars_are_weights_of_words(self) -> None:
        frame = topics_frame()
        panels = plots.plot_topics(frame, n_topics=6, n_words=3)
        assert len(panels) == 6
        for k, panel in enumerate(panels):
            assert [bar.get_width() for bar in panel.patches] == [9.0, 8.0, 7.0]
            assert [label.get_text() for label in panel.get_yticklabels()] == [
                f"${k}_{j}" for j in range(3)
            ]
            assert panel.get_title(loc="left") == f"$top {k}  {50 - 5 * k} %"
        (largest,) = plots.plot_topics(frame, n_topics=1, level=1)
        assert largest.get_title(loc="left").startswith("low 65")
        with pytest.raises(DataError, match="level 7"):
            plots.plot_topics(frame, level=7)

    def test_the_hierarchy_has_topics_shares_and_topics_below(self) -> None:
        ax = plots.plot_hierarchy(topics_frame(), n_topics=6, n_children=4)
        texts = texts_of(ax)
        assert [text for text in texts if text.startswith("$top")] == [
            f"$top {k}" for k in range(6)
        ]
        below = [text for text in texts if text.startswith("low")]
        wanted = [[f"low {k}{c}" for c in reversed(range(k))][:4] for k in range(6)]
        assert below == [label for labels in wanted for label in labels]
        assert "50 %" in texts
        assert "and 1 more" in texts  # of the five below the last
        boxes = [patch.get_bbox() for patch in ax.patches]
        assert len(boxes) == 6 + len(below)
        overlaps = [
            (a, b)
            for a, b in combinations(boxes, 2)
            if min(a.x1, b.x1) - max(a.x0, b.x0) > 1e-9 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1e-9
        ]
        assert overlaps == []
        low, high = ax.get_ylim()
        assert min(box.y0 for box in boxes) == pytest.approx(low, abs=1e-9)
        assert max(box.y1 for box in boxes) == pytest.approx(high)

    def test_a_tree_has_a_hierarchy(self) -> None:
        tree = planted_tree(np.random.default_rng(0), (40, 12, 4))
        texts = texts_of(plots.plot_hierarchy(tree))
        assert {topic.title for topic in topic_tree(tree)} <= set(texts)
        with pytest.raises(DataError, match="no topics"):
            plots.plot_hierarchy([])

    def test_lines_over_time_have_labels(self) -> None:
        frame = topics_frame()
        years = pd.Index(range(1990, 1996), name="year")
        shares = pd.DataFrame({f"Z2.{k}": 0.1 * k + 0.01 * np.arange(6) for k in range(7)}, years)
        ax = plots.plot_over_time(shares, frame, n_topics=3)
        drawn = [np.asarray(line.get_ydata()).tolist() for line in ax.lines]
        assert drawn == [shares[f"Z2.{k}"].tolist() for k in (6, 5, 4)]
        assert texts_of(ax) == ["$top 4", "$top 5", "$top 6"]
        assert ax.get_xlabel() == "year"
        same = plots.plot_over_time(shares * 0 + 0.3, n_topics=4)  # lines on top of each other
        heights = [text.xy[1] for text in same.texts]  # type: ignore[attr-defined]
        assert np.diff(heights).min() > 0.01

    def test_a_table_of_classes(self) -> None:
        shares = pd.DataFrame({"Z2.0": [0.1, 0.25], "Z2.1": [0.9, 0.0]}, index=["a", "b"])
        ax = plots.plot_per_class(shares, topics_frame(), plots.plot_per_class(shares))
        assert [label.get_text() for label in ax.get_yticklabels()] == ["$top 1", "$top 0"]
        assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]
        assert np.asarray(ax.images[-1].get_array()).tolist() == [[0.9, 0.0], [0.1, 0.25]]
        assert texts_of(ax)[-4:] == ["90", "0", "10", "25"]


# A 3 × 4 image: groups a, b, c of level 1; a and b are one group of level 2, c another; one constant pixel.
LAYOUT = np.array([[0, 0, 1, 1], [2, 0, 1, -1], [0, 2, 2, 1]])


@pytest.fixture
def tree() -> LatentTree:
    sizes = (12, 3, 2)
    parent = np.full(17, -1, np.int32)
    parent[:12] = np.where(LAYOUT.ravel() >= 0, LAYOUT.ravel() + 12, -1)
    parent[12:15] = [15, 15, 16]
    parent[16] = 15
    cpt = cpt_of(parent, np.full((17, 2), 0.5))
    return LatentTree(parent, level_of(sizes), cpt, node_names(sizes), presence_rule(12))


def touching(groups: NDArray[np.int64]) -> set[tuple[int, int]]:
    """Pairs of groups with pixels that share a side or a corner, pixel by pixel."""
    pairs = set()
    rows, columns = groups.shape
    for i, j in np.ndindex(rows, columns):
        for k, m in np.ndindex(rows, columns):
            if max(abs(i - k), abs(j - m)) == 1:
                pairs.add((int(groups[i, j]), int(groups[k, m])))
    return {(a, b) for a, b in pairs if 0 <= a < b}


class TestPixelGroups:
    @pytest.mark.parametrize("seed", range(3))
    def test_neighbours_differ_on_a_map(self, seed: int) -> None:
        # Cells around random points, as on a map: four colours would do.
        centres = np.random.default_rng(seed).uniform(0, 9, (12, 2))
        pixels = np.stack(np.indices((9, 9)), axis=-1)
        groups = np.argmin(np.linalg.norm(pixels[:, :, None] - centres, axis=-1), axis=2)
        groups = np.unique(groups, return_inverse=True)[1].reshape(9, 9)
        sizes = (81, int(groups.max()) + 1)
        parent = np.append(groups.ravel() + 81, np.full(sizes[1], -1)).astype(np.int32)
        cpt = cpt_of(parent, np.full((sum(sizes), 2), 0.5))
        tree = LatentTree(parent, level_of(sizes), cpt, node_names(sizes), presence_rule(81))
        (panel,) = plots.plot_pixel_groups(tree, (9, 9))
        shown = np.asarray(panel.images[0].get_array())
        colour = {g: tuple(shown[groups == g][0]) for g in range(sizes[1])}
        assert all(colour[a] != colour[b] for a, b in touching(groups))

    def test_a_group_has_one_colour_and_constant_pixels_are_hatched(self, tree: LatentTree) -> None:
        (panel,) = plots.plot_pixel_groups(tree, (3, 4), levels=[1])
        (image,) = panel.images
        shown = np.asarray(image.get_array())
        colours = [{tuple(pixel) for pixel in shown[group == LAYOUT]} for group in (0, 1, 2, -1)]
        assert [len(colour) for colour in colours] == [1, 1, 1, 1]
        assert len(set.union(*colours)) == 4
        (hatched,) = [c for c in panel.collections if isinstance(c, PatchCollection)]
        (path,) = hatched.get_paths()
        assert path.get_extents().bounds == (2.5, 0.5, 1.0, 1.0)  # column 3, row 1


class TestReceptiveField:
    def units(self, *features: Feature) -> Units:
        names = tuple(f"x{j}" for j in range(6))
        return Units((Unit("Z1.0", 1, "", features, 0.0, 0.25, (), None),), None, 8, names)

    def test_pixels_are_correlations_and_links_are_framed(self) -> None:
        units = self.units(Feature("x4", 0.5, 1.0), Feature("x0", -0.2, None))
        ax = plots.plot_receptive_field(units, "Z1.0", (2, 3))
        image = np.ma.filled(ax.images[0].get_array(), np.nan)
        np.testing.assert_array_equal(image, [[-0.2, np.nan, np.nan], [np.nan, 0.5, np.nan]])
        assert ax.images[0].get_clim() == (-0.5, 0.5)
        (frame,) = (c for c in ax.collections if isinstance(c, LineCollection))
        sides = {tuple(map(tuple, side.tolist())) for side in map(np.asarray, frame.get_segments())}
        assert sides == {  # pixel (1, 1) covers 0.5 … 1.5 in both directions
            ((0.5, 0.5), (1.5, 0.5)),
            ((0.5, 1.5), (1.5, 1.5)),
            ((0.5, 0.5), (0.5, 1.5)),
            ((1.5, 0.5), (1.5, 1.5)),
        }


def test_without_matplotlib_the_package_to_install_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="pip install matplotlib"):
        plots.plot_topics(topics_frame())
