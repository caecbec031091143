"""Binary rows: thresholds, categories, dates, and what is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tsenet.data import BinaryRows, BinaryRule, Table
from tsenet.data.binary import column_thresholds
from tsenet.errors import DataError

FRAME = {
    "age": [3.5, 1.0, 2.0, 9.0],
    "word": [0, 0, 1, 4],
    "colour": ["red", "blue", "red", "grey"],
    "flag": [True, False, True, True],
    "code": [7, 7, 8, 8],
}


def learn(data: Any, names: list[str] | None = None) -> BinaryRule:
    return BinaryRule.learn(Table.of(data, names))


def binary_of(rule: BinaryRule, data: Any) -> npt.NDArray[np.bool_]:
    rows = rule.apply(Table.of(data))
    rows.validate()
    return rows.to_dense()


def says(*parts: str) -> str:
    return "(?s)" + ".*".join(map(re.escape, parts))


# ------------------------------------------------------------------ learning and names


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_mixed_frame(make: Any) -> None:
    rule = learn(make(FRAME))
    assert rule.names == (
        "age > 2.75",
        "word",
        "colour=blue",
        "colour=grey",
        "colour=red",
        "flag",
        "code > 7",
    )
    assert rule.names_in == tuple(FRAME)
    assert (rule.n_columns_in, rule.n_variables) == (5, 7)
    np.testing.assert_array_equal(rule.sources, [0, 1, 2, 2, 2, 3, 4])
    expected = [
        [1, 0, 0, 0, 1, 1, 0],
        [0, 0, 1, 0, 0, 0, 0],
        [0, 1, 0, 0, 1, 1, 1],
        [1, 1, 0, 1, 0, 1, 1],
    ]
    np.testing.assert_array_equal(binary_of(rule, make(FRAME)), np.array(expected, dtype=bool))
    assert rule == learn(pd.DataFrame(FRAME))


counts = st.tuples(st.integers(2, 10), st.integers(1, 5)).flatmap(
    lambda shape: hnp.arrays(np.int64, shape, elements=st.sampled_from([0, 0, 0, 1, 2, 5]))
)


@given(counts)
def test_dense_and_sparse_counts_give_one_rule(values: npt.NDArray[np.int64]) -> None:
    # more zeros than anything else in each column, as in word counts
    values = np.concatenate([values, np.zeros_like(values)])
    rule = learn(values)
    for data in (values, values.astype(np.float32), sp.csr_array(values), sp.coo_array(values)):
        assert learn(data) == rule
        np.testing.assert_array_equal(binary_of(rule, data), values > 0)


reals = st.tuples(st.integers(2, 9), st.integers(1, 4)).flatmap(
    lambda shape: hnp.arrays(
        np.float64, shape, elements=st.one_of(st.integers(-2, 2), st.floats(-9, 9, width=32))
    )
)


def test_levels_unseen_in_learning() -> None:
    new = pl.DataFrame(FRAME).with_columns(colour=pl.Series(["pink", "red", "blue", "pink"]))
    on = binary_of(learn(pd.DataFrame(FRAME)), new)
    assert on[:, 2:5].sum(axis=1).tolist() == [0, 1, 1, 0]
    assert on[1, 4]  # "red" is the second level now and was the third
    assert on[2, 2]


def test_names_stay_short_and_unique() -> None:
    data = np.array([[0.1, 1e7, 0], [1 / 3, 2e7, 1], [0.4, 3e7, 1]])
    names = ["a", "b", "a > 0.333333"]
    rule = learn(data, names)
    assert rule.names == ("a > 0.333333", "b > 20000000", "a > 0.333333 (column 2)")
    clash = pd.DataFrame({"a": ["b=c", "d"], "a=b": ["c", "e"], "a=b=c (column 1)": [0, 1]})
    assert learn(clash).names == (
        "a=b=c",
        "a=d",
        "a=b=c (column 1)",
        "a=b=e",
        "a=b=c (column 1) (column 2)",
    )


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_one_row_teaches_nothing(make: Any) -> None:
    with pytest.raises(DataError, match="n_samples = 1"):
        learn(make([[1.0, 2.0]]))


def test_negative_values_where_presence_is_asked() -> None:
    data = sp.csc_array([[0, -1.0, 2], [1, -3, 0], [1, 4, -1]])
    with pytest.raises(DataError, match=says("Negative values in data: column 'b'", "dense")):
        learn(data, ["a", "b", "c"])


def test_free_text_is_not_categories() -> None:
    text = {"n": list(range(202)), "text": [f"document {i}" for i in range(202)]}
    message = says("column 'text' (index 1) has 202 different values in 202 rows", "vectorize")
    with pytest.raises(DataError, match=message):
        learn(pl.DataFrame(text))
    learn(pl.DataFrame(text)[:50])  # with few rows it may be categories


def test_other_columns_at_apply() -> None:
    rule, frame = learn(pd.DataFrame(FRAME)), pd.DataFrame(FRAME)
    for data, message in (
        ([[1.0]], "has 1 columns, but had 5 in training"),
        (frame[[*FRAME][::-1]], "in their order: missing are none, unknown are none"),
        (frame.rename(columns={"age": "years"}), "missing are 'age', unknown are 'years'"),
        (frame.drop(columns="code"), "missing are 'code', unknown are none"),
    ):
        with pytest.raises(DataError, match=message):
            rule.apply(Table.of(data))


def test_names_count_only_when_both_sides_have_them() -> None:
    named = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 0.0, 1.0]})
    assert binary_of(learn(named), named.to_numpy()).any()
    assert binary_of(learn(named.to_numpy()), named).any()


def test_a_column_may_not_change_its_kind() -> None:
    numbers, texts = pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"a": ["u", "v"]})
    message = says("column 'a' (index 0) held numbers in training, now categories")
    with pytest.raises(DataError, match=message):
        learn(numbers).apply(Table.of(texts))
    for data in (numbers, sp.csr_array([[1.0]])):
        with pytest.raises(DataError, match="held categories in training, now numbers"):
            learn(texts).apply(Table.of(data))


# ------------------------------------------------------------------ file form


def through_json(rule: BinaryRule) -> BinaryRule:
    return BinaryRule.from_dict(json.loads(json.dumps(rule.to_dict())))


@given(reals)
def test_json_round_trip_is_exact(values: npt.NDArray[np.float64]) -> None:
    for rule in (learn(values / 3), learn(pd.DataFrame(FRAME)), learn(sp.csr_array(np.eye(3)))):
        again = through_json(rule)
        assert again == rule
        assert again.thresholds.tobytes() == rule.thresholds.tobytes()
        assert (again.names, again.named) == (rule.names, rule.named)


@pytest.mark.parametrize(
    "change",
    [
        {"names_in": ["a"]},
        {"names_in": [1, 2]},
        {"thresholds": {"2": 1.0}},
        {"thresholds": {"0": float("nan")}},
        {"thresholds": {"0": "high"}},
        {"levels": {"1": [1, 2]}},
        {"levels": {"0": ["a"]}},
    ],
)
def test_fields_that_are_no_rule(change: dict[str, Any]) -> None:
    fields = {"n_columns_in": 2, "names_in": None, "thresholds": {"0": 1.5}, "levels": {}}
    BinaryRule.from_dict(fields)
    with pytest.raises(DataError, match="not the fields of a BinaryRule"):
        BinaryRule.from_dict(fields | change)
    for name in fields:
        with pytest.raises(DataError, match=name):
            BinaryRule.from_dict({key: fields[key] for key in fields if key != name})


# ---- missing values


def test_missing_values_choose_no_threshold_and_are_off() -> None:
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=50), rng.poisson(0.5, 50), rng.integers(3, 5, 50)])
    gaps = np.concatenate([values, np.full((20, 3), np.nan)])
    rule = BinaryRule.learn(Table.of(gaps))
    assert rule == BinaryRule.learn(Table.of(values))
    on = rule.apply(Table.of(gaps)).to_dense()
    assert np.array_equal(on[:50], rule.apply(Table.of(values)).to_dense())
    assert not on[50:].any()


def test_a_missing_category_is_no_level() -> None:
    frame = pd.DataFrame({"colour": ["red", None, "blue", "red"], "size": [1.0, 2.0, np.nan, 5.0]})
    table = Table.of(frame)
    rule = BinaryRule.learn(table)
    assert rule.names == ("colour=blue", "colour=red", "size > 2")
    on = rule.apply(table).to_dense().astype(int)
    assert on.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 1]]
    unknown = Table.of(frame.assign(colour=None))  # looks like numbers
    assert not rule.apply(unknown).to_dense()[:, :2].any()


# ------------------------------------------------------------------ thresholds


@pytest.mark.parametrize(
    ("column", "threshold", "presence"),
    [
        ([0, 0, 0, 0], 0, True),  # constant zero: absent
        ([7, 7, 7, 7], 7, False),  # constant: never on
        ([0, 1, 1, 1], 0, True),  # two values: the larger is on, however common
        ([2, 5, 5, 5], 2, False),
        ([-1, 0, 0, 0], -1, False),
        ([0, 0, 0, 2, 9], 0, True),  # counts, mostly zero
        ([0, 0, 1, 2, 3, 4], 0, True),  # zero is the most common, though not half
        ([0, 0, 1, 1, 2], 1, False),  # zero is as common as another: median
        ([0.0, 0.2, 0.5, 0.7, 1.0], 0.5, False),  # scaled to 0..1: median
        ([0, 1, 1, 2, 3, 4], 1.5, False),  # zero is not the most common: median
        ([3, 3, 3, 4, 9], 3, False),  # the mode holds more than half
        ([1, 2, 9, 9, 9], 2, False),  # the mode is the maximum
        ([-2, -1, 0, 0, 0, 0, 5], 0, False),  # zero is the mode, but there are negatives
        ([1, 2, 3, 4], 2.5, False),  # median
        ([1, 2, 8, 9, 9, 9, 9], 8, False),  # mode 4 of 7 is the maximum
    ],
)
def test_the_rules(column: list[float], threshold: float, presence: bool) -> None:
    values = np.array(column, dtype=float).reshape(-1, 1)
    found, present = column_thresholds(values)
    assert (found[0], present[0]) == (threshold, presence)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.int64, np.uint64, np.bool_])
def test_type_of_the_values_does_not_matter(dtype: type) -> None:
    values = np.random.default_rng(0).integers(0, 5, (40, 30)) // [[1] * 10 + [2] * 10 + [4] * 10]
    expected = column_thresholds(values.astype(dtype).astype(np.float64))
    np.testing.assert_array_equal(column_thresholds(values.astype(dtype)), expected)


def test_a_few_zeros_among_many_values_do_not_mean_absent() -> None:
    column = np.concatenate([np.zeros(5), np.linspace(0.1, 1, 95)])
    found, present = column_thresholds(np.c_[column, np.r_[np.zeros(5), column[5:-5], np.zeros(5)]])
    assert found[0] == np.median(column)
    assert present.tolist() == [False, True]


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(1, 4)),
        elements=st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6)),
    )
)
def test_a_column_that_varies_is_on_in_some_rows_and_off_in_others(
    values: npt.NDArray[np.float64],
) -> None:
    found, present = column_thresholds(values)
    on = (values > found).mean(axis=0)
    varies = values.min(axis=0) < values.max(axis=0)
    assert np.all((on[varies] > 0) & (on[varies] < 1))
    assert np.all(on[~varies] == 0)
    assert np.all(found[present] == 0)
    assert np.all(values[:, present] >= 0)


def rule(cuts: npt.NDArray[np.float64]) -> BinaryRule:
    names = tuple(f"x{j}" for j in range(cuts.size))
    return BinaryRule(names, cuts, np.zeros(cuts.size, bool), (None,) * cuts.size, named=False)


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(1, 9), st.just(4)), elements=st.integers(-2, 3)),
    hnp.arrays(np.float64, 4, elements=st.sampled_from([-1.5, -1.0, 0.0, 0.5, 1.0])),
)
def test_sparse_and_dense_agree(
    values: npt.NDArray[np.int64], cuts: npt.NDArray[np.float64]
) -> None:
    above = rule(cuts).apply(Table.of(sp.csr_array(values)))
    above.validate()
    assert above == rule(cuts).apply(Table.of(values))
    np.testing.assert_array_equal(above.to_dense(), values > cuts)


def test_too_many_dense_columns_are_refused() -> None:
    values = np.zeros((2, 50_001), np.uint8)
    with pytest.raises(DataError, match=r"50,001 dense columns.*choose some first.*sparse"):
        BinaryRule.learn(Table.of(values))
    assert BinaryRule.learn(Table.of(sp.csr_array(values))).n_variables == 50_001


def test_columns_in_another_order_are_shown_how_to_choose() -> None:
    table = Table.of([[1, 2], [3, 4]], names=["a", "b"])
    rule = BinaryRule.learn(table)
    for names in (["b", "a"], ["a", "b", "c"]):
        other = Table.of([range(len(names))], names=names)
        with pytest.raises(DataError, match=r"take X\[list\(rule\.names_in\)\]"):
            rule.check_columns(other)


# ---- rows of bits


Bools = npt.NDArray[np.bool_]


def tables(min_rows: int = 0, max_columns: int = 9, min_columns: int = 0) -> st.SearchStrategy:
    shapes = st.tuples(st.integers(min_rows, 12), st.integers(min_columns, max_columns))
    return shapes.flatmap(lambda shape: hnp.arrays(np.bool_, shape))


@given(tables())
def test_round_trips(dense: Bools) -> None:
    made = BinaryRows.of_dense(dense)
    made.validate()
    assert made.shape == dense.shape
    np.testing.assert_array_equal(made.to_dense(), dense)
    assert BinaryRows.of_csr(made.to_csr()) == made
    assert BinaryRows.of_csr(sp.csr_array(dense)) == made
    assert (made.indptr.dtype, made.indices.dtype) == (np.int64, np.int32)


@given(tables())
def test_transpose_is_the_transpose_and_its_own_inverse(dense: Bools) -> None:
    made = BinaryRows.of_dense(dense)
    flipped = made.transpose()
    flipped.validate()
    np.testing.assert_array_equal(flipped.to_dense(), dense.T)
    assert flipped.transpose() == made
    assert (flipped.indptr.dtype, flipped.indices.dtype) == (np.int64, np.int32)


@given(st.integers(0, 6).flatmap(lambda v: st.lists(tables(0, v, v), min_size=1, max_size=4)))
def test_counts_of_a_concatenation_are_the_sum_of_counts(parts: list[Bools]) -> None:
    made = [BinaryRows.of_dense(part) for part in parts]
    whole = BinaryRows.concatenate(made)
    whole.validate()
    np.testing.assert_array_equal(whole.to_dense(), np.concatenate(parts))
    np.testing.assert_array_equal(whole.counts(), np.concatenate(parts).sum(axis=0))
    assert whole.counts().dtype == np.int64


@given(tables(min_rows=1), st.data())
def test_take_is_numpy_indexing(dense: Bools, data: st.DataObject) -> None:
    made = BinaryRows.of_dense(dense)
    n_rows = len(dense)
    chosen = data.draw(st.lists(st.integers(-n_rows, n_rows - 1), max_size=8))
    np.testing.assert_array_equal(
        made.take(chosen).to_dense(), dense[np.array(chosen, dtype=np.intp)]
    )
    mask = data.draw(hnp.arrays(np.bool_, n_rows))
    np.testing.assert_array_equal(made.take(mask).to_dense(), dense[mask])
    np.testing.assert_array_equal(made.take(slice(1, None, 2)).to_dense(), dense[1::2])


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_unsorted_duplicates_and_zeros_are_put_right_in_a_copy(index: type[np.integer]) -> None:
    # row 0: 3 twice, then 1 unsorted; row 1: a stored zero; row 2: a pair that sums to zero
    data = np.array([1.0, 2.0, 4.0, 0.0, 5.0, -5.0])
    columns = np.array([3, 3, 1, 2, 0, 0], dtype=index)
    indptr = np.array([0, 3, 4, 6], dtype=index)
    matrix = sp.csr_array((data, columns, indptr), shape=(3, 4))
    before = data.copy(), columns.copy(), indptr.copy()
    made = BinaryRows.of_csr(matrix)
    made.validate()
    np.testing.assert_array_equal(made.indices, [1, 3])
    np.testing.assert_array_equal(made.indptr, [0, 2, 2, 2])
    for now, then in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_flags_of_the_callers_matrix_are_not_used() -> None:
    matrix = sp.csr_array(np.array([[0, 1, 1], [1, 0, 0]]))
    assert matrix.has_canonical_format
    matrix.indices[:2] = [2, 1]  # now unsorted, but scipy remembers "sorted"
    made = BinaryRows.of_csr(matrix)
    np.testing.assert_array_equal(made.indices, [1, 2, 0])


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [([0, 1, 2], [2, 3]), ([0, 1, 2], [-1, 2]), ([0, 1, 1, 3], [2, 1, 1]), ([0, 2, 1, 2], [0, 1])],
)
def test_validate(indptr: list[int], indices: list[int]) -> None:
    with pytest.raises(DataError, match=r"column indices must be within 0\.\.2"):
        BinaryRows(np.array(indptr), np.array(indices, np.int32), 3).validate()


def test_bad_arguments() -> None:
    with pytest.raises(DataError, match="2-D"):
        BinaryRows.of_dense([1, 0])
    with pytest.raises(DataError, match="at most"):
        BinaryRows.of_csr(sp.csr_array((2, 2**40)))
