"""Plots of models with matplotlib (extra ``plot``): each draws on axes of yours, or on new ones, and returns them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain.units import Units
from tsenet.topics.describe import topic_tree
from tsenet.topics.topic import every_topic

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from tsenet.skeleton.tree import LatentTree

__all__ = [
    "plot_hierarchy",
    "plot_over_time",
    "plot_per_class",
    "plot_pixel_groups",
    "plot_receptive_field",
    "plot_topics",
]

# Colours of groups. Any two differ by at least 22 in CIELAB, to the normal eye and with each of the three kinds of
# colour blindness.
_PALETTE = ("#8b9dd8", "#eb8754", "#eeeb9a", "#319c79", "#fdbdc0", "#abdefd", "#49688a")
# Of topics, as in the explorer.
_HUES = (
    "#1c6fb0",
    "#c2600a",
    "#2b8242",
    "#b5332f",
    "#7450b8",
    "#0a7d82",
    "#b83a7b",
    "#7d7400",
    "#87592c",
    "#52626f",
)
_INK = "#26323c"
_GREY_INK = "#5f6c78"
_PAPER = "#f3f3f1"
_HATCH = "#c4c4c0"
_PANEL = 3.2  # inches
# The icicle: share of documents that makes a line of text, lines between top topics, where the second level starts.
_SHARE_OF_LINE = 0.08
_BETWEEN = 0.35
_LEFT = 0.34

_Labels = NDArray[np.int64]
_Lines = list[list[tuple[float, float]]]


def _new_axes(size: tuple[float, float], n_panels: int = 1, n_rows: int = 1) -> list[Axes]:
    """Axes next to each other in a new figure, row by row."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingDependencyError("plots need matplotlib: pip install matplotlib") from error
    _, axes = pyplot.subplots(n_rows, n_panels, figsize=size, squeeze=False, layout="constrained")
    return list(axes.ravel())


def _plain(ax: Axes) -> Axes:
    """Light lines at the ticks of the y axis, and no frame above and on the right."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


# ---- topics


def plot_topics(
    topics: Any,
    axes: Iterable[Axes] | None = None,
    *,
    n_topics: int = 8,
    n_words: int = 6,
    level: int | None = None,
) -> list[Axes]:
    """Draw the words of topics and their weights, one panel of bars for each topic.

    Parameters
    ----------
    topics : TopicModel or DataFrame
        A fitted model, or rows of its ``topics_``.
    axes : iterable of matplotlib Axes, optional
        One for each topic; default: a new figure, four panels in a row.
    n_topics : int, default=8
        The largest topics are drawn.
    n_words : int, default=6
        Words of each.
    level : int, optional
        Level of the topics; default: the highest.

    Returns
    -------
    list of matplotlib Axes
        One for each topic, the largest first.

    Examples
    --------
    >>> import pandas as pd
    >>> from tsenet.explain.plots import plot_topics
    >>> topics = pd.DataFrame({"level": 1, "label": ["goal"], "share": 0.2, "words": [[("goal", 2.0)]]})
    >>> plot_topics(topics)[0].get_title(loc="left")
    'goal  20 %'
    """
    frame = _frame(topics)
    shown = frame[frame["level"] == (frame["level"].max() if level is None else level)]
    shown = shown.nlargest(n_topics, "share", keep="first")
    if shown.empty:
        raise DataError(f"there is no topic of level {level} to draw")

    if axes is None:
        n_columns = min(4, len(shown))
        n_rows = -(-len(shown) // 4)
        size = (3.0 * n_columns, n_rows * (0.6 + 0.24 * n_words))
        axes = _new_axes(size, n_columns, n_rows)

    panels = list(axes)[: len(shown)]
    for panel, (_, topic), colour in zip(panels, shown.iterrows(), cycle(_HUES), strict=False):
        words, weights = zip(*topic["words"][:n_words], strict=True)
        panel.barh(range(len(words)), weights, color=colour, height=0.7)
        panel.set_yticks(range(len(words)), words, color=_INK, parse_math=False)
        panel.invert_yaxis()
        panel.set_xticks([])
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
        title = f"{_cut(topic['label'], 30)}  {_percent(topic['share'])}"
        panel.set_title(title, loc="left", fontsize=10, color=_INK, parse_math=False)

    return panels


def plot_hierarchy(
    topics: Any, ax: Axes | None = None, *, n_topics: int = 10, n_children: int = 5
) -> Axes:
    """Draw the two upper levels of a hierarchy of topics as an icicle: topics, their shares, and the topics below them.

    Parameters
    ----------
    topics : TopicModel, DataFrame, LatentTree or sequence of Topic
        A fitted model or its ``topics_``; a tree, or topics as ``topic_tree`` returns them.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure, as high as its rows, by default.
    n_topics : int, default=10
        The largest topics of the highest level are drawn.
    n_children : int, default=5
        Largest topics drawn below each; a last line counts the others.

    Returns
    -------
    matplotlib Axes
        Larger shares have higher boxes; boxes have at least the height of a line.

    Raises
    ------
    DataError
        If there are no topics, or a number is below 1.

    Examples
    --------
    >>> from tsenet.explain import Topic
    >>> from tsenet.explain.plots import plot_hierarchy
    >>> child = Topic("Z1.0", level=1, title="goal", size=0.1, words=())
    >>> parent = Topic("Z2.0", level=2, title="sport", size=0.2, words=(), children=(child,))
    >>> [text.get_text() for text in plot_hierarchy([parent]).texts]
    ['sport', '20 %', 'goal', '10 %']
    """
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    frame = _frame(topics)
    if frame.empty or n_topics < 1 or n_children < 1:
        raise DataError("there are no topics to draw, or n_topics or n_children is below 1")

    drawn = []  # a top topic, those below it, and how many of these are left out
    tops = frame[frame["parent"].isna()].sort_values("level", ascending=False, kind="stable")
    for _, topic in tops.nlargest(n_topics, ["level", "share"]).iterrows():
        below = frame[frame["parent"] == topic["id"]].sort_values("share", ascending=False)
        drawn.append((topic, below[:n_children], len(below) - n_children))

    heights = [_row_heights(*entry) for entry in drawn]
    total = sum(map(sum, heights)) + _BETWEEN * (len(drawn) - 1)
    if ax is None:
        (ax,) = _new_axes((10.0, 0.27 * total + 0.1))

    y = total
    for (topic, below, n_more), rows, colour in zip(drawn, heights, cycle(_HUES), strict=False):
        # The box of the top topic, as high as the lines next to it.
        high = sum(rows)
        ax.add_patch(Rectangle((0, y - high), _LEFT, high, facecolor=to_rgba(colour, 0.3)))
        _write(ax, (0.012, y - 0.55), _cut(topic["label"], 32), fontweight="bold", fontsize=10)
        _write(ax, (_LEFT - 0.01, y - 0.55), _percent(topic["share"]), ha="right")
        if high >= 2 and (more := _further_words(topic, 44)):
            _write(ax, (0.012, y - 1.5), more, color=_GREY_INK)

        # A box for each topic below it, and a line for those that are left out.
        for (_, child), row in zip(below.iterrows(), rows, strict=False):
            box = Rectangle((_LEFT, y - row), 1 - _LEFT, row, facecolor=to_rgba(colour, 0.13))
            box.set(edgecolor="white", linewidth=1.5)
            ax.add_patch(box)
            _write(ax, (_LEFT + 0.012, y - row / 2), _cut(child["label"], 40))
            if words := _further_words(child, 40):
                _write(ax, (0.645, y - row / 2), words, color=_GREY_INK)
            _write(ax, (0.99, y - row / 2), _percent(child["share"]), ha="right")
            y -= row

        if n_more > 0:
            _write(ax, (_LEFT + 0.012, y - rows[-1] / 2), f"and {n_more} more", color=_GREY_INK)
            y -= rows[-1]

        y -= _BETWEEN + (high if below.empty else 0)

    ax.set(xlim=(0, 1), ylim=(0, total))
    ax.axis("off")
    return ax


def plot_over_time(
    shares: Any, topics: Any = None, ax: Axes | None = None, *, n_topics: int = 6
) -> Axes:
    """Draw the shares of topics over time, each line with its label.

    Parameters
    ----------
    shares : DataFrame
        What :meth:`tsenet.TopicModel.over_time` returns.
    topics : TopicModel or DataFrame, optional
        The model or its ``topics_``, for the labels; default: the columns' names.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    n_topics : int, default=6
        The topics with the largest mean share are drawn.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from tsenet.explain.plots import plot_over_time
    >>> shares = pd.DataFrame({"Z2.0": [0.1, 0.2, 0.4]}, index=pd.Index([1990, 1991, 1992], name="year"))
    >>> plot_over_time(shares).texts[0].get_text()
    'Z2.0'
    """
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    if ax is None:
        (ax,) = _new_axes((8.0, 4.2))

    shown = shares[shares.mean().nlargest(n_topics).index]
    labels = _labels(shown.columns, topics)
    for name, colour in zip(shown, cycle(_HUES), strict=False):
        ax.plot(shown.index, shown[name], color=colour, linewidth=2)

    # Labels at the ends of the lines, from the lowest up, none closer than a line of text to the one before.
    order = np.argsort(shown.iloc[-1].to_numpy(), kind="stable")
    height = -np.inf
    least = 0.055 * float(shown.to_numpy().max())
    for k in order.tolist():
        height = max(height + least, float(shown.iloc[-1, k]))
        end = (shown.index[-1], height)
        colour = _HUES[k % len(_HUES)]
        label = ax.annotate(labels[k], end, (6, 0), textcoords="offset points", color=colour)
        label.set(va="center", parse_math=False)

    ax.set(xlabel=shown.index.name, ylabel="share of the documents", ylim=(0, None))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if shown.index.dtype.kind in "iu":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))

    return _plain(ax)


def plot_per_class(
    shares: Any, topics: Any = None, ax: Axes | None = None, *, n_topics: int = 15
) -> Axes:
    """Draw the shares of topics in each class as a table of shaded numbers.

    Parameters
    ----------
    shares : DataFrame
        What :meth:`tsenet.TopicModel.per_class` returns.
    topics : TopicModel or DataFrame, optional
        The model or its ``topics_``, for the labels; default: the columns' names.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    n_topics : int, default=15
        The topics with the largest share of any class are drawn.

    Returns
    -------
    matplotlib Axes
        A row for each topic, a column for each class; numbers are percentages.

    Examples
    --------
    >>> import pandas as pd
    >>> from tsenet.explain.plots import plot_per_class
    >>> shares = pd.DataFrame({"Z2.0": [0.1, 0.9], "Z2.1": [0.5, 0.0]}, index=["spam", "ham"])
    >>> [text.get_text() for text in plot_per_class(shares).texts]
    ['10', '90', '50', '0']
    """
    shown = shares[shares.max().nlargest(n_topics).index].T
    if ax is None:
        (ax,) = _new_axes((2.6 + 0.48 * shown.shape[1], 1.4 + 0.3 * shown.shape[0]))

    values = shown.to_numpy()
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if value > 0.6 else _INK
        ax.text(
            column, row, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize=8
        )

    ax.set_yticks(range(len(shown)), _labels(shown.index, topics), parse_math=False)
    names = [str(name) for name in shown.columns]
    ax.set_xticks(
        range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor", parse_math=False
    )
    ax.set_title("Share of the documents of each class, %", loc="left", fontsize=10, color=_INK)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _frame(topics: Any) -> pd.DataFrame:
    """Topics as a data frame with the columns of ``TopicModel.topics_`` that are drawn."""
    import pandas as pd

    found = getattr(topics, "topics_", topics)
    if isinstance(found, pd.DataFrame):
        return found

    nested = list(found) if isinstance(found, Sequence) else topic_tree(found)
    parent = {id(child): topic.name for topic in every_topic(nested) for child in topic.children}
    lines = []
    for topic in every_topic(nested):
        line = {
            "id": topic.name,
            "level": topic.level,
            "parent": parent.get(id(topic)),
            "label": topic.title,
            "words": [(word.word, word.weight) for word in topic.words],
            "share": topic.size,
        }
        lines.append(line)
    return pd.DataFrame(lines, columns=["id", "level", "parent", "label", "words", "share"])


def _row_heights(topic: Any, below: Any, n_more: int) -> list[float]:
    """Heights of the lines next to a top topic, in lines of text."""
    heights = [max(1.0, share / _SHARE_OF_LINE) for share in below["share"]]
    if n_more > 0:
        heights.append(0.9)
    return heights or [max(1.0, topic["share"] / _SHARE_OF_LINE)]


def _labels(names: Iterable[str], topics: Any) -> list[str]:
    """Labels of topics by their ids."""
    label_of: dict[str, str] = {}
    if topics is not None:
        frame = _frame(topics)
        label_of = dict(zip(frame["id"], frame["label"], strict=True))
    return [label_of.get(name, str(name)) for name in names]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0095 else f"{100 * share:.1f} %"


def _further_words(topic: Any, length: int) -> str:
    """Words of a topic that are not in its label."""
    named = set(topic["label"].replace(",", " ").split())
    return _cut(", ".join(word for word, _ in topic["words"] if word not in named), length)


def _cut(text: str, length: int) -> str:
    """Text of at most some length, cut between words."""
    if len(text) <= length:
        return text
    return (text[:length].rpartition(", ")[0] or text[: length - 1]) + " …"


def _write(ax: Axes, place: tuple[float, float], text: str, **style: Any) -> None:
    style = {"va": "center", "fontsize": 9, "color": _INK, "parse_math": False, **style}
    ax.text(*place, text, **style)


# ---- pixels


def plot_pixel_groups(
    tree: LatentTree,
    shape: Sequence[int],
    levels: Iterable[int] | None = None,
    axes: Iterable[Axes] | None = None,
) -> list[Axes]:
    """Draw how each level of a tree groups the pixels of an image, one panel per level (extra ``plot``).

    Pixels of one group share a colour, and neighbouring groups have different ones. Pixels that never vary are hatched.

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
    _check_shape(shape, tree.n_observed)
    chosen = list(range(1, tree.n_levels + 1) if levels is None else levels)
    images = [tree.ancestors(level).reshape(shape) for level in chosen]
    if not images:
        raise DataError("there is no level to draw: the tree has no latents, or levels is empty")

    size = (_PANEL * len(images), _PANEL * shape[0] / shape[1] + 0.4)
    panels = _new_axes(size, len(images)) if axes is None else list(axes)
    if len(panels) != len(images):
        raise DataError(f"{len(panels)} axes were given for {len(images)} levels")

    for level, groups, panel in zip(chosen, images, panels, strict=True):
        _draw_groups(groups, panel)
        n_groups = np.unique(groups[groups >= 0]).size
        panel.set_title(f"Level {level}: {n_groups} group{'s' if n_groups != 1 else ''}")

    return panels


def _check_shape(shape: Sequence[int], n_features: int) -> None:
    if len(shape) != 2 or int(np.prod(shape)) != n_features:
        raise DataError(
            f"an image of shape {tuple(shape)} does not have {n_features} pixels, one for each feature"
        )


def _draw_groups(groups: _Labels, panel: Axes) -> None:
    """Draw one partition, in pixel coordinates: pixel (i, j) covers j ± ½, i ± ½."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    n_rows, n_columns = groups.shape
    width = float(np.clip(26.0 / max(n_rows, n_columns), 0.5, 1.6))

    # Areas.
    shades = np.array([to_rgb(colour) for colour in (*_PALETTE, _PAPER)])
    colours = np.append(_group_colours(groups), len(_PALETTE))  # the last, for −1, is paper
    panel.imshow(shades[colours[groups]], interpolation="nearest")

    # Pixels in no group are hatched.
    constant = [Rectangle((j - 0.5, i - 0.5), 1, 1) for i, j in np.argwhere(groups < 0).tolist()]
    hatched = PatchCollection(constant, facecolor="none", edgecolor=_HATCH, linewidth=0)
    hatched.set_hatch("/////")
    panel.add_collection(hatched)

    # Borders and the frame.
    lines = LineCollection(_borders(groups), colors=_INK, linewidths=width, capstyle="round")
    panel.add_collection(lines)
    panel.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5), xticks=[], yticks=[])
    for spine in panel.spines.values():
        spine.set(color=_INK, linewidth=width)


def _group_colours(groups: _Labels) -> _Labels:
    """A colour for each group, the largest first: one that no group around it has, or that few pixels there have."""
    size = np.bincount(groups[groups >= 0])
    colours = np.full(size.size, -1, np.int64)
    for group in np.argsort(-size, kind="stable"):
        around = groups[ndimage.binary_dilation(groups == group, np.ones((3, 3)))]
        taken = colours[around[around >= 0]]
        colours[group] = np.argmin(np.bincount(taken[taken >= 0], minlength=len(_PALETTE)))
    return colours


def _borders(groups: _Labels, offset: float = 0.0) -> _Lines:
    """Sides between pixels of different groups, each as its two (x, y) ends; pixel (0, 0) is at ``offset``."""
    down = (np.argwhere(groups[:-1] != groups[1:]) + offset).tolist()
    across = (np.argwhere(groups[:, :-1] != groups[:, 1:]) + offset).tolist()
    lines = [[(j - 0.5, i + 0.5), (j + 0.5, i + 0.5)] for i, j in down]
    lines += [[(j + 0.5, i - 0.5), (j + 0.5, i + 0.5)] for i, j in across]
    return lines


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
    _check_shape(shape, len(units.feature_names))
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
