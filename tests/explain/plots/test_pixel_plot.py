"""Pictures of pixel groups: the partition, its colours, and what is drawn."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tests.builders import cpt_of, level_of, node_names, presence_rule, random_tree
from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain.plots import (
    PALETTE,
    connected_share,
    group_colours,
    pixel_groups,
    plot_pixel_groups,
)
from tsenet.skeleton.tree import LatentTree

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


class TestPixelGroups:
    def test_each_level_is_laid_out_row_by_row(self, tree: LatentTree) -> None:
        assert pixel_groups(tree, (3, 4), 1).tolist() == LAYOUT.tolist()
        above = np.where(LAYOUT < 0, -1, LAYOUT == 2)
        assert pixel_groups(tree, (3, 4), 2).tolist() == above.tolist()

    @pytest.mark.parametrize("shape", [(4, 4), (12,), (0, 12), (-3, -4), (3, 2, 2)])
    def test_another_shape_is_refused(self, tree: LatentTree, shape: tuple[int, ...]) -> None:
        with pytest.raises(DataError):
            pixel_groups(tree, shape, 1)

    @pytest.mark.parametrize("level", [0, -1, 3])
    def test_a_level_without_groups_is_refused(self, tree: LatentTree, level: int) -> None:
        with pytest.raises(ValueError, match=f"level {level}"):
            pixel_groups(tree, (3, 4), level)


class TestConnectedShare:
    def test_counts_the_largest_part_of_each_group(self) -> None:
        # a: 3 of 4 in one piece, b: 3 of 4, c: 2 of 3; the constant pixel does not count
        assert connected_share(LAYOUT) == 8 / 11

    def test_corners_do_not_connect(self) -> None:
        assert connected_share(np.array([[0, 1], [1, 0]])) == 0.5

    def test_whole_groups_give_one_and_so_does_nothing(self) -> None:
        assert connected_share(np.array([[0, 0, 1], [0, 1, 1]])) == 1.0
        assert connected_share(np.full((2, 2), -1)) == 1.0


def touching(groups: NDArray[np.int64]) -> set[tuple[int, int]]:
    """Pairs of groups with pixels that share a side or a corner, pixel by pixel."""
    pairs = set()
    rows, columns = groups.shape
    for i, j in np.ndindex(rows, columns):
        for k, m in np.ndindex(rows, columns):
            if max(abs(i - k), abs(j - m)) == 1:
                pairs.add((int(groups[i, j]), int(groups[k, m])))
    return {(a, b) for a, b in pairs if 0 <= a < b}


class TestGroupColours:
    @pytest.mark.parametrize("seed", range(30))
    def test_neighbours_differ_on_a_map(self, seed: int) -> None:
        # Cells around random points, as on a map: four colours would do, and the greedy way needs one more.
        rng = np.random.default_rng(seed)
        centres = rng.uniform(0, 9, (12, 2))
        pixels = np.stack(np.indices((9, 9)), axis=-1)
        far = np.linalg.norm(pixels[:, :, None] - centres, axis=-1)
        groups = np.argmin(far, axis=2)
        groups = np.unique(groups, return_inverse=True)[1].reshape(9, 9)
        colours = group_colours(groups, n_colours=5)
        assert all(colours[a] != colours[b] for a, b in touching(groups))

    def test_few_groups_all_differ(self) -> None:
        groups = np.arange(len(PALETTE)).reshape(1, -1).repeat(2, axis=0)
        assert sorted(group_colours(groups).tolist()) == list(range(len(PALETTE)))

    def test_equal_colours_lie_far_apart(self) -> None:
        colours = group_colours(np.arange(60).reshape(1, -1), n_colours=6)
        for colour in range(6):
            places = np.flatnonzero(colours == colour)
            assert places.size >= 2
            assert np.diff(places).min() >= 3

    def test_constant_pixels_have_no_colour(self) -> None:
        assert group_colours(np.full((2, 2), -1)).size == 0
        assert group_colours(np.array([[-1, 0], [1, 1]])).size == 2

    def test_more_neighbours_than_colours_still_works(self) -> None:
        groups = np.array([[0, 1], [2, 3]])
        colours = group_colours(groups, n_colours=2)
        assert sorted(colours.tolist()) == [0, 0, 1, 1]


# Machado, Oliveira and Fernandes (2009): how the colour-blind see linear RGB, by kind, at full severity.
VISION = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def as_seen(colour: str, vision: str) -> NDArray[np.float64]:
    """CIELAB of a colour to an eye of some kind."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(VISION[vision]) @ linear, 0, 1)
    xyz = np.asarray(TO_XYZ) @ seen / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_palette_can_be_told_apart(vision: str) -> None:
    seen = [as_seen(colour, vision) for colour in PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) >= 22


class TestPlot:
    def test_one_panel_per_level(self, tree: LatentTree) -> None:
        panels = plot_pixel_groups(tree, (3, 4))
        assert [panel.get_title() for panel in panels] == ["Level 1: 3 groups", "Level 2: 2 groups"]
        figure = panels[0].figure
        assert figure.axes == panels

    def test_pixels_of_a_group_share_a_colour_and_constant_ones_are_hatched(
        self, tree: LatentTree
    ) -> None:
        (panel,) = plot_pixel_groups(tree, (3, 4), levels=[1])
        (image,) = panel.images
        shown = np.asarray(image.get_array())
        colours = [{tuple(pixel) for pixel in shown[group == LAYOUT]} for group in (0, 1, 2, -1)]
        assert [len(colour) for colour in colours] == [1, 1, 1, 1]
        assert len(set.union(*colours)) == 4
        (hatched,) = [c for c in panel.collections if isinstance(c, PatchCollection)]
        assert hatched.get_hatch()
        (path,) = hatched.get_paths()
        assert path.get_extents().bounds == (2.5, 0.5, 1.0, 1.0)  # column 3, row 1

    def test_borders_run_between_groups_and_lines_join_parts(self, tree: LatentTree) -> None:
        (panel,) = plot_pixel_groups(tree, (3, 4), levels=[1])
        borders, links = (c for c in panel.collections if isinstance(c, LineCollection))
        sides = (LAYOUT[:-1] != LAYOUT[1:]).sum() + (LAYOUT[:, :-1] != LAYOUT[:, 1:]).sum()
        assert len(borders.get_segments()) == sides
        joined = {frozenset((round(x), round(y)) for x, y in link) for link in links.get_segments()}
        # Each group has one pixel apart, which touches the rest at a corner: (x, y).
        assert joined == {
            frozenset({(0, 2), (1, 1)}),
            frozenset({(3, 2), (2, 1)}),
            frozenset({(0, 1), (1, 2)}),
        }

    def test_every_part_of_a_group_is_joined_to_the_nearest(self) -> None:
        parent = np.array([5, 6, 5, 6, 5, -1, 5], np.int32)
        cpt = cpt_of(parent, np.full((7, 2), 0.5))
        tree = LatentTree(parent, level_of((5, 2)), cpt, node_names((5, 2)), presence_rule(5))
        (panel,) = plot_pixel_groups(tree, (1, 5))
        _, links = (c for c in panel.collections if isinstance(c, LineCollection))
        joined = {tuple(sorted(round(x) for x, _ in link)) for link in links.get_segments()}
        assert joined == {(0, 2), (2, 4), (1, 3)}

    def test_draws_on_given_axes_in_their_order(self, tree: LatentTree) -> None:
        axes = list(Figure().subplots(1, 2))
        assert plot_pixel_groups(tree, (3, 4), levels=(2, 1), axes=axes) == axes
        assert axes[0].get_title() == "Level 2: 2 groups"
        assert pyplot.get_fignums() == []

    def test_axes_and_levels_must_agree(self, tree: LatentTree) -> None:
        with pytest.raises(DataError, match="1 axes were given for 2 levels"):
            plot_pixel_groups(tree, (3, 4), axes=[Figure().subplots()])

    def test_nothing_to_draw_is_refused(self, tree: LatentTree) -> None:
        with pytest.raises(DataError, match="no level"):
            plot_pixel_groups(tree, (3, 4), levels=[])

    def test_a_whole_tree_of_pixels_can_be_saved(self) -> None:
        tree = random_tree(np.random.default_rng(0), (25, 9, 3), n_constant=2)
        figure = plot_pixel_groups(tree, (5, 5))[0].figure
        figure.canvas.draw()

    def test_without_matplotlib_the_extra_is_named(
        self, tree: LatentTree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(MissingDependencyError, match=r"pip install 'tsenet\[plot\]'"):
            plot_pixel_groups(tree, (3, 4))
        assert pixel_groups(tree, (3, 4), 1).shape == (3, 4)
