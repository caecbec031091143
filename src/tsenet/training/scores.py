"""Scores of rows that a network has not seen: higher is better."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.training.examples import Examples
from tsenet.training.targets import ClassTargets, RegressionTargets, Targets

Floats = NDArray[np.floating[Any]]

_DRAWS = 400  # of the bootstrap

#: ``score(held, outputs)`` of raw outputs for some rows, higher is better.
Score = Callable[[Examples, NDArray[np.float64]], float]


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
        return lambda held, outputs: float(metric(*_as_given(held.targets, outputs, targets)))
    named = ("r2", "mae", "rmse") if isinstance(targets, RegressionTargets) else ("accuracy", "auc")
    if metric not in named:
        raise ValueError(
            f"eval_metric must be one of {', '.join(map(repr, ('loss', *named)))} or a function, not {metric!r}"
        )

    def score(held: Examples, outputs: Floats) -> float:
        true = held.targets
        n_outputs = outputs.shape[1]
        if not isinstance(targets, ClassTargets):
            wanted, predicted = _as_given(true, outputs, targets)
        elif metric == "accuracy":
            right = targets.decode(outputs) == targets.classes[true]
            return float(np.average(right, weights=held.weights))
        else:
            wanted = true if n_outputs == 1 else np.eye(n_outputs)[true]
            predicted = targets.loss.soft_targets(outputs)
        return _mean_over_columns(metric, wanted, predicted, held.weights)

    return score


def _as_given(
    true: NDArray[Any], outputs: Floats, targets: Targets
) -> tuple[NDArray[Any], NDArray[Any]]:
    """True targets as in ``y``, and what is predicted: probabilities or values."""
    if isinstance(targets, RegressionTargets):
        return targets.decode(true.reshape(len(true), -1)), targets.decode(outputs)

    predicted = targets.loss.predict(outputs)
    if isinstance(targets, ClassTargets):
        return targets.classes[true], predicted
    return true, predicted


def _mean_over_columns(
    metric: str, wanted: Floats, predicted: Floats, weights: NDArray[Any] | None
) -> float:
    """Mean score of the columns of (n,) or (n, C) on their known entries; NaN if it is defined for none."""
    wanted = wanted.reshape(len(wanted), -1)
    predicted = predicted.reshape(len(predicted), -1)
    if weights is not None:
        weights = np.broadcast_to(weights.reshape(len(weights), -1), wanted.shape)

    scores = []
    for c in range(wanted.shape[1]):
        known = ~np.isnan(wanted[:, c])
        of_column = None if weights is None else weights[known, c]
        if known.any():
            scores.append(_column_score(metric, wanted[known, c], predicted[known, c], of_column))

    defined = [score for score in scores if not np.isnan(score)]
    return float(np.mean(defined)) if defined else float("nan")


def _column_score(metric: str, true: Floats, found: Floats, weights: Any) -> float:
    """Score of one column; NaN if it is not defined."""
    from sklearn import metrics

    if metric == "accuracy":
        return float(np.average((found > 0.5) == (true > 0.5), weights=weights))
    if (metric == "auc" and np.unique(true).size < 2) or (metric == "r2" and true.size < 2):
        return float("nan")

    function, sign = {
        "auc": (metrics.roc_auc_score, 1),
        "r2": (metrics.r2_score, 1),
        "mae": (metrics.mean_absolute_error, -1),
        "rmse": (metrics.root_mean_squared_error, -1),
    }[metric]
    return sign * float(function(true, found, sample_weight=weights))


def r2_of_draws(true: Floats, found: Floats, draws: NDArray[np.int64]) -> Floats:
    """Mean R² of the columns (n, C) for each draw of rows (draws, n), as `r2_score` has it; NaN if none is defined.

    From sums over each draw, for all draws at once: scikit-learn's function takes .2 milliseconds for each.
    """
    columns = []
    for c in range(true.shape[1]):
        known = ~np.isnan(true[:, c])
        centre = true[known, c].mean() if known.any() else 0.0
        centred = np.where(known, true[:, c] - centre, 0.0)
        error = np.where(known, true[:, c] - found[:, c], 0.0)

        # Sums over each draw: (draws,)
        n_known = known[draws].sum(axis=1)
        total = centred[draws].sum(axis=1)
        square = (centred**2)[draws].sum(axis=1)
        missed = (error**2)[draws].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = square - total**2 / n_known
            score = 1 - missed / spread

        varies = spread > 1e-12 * square
        constant = np.where(missed == 0, 1.0, 0.0)  # as scikit-learn has it
        score = np.where(varies, score, constant)
        columns.append(np.where(n_known < 2, np.nan, score))

    table = np.array(columns)  # (C, draws)
    n_defined = np.count_nonzero(~np.isnan(table), axis=0)
    mean: Floats = np.nansum(table, axis=0) / np.where(n_defined, n_defined, np.nan)
    return mean


class HeldOut(NamedTuple):
    """Examples rows, and outputs for them by models that had not seen them."""

    rows: Examples
    outputs: NDArray[np.float64]  # (n, C)
    scored: str  # which model the outputs are of, as `CrossValidatedScore` has it
    unseen_share: float = 0.0  # of all rows, of classes without a label


#: What each model that may be scored is called in a sentence.
_SCORED = {
    "network": "",
    "teacher": " of the linear teacher",
    "student": " of a linear model that reads what predictions read, without embeddings",
}


class CrossValidatedScore(NamedTuple):
    """A score of labelled rows by models that had not seen them, with a 95 % interval.

    Attributes
    ----------
    metric : {"accuracy", "r2"}
    value, low, high : float
        The score, and the ends of its interval.
    n_rows : int
        Number of rows scored.
    scored : {"network", "teacher", "student"}
        What was scored. ``"network"``: the network, with its linear skip. ``"teacher"``: the linear teacher, which the
        network follows on rows without a label. ``"student"``: a linear model that reads no embeddings, as predictions
        do, and has learned from a teacher that reads them.
    unseen_share : float
        Share of all rows, labelled or not, whose class has no label at all, as far as the labels tell: the share of
        labels that are the only ones of their class (Good and Turing's estimate). No model can predict such classes,
        and the score leaves them out.
    """

    metric: str
    value: float
    low: float
    high: float
    n_rows: int
    scored: str = "network"
    unseen_share: float = 0.0

    def __str__(self) -> str:
        name = "R²" if self.metric == "r2" else self.metric
        text = f"{name} {self.value:.3f} (95 % interval {self.low:.3f} to {self.high:.3f})"
        text += _SCORED[self.scored]
        if self.unseen_share:
            text += f"; about {self.unseen_share:.0%} of all rows are of classes without a label, which it leaves out"
        return text

    def validate(self) -> None:
        """Check the values of a file; raises ValueError if they cannot be a score's."""
        if self.metric not in ("accuracy", "r2") or self.scored not in _SCORED:
            raise ValueError(f"a score is of {self.scored!r}, by {self.metric!r}")
        numbers = (self.value, self.low, self.high, self.unseen_share)
        if not all(isinstance(number, float) and math.isfinite(number) for number in numbers):
            raise ValueError("a cross-validated score must be finite numbers")
        if type(self.n_rows) is not int or self.n_rows < 1 or not 0 <= self.unseen_share <= 1:
            raise ValueError("the rows of a cross-validated score cannot be as many")


def unseen_share(classes: NDArray[np.int64]) -> float:
    """Share of all rows whose class is not among the labels ``classes`` (n,), a sample: Good and Turing's estimate."""
    counts = np.bincount(classes)
    return float(np.count_nonzero(counts == 1) / max(classes.size, 1))


def cross_validated_score(targets: Targets, held: HeldOut) -> CrossValidatedScore | None:
    """Score raw outputs of rows that the models had not seen; the rows' weights do not count.

    The interval of an accuracy is Wilson's, that of R² the bootstrap's over rows. None if the score is not defined, as
    R² of a single value.
    """
    rows = held.rows
    outputs = held.outputs
    n = rows.n_rows
    if isinstance(targets, RegressionTargets):
        columns = rows.targets.reshape(n, -1)  # encoded values, whose squares cannot overflow
        value = _mean_over_columns("r2", columns, outputs, None)
        if not np.isfinite(value):
            return None
        draws = np.random.default_rng(0).integers(n, size=(_DRAWS, n))
        low, high = np.nanquantile(r2_of_draws(columns, outputs, draws), [0.025, 0.975])
        return CrossValidatedScore(
            "r2", value, float(low), float(high), n, held.scored, held.unseen_share
        )

    score = score_of("accuracy", targets)
    assert score is not None
    value = score(rows._replace(weights=None), outputs)
    if not np.isfinite(value):
        return None
    low, high = wilson_interval(value, n)
    return CrossValidatedScore("accuracy", value, low, high, n, held.scored, held.unseen_share)


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of ``n`` rows, which need not be a whole number of them.

    Examples
    --------
    >>> from tsenet.training.scores import wilson_interval
    >>> [round(end, 3) for end in wilson_interval(0.8, 10)]
    [0.49, 0.943]
    """
    z = 1.96

    # The shares that are less than z standard errors from the observed one, with their own standard errors.
    centre = share + z**2 / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    low = (centre - spread) / (1 + z**2 / n)
    high = (centre + spread) / (1 + z**2 / n)
    return max(low, 0.0), min(high, 1.0)
