"""What can be read off a plot."""

from __future__ import annotations

from matplotlib.axes import Axes


def said(ax: Axes) -> list[str]:
    """What the legend says."""
    legend = ax.get_legend()
    assert legend is not None
    return [entry.get_text() for entry in legend.get_texts()]


def check_labelled(ax: Axes) -> None:
    assert ax.get_title()
    assert ax.get_xlabel()
    assert ax.get_ylabel()
