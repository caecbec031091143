"""How good the model is: measured on the texts that were drawn at random, by models that had not seen their labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.labelling.learner import Learner, TrainingLabels, decided

__all__ = ["Measurement", "expected_gain", "measure", "random_sample"]

#: Fewer random texts say too little.
LEAST_RANDOM = 10
_FOLDS = 3

Ints = NDArray[np.int64]


def random_sample(order: Ints, labelled: NDArray[np.bool_], skipped: NDArray[np.bool_]) -> Ints:
    """The texts on which an estimate may rest: the first of the random order, up to one without a label.

    Which texts these are does not depend on their content or on how they came to be labelled, so they are a random
    sample of all texts but the skipped ones.
    """
    is_passed = labelled[order] | skipped[order]
    end = is_passed.size if is_passed.all() else int(np.argmin(is_passed))

    first = order[:end]
    return np.asarray(first[~skipped[first]])


@dataclass(frozen=True)
class Measurement:
    """What was measured on ``n`` random texts.

    Attributes
    ----------
    n_labels : int
        Texts labelled themselves when it was measured.
    n : int
        Random texts among them.
    right : int
        How many of these a model predicts rightly that had not seen their labels.
    right_with_half : int
        The same for models that saw the first half of the labels.
    changed : int
        For how many the two differ.
    per_class : dict of str to tuple of int
        Right and all random texts of each class.
    """

    n_labels: int
    n: int
    right: int
    right_with_half: int
    changed: int
    per_class: dict[str, tuple[int, int]]


def measure(learner: Learner, labels: TrainingLabels, sample: Ints) -> Iterator[Measurement | None]:
    """Fit models without parts of a random sample; yield None after each, and the measurement in the end.

    Parameters
    ----------
    learner : Learner
    labels : TrainingLabels
        In the order in which they were given.
    sample : int64
        Random texts, all of which have a label.
    """
    # The first half of the single labels, with all weak ones.
    single = np.flatnonzero(labels.weights == 1)
    is_second_half = np.isin(np.arange(labels.texts.size), single[single.size // 2 :])
    truth = dict(zip(labels.texts.tolist(), labels.classes, strict=True))

    is_right = np.zeros((2, sample.size), bool)  # with half of the labels, and with all
    for fold in range(_FOLDS):
        held_out = sample[fold::_FOLDS]
        is_seen = ~np.isin(labels.texts, held_out)
        for half, is_fitted in enumerate((is_seen & ~is_second_half, is_seen)):
            fitted = labels.take(is_fitted)
            if not fitted.can_be_fitted:
                continue

            model = learner.fit(fitted)
            shares = learner.shares(model, fitted, learner.table.take(held_out))
            answers = decided(fitted.model_ids, shares, labels.several)
            is_right[half, fold::_FOLDS] = [
                set(answer) == set(truth[i])
                for answer, i in zip(answers, held_out.tolist(), strict=True)
            ]
            yield None

    with_half, with_all = is_right
    per_class: dict[str, tuple[int, int]] = {}
    for i, hit in zip(sample.tolist(), with_all.tolist(), strict=True):
        for chosen in truth[i]:
            n_right, n = per_class.get(chosen, (0, 0))
            per_class[chosen] = (n_right + hit, n + 1)

    yield Measurement(
        n_labels=int(single.size),
        n=int(sample.size),
        right=int(with_all.sum()),
        right_with_half=int(with_half.sum()),
        changed=int((with_half != with_all).sum()),
        per_class=per_class,
    )


def expected_gain(result: dict[str, Any], more: int = 50) -> tuple[float, float]:
    """What ``more`` labels would bring about, and its standard error, in accuracy.

    Accuracy grows about as the logarithm of the number of labels: the second half of the labels brought one doubling's
    gain, measured on the same texts.
    """
    n = result["n"]
    gain = (result["right"] - result["right_with_half"]) / n

    # Each text's gain is −1, 0 or 1; its variance is E[gain²] − E[gain]².
    error = sqrt(max(result["changed"] / n - gain * gain, 1.0 / n) / n)

    doublings = log2(1 + more / result["n_labels"])
    return max(gain, 0.0) * doublings, error * doublings
