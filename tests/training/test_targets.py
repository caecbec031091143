"""Targets: what is encoded can be decoded, and bad input is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.utils.class_weight import compute_sample_weight

from tests.training.examples import labelled
from tsenet.errors import DataError, TSENetError
from tsenet.network.inputs import Inputs
from tsenet.training.losses import BinaryLoss, MulticlassLoss, MultilabelLoss, RegressionLoss
from tsenet.training.scores import score_of
from tsenet.training.targets import (
    ClassTargets,
    MultilabelTargets,
    ParsedTargets,
    RegressionTargets,
    doubt,
    learn_targets,
    read_targets,
    targets_from_parts,
    warn_of_quantity,
)


def given_of(y: Any) -> ParsedTargets:
    """Targets without missing ones, not checked."""
    return ParsedTargets(y, np.ones(len(y), bool))


@given(st.lists(st.sampled_from("abcde"), min_size=2, max_size=30))
def test_classes_survive_encoding(names: list[str]) -> None:
    y = np.array([*names, "a", "b"])
    targets = ClassTargets.learn(y)
    encoded = targets.encode(given_of(y))
    outputs = np.eye(targets.classes.size)[encoded]
    if targets.classes.size == 2:
        outputs = outputs[:, 1:] - 0.5
    assert np.array_equal(targets.decode(outputs), y)
    assert len(targets.output_names) == targets.loss.n_outputs == outputs.shape[1]


@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(2, 9), st.integers(1, 3)), elements=st.floats(-1e6, 1e6)
    )
)
def test_values_survive_encoding(y: Any) -> None:
    for given_y in (y, y[:, 0]):
        targets = RegressionTargets.learn(given_y)
        encoded = targets.encode(given_of(given_y))
        assert np.allclose(targets.decode(encoded.reshape(len(y), -1)), given_y, atol=1e-6)
        column = encoded.reshape(len(y), -1)
        assert np.all(np.abs(column.mean(axis=0)) < 1e-6)


def test_minus_one_is_a_class_unless_it_is_named() -> None:
    y = np.array([2, -1, 5, 2, -1])
    for unlabeled, classes, encoded in (
        (None, [-1, 2, 5], [1, 0, 2, 1, 0]),
        (-1, [2, 5], [0, -1, 1, 0, -1]),
    ):
        read = read_targets(y, True, unlabeled)
        targets = learn_targets(read, True)
        assert targets.classes.tolist() == classes
        assert targets.encode(read).tolist() == encoded


NULLABLE = pd.Series([0, 1, 2, None], dtype="Int64")


@pytest.mark.parametrize(
    ("y", "classes", "encoded"),
    [
        (
            ["b", "", "a", None, "b", float("nan"), "  ", pd.NA],
            ["a", "b"],
            [1, -1, 0, -1, 1, -1, -1, -1],
        ),
        (np.array(["b", "", "a", " \t"]), ["a", "b"], [1, -1, 0, -1]),
        (np.array([0.0, np.nan, 3.0]), [0, 3], [0, -1, 1]),
        (np.array([0, None, 3, 0], dtype=object), [0, 3], [0, -1, 1, 0]),
        (np.array([True, None, False], dtype=object), [False, True], [1, -1, 0]),
        (np.ma.masked_array([4, 0, 7], mask=[False, True, False]), [4, 7], [0, -1, 1]),
        (NULLABLE, [0, 1, 2], [0, 1, 2, -1]),
        (NULLABLE.astype("Float64"), [0, 1, 2], [0, 1, 2, -1]),
        (pd.Series([True, None, False], dtype="boolean"), [False, True], [1, -1, 0]),
        (pd.Series(["b", None, "a"], dtype="string"), ["a", "b"], [1, -1, 0]),
        (pd.Series(["b", None, "a"], dtype="category"), ["a", "b"], [1, -1, 0]),
        (pd.Series([1, None, 2], dtype="category"), [1, 2], [0, -1, 1]),
        (pl.Series(["b", None, "a"]), ["a", "b"], [1, -1, 0]),
        (pl.Series([5, None, 6]), [5, 6], [0, -1, 1]),
        (pd.DataFrame({"y": ["b", None, "a"]}), ["a", "b"], [1, -1, 0]),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_missing_classes_have_no_label(y: Any, classes: list[Any], encoded: list[int]) -> None:
    read = read_targets(y, True)
    targets = learn_targets(read, True)
    assert targets.classes.tolist() == classes  # type: ignore[union-attr]  # classes are asked for
    assert [type(value) for value in targets.classes.tolist()] == [type(v) for v in classes]  # type: ignore[union-attr]  # as above
    assert targets.encode(read).tolist() == encoded
    assert read.known.tolist() == [code >= 0 for code in encoded]


@pytest.mark.parametrize(
    ("y", "unlabeled", "known"),
    [
        (["a", "?", "b"], "?", [True, False, True]),
        (np.array(["a", "-1", "b"]), -1, [True, True, True]),  # text is no number
        (np.array(["a", "-1", "b"]), "-1", [True, False, True]),
        (np.array([1, 99, 2]), 99, [True, False, True]),
        (np.array([1, 99, 2]), "99", [True, True, True]),
        (np.array([1, -1, None, 2], dtype=object), -1, [True, False, False, True]),
    ],
)
def test_any_value_can_mark_rows_without_a_label(y: Any, unlabeled: Any, known: list[bool]) -> None:
    assert read_targets(y, True, unlabeled).known.tolist() == known


def test_missing_labels_and_values() -> None:
    labels = read_targets(np.array([[1, None], [-1, 0], [None, -1]], dtype=object), True, -1)
    assert np.array_equal(
        labels.values, [[1, np.nan], [np.nan, 0], [np.nan, np.nan]], equal_nan=True
    )
    assert labels.known.tolist() == [True, True, False]
    for y in (
        [1.5, None, 3],
        np.array([1.5, np.nan, 3]),
        ["1.5", " ", "3"],
        pd.array([1.5, None, 3]),
    ):
        values = read_targets(y, False)
        assert np.array_equal(values.values, [1.5, np.nan, 3], equal_nan=True)
        assert values.known.tolist() == [True, False, True]


def test_which_loss() -> None:
    assert isinstance(ClassTargets.learn(np.array([0, 1])).loss, BinaryLoss)
    assert isinstance(ClassTargets.learn(np.arange(3)).loss, MulticlassLoss)
    assert isinstance(MultilabelTargets(2).loss, MultilabelLoss)
    assert isinstance(RegressionTargets.learn(np.arange(3.0)).loss, RegressionLoss)


def test_balanced_weights_are_scikit_learns() -> None:
    y = np.array(["a"] * 6 + ["b"] * 3 + ["c"])
    targets = ClassTargets.learn(y)
    weights = targets.class_weights(targets.encode(given_of(y)), "balanced")
    assert weights == pytest.approx(compute_sample_weight("balanced", y))
    assert targets.class_weights(np.array([2, 0]), {"c": 5.0}).tolist() == [5.0, 1.0]
    with pytest.raises(DataError, match=r"no row has the label: \['d'\]"):
        targets.class_weights(np.array([2, 0]), {"c": 5.0, "d": 1.0})
    labels = np.array([[1.0, 0.0], [0.0, np.nan], [0.0, 0.0]])
    assert MultilabelTargets(2).class_weights(labels, "balanced") == pytest.approx(
        np.array([[1.5, 0.5], [0.75, 0.5], [0.75, 0.5]])
    )
    assert MultilabelTargets(2).class_weights(labels, [{1: 3.0}, {0: 2.0}]).tolist() == [
        [3.0, 2.0],
        [1.0, 2.0],
        [1.0, 2.0],
    ]
    with pytest.raises(ValueError, match="class_weight"):
        MultilabelTargets(2).class_weights(labels, "best")


@pytest.mark.parametrize(
    ("targets", "y", "says"),
    [
        (ClassTargets(np.array(["a", "b"])), np.array(["a", "c"]), "not there before: \\['c'\\]"),
        (ClassTargets(np.array([0, 1])), np.zeros((2, 2)), "one column"),
        (MultilabelTargets(2), np.zeros((4, 3)), "2 columns"),
        (RegressionTargets(True, np.zeros(1), np.ones(1)), np.zeros((4, 2)), "1 columns"),
    ],
)
def test_other_targets_than_before_are_refused(targets: Any, y: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        targets.encode(given_of(y))


@pytest.mark.parametrize(
    ("y", "classification", "says"),
    [
        ([[0, 2]], True, "0, 1 or NaN"),
        ([["a", "b"]], True, "0, 1 or NaN"),
        ([[np.nan, np.nan]], True, "no known label"),
        (["a", "b"], False, "numbers"),
        ([None, None], True, "no label: all 2 rows"),
        (["", " "], True, "no label: all 2 rows"),
        (["a", 1, 2], True, "mixes texts and other values, such as 'a' and 1"),
        ([np.nan, np.nan], False, "no known value: all 2 rows"),
        ([[np.inf, 1.0]], False, "infinite"),
        ([np.inf, 1.0], False, "infinite"),
        (np.zeros((2, 2, 2)), False, "has the shape"),
        ([0.5, 1.5], True, "Unknown label type: y holds numbers with fractions, such as 0.5"),
        ([np.inf, 1.0], True, "infinite"),
        (np.array([b"a", b"b"]), True, "bytes"),
        (np.array(["2024-05-31", "2024-06-01"], "datetime64[D]"), True, "dates.*astype"),
        (pd.Series(pd.to_datetime(["2024-05-31", None])), False, "dates"),
        (np.array([1j, 2j]), False, "complex"),
        ([{1}, {2}], True, "but holds .1. of the type set"),
        ([2**70, 1], True, "more than 64 bits"),
        ([[1], [2, 3]], True, "different lengths"),
        (3, True, "has the shape"),
        ([], True, "empty"),
        (np.zeros((2, 0)), True, "no columns"),
    ],
)
def test_bad_targets_are_refused(y: Any, classification: bool, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_targets(y, classification)


def test_a_column_without_a_known_value_is_refused() -> None:
    with pytest.raises(DataError, match="no known value"):
        RegressionTargets.learn(np.array([[1.0, np.nan], [2.0, np.nan]]))
    with pytest.raises(DataError, match="only one class"):
        ClassTargets.learn(np.array(["a", "a"]))


@pytest.mark.parametrize(
    ("y", "classification"),
    [
        (np.array(["x", "y", "zebra"]), True),
        (np.array([True, False]), True),
        (np.array(["x", 3, "z"], dtype=object), True),
        (np.array([[0.0, 1.0], [1.0, np.nan]]), True),
        (np.array([1.5, 2.5, 9.0]), False),
        (np.array([[1.5, 2.5], [np.nan, 3.0]]), False),
    ],
)
def test_the_file_form_is_whole(y: Any, classification: bool) -> None:
    if y.dtype == object:  # mixed classes cannot be sorted
        targets: Any = ClassTargets(np.array(["x", "y"], dtype=object))
    else:
        targets = learn_targets(read_targets(y, classification), classification)
    again = targets_from_parts(*targets.to_parts())
    assert type(again) is type(targets)
    assert repr(again.to_parts()) == repr(targets.to_parts())
    with pytest.raises(ValueError, match="unknown"):
        targets_from_parts({"kind": "other"}, {})


def test_scores_of_labels_take_a_weight_for_each_label() -> None:
    """As ``class_weight`` gives them: errors that weigh nothing do not count."""
    labels, targets = np.array([[0.0, 1.0], [1.0, np.nan], [1.0, 0.0]]), MultilabelTargets(2)
    outputs = np.array(
        [[-1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]]
    )  # one error: the first label of row 1
    weights = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    held = labelled(Inputs(np.zeros((3, 1), np.float32)), labels, weights)
    score = score_of("accuracy", targets)
    assert score is not None
    assert score(held, outputs) == 1.0
    assert score(held._replace(weights=None), outputs) == pytest.approx((2 / 3 + 1) / 2)


def test_many_different_numbers_are_more_likely_a_quantity() -> None:
    with pytest.warns(UserWarning, match="30 different numbers in 40 rows"):
        warn_of_quantity(read_targets(np.r_[np.arange(30), np.zeros(10, int)], True))
    with pytest.warns(UserWarning, match="--task regression"):
        warn_of_quantity(read_targets([f"{k}.5" for k in range(30)], True))
    warn_of_quantity(read_targets([f"word {k}" for k in range(30)], True))  # names
    warn_of_quantity(read_targets(np.arange(20), True))  # few
    warn_of_quantity(read_targets(np.repeat(np.arange(30), 3), True))  # most in several rows


ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(2**80), 2**80),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=2),
    st.datetimes(),
    st.tuples(st.integers(0, 1)),
    st.sets(st.integers(0, 1)),
    st.decimals(allow_nan=False),
)


@given(
    st.one_of(
        ODD_VALUES,
        ODD_VALUES.flatmap(lambda value: st.lists(st.sampled_from([value, None, 1]), max_size=6)),
        st.lists(ODD_VALUES, max_size=6),
        st.lists(st.lists(ODD_VALUES, max_size=3), max_size=4),
        hnp.arrays(
            st.one_of(hnp.scalar_dtypes(), hnp.byte_string_dtypes(), hnp.unicode_string_dtypes()),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
    ),
    st.booleans(),
)
@settings(max_examples=600, deadline=None)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of comparisons within NumPy
def test_any_target_is_read_or_refused_in_our_words(y: Any, classification: bool) -> None:
    """And what is read can be learned, encoded, decoded and written, or is refused in our words too."""
    try:
        read = read_targets(y, classification)
        targets = learn_targets(read, classification)
    except TSENetError:
        return
    encoded = targets.encode(read)
    assert len(encoded) == len(read.values)
    meta, arrays = targets.to_parts()
    again = targets_from_parts(json.loads(json.dumps(meta)), arrays)
    assert np.array_equal(again.encode(read), encoded, equal_nan=True)


@pytest.mark.parametrize("several", [False, True])
@given(seed=st.integers(0, 2**20))
def test_doubt_is_one_where_chances_are_equal_and_zero_where_they_are_sure(
    several: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.uniform(0, 1, (5, 3)) if several else rng.dirichlet([1, 1, 1], 5)
    found = doubt(shares, several)
    for row, one in zip(shares.tolist(), found.tolist(), strict=True):
        if several:  # of the class that is nearest to one half
            expected = max(1 - abs(2 * p - 1) for p in row)
        else:
            first, second, _ = sorted(row, reverse=True)
            expected = 1 - (first - second)
        assert one == pytest.approx(expected)
    equal = np.full((1, 2), 0.5)
    sure = np.array([[1.0, 0.0]])
    assert doubt(equal, several)[0] == 1
    assert doubt(sure, several)[0] == 0
