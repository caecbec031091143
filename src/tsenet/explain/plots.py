"""Plots of models with matplotlib (extra ``plot``): each draws on axes of yours, or on new ones, and returns them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain.topic_words import Topic, every_topic, topic_tree
from tsenet.explain.units import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tsenet.skeleton.tree import LatentTree
    from tsenet.training.history import History

__all__ = [
    "PALETTE",
    "connected_share",
    "group_colours",
    "pixel_groups",
    "plot_history",
    "plot_pixel_groups",
    "plot_receptive_field",
    "plot_tree",
]

#: Colours of groups. Any two differ by at least 22 in CIELAB, to the normal eye and with each of the three kinds of
#: colour blindness.
PALETTE = (
    "#8b9dd8",  # periwinkle
    "#eb8754",  # orange
    "#eeeb9a",  # straw
    "#319c79",  # green
    "#fdbdc0",  # pink
    "#abdefd",  # sky
    "#49688a",  # slate
)
# Okabe and Ito's colours, which people with any kind of colour blindness can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555")
_INK, _GREY, _LIGHT = "#26323c", "#8c8c8c", "#b4bcc6"
_PAPER, _HATCH = "#f3f3f1", "#c4c4c0"
_PANEL = 3.2  # inches
_MARK = 240.0  # area of a topic that is on in all rows, in square points

_Labels = NDArray[np.int64]
_Lines = list[list[tuple[float, float]]]


def _new_axes(size: tuple[float, float], n_panels: int = 1) -> list[Axes]:
    """Axes next to each other in a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingDependencyError("plots need matplotlib: pip install 'tsenet[plot]'") from error
    _, axes = pyplot.subplots(1, n_panels, figsize=size, squeeze=False, layout="constrained")
    return list(axes[0])


# ---- trees of topics


def plot_tree(
    tree: LatentTree | Sequence[Topic],
    ax: Axes | None = None,
    *,
    max_topics: int = 40,
    n_words: int = 4,
) -> Axes:
    """Draw an overview of a tree: its topics from the top level down as far as there is room, largest first.

    Parameters
    ----------
    tree : LatentTree, or sequence of Topic
        A tree, or topics as ``topic_tree`` returns them.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    max_topics : int, default=40
        Levels are drawn downwards as long as each has at most this many topics; of a larger top level, the largest
        topics.
    n_words : int, default=4
        Words written next to each topic of the lowest level drawn.

    Returns
    -------
    matplotlib Axes
        The mark of a topic grows with its share of the rows.

    Raises
    ------
    DataError
        If the tree has no latents, or a number is below 1.

    Examples
    --------
    >>> from tsenet.explain import Topic, TopicWord
    >>> from tsenet.explain.plots import plot_tree
    >>> topic = Topic("Z1.0", 1, "goal", 0.2, (TopicWord("goal", 0.1, 0.4, 0.01),))
    >>> plot_tree([topic]).get_title()
    'Tree of topics: 1 of 1 drawn'
    """
    roots = list(tree) if isinstance(tree, Sequence) else topic_tree(tree)
    if not roots:
        raise DataError("the tree has no latents: there is nothing to draw")
    if max_topics < 1 or n_words < 1:
        raise DataError("max_topics and n_words must be at least 1")
    levels = [roots[:max_topics]]
    while below := [child for topic in levels[-1] for child in topic.children]:
        if len(below) > max_topics:
            break
        levels.append(below)
    height = _heights(levels)
    lowest = min(height.values())
    if ax is None:
        (ax,) = _new_axes((1.6 * len(levels) + 0.75 * n_words, 1.0 + 0.25 * (1 - lowest)))
    for depth, topics in enumerate(levels):
        _draw_level(ax, depth, topics, height)
        for topic in topics:
            if depth == len(levels) - 1 or not topic.children:
                words = ", ".join(word.word for word in topic.words[:n_words]) or topic.name
                _write(ax, depth, height[topic.name], words)
    n_shown, n_all = sum(map(len, levels)), sum(1 for _ in every_topic(roots))
    ax.set_title(f"Tree of topics: {n_shown} of {n_all} drawn")
    ax.set(xlim=(-0.2, len(levels) - 1 + 0.45 * n_words), ylim=(lowest - 0.8, 0.8))
    ax.set_xticks(range(len(levels)), [f"level {topics[0].level}" for topics in levels])
    ax.set_yticks([])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _heights(levels: Sequence[Sequence[Topic]]) -> dict[str, float]:
    """Vertical positions: ends of branches one below the other, other topics at the mean of their children."""
    height: dict[str, float] = {}

    def set_height(topic: Topic, depth: int) -> float:
        if depth + 1 < len(levels) and topic.children:
            height[topic.name] = float(
                np.mean([set_height(child, depth + 1) for child in topic.children])
            )
        else:
            ended.append(topic.name)
            height[topic.name] = 1.0 - len(ended)
        return height[topic.name]

    ended: list[str] = []
    for root in levels[0]:
        set_height(root, 0)
    return height


def _draw_level(ax: Axes, depth: int, topics: Sequence[Topic], height: dict[str, float]) -> None:
    """The topics of one level, and their links to those below that are drawn."""
    for topic in topics:
        for child in topic.children:
            if child.name in height:
                _draw_link(ax, depth, height[topic.name], height[child.name])
    ax.scatter(
        [depth] * len(topics),
        [height[topic.name] for topic in topics],
        s=[14 + _MARK * topic.size for topic in topics],
        color=_COLOURS[depth % len(_COLOURS)],
        edgecolors="white",
        linewidths=0.8,
        zorder=2,
    )


def _draw_link(ax: Axes, depth: int, start: float, stop: float) -> None:
    """A curve from a topic to one of the next level."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points = [(depth, start), (depth + 0.5, start), (depth + 0.5, stop), (depth + 1, stop)]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    ax.add_patch(
        PathPatch(Path(points, codes), facecolor="none", edgecolor=_LIGHT, linewidth=1, zorder=1)
    )


def _write(ax: Axes, depth: int, height: float, text: str) -> None:
    ax.annotate(
        text,
        (depth, height),
        (11, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=_INK,
        parse_math=False,  # a word may hold dollar signs
    )


# ---- pixels


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
    size = _PANEL * len(images), _PANEL * shape[0] / shape[1] + 0.4
    panels = _new_axes(size, len(images)) if axes is None else list(axes)
    if len(panels) != len(images):
        raise DataError(f"{len(panels)} axes were given for {len(images)} levels")
    for level, groups, panel in zip(chosen, images, panels, strict=True):
        _draw_groups(groups, panel)
        n_groups = np.unique(groups[groups >= 0]).size
        panel.set_title(f"Level {level}: {n_groups} group{'s' if n_groups != 1 else ''}")
    return panels


def _draw_groups(groups: _Labels, panel: Axes) -> None:
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
        LineCollection(_borders(groups), colors=_INK, linewidths=width, capstyle="round")
    )
    links = [link for group in np.unique(groups[groups >= 0]) for link in _links(groups == group)]
    panel.add_collection(LineCollection(links, colors=_INK, linewidths=0.5 * width, alpha=0.8))
    ends = np.array(links).reshape(-1, 2)
    panel.scatter(ends[:, 0], ends[:, 1], s=(2 * width) ** 2, color=_INK, linewidths=0, zorder=3)
    panel.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), xticks=[], yticks=[])
    for spine in panel.spines.values():
        spine.set(color=_INK, linewidth=width)


def _borders(groups: _Labels, offset: float = 0.0) -> _Lines:
    """Sides between pixels of different groups, each as its two (x, y) ends; pixel (0, 0) is at ``offset``."""
    down = (np.argwhere(groups[:-1] != groups[1:]) + offset).tolist()
    across = (np.argwhere(groups[:, :-1] != groups[:, 1:]) + offset).tolist()
    return [[(j - 0.5, i + 0.5), (j + 0.5, i + 0.5)] for i, j in down] + [
        [(j + 0.5, i - 0.5), (j + 0.5, i + 0.5)] for i, j in across
    ]


def _links(inside: NDArray[np.bool_]) -> _Lines:
    """Shortest lines that join the connected parts of one group, each as its two (x, y) ends.

    Prim's algorithm: the part nearest to those joined so far is joined next.
    """
    parts, n_parts = ndimage.label(inside)
    links: _Lines = []
    joined = parts == 1
    for _ in range(n_parts - 1):
        away, (row, column) = ndimage.distance_transform_edt(~joined, return_indices=True)
        i, j = np.unravel_index(np.argmin(np.where(inside & ~joined, away, np.inf)), parts.shape)
        links.append([(float(j), float(i)), (float(column[i, j]), float(row[i, j]))])
        joined |= parts == parts[i, j]
    return links


def plot_receptive_field(
    units: Units, name: str, shape: Sequence[int], ax: Axes | None = None
) -> Axes:
    """Draw a unit's correlation with each pixel of an image; the pixels it has links from are framed.

    Parameters
    ----------
    units : Units
        From ``describe_units`` over images whose pixels are the features, row by row. Only the features it kept are
        drawn, so call it with ``n_features`` equal to the number of pixels.
    name : str
        Name of the unit.
    shape : (int, int)
        Rows and columns of the image.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The image, with a colour bar.

    Raises
    ------
    DataError
        If the shape does not fit the features, or there is no such unit.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree
    >>> from tsenet.explain import describe_units
    >>> from tsenet.explain.plots import plot_receptive_field
    >>> pixels = load_digits().data[:300]
    >>> units = describe_units(learn_tree(pixels, random_state=0), pixels, n_features=64)
    >>> ax = plot_receptive_field(units, "Z1.0", (8, 8))
    >>> ax.get_title().startswith("Z1.0, active in")
    True
    """
    if len(shape) != 2 or int(np.prod(shape)) != len(units.feature_names):
        raise DataError(
            f"an image of shape {tuple(shape)} does not have {len(units.feature_names)} pixels, "
            "one for each feature"
        )
    try:
        unit = units[name]
    except KeyError:
        raise DataError(f"there is no unit {name!r}") from None
    if ax is None:
        (ax,) = _new_axes((4.0, 3.4 * shape[0] / shape[1] + 0.3))
    column = {feature: j for j, feature in enumerate(units.feature_names)}
    image = np.full(len(column), np.nan)
    linked = np.zeros(len(column), bool)
    for feature in unit.features:
        image[column[feature.name]] = feature.correlation
        linked[column[feature.name]] = feature.weight is not None
    largest = max(np.nanmax(np.abs(image), initial=0.0), 1e-9)
    ax.set_facecolor("#d9d9d9")
    drawn = ax.imshow(image.reshape(shape), cmap="PuOr_r", vmin=-largest, vmax=largest)
    if not linked[~np.isnan(image)].all():  # a unit that reads every pixel needs no frame
        from matplotlib.collections import LineCollection

        lines = _borders(np.pad(linked.reshape(shape), 1).astype(np.int64), offset=-1.0)
        ax.add_collection(LineCollection(lines, colors=_INK, linewidths=1.6, capstyle="round"))
    figure = ax.get_figure()
    assert figure is not None
    figure.colorbar(drawn, ax=ax, label="correlation with the unit", shrink=0.85)
    ax.set(xticks=[], yticks=[], title=f"{name}, active in {100 * unit.active:.0f} % of images")
    return ax


# ---- training


def plot_history(
    history: History, ax: Axes | None = None, *, series: Literal["loss", "score"] = "loss"
) -> Axes:
    """Draw losses or scores of training, epoch by epoch.

    Parameters
    ----------
    history : History
        ``history_`` of an estimator.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    series : {"loss", "score"}, default="loss"
        Losses on training and validation rows, or the validation score, which early stopping watches.

    Returns
    -------
    matplotlib Axes
        A dotted line marks the epoch whose weights were kept.

    Raises
    ------
    DataError
        If the history holds no epoch, or no scores where these are asked for.

    Examples
    --------
    >>> from tsenet.explain.plots import plot_history
    >>> from tsenet.training.history import History
    >>> history = History((3.0, 2.0), (2.5, 2.1), (0.5, 0.7), (0.1, 0.1), (1.0, 1.0), 1, "max_epochs")
    >>> plot_history(history).get_ylabel()
    'loss'
    """
    if history.n_epochs == 0:
        raise DataError("the history holds no epoch")
    if series == "score" and not history.validation_score:
        raise DataError("the history has no scores: training had no validation rows")
    if ax is None:
        (ax,) = _new_axes((5.6, 3.6))
    from matplotlib.ticker import MaxNLocator

    epochs = np.arange(1, history.n_epochs + 1)
    mark: dict[str, Any] = {"marker": "o", "markersize": 3} if history.n_epochs <= 40 else {}
    if series == "loss":
        ax.plot(
            epochs, history.train_loss, color=_COLOURS[0], label="training, with dropout", **mark
        )
        if history.validation_loss:
            ax.plot(
                epochs, history.validation_loss, "--", color=_COLOURS[1], label="validation", **mark
            )
        ax.set(ylabel="loss", title="Loss in training")
    else:
        ax.plot(epochs, history.validation_score, color=_COLOURS[1], label="validation", **mark)
        ax.set(ylabel="score (higher is better)", title="Validation score in training")
    if history.best_epoch is not None:
        best = history.best_epoch + 1
        ax.axvline(best, color=_GREY, linewidth=1, linestyle=":", label=f"kept: epoch {best}")
    ax.set_xlabel("epoch")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.margins(x=0.03)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax
