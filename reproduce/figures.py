"""Figures: curves over parameters or labels, dots and bars, in colours that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tsenet.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Curve", "Dot", "Point", "bars", "curves", "dots", "require_matplotlib"]

# Okabe and Ito's colours, the pale yellow left out; each curve with a marker and a dash of its own, for print in grey.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#7F7F7F")
_MARKERS = "os^DvPX<>ph*"
_DASHES = ("-", "--", "-.", ":")
_COLUMNS = 3  # of panels


@dataclass(frozen=True)
class Point:
    """A place on a curve: ``y`` with the deviation ``sd`` above and below, None if it is not known."""

    x: float
    y: float
    sd: float | None = None


@dataclass(frozen=True)
class Curve:
    """A named row of points; ``look`` says which colour, so that a method has the same one in all panels."""

    title: str
    points: Sequence[Point]
    look: int


Kind = Literal["learned wiring", "random wiring", "others"]
_OF_KIND: dict[Kind, str] = {
    "learned wiring": _COLOURS[0],
    "random wiring": _COLOURS[1],
    "others": _COLOURS[7],
}


@dataclass(frozen=True)
class Dot:
    """A method's score, its deviation, and the paper's score; None where one is not known."""

    title: str
    mean: float
    sd: float | None = None
    paper: float | None = None
    kind: Kind = "others"


def require_matplotlib() -> None:
    """Raise now, not after hours of runs, if the figures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise MissingDependencyError(
            "the figures need matplotlib: pip install 'tsenet[plot]'"
        ) from error


def curves(panels: Mapping[str, Sequence[Curve]], x_label: str, y_label: str) -> Figure:
    """Curves over a logarithmic axis, with bands of one standard deviation; a panel for each data set.

    Parameters
    ----------
    panels : mapping of title to curves
    x_label, y_label : str
    """
    figure, all_axes = _grid(len(panels), 5.6, 4.6)
    for axes, (title, own) in zip(all_axes, panels.items(), strict=True):
        for curve in own:
            _draw(axes, curve)
        axes.set(title=title, xlabel=x_label, ylabel=y_label, xscale="log")
        axes.grid(axis="y", color="0.9", lw=0.8)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    _legend(figure, all_axes)
    return figure


def dots(panels: Mapping[str, Sequence[Dot]], x_label: str) -> Figure:
    """Scores as dots with a bar of one standard deviation, a line for each method; the paper's hollow beside them."""
    n_lines = max(len(own) for own in panels.values())
    figure, all_axes = _grid(len(panels), 5.0, 0.9 + 0.32 * n_lines)
    for axes, (title, own) in zip(all_axes, panels.items(), strict=True):
        for place, dot in enumerate(own):
            error = None if dot.sd is None else [dot.sd]
            colour = _OF_KIND[dot.kind]
            axes.errorbar(
                [dot.mean], [place], xerr=error, fmt="o", color=colour, capsize=3, label=dot.kind
            )
            if dot.paper is not None:
                axes.plot(
                    [dot.paper], [place], "D", mfc="none", mec=_COLOURS[3], label="the paper's"
                )
        axes.set_yticks(range(len(own)), [dot.title for dot in own])
        axes.invert_yaxis()
        axes.set(title=title, xlabel=x_label)
        axes.grid(axis="x", color="0.9", lw=0.8)
    _legend(figure, all_axes)
    return figure


def bars(panels: Mapping[str, Mapping[str, Mapping[str, float]]], y_label: str) -> Figure:
    """Bars in groups, a panel for each title: ``panels[title][method][group]`` is a height (the paper's figure 5)."""
    from matplotlib.figure import Figure

    widths = [max(len(heights) for heights in own.values()) for own in panels.values()]
    figure = Figure(figsize=(max(6.4, 0.9 * sum(widths) + 2), 4.4), layout="constrained")
    all_axes = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)[0]
    for axes, (title, own) in zip(all_axes, panels.items(), strict=True):
        groups = list(dict.fromkeys(group for heights in own.values() for group in heights))
        width = 0.8 / len(own)
        for k, (method, heights) in enumerate(own.items()):
            places = [groups.index(group) + (k - (len(own) - 1) / 2) * width for group in heights]
            colour = _COLOURS[k % len(_COLOURS)]
            axes.bar(places, list(heights.values()), width, color=colour, label=method)
        axes.set(title=title, ylabel=y_label)
        axes.set_xticks(range(len(groups)), groups, rotation=35, ha="right")
        axes.spines[["top", "right"]].set_visible(False)
    _legend(figure, all_axes)
    return figure


def _grid(n_panels: int, width: float, height: float) -> tuple[Figure, list[Any]]:
    """A figure with so many panels of a size in inches, at most three in a row."""
    from matplotlib.figure import Figure

    columns = 2 if n_panels == 4 else min(n_panels, _COLUMNS)
    rows = -(-n_panels // columns)
    figure = Figure(figsize=(width * columns + 2, height * rows), layout="constrained")
    all_axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for unused in all_axes[n_panels:]:
        unused.remove()
    for axes in all_axes[:n_panels]:
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
    return figure, all_axes[:n_panels]


def _draw(axes: Any, curve: Curve) -> None:
    colour = _COLOURS[curve.look % len(_COLOURS)]
    look = {
        "color": colour,
        "marker": _MARKERS[curve.look % len(_MARKERS)],
        "mfc": colour if curve.look < len(_COLOURS) else "white",
        "ls": _DASHES[curve.look % len(_DASHES)],
    }
    points = sorted(curve.points, key=lambda point: point.x)
    x, y = [point.x for point in points], [point.y for point in points]
    axes.plot(x, y, ms=5, lw=1.6, label=curve.title, **look)
    low = [point.y - (point.sd or 0.0) for point in points]
    high = [point.y + (point.sd or 0.0) for point in points]
    if len(points) > 1:
        axes.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
    elif points and points[0].sd is not None:
        axes.errorbar(x, y, yerr=[points[0].sd], color=colour, capsize=3)


def _legend(figure: Figure, all_axes: Sequence[Any]) -> None:
    """Name each method once, whichever panels it is in."""
    found: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if set(found) == {"others"}:  # nothing to tell apart
        return
    figure.legend(list(found.values()), list(found), loc="outside right upper", frameon=False)
