"""Scores of rows that a network has not seen, higher is better: by name, and cross-validated with an interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from tsenet.training.targets import ClassTargets, Targets, ValueTargets

if TYPE_CHECKING:
    from tsenet.training.loop import Score

__all__ = ["CrossValidatedScore", "cross_validated_score", "score_of"]

Floats = NDArray[np.float64]
_DRAWS = 400


def score_of(metric: Any, targets: Targets) -> Score | None:
    """Return the score that a metric's name, or a user's own function, stands for.

    Parameters
    ----------
    metric : str, callable or None
        ``"accuracy"`` or ``"auc"`` for classes and labels; ``"r2"``, ``"mae"`` or ``"rmse"`` for values, the last two
        with a minus sign; a function of the true targets and of what is predicted: probabilities (n, classes) or
        (n, labels), or values. None or ``"loss"``: minus the loss.
    targets : Targets
        What the targets are.

    Raises
    ------
    ValueError
        For a name that is not known for such targets.
    """
    if metric is None or metric == "loss":
        return None
    if callable(metric):
        return lambda true, outputs, weights: float(metric(*_as_given(true, outputs, targets)))
    named = _OF_VALUES if isinstance(targets, ValueTargets) else _OF_LABELS
    if metric not in named:
        raise ValueError(
            f"eval_metric must be one of {', '.join(map(repr, ('loss', *named)))} or a function, not {metric!r}"
        )

    def score(true: NDArray[Any], outputs: Floats, weights: NDArray[Any] | None) -> float:
        if isinstance(targets, ClassTargets):
            if metric == "accuracy":
                right = targets.decode(outputs) == targets.classes[true]
                return float(np.average(right, weights=weights))
            n_outputs = outputs.shape[1]
            true = true == 1 if n_outputs == 1 else true[:, None] == np.arange(n_outputs)
            wanted, predicted = true.astype(np.float64), targets.loss.predict(outputs)
            predicted = predicted[:, 1] if n_outputs == 1 else predicted
        else:
            wanted, predicted = _as_given(true, outputs, targets)
        return _mean_over_columns(named[metric], wanted, predicted, weights)

    return score


def _as_given(
    true: NDArray[Any], outputs: Floats, targets: Targets
) -> tuple[NDArray[Any], NDArray[Any]]:
    """True targets as in ``y``, and what is predicted: probabilities or values."""
    if isinstance(targets, ValueTargets):
        return targets.decode(true.reshape(len(true), -1)), targets.decode(outputs)
    predicted = targets.loss.predict(outputs)
    return (targets.classes[true] if isinstance(targets, ClassTargets) else true), predicted


def _mean_over_columns(
    metric: Callable[..., float], wanted: Floats, predicted: Floats, weights: NDArray[Any] | None
) -> float:
    """Mean score of the columns of (n,) or (n, C) on their known entries; NaN if it is defined for none."""
    scores = []
    for true, said in zip(np.atleast_2d(wanted.T), np.atleast_2d(predicted.T), strict=True):
        known = ~np.isnan(true)
        own = None if weights is None else weights[known]
        if known.any():
            scores.append(metric(true[known], said[known], own))
    defined = [score for score in scores if not np.isnan(score)]
    return float(np.mean(defined)) if defined else float("nan")


def _accuracy(true: Floats, said: Floats, weights: Any) -> float:
    return float(np.average((said > 0.5) == (true > 0.5), weights=weights))


def _auc(true: Floats, said: Floats, weights: Any) -> float:
    if np.unique(true).size < 2:
        return float("nan")
    return float(metrics.roc_auc_score(true, said, sample_weight=weights))


def _r2(true: Floats, said: Floats, weights: Any) -> float:
    return float(metrics.r2_score(true, said, sample_weight=weights) if true.size > 1 else "nan")


def _mae(true: Floats, said: Floats, weights: Any) -> float:
    return -float(metrics.mean_absolute_error(true, said, sample_weight=weights))


def _rmse(true: Floats, said: Floats, weights: Any) -> float:
    return -float(metrics.root_mean_squared_error(true, said, sample_weight=weights))


_OF_LABELS: dict[str, Callable[..., float]] = {"accuracy": _accuracy, "auc": _auc}
_OF_VALUES: dict[str, Callable[..., float]] = {"r2": _r2, "mae": _mae, "rmse": _rmse}


class CrossValidatedScore(NamedTuple):
    """A score of labelled rows by models that had not seen them, with a 95 % interval.

    Attributes
    ----------
    metric : {"accuracy", "r2"}
    value, low, high : float
        The score, and the ends of its interval.
    n_rows : int
        Number of rows scored.
    """

    metric: str
    value: float
    low: float
    high: float
    n_rows: int

    def __str__(self) -> str:
        name = "R²" if self.metric == "r2" else self.metric
        return f"{name} {self.value:.3f} (95 % interval {self.low:.3f} to {self.high:.3f})"


def cross_validated_score(
    targets: Targets, true: NDArray[Any], outputs: Floats
) -> CrossValidatedScore | None:
    """Score raw outputs (n, C) of rows that the models had not seen.

    The interval of an accuracy is Wilson's, that of R² the bootstrap's over rows. None if the score is not defined, as
    R² of a single value.

    Parameters
    ----------
    targets : Targets
        What the targets are.
    true : (n,) or (n, C)
        Encoded.
    outputs : (n, C)
    """
    n = len(true)
    if isinstance(targets, ValueTargets):
        columns = true.reshape(n, -1)  # encoded values, whose squares cannot overflow
        value = _mean_over_columns(_r2, columns, outputs, None)
        if not np.isfinite(value):
            return None
        draws = np.random.default_rng(0).integers(n, size=(_DRAWS, n))
        found = [_mean_over_columns(_r2, columns[rows], outputs[rows], None) for rows in draws]
        low, high = np.nanquantile(found, [0.025, 0.975])
        return CrossValidatedScore("r2", value, float(low), float(high), n)
    score = score_of("accuracy", targets)
    assert score is not None
    value, z = score(true, outputs, None), 1.96
    if not np.isfinite(value):
        return None
    centre = value + z**2 / (2 * n)
    spread = z * np.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
    low, high = (centre - spread) / (1 + z**2 / n), (centre + spread) / (1 + z**2 / n)
    return CrossValidatedScore("accuracy", value, float(low), float(high), n)
