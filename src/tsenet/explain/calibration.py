"""Calibration: whether what is predicted with some probability happens that often."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tsenet.errors import DataError
from tsenet.explain._axes import COLOURS, GREY, MARKERS, bare, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Calibration", "calibration_of", "plot_calibration"]


class Calibration(NamedTuple):
    """Rows grouped by predicted probability: ``predicted`` its mean, ``observed`` the share of events, ``n_rows``.

    Each is (bins,); empty bins are left out. ``error`` is the expected calibration error: the mean distance between
    the two, weighted by rows.
    """

    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    n_rows: NDArray[np.int64]
    error: float


def calibration_of(y: ArrayLike, probability: ArrayLike, n_bins: int = 10) -> Calibration:
    """Compare probabilities with what happened.

    Parameters
    ----------
    y : array-like (N,)
        0 or 1 for probabilities (N,); for (N, K), the number of each row's class among the K.
    probability : array-like (N,) or (N, K)
        Of 1; or of all classes: then each row counts with its most probable class, and the event is that it is right.
    n_bins : int
        Bins of equal width between 0 and 1.

    Returns
    -------
    Calibration
    """
    event, chance = np.asarray(y), np.asarray(probability, np.float64)
    if chance.ndim == 2 and event.shape == chance.shape[:1]:
        event, chance = chance.argmax(axis=1) == event, chance.max(axis=1)
    if event.shape != chance.shape or event.ndim != 1 or event.size == 0:
        raise DataError(
            f"y of shape {np.shape(y)} does not go with probabilities of shape {np.shape(probability)}"
        )
    if not np.isin(event, (0, 1)).all():
        raise DataError(
            "y must hold 0 and 1 (or class numbers beside probabilities of all classes)"
        )
    if not ((chance >= 0) & (chance <= 1)).all():
        raise DataError("probabilities must lie between 0 and 1")
    if n_bins < 1:
        raise DataError(f"n_bins must be at least 1, not {n_bins}")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    place = np.searchsorted(edges[1:-1], chance)
    count = np.bincount(place, minlength=n_bins)
    used = count > 0
    predicted = np.bincount(place, chance, n_bins)[used] / count[used]
    observed = np.bincount(place, event, n_bins)[used] / count[used]
    error = float(np.average(np.abs(predicted - observed), weights=count[used]))
    return Calibration(predicted, observed, count[used], error)


def plot_calibration(
    y: ArrayLike,
    probability: ArrayLike,
    ax: Axes | None = None,
    *,
    n_bins: int = 10,
    label: str | None = None,
) -> Axes:
    """Draw how often events happen that are predicted with some probability.

    Parameters
    ----------
    y, probability, n_bins
        As for :func:`calibration_of`.
    ax : matplotlib Axes, optional
        Draw several models on the same axes to compare them.
    label : str, optional
        Name of the model in the legend.

    Returns
    -------
    matplotlib Axes
        A mark's area grows with its number of rows.
    """
    found = calibration_of(y, probability, n_bins)
    fresh = ax is None or not ax.lines
    ax = new_axes(ax, (4.2, 4.2))
    if fresh:
        ax.plot([0, 1], [0, 1], ":", color=GREY, linewidth=1.2, label="perfectly calibrated")
    k = (len(ax.lines) - 1) % len(COLOURS)
    text = f"{label + ': ' if label else ''}error {found.error:.3f}"
    ax.plot(found.predicted, found.observed, color=COLOURS[k], linewidth=1.4, label=text)
    share = found.n_rows / found.n_rows.max()
    ax.scatter(
        found.predicted, found.observed, s=12 + 70 * share, color=COLOURS[k], marker=MARKERS[k]
    )
    several = np.ndim(probability) == 2
    ax.set(
        xlabel="probability of the predicted class" if several else "predicted probability",
        ylabel="share of rows predicted right" if several else "share of rows with the event",
        title="Calibration",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        aspect="equal",
    )
    ax.legend(frameon=False, loc="best", fontsize=8)
    bare(ax)
    return ax
