"""Pictures of named horizontal bars, each with its number at its end as a table shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Bar", "Panel", "Picture", "figure", "number"]

# Okabe and Ito's blue and orange: told apart by every kind of colour vision, and in grey.
_OURS, _OTHER = "#0072B2", "#E69F00"


@dataclass(frozen=True)
class Bar:
    """A named bar as long as the number in a cell; without a cell it is the heading of the bars below it."""

    name: str
    cell: str = ""
    ours: bool = False


@dataclass(frozen=True)
class Panel:
    """Bars of one unit; ``base`` is where the thing they are compared with stands, if they are multiples of it."""

    title: str
    unit: str
    bars: Sequence[Bar]
    base: float | None = None


@dataclass(frozen=True)
class Picture:
    """Panels in so many columns; panels that share their names show them once."""

    title: str
    panels: Sequence[Panel]
    columns: int
    shared: bool = False


def number(cell: str) -> float:
    """The number that a cell shows."""
    return float(cell.replace(",", "").replace("−", "-"))


def figure(picture: Picture) -> Figure:
    """Draw it: our bars and what others are multiples of in blue, others in orange."""
    from matplotlib.figure import Figure

    n_rows = -(-len(picture.panels) // picture.columns)
    n_bars = [0] * n_rows
    for k, panel in enumerate(picture.panels):
        n_bars[k // picture.columns] = max(n_bars[k // picture.columns], len(panel.bars))
    heights = [1.1 + 0.22 * n for n in n_bars]
    made = Figure(figsize=(9.5, 0.4 + sum(heights)), layout="constrained")
    all_axes = made.subplots(n_rows, picture.columns, squeeze=False, height_ratios=heights).ravel()
    for k, (axes, panel) in enumerate(zip(all_axes, picture.panels, strict=True)):
        thickness = 0.8 * len(panel.bars) / n_bars[k // picture.columns]  # the same in a row
        _draw(axes, panel, thickness, named=not picture.shared or k % picture.columns == 0)
    made.suptitle(picture.title, fontweight="bold")
    return made


def _draw(axes: Any, panel: Panel, thickness: float, named: bool) -> None:
    lengths = [number(bar.cell) if bar.cell else 0.0 for bar in panel.bars]
    places = range(len(lengths))
    colours = [_OURS if bar.ours else _OTHER for bar in panel.bars]
    axes.barh(places, lengths, thickness, color=colours)
    for place, bar, length in zip(places, panel.bars, lengths, strict=True):
        end = (max(length, panel.base or 0), place)  # beside the line of the base, not across it
        axes.annotate(bar.cell, end, (3, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_xlim(1.1 * min(0, *lengths), 1.25 * max(lengths))
    axes.set_ylim(len(lengths) - 0.4, -0.6)
    axes.axvline(0, color="0.3", lw=0.8)
    if panel.base is not None:
        axes.axvline(panel.base, color=_OURS, ls="--", lw=1.2)
    axes.set_yticks(places, [bar.name if named else "" for bar in panel.bars], fontsize=9)
    for bar, label in zip(panel.bars, axes.get_yticklabels(), strict=True):
        label.set_fontweight("normal" if bar.cell else "bold")
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.unit, fontsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
