"""How good predictions are: what ``evaluate`` prints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from tsenet.data.table import Table

__all__ = ["scores_by_class", "scores_by_target", "scores_of", "shown_confusion", "shown_scores"]

# More classes than this make no matrix to read; longer names are cut in tables.
_MOST_COLUMNS = 20
_WIDEST = 24


def scores_of(fitted: Any, table: Table, truth: NDArray[Any]) -> dict[str, float]:
    """Return the scores of all rows by name."""
    if not hasattr(fitted, "classes_"):
        error = np.asarray(fitted.predict(table) - truth)
        error = error[~np.isnan(error)]
        return {
            "R2": fitted.score(table, truth),
            "RMSE": float(np.sqrt(np.mean(np.square(error)))),
            "MAE": float(np.mean(np.abs(error))),
        }
    shares = fitted.predict_proba(table)
    if truth.ndim == 2:
        areas = []
        for column, share in zip(truth.T, shares.T, strict=True):
            known = ~np.isnan(column)
            if np.unique(column[known]).size == 2:
                areas.append(metrics.roc_auc_score(column[known], share[known]))
        right = (fitted.predict(table) == truth)[~np.isnan(truth)]
        scores = {"accuracy": float(right.mean())}
        return {**scores, "mean AUC": float(np.mean(areas))} if areas else scores
    known = np.array([value is not None for value in truth])
    right = [
        said == value for said, value in zip(fitted.predict(table).tolist(), truth, strict=True)
    ]
    scores = {"accuracy": float(np.mean(np.array(right)[known]))}
    if set(truth[known].tolist()) <= set(fitted.classes_.tolist()):
        number = {value: k for k, value in enumerate(fitted.classes_.tolist())}
        chosen = [number[value] for value in truth[known]]
        share = np.maximum(shares[known, chosen], np.finfo(np.float64).eps)
        scores["log loss"] = float(-np.log(share).mean())
    return scores


def scores_by_class(
    fitted: Any, table: Table, truth: NDArray[Any]
) -> tuple[dict[str, dict[str, Any]], list[str], NDArray[np.int64]]:
    """Scores of each class; and the names and counts of the confusion matrix, true classes in rows."""
    classes = fitted.classes_.tolist()
    unknown = sorted({str(value) for value in truth} - set(map(str, classes)))
    labels = [*map(str, classes), *unknown]
    number = {label: k for k, label in enumerate(labels)}
    true = np.array([number[str(value)] for value in truth])
    predicted = np.array([number[str(value)] for value in fitted.predict(table).tolist()])
    codes = list(range(len(labels)))
    scores = metrics.precision_recall_fscore_support(true, predicted, labels=codes, zero_division=0)
    shares = fitted.predict_proba(table)
    found = {}
    for k, (precision, recall, f1, n_rows) in enumerate(zip(*scores, strict=True)):
        share = shares[:, k] if k < len(classes) else np.zeros(len(true))
        found[labels[k]] = _scores(precision, recall, f1, _area(true == k, share), n_rows)
    return found, labels, metrics.confusion_matrix(true, predicted, labels=codes)


def scores_by_target(
    fitted: Any, table: Table, truth: NDArray[Any], names: list[str]
) -> dict[str, dict[str, Any]]:
    """Scores of each of several targets, on the rows in which it is known."""
    predicted = fitted.predict(table)
    shares = fitted.predict_proba(table) if hasattr(fitted, "classes_") else None
    found = {}
    for k, name in enumerate(names):
        known = ~np.isnan(truth[:, k])
        true, said = truth[known, k], predicted[known, k]
        if shares is None:
            found[name] = {
                "R2": float(metrics.r2_score(true, said)) if true.size > 1 else None,
                "RMSE": float(np.sqrt(np.mean(np.square(said - true)))) if true.size else None,
                "MAE": float(np.mean(np.abs(said - true))) if true.size else None,
                "rows": int(true.size),
            }
            continue
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(
            true == 1, said == 1, average="binary", zero_division=0
        )
        area = _area(true == 1, shares[known, k])
        found[name] = _scores(precision, recall, f1, area, true.size)
    return found


def _scores(
    precision: float, recall: float, f1: float, area: float | None, n_rows: int
) -> dict[str, Any]:
    scores = {"precision": float(precision), "recall": float(recall), "F1": float(f1)}
    return {**scores, "AUC": area, "rows": int(n_rows)}


def _area(true: NDArray[np.bool_], share: NDArray[Any]) -> float | None:
    """Area under the ROC curve; None if all rows are on one side."""
    return float(metrics.roc_auc_score(true, share)) if 0 < true.sum() < true.size else None


def shown_scores(head: str, scores: dict[str, dict[str, Any]]) -> list[str]:
    """A table with a line for each class or target."""
    columns = list(next(iter(scores.values())))
    rows = [
        [name, *("-" if row[c] is None else _number(row[c]) for c in columns)]
        for name, row in scores.items()
    ]
    return _aligned([[head, *columns], *rows])


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def shown_confusion(labels: list[str], matrix: NDArray[np.int64]) -> list[str]:
    """The confusion matrix, or where to find it if it is too wide."""
    if len(labels) > _MOST_COLUMNS:
        return [f"confusion matrix of {len(labels)} classes: see --json"]
    rows = [
        [label, *map(_number, counts)]
        for label, counts in zip(labels, matrix.tolist(), strict=True)
    ]
    return [
        "confusion matrix (rows: true class, columns: predicted class)",
        *_aligned([["", *labels], *rows]),
    ]


def _aligned(rows: list[list[str]]) -> list[str]:
    """Cells in columns: names to the left, numbers to the right; long names are cut."""
    cut = [
        [cell if len(cell) <= _WIDEST else cell[: _WIDEST - 1] + "…" for cell in row]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if j == 0 else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cut
    ]
