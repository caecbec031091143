"""Scores of validation rows by name, for :func:`tsenet.training.loop.train`: higher is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.training.targets import ClassTargets, LabelTargets, Targets, ValueTargets

if TYPE_CHECKING:
    from tsenet.training.loop import Score

__all__ = ["CrossValidatedScore", "cross_validated_score", "score_of"]

Floats = NDArray[np.float64]
_DRAWS = 400
Metric = Callable[[NDArray[Any], Floats, Any], float]


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
        return _own(metric, targets)
    named = _of_values if isinstance(targets, ValueTargets) else _of_classes
    if metric not in named:
        raise ValueError(
            f"eval_metric must be one of {', '.join(map(repr, ('loss', *named)))} or a function, not {metric!r}"
        )
    function = named[metric]

    def score(true: NDArray[Any], predicted: Floats, weights: NDArray[Any] | None) -> float:
        wanted, said = _in_columns(true, predicted, targets)
        values = []
        for column in range(said.shape[1]):
            known = ~np.isnan(wanted[:, column])
            if known.any():
                own = None if weights is None else weights[known]
                values.append(function(wanted[known, column], said[known, column], own))
        return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")

    if isinstance(targets, ClassTargets) and metric == "accuracy":
        return _share_of_right
    return score


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
    n, predicted = len(true), targets.loss().predict(outputs)
    if isinstance(targets, ValueTargets):
        columns = true.reshape(n, -1)

        def r2(
            rows: NDArray[np.int64],
        ) -> float:  # of encoded values, whose squares cannot overflow
            known = [rows[~np.isnan(column[rows])] for column in columns.T]
            scores = [_r2(columns[k, c], predicted[k, c], None) for c, k in enumerate(known)]
            return float(np.nanmean(scores)) if not np.isnan(scores).all() else float("nan")

        value = r2(np.arange(n))
        if not np.isfinite(value):
            return None
        generator = np.random.default_rng(0)
        draws = [r2(generator.integers(n, size=n)) for _ in range(_DRAWS)]
        low, high = np.nanquantile(draws, [0.025, 0.975])
        return CrossValidatedScore("r2", value, float(low), float(high), n)
    score = score_of("accuracy", targets)
    assert score is not None
    value, z = score(true, predicted, None), 1.96
    if not np.isfinite(value):
        return None
    centre = value + z**2 / (2 * n)
    spread = z * np.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
    low, high = (centre - spread) / (1 + z**2 / n), (centre + spread) / (1 + z**2 / n)
    return CrossValidatedScore("accuracy", value, float(low), float(high), n)


def _share_of_right(true: NDArray[Any], predicted: Floats, weights: NDArray[Any] | None) -> float:
    return float(np.average(predicted.argmax(axis=1) == true, weights=weights))


def _in_columns(true: NDArray[Any], predicted: Floats, targets: Targets) -> tuple[Floats, Floats]:
    """What is wanted and predicted of each output, (n, C): presence of a class or label, or values as in ``y``."""
    if isinstance(targets, ValueTargets):
        wanted = true.reshape(len(true), -1) * targets.output_scale + targets.output_shift
        return wanted, predicted * targets.output_scale + targets.output_shift
    if isinstance(targets, LabelTargets):
        return true.astype(np.float64), predicted
    if predicted.shape[1] == 2:
        return true[:, None].astype(np.float64), predicted[:, 1:]
    return (true[:, None] == np.arange(predicted.shape[1])).astype(np.float64), predicted


def _own(metric: Callable[..., Any], targets: Targets) -> Score:
    def score(true: NDArray[Any], predicted: Floats, weights: NDArray[Any] | None) -> float:
        if isinstance(targets, ClassTargets):
            return float(metric(targets.classes[true], predicted))
        if isinstance(targets, LabelTargets):
            return float(metric(true, predicted))
        return float(metric(targets.decode(true.reshape(len(true), -1)), targets.decode(predicted)))

    return score


def _auc(wanted: Floats, said: Floats, weights: Any) -> float:
    from sklearn.metrics import roc_auc_score

    if np.unique(wanted).size < 2:
        return float("nan")
    return float(roc_auc_score(wanted, said, sample_weight=weights))


def _r2(wanted: Floats, said: Floats, weights: Any) -> float:
    from sklearn.metrics import r2_score

    return float(r2_score(wanted, said, sample_weight=weights)) if wanted.size > 1 else float("nan")


_of_classes: dict[str, Metric] = {
    "accuracy": lambda wanted, said, weights: float(
        np.average((said > 0.5) == (wanted > 0.5), weights=weights)
    ),
    "auc": _auc,
}
_of_values: dict[str, Metric] = {
    "r2": _r2,
    "mae": lambda wanted, said, weights: -float(np.average(np.abs(wanted - said), weights=weights)),
    "rmse": lambda wanted, said, weights: (
        -float(np.sqrt(np.average(np.square(wanted - said), weights=weights)))
    ),
}
