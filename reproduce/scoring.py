"""The score of a fitted model on one part of a data set, and what is stored of it for comparisons."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.datasets.dataset import Dataset, Part

__all__ = ["Score", "metric_of", "pack", "score_on", "unpack"]

Metric = Literal["accuracy", "auc"]


@dataclass(frozen=True)
class Score:
    """A score and its parts.

    Attributes
    ----------
    value : float
        Accuracy, or the mean of the areas under the ROC curves.
    right : bool (N,) or None
        Which rows were predicted right; None for areas.
    areas : tuple of float or None
        Area of each label, None for a label whose known rows are all alike; empty for accuracy.
    """

    value: float
    right: NDArray[np.bool_] | None = None
    areas: tuple[float | None, ...] = ()


def metric_of(dataset: Dataset) -> Metric:
    """What the paper measures: areas under the curve for Tox21, whose labels are rare, else accuracy."""
    rare = dataset.task == "labels" or dataset.name.partition("/")[0] == "tox21"
    return "auc" if rare else "accuracy"


def score_on(model: Any, part: Part, dataset: Dataset) -> Score:
    """Score a model on a part of its data set; unknown labels (NaN) are left out.

    Parameters
    ----------
    model : estimator
        With ``predict``, and ``predict_proba`` where areas are measured.
    part : Part
    dataset : Dataset
    """
    if metric_of(dataset) == "accuracy":
        right = np.asarray(model.predict(part.X)) == part.y
        return Score(float(right.mean()), right=right)
    chances = np.asarray(model.predict_proba(part.X))  # (N, C), or (N, 2) for one label
    truth = part.y
    if truth.ndim == 1:
        chances, truth = chances[:, 1:], truth[:, None]
    areas = tuple(_area(truth[:, label], chances[:, label]) for label in range(truth.shape[1]))
    known = [area for area in areas if area is not None]
    if not known:
        raise DataError(f"{dataset.name}: no label has both kinds of rows, so there is no area")
    return Score(float(np.mean(known)), areas=areas)


def without(model: Any, part: Part, dataset: Dataset, left_out: NDArray[np.bool_]) -> float | None:
    """The score without some rows; None if there are none to leave out, or none would stay."""
    if not left_out.any() or left_out.all():
        return None
    return score_on(model, part.rows(~left_out), dataset).value


def kept(score: Score) -> Mapping[str, Any]:
    """What a store keeps of a score, as plain values."""
    if score.right is not None:
        return {"right": pack(score.right), "n_rows": int(score.right.size)}
    return {"areas": list(score.areas)}


def pack(bits: NDArray[np.bool_]) -> str:
    """Booleans as text, eight to a byte and compressed: 7,600 rows of which nine in ten are right take 0.8 kB."""
    return base64.b64encode(zlib.compress(np.packbits(bits).tobytes(), 9)).decode("ascii")


def unpack(text: str, size: int) -> NDArray[np.bool_]:
    """The booleans that :func:`pack` made text of."""
    packed = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return np.unpackbits(packed, count=size).astype(bool)


def _area(truth: NDArray[np.float64], chance: NDArray[np.float64]) -> float | None:
    from sklearn.metrics import roc_auc_score

    known = ~np.isnan(truth)
    if np.unique(truth[known]).size < 2:
        return None
    return float(roc_auc_score(truth[known], chance[known]))
