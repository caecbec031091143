"""Plots of results: how training went, how large models are, and how size and score go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tsenet.errors import DataError
from tsenet.explain.plots._axes import COLOURS, GREY, MARKERS, new_axes, plain_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tsenet.training.history import History

__all__ = ["frontier_of", "plot_frontier", "plot_history", "plot_parameters"]


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
    ax = new_axes(ax, (5.6, 3.6))
    from matplotlib.ticker import MaxNLocator

    epochs = np.arange(1, history.n_epochs + 1)
    mark: dict[str, Any] = {"marker": "o", "markersize": 3} if history.n_epochs <= 40 else {}
    if series == "loss":
        ax.plot(
            epochs, history.train_loss, color=COLOURS[0], label="training, with dropout", **mark
        )
        if history.validation_loss:
            ax.plot(
                epochs, history.validation_loss, "--", color=COLOURS[1], label="validation", **mark
            )
        ax.set(ylabel="loss", title="Loss in training")
    else:
        ax.plot(epochs, history.validation_score, color=COLOURS[1], label="validation", **mark)
        ax.set(ylabel="score (higher is better)", title="Validation score in training")
    if history.best_epoch is not None:
        best = history.best_epoch + 1
        ax.axvline(best, color=GREY, linewidth=1, linestyle=":", label=f"kept: epoch {best}")
    ax.set_xlabel("epoch")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.margins(x=0.03)
    ax.legend(frameon=False)
    plain_frame(ax)
    return ax


# ---- sizes


def plot_parameters(
    counts: Mapping[str, Mapping[str, int]], ax: Axes | None = None, *, reference: str | None = None
) -> Axes:
    """Compare numbers of parameters, task by task (the paper's figure 5).

    Parameters
    ----------
    counts : dict of str to dict of str to int
        Number of parameters by task and method, such as ``{"AG News": {"FNN": 5_000_000, "TSE-Net": 600_000}}``. A
        task may lack a method.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    reference : str, optional
        Method that the shares written over the other bars refer to. Default: the first.

    Returns
    -------
    matplotlib Axes
        One group of bars per task.

    Raises
    ------
    DataError
        If there are no numbers, one is below 1, or ``reference`` is no method.

    Examples
    --------
    >>> from tsenet.explain.plots import plot_parameters
    >>> ax = plot_parameters({"AG News": {"FNN": 5_000_000, "TSE-Net": 600_000}})
    >>> len(ax.patches)
    2
    """
    methods = list(dict.fromkeys(method for task in counts.values() for method in task))
    if not methods:
        raise DataError("there are no numbers of parameters to draw")
    for task, numbers in counts.items():
        for method, number in numbers.items():
            if number < 1:
                raise DataError(f"{method} on {task} has {number} parameters: nothing to draw")
    reference = methods[0] if reference is None else reference
    if reference not in methods:
        raise DataError(f"reference={reference!r} is not one of {', '.join(methods)}")
    ax = new_axes(ax, (max(4.0, 1.0 + 0.42 * len(counts) * (len(methods) + 0.6)), 3.8))
    from matplotlib.ticker import EngFormatter

    width = 0.84 / len(methods)
    for k, method in enumerate(methods):
        tasks = [(i, numbers) for i, numbers in enumerate(counts.values()) if method in numbers]
        x = [i + (k - (len(methods) - 1) / 2) * width for i, _ in tasks]
        colour = COLOURS[k % len(COLOURS)]
        ax.bar(x, [n[method] for _, n in tasks], 0.92 * width, color=colour, label=method)
        for place, (_, numbers) in zip(x, tasks, strict=True):
            if method != reference and reference in numbers:
                share = f"{100 * numbers[method] / numbers[reference]:.2g} %"
                ax.annotate(
                    share,
                    (place, numbers[method]),
                    (0, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=7,
                    color="#333333",
                )
    ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    ax.set_xticks(range(len(counts)), list(counts))
    if len(counts) > 4:
        ax.tick_params("x", rotation=30)
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
    ax.set(ylabel="number of parameters", title=f"Parameters, as a share of {reference}’s")
    ax.margins(y=0.15)
    ax.legend(frameon=False, ncols=len(methods), loc="upper center", bbox_to_anchor=(0.5, -0.18))
    plain_frame(ax)
    return ax


def frontier_of(n_parameters: ArrayLike, scores: ArrayLike) -> NDArray[np.int64]:
    """Find the models that no other one beats: those with a higher score than every smaller or equally small one.

    Parameters
    ----------
    n_parameters : array-like of int, (N,)
        Size of each model.
    scores : array-like of float, (N,)
        Score of each model; higher is better.

    Returns
    -------
    ndarray of int64
        Positions of these models, smallest model first.

    Raises
    ------
    DataError
        If the two differ in length or are empty.

    Examples
    --------
    >>> from tsenet.explain.plots import frontier_of
    >>> frontier_of([10, 100, 50], [0.7, 0.8, 0.6]).tolist()
    [0, 1]
    """
    size, score = np.asarray(n_parameters, np.float64), np.asarray(scores, np.float64)
    if size.ndim != 1 or size.shape != score.shape or size.size == 0:
        raise DataError("give as many numbers of parameters as scores, and at least one")
    order = np.lexsort((-score, size))
    best = np.maximum.accumulate(np.r_[-np.inf, score[order][:-1]])
    found: NDArray[np.int64] = order[score[order] > best].astype(np.int64)
    return found


def plot_frontier(
    n_parameters: ArrayLike,
    scores: ArrayLike,
    methods: Sequence[str],
    ax: Axes | None = None,
    *,
    score_name: str = "accuracy",
) -> Axes:
    """Draw models by size and score, and the frontier of those that no other one beats.

    Parameters
    ----------
    n_parameters : array-like of int, (N,)
        Size of each model.
    scores : array-like of float, (N,)
        Score of each model; higher is better.
    methods : sequence of str, length N
        The method of each model; each has its own colour and mark.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    score_name : str, default="accuracy"
        What the scores are, for the axis and the title.

    Returns
    -------
    matplotlib Axes
        Sizes on a logarithmic axis.

    Raises
    ------
    DataError
        If the three differ in length or are empty.

    Examples
    --------
    >>> from tsenet.explain.plots import plot_frontier
    >>> plot_frontier([10, 100], [0.7, 0.8], ["TSE-Net", "FNN"]).get_ylabel()
    'accuracy'
    """
    best = frontier_of(n_parameters, scores)
    size, score = np.asarray(n_parameters, np.float64), np.asarray(scores, np.float64)
    if len(methods) != size.size:
        raise DataError(f"{len(methods)} methods were given for {size.size} models")
    ax = new_axes(ax, (5.6, 3.8))
    ax.step(
        np.append(size[best], size.max()),
        np.append(score[best], score[best[-1]]),
        where="post",
        color=GREY,
        linewidth=1.2,
        label="frontier",
        zorder=1,
    )
    for k, method in enumerate(dict.fromkeys(methods)):
        own = np.array([one == method for one in methods])
        ax.scatter(
            size[own],
            score[own],
            s=34,
            color=COLOURS[k % len(COLOURS)],
            marker=MARKERS[k % len(MARKERS)],
            edgecolors="white",
            linewidths=0.6,
            label=method,
            zorder=2,
        )
    ax.set_xscale("log")
    ax.set(
        xlabel="number of parameters", ylabel=score_name, title=f"Size and {score_name} of models"
    )
    ax.legend(frameon=False)
    plain_frame(ax)
    return ax
