"""Calibration: whether what is predicted with some probability happens that often."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tsenet.errors import DataError
from tsenet.explain.plots._axes import COLOURS, GREY, MARKERS, new_axes, plain_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Calibration", "calibration_of", "plot_calibration"]


class Calibration(NamedTuple):
    """Rows grouped by predicted probability into bins; empty bins are left out.

    Attributes
    ----------
    predicted : ndarray of float64, (bins,)
        Mean predicted probability of the bin's rows.
    observed : ndarray of float64, (bins,)
        Share of the bin's rows with the event.
    n_rows : ndarray of int64, (bins,)
        Number of rows in the bin.
    error : float
        Expected calibration error: the mean of ``|predicted − observed|``, weighted by rows.

    Examples
    --------
    >>> from tsenet.explain.plots import calibration_of
    >>> calibration_of([0, 1, 1], [0.2, 0.9, 0.9]).n_rows.tolist()
    [1, 2]
    """

    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    n_rows: NDArray[np.int64]
    error: float


def calibration_of(y: ArrayLike, probability: ArrayLike, n_bins: int = 10) -> Calibration:
    """Compare predicted probabilities with how often the event happens.

    The curve is scikit-learn's ``calibration_curve`` with bins of equal width; this function adds the number of rows of
    each bin, the expected calibration error, and probabilities of several classes.

    Parameters
    ----------
    y : array-like of int, (N,)
        0 or 1 for ``probability`` (N,); for (N, K) the number of each row's class among the K.
    probability : array-like of float, (N,) or (N, K)
        Probability of 1, or of each class. With several classes each row counts with its most probable class, and the
        event is that this class is right.
    n_bins : int, default=10
        Bins of equal width between 0 and 1. Take fewer for few rows: a bin of ten rows says little.

    Returns
    -------
    Calibration
        The bins that hold rows.

    Raises
    ------
    DataError
        If the shapes do not fit, ``y`` holds other numbers, or a probability is outside [0, 1].

    Examples
    --------
    >>> from tsenet.explain.plots import calibration_of
    >>> found = calibration_of([0, 0, 1, 1], [0.1, 0.1, 0.9, 0.7], n_bins=2)
    >>> found.predicted.round(2).tolist(), found.observed.tolist()
    ([0.1, 0.8], [0.0, 1.0])
    >>> round(found.error, 3)
    0.15
    """
    from sklearn.calibration import calibration_curve

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
    observed, predicted = calibration_curve(event, chance, pos_label=1, n_bins=n_bins)
    # scikit-learn does not say how many rows each bin holds; these are its bins.
    bins = np.searchsorted(np.linspace(0.0, 1.0, n_bins + 1)[1:-1], chance)
    _, count = np.unique(bins, return_counts=True)
    error = float(np.average(np.abs(predicted - observed), weights=count))
    return Calibration(predicted, observed, count.astype(np.int64), error)


def plot_calibration(
    y: ArrayLike,
    probability: ArrayLike,
    ax: Axes | None = None,
    *,
    n_bins: int = 10,
    label: str | None = None,
) -> Axes:
    """Draw the calibration curve of a model: how often events happen that are predicted with some probability.

    Parameters
    ----------
    y : array-like of int, (N,)
        0 or 1 for ``probability`` (N,); for (N, K) the number of each row's class among the K.
    probability : array-like of float, (N,) or (N, K)
        Probability of 1, or of each class: then each row counts with its most probable class.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default. Draw several models on the same axes to compare them.
    n_bins : int, default=10
        Bins of equal width between 0 and 1. Take fewer for few rows.
    label : str, optional
        Name of the model in the legend.

    Returns
    -------
    matplotlib Axes
        The area of a mark grows with its number of rows.

    Examples
    --------
    >>> from tsenet.explain.plots import plot_calibration
    >>> ax = plot_calibration([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], label="model")
    >>> ax.get_title()
    'Calibration'
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
    plain_frame(ax)
    return ax
