"""Colours, marks and axes that all plots share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsenet.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito's colours, which people with any kind of colour blindness can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#8c8c8c"
INK = "#26323c"


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the user's axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingDependencyError("plots need matplotlib: pip install 'tsenet[plot]'") from error
    _, made = pyplot.subplots(figsize=size, layout="constrained")
    return made


def plain_frame(ax: Axes) -> None:
    """Leave out the upper and right side of the frame; draw light horizontal grid lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)
