"""Estimates of accuracy: against brute force and simulated truth."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.labelling.estimate import Measurement, expected_gain, measure, random_sample
from tsenet.labelling.learner import Learner, TrainingLabels

ORDERS = st.integers(1, 40).flatmap(lambda n: st.permutations(range(n)))


@given(order=ORDERS, data=st.data())
def test_a_sample_is_the_random_order_up_to_the_first_text_that_is_open(
    order: list[int], data: st.DataObject
) -> None:
    n = len(order)
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    labelled, skipped = np.array(data.draw(flags)), np.array(data.draw(flags))
    labelled &= ~skipped
    expected = []
    for text in order:
        if labelled[text]:
            expected.append(text)
        elif not skipped[text]:
            break
    assert random_sample(np.array(order), labelled, skipped).tolist() == expected


@given(order=ORDERS, data=st.data())
def test_labels_outside_the_sample_do_not_change_it(order: list[int], data: st.DataObject) -> None:
    """What was labelled for another reason than chance is no part of an estimate, before its turn has come."""
    done = data.draw(st.integers(0, len(order) - 1))
    labelled, nothing = np.zeros((2, len(order)), bool)
    labelled[order[:done]] = True
    before = random_sample(np.array(order), labelled, nothing).tolist()
    others = order[done + 1 :]
    chosen = data.draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    labelled[chosen] = True
    assert before == order[:done]
    assert random_sample(np.array(order), labelled, nothing).tolist() == before


# ---- measured by models that have not seen the labels


class Rows:
    """As many of a table as `measure` asks for: the numbers of the rows."""

    def take(self, rows: Any) -> Any:
        return np.asarray(rows)


class Memory:
    """Learns by heart, and says the most frequent class of the labels seen otherwise."""

    def __init__(self) -> None:
        self.table = Rows()
        self.seen: list[list[int]] = []

    def fit(self, labels: TrainingLabels) -> dict[int, str]:
        self.seen.append(labels.texts.tolist())
        return {int(i): ids[0] for i, ids in zip(labels.texts, labels.classes, strict=True)}

    def shares(self, model: dict[int, str], labels: TrainingLabels, rows: Any) -> Any:
        names = list(model.values())
        usual = max(labels.model_ids, key=names.count)
        answers = [model.get(int(i), usual) for i in rows]
        return np.array([[float(name == one) for one in labels.model_ids] for name in answers])


def measured(texts: list[int], classes: list[str], sample: list[int]) -> tuple[Memory, Measurement]:
    labels = TrainingLabels(
        np.array(texts), [(one,) for one in classes], np.ones(len(texts)), ["c1", "c2"], False
    )
    memory = Memory()
    *pauses, found = measure(cast(Learner, memory), labels, np.array(sample))
    assert pauses == [None] * len(memory.seen)
    assert found is not None
    return memory, found


@given(
    texts=st.lists(st.integers(0, 100), min_size=24, max_size=40, unique=True),
    data=st.data(),
)
def test_the_measurement_is_cross_validation_with_half_of_the_labels_and_with_all(
    texts: list[int], data: st.DataObject
) -> None:
    n = len(texts)
    classes = data.draw(st.lists(st.sampled_from(["c1", "c2"]), min_size=n, max_size=n))
    # Two of each class are in the first half and never held out, so that each model can be fitted.
    classes[:4] = ["c1", "c1", "c2", "c2"]
    sample = data.draw(st.permutations(texts[4:]))[:12]
    memory, found = measured(texts, classes, sample)

    truth = dict(zip(texts, classes, strict=True))
    right = {}
    for first, ends in (("half", n // 2), ("all", n)):
        for fold in range(3):
            held = sample[fold::3]
            known = [i for i in texts[:ends] if i not in held]
            assert known in memory.seen
            names = [truth[i] for i in known]
            usual = max(["c1", "c2"], key=names.count)
            right |= {(first, i): usual == truth[i] for i in held}
    assert (found.n_labels, found.n) == (n, 12)
    assert found.right == sum(right["all", i] for i in sample)
    assert found.right_with_half == sum(right["half", i] for i in sample)
    assert found.changed == sum(right["all", i] != right["half", i] for i in sample)
    for one in {truth[i] for i in sample}:
        own = [i for i in sample if truth[i] == one]
        assert found.per_class[one] == (sum(right["all", i] for i in own), len(own))


def test_labels_of_topics_are_no_labels_of_their_own() -> None:
    """They teach both models, and are not counted in the learning curve."""
    labels = TrainingLabels(
        np.arange(30),
        [("c1",) if i % 2 else ("c2",) for i in range(30)],
        np.where(np.arange(30) < 20, 1.0, 0.2),
        ["c1", "c2"],
        False,
    )
    memory = Memory()
    *_, found = measure(cast(Learner, memory), labels, np.arange(12))
    assert found is not None
    assert found.n_labels == 20
    for fold in range(3):
        held = range(fold, 12, 3)
        half, full = memory.seen[2 * fold : 2 * fold + 2]
        assert half == [i for i in [*range(10), *range(20, 30)] if i not in held]
        assert full == [i for i in range(30) if i not in held]


# ---- what more labels would bring


def result(right_with_half: int, right: int, changed: int, n: int = 100, n_labels: int = 50) -> Any:
    return {
        "n": n,
        "n_labels": n_labels,
        "right": right,
        "right_with_half": right_with_half,
        "changed": changed,
    }


def test_a_doubling_brings_what_the_last_one_brought() -> None:
    last = result(right_with_half=70, right=80, changed=16)
    assert expected_gain(last, more=50)[0] == pytest.approx(0.1)  # 50 to 100 labels
    assert expected_gain(last, more=150)[0] == pytest.approx(0.2)  # to 200: two doublings
    assert expected_gain(last, more=0) == (0.0, 0.0)


def test_the_gain_goes_on_along_a_curve_that_grows_as_the_logarithm() -> None:
    def accuracy(n_labels: float) -> float:
        return 0.3 + 0.05 * math.log(n_labels)

    n = 10**6
    for n_labels in (20, 64, 300):
        half, full = (round(n * accuracy(k)) for k in (n_labels / 2, n_labels))
        last = result(half, full, full - half, n, n_labels)
        expected = accuracy(n_labels + 50) - accuracy(n_labels)
        assert expected_gain(last)[0] == pytest.approx(expected, abs=1e-5)


def test_labels_are_not_said_to_do_harm() -> None:
    assert expected_gain(result(right_with_half=80, right=75, changed=5))[0] == 0.0


@given(
    outcomes=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=10, max_size=200).filter(
        lambda pairs: len({b - a for a, b in pairs}) > 1
    )
)
def test_the_standard_error_is_that_of_paired_differences(
    outcomes: list[tuple[bool, bool]],
) -> None:
    half, full = np.array(outcomes).T
    differences = full.astype(int) - half.astype(int)
    n = len(outcomes)
    last = result(int(half.sum()), int(full.sum()), int((half != full).sum()), n, 50)
    # Not less than that of one text in n that changed.
    expected = max(float(differences.std()), n**-0.5) / n**0.5
    assert expected_gain(last)[1] == pytest.approx(expected)
