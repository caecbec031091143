"""Plots of a tree over pixels: which pixels each group holds, level by level (the paper's MNIST figure, §6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tsenet.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tsenet.skeleton.tree import LatentTree

__all__ = ["PALETTE", "connected_share", "group_colours", "pixel_groups", "plot_pixel_groups"]

#: Any two differ by at least 22 in CIELAB, to the normal eye and with each of the three kinds of colour blindness.
PALETTE = (
    "#8b9dd8",  # periwinkle
    "#eb8754",  # orange
    "#eeeb9a",  # straw
    "#319c79",  # green
    "#fdbdc0",  # pink
    "#abdefd",  # sky
    "#49688a",  # slate
)
_LINE = "#26323c"
_PAPER, _HATCH = "#f3f3f1", "#c4c4c0"
_PANEL = 3.2  # inches

_Labels = NDArray[np.int64]


def pixel_groups(tree: LatentTree, shape: Sequence[int], level: int) -> _Labels:
    """Arrange a level's groups as an image.

    Parameters
    ----------
    tree : LatentTree
        A tree over the pixels of images, row by row: V = rows · columns observed variables.
    shape : (int, int)
        Rows and columns of the image.
    level : int
        A latent level, from 1.

    Returns
    -------
    ndarray of int64, (rows, columns)
        For each pixel the position of its ancestor within the level; −1 for a pixel that never varies.

    Raises
    ------
    DataError
        If the tree has not one observed variable per pixel.
    ValueError
        If the tree has no such level.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree
    >>> from tsenet.explain.plots import pixel_groups
    >>> tree = learn_tree(load_digits().data[:300], random_state=0)
    >>> pixel_groups(tree, (8, 8), level=1).shape
    (8, 8)
    """
    if len(shape) != 2 or min(shape) < 1:
        raise DataError(f"shape must be (rows, columns) of an image, not {tuple(shape)}")
    rows, columns = shape
    if rows * columns != tree.n_observed:
        raise DataError(
            f"an image of {rows} × {columns} has {rows * columns} pixels, "
            f"but the tree has {tree.n_observed} observed variables"
        )
    if level < 1:
        raise ValueError(f"level {level} holds no groups: ask from 1 up")
    return tree.ancestors(level).reshape(rows, columns)


def connected_share(groups: _Labels) -> float:
    """Share of the pixels that lie in the largest connected part of their group.

    Pixels are connected where they share a side. Pixels that never vary (−1) do not count.

    Parameters
    ----------
    groups : ndarray of int64, (rows, columns)
        As ``pixel_groups`` returns them.

    Returns
    -------
    float
        Between 0 and 1; 1.0 if no pixel varies.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.explain.plots import connected_share
    >>> connected_share(np.array([[0, 0, 1], [1, 0, -1]]))
    0.8
    """
    inside = largest = 0
    for group in np.unique(groups[groups >= 0]):
        parts, _ = ndimage.label(groups == group)
        sizes = np.bincount(parts.ravel())[1:]
        inside += int(sizes.sum())
        largest += int(sizes.max())
    return largest / inside if inside else 1.0


def group_colours(groups: _Labels, n_colours: int = len(PALETTE)) -> _Labels:
    """Give groups colours so that equal colours lie far apart.

    There are far more groups than colours an eye can tell apart. As on a map, neighbours get different ones: the group
    with the fewest colours still free around it goes first (as in the DSATUR heuristic) and takes the colour whose
    nearest use is farthest away.

    Parameters
    ----------
    groups : ndarray of int64, (rows, columns)
        As ``pixel_groups`` returns them.
    n_colours : int, default=7
        Number of colours; the default is the length of ``PALETTE``.

    Returns
    -------
    ndarray of int64, (largest group + 1,)
        Colour 0 … ``n_colours`` − 1 of each group.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.explain.plots import group_colours
    >>> left, right = group_colours(np.array([[0, 1], [0, 1]]))
    >>> bool(left != right)
    True
    """
    n_groups = int(groups.max(initial=-1)) + 1
    everyone = np.arange(n_groups)
    size = np.bincount(groups[groups >= 0], minlength=n_groups)
    nearest = np.full((n_groups, n_colours), np.inf)  # distance of each group to each colour
    colours = np.full(n_groups, -1, np.int64)
    for _ in range(n_groups):
        waiting = np.flatnonzero(colours < 0)
        free = (nearest[waiting] > 1.5).sum(axis=1)  # corners touch at √2
        group = waiting[np.lexsort((-size[waiting], free))[0]]
        colours[group] = np.argmax(nearest[group])
        if size[group]:
            away = ndimage.distance_transform_edt(groups != group)
            distance = np.asarray(ndimage.minimum(away, groups, everyone))
            distance[size == 0] = np.inf
            nearest[:, colours[group]] = np.minimum(nearest[:, colours[group]], distance)
    return colours


def plot_pixel_groups(
    tree: LatentTree,
    shape: Sequence[int],
    levels: Iterable[int] | None = None,
    axes: Iterable[Axes] | None = None,
) -> list[Axes]:
    """Draw how each level of a tree groups the pixels of an image, one panel per level (extra ``plot``).

    Pixels of one group share a colour, and neighbouring groups have different ones. A thin line joins the parts
    of a group that do not touch. Pixels that never vary are hatched.

    Parameters
    ----------
    tree : LatentTree
        A tree over the pixels of images, row by row.
    shape : (int, int)
        Rows and columns of the image.
    levels : iterable of int, optional
        Levels to draw; default: all latent levels.
    axes : iterable of matplotlib Axes, optional
        One for each level; default: a new figure with the panels side by side.

    Returns
    -------
    list of matplotlib Axes
        One panel per level.

    Raises
    ------
    DataError
        If the tree has not one observed variable per pixel, or axes and levels differ in number.
    MissingDependencyError
        Without matplotlib.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree
    >>> from tsenet.explain.plots import plot_pixel_groups
    >>> tree = learn_tree(load_digits().data[:300], random_state=0)
    >>> len(plot_pixel_groups(tree, (8, 8))) == tree.n_levels
    True
    """
    chosen = list(range(1, tree.n_levels + 1) if levels is None else levels)
    images = [pixel_groups(tree, shape, level) for level in chosen]
    if not images:
        raise DataError("there is no level to draw: the tree has no latents, or levels is empty")
    panels = _new_axes(len(images), shape) if axes is None else list(axes)
    if len(panels) != len(images):
        raise DataError(f"{len(panels)} axes were given for {len(images)} levels")
    for level, groups, panel in zip(chosen, images, panels, strict=True):
        _draw(groups, panel)
        n_groups = np.unique(groups[groups >= 0]).size
        panel.set_title(f"Level {level}: {n_groups} group{'s' if n_groups != 1 else ''}")
    return panels


def _new_axes(n_panels: int, shape: Sequence[int]) -> list[Axes]:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingDependencyError(
            "plot_pixel_groups needs matplotlib: pip install 'tsenet[plot]'"
        ) from error
    height = _PANEL * shape[0] / shape[1]
    _, axes = pyplot.subplots(
        1,
        n_panels,
        figsize=(_PANEL * n_panels, height + 0.4),
        squeeze=False,
        layout="constrained",
    )
    return list(axes[0])


def _draw(groups: _Labels, panel: Axes) -> None:
    """Draw one partition, in pixel coordinates: pixel (i, j) covers j ± ½, i ± ½."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    rows, columns = groups.shape
    width = float(np.clip(26.0 / max(rows, columns), 0.5, 1.6))
    shades = np.array([to_rgb(colour) for colour in (*PALETTE, _PAPER)])
    colours = np.append(group_colours(groups), len(PALETTE))  # the last, for −1, is paper
    panel.imshow(shades[colours[groups]], interpolation="nearest")
    constant = [Rectangle((j - 0.5, i - 0.5), 1, 1) for i, j in np.argwhere(groups < 0).tolist()]
    panel.add_collection(
        PatchCollection(constant, facecolor="none", edgecolor=_HATCH, linewidth=0, hatch="/////")
    )
    panel.add_collection(
        LineCollection(_borders(groups), colors=_LINE, linewidths=width, capstyle="round")
    )
    links = [link for group in np.unique(groups[groups >= 0]) for link in _links(groups == group)]
    panel.add_collection(LineCollection(links, colors=_LINE, linewidths=0.5 * width, alpha=0.8))
    ends = np.array(links).reshape(-1, 2)
    panel.scatter(ends[:, 0], ends[:, 1], s=(2 * width) ** 2, color=_LINE, linewidths=0, zorder=3)
    panel.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), xticks=[], yticks=[])
    for spine in panel.spines.values():
        spine.set(color=_LINE, linewidth=width)


def _borders(groups: _Labels) -> list[list[tuple[float, float]]]:
    """Sides between pixels of different groups, each as its two (x, y) ends."""
    down = np.argwhere(groups[:-1] != groups[1:]).tolist()
    across = np.argwhere(groups[:, :-1] != groups[:, 1:]).tolist()
    return [[(j - 0.5, i + 0.5), (j + 0.5, i + 0.5)] for i, j in down] + [
        [(j + 0.5, i - 0.5), (j + 0.5, i + 0.5)] for i, j in across
    ]


def _links(inside: NDArray[np.bool_]) -> list[list[tuple[float, float]]]:
    """Shortest lines that join the connected parts of one group, each as its two (x, y) ends.

    Prim's algorithm: the part nearest to those joined so far is joined next.
    """
    parts, n_parts = ndimage.label(inside)
    links: list[list[tuple[float, float]]] = []
    joined = parts == 1
    for _ in range(n_parts - 1):
        away, (row, column) = ndimage.distance_transform_edt(~joined, return_indices=True)
        i, j = np.unravel_index(np.argmin(np.where(inside & ~joined, away, np.inf)), parts.shape)
        links.append([(float(j), float(i)), (float(column[i, j]), float(row[i, j]))])
        joined |= parts == parts[i, j]
    return links
