from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.utils.estimator_checks import _NotAnArray

from tsenet.data import Table
from tsenet.errors import DataError, NonNumericError

X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.5]])
NAMES = ("age", "size", "colour")


# ------------------------------------------------------------------ what is accepted


@pytest.mark.parametrize(
    "data",
    [
        X,
        X.tolist(),
        tuple(map(tuple, X.tolist())),
        X.astype(object),
        X.astype(str).astype(object),
        np.asfortranarray(X),
        X.view(np.matrix),
        np.ma.MaskedArray(X, mask=False),
        X.astype(">f8"),
        X.astype(np.longdouble),
        _NotAnArray(X),
        pd.DataFrame(X),
        np.pad(X, 2)[2:-2, 2:-2],
    ],
    ids=lambda data: type(data).__name__ + str(getattr(data, "dtype", "")),
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_dense_inputs_give_one_table(data: Any) -> None:
    table = Table.of(data)
    assert table == Table.of(X)
    assert type(table.values) is np.ndarray
    assert table.values.dtype == np.dtype(float)
    assert table.names == ("x0", "x1", "x2")
    assert not table.named
    assert table.levels == (None, None, None)
    assert (table.shape, table.n_rows, table.n_columns, table.is_sparse) == ((2, 3), 2, 3, False)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, np.bool_])
def test_types_of_numbers_are_kept_and_memory_is_shared(dtype: type) -> None:
    data = X.astype(dtype)
    table = Table.of(data)
    assert table.values.dtype == dtype
    assert np.shares_memory(table.values, data)


def test_half_precision_is_widened() -> None:
    assert Table.of(X.astype(np.float16)).values.dtype == np.float32


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_formats_give_one_table(form: str, kind: str) -> None:
    table = Table.of(getattr(sp, f"{form}_{kind}")(X))
    assert table == Table.of(sp.csr_array(X))
    assert table.is_sparse
    assert table != Table.of(X)
    np.testing.assert_array_equal(table.values.toarray(), X)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_64_bit_indices_are_narrowed(form: str) -> None:
    matrix = sp.csr_matrix(X).asformat(form)
    for part in ("indices", "indptr", "row", "col"):
        if hasattr(matrix, part):
            setattr(matrix, part, getattr(matrix, part).astype(np.int64))
    table = Table.of(matrix)
    assert table == Table.of(sp.csr_array(X))
    assert table.values.indices.dtype == np.int32


def test_unsorted_and_duplicate_entries_are_put_right_in_a_copy() -> None:
    data, indices = np.array([1.0, 2.0, 3.0, 0.0]), np.array([2, 0, 2, 1])
    matrix = sp.csr_matrix((data, indices, np.array([0, 3, 4])), shape=(2, 3))
    table = Table.of(matrix)
    np.testing.assert_array_equal(table.values.toarray(), [[2, 0, 4], [0, 0, 0]])
    assert table.values.nnz == 2
    np.testing.assert_array_equal(matrix.data, [1, 2, 3, 0])
    np.testing.assert_array_equal(matrix.indices, [2, 0, 2, 1])
    assert matrix.nnz == 4


def test_read_only_memory_is_read_and_not_written() -> None:
    dense = X.copy()
    dense.flags.writeable = False
    assert Table.of(dense) == Table.of(X)
    matrix = sp.csr_array(X)
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    assert Table.of(matrix) == Table.of(sp.csr_array(X))


# ------------------------------------------------------------------ dataframes

COLUMNS: dict[str, list[Any]] = {
    "age": [3.5, 1.0, 2.0],
    "size": [1, 2, 3],
    "on": [True, False, True],
    "colour": ["red", "blue", "red"],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_mixed_columns(make: Any) -> None:
    table = Table.of(make(COLUMNS))
    assert table.names == ("age", "size", "on", "colour")
    assert table.named
    assert table.levels == (None, None, None, ("blue", "red"))
    np.testing.assert_array_equal(table.values, [[3.5, 1, 1, 1], [1, 2, 0, 0], [2, 3, 1, 1]])
    assert table == Table.of(pd.DataFrame(COLUMNS))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numeric_frames_keep_their_type(make: Any) -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(3, 2)
    table = Table.of(make({"a": numbers[:, 0], "b": numbers[:, 1]}))
    np.testing.assert_array_equal(table.values, numbers)
    assert table.values.dtype == np.float32
    flags = Table.of(make({"a": [True, False], "b": [False, False]}))
    assert flags.values.dtype == bool


def test_all_ways_to_write_categories_agree() -> None:
    texts = ["red", "blue", "red"]
    expected = Table.of(pd.DataFrame({"c": texts}))
    order = ["red", "green", "blue"]
    for frame in (
        pd.DataFrame({"c": pd.Categorical(texts)}),
        pd.DataFrame({"c": pd.Categorical(texts, categories=order, ordered=True)}),
        pd.DataFrame({"c": np.array(texts, dtype=object)}, dtype=object),
        pd.DataFrame({"c": pd.array(texts, dtype="string")}),
        pl.DataFrame({"c": texts}),
        pl.DataFrame({"c": pl.Series(texts, dtype=pl.Categorical)}),
        pl.DataFrame({"c": pl.Series(texts, dtype=pl.Enum(order))}),
        pa.table({"c": pa.array(texts).dictionary_encode()}),
    ):
        table = Table.of(frame)
        np.testing.assert_array_equal(table.values, [[1], [0], [1]])
        assert table == expected
    numbers = Table.of(pd.DataFrame({"c": pd.Categorical([20, 3, 20])}))
    assert numbers.levels == (("20", "3"),)


def test_other_numeric_columns() -> None:
    values = [[1.0, 2.0], [3.0, 4.0]]
    nullable = pd.DataFrame({"a": pd.array([1, 3], dtype="Int64"), "b": [2, 4]})
    objects = pd.DataFrame({"a": np.array([1, 3.0], dtype=object), "b": [2, 4]})
    decimals = pl.DataFrame({"a": [Decimal("1.0"), Decimal("3.0")], "b": [2, 4]})
    for frame in (nullable, objects, decimals):
        table = Table.of(frame)
        np.testing.assert_array_equal(table.values, values)
        assert table.values.dtype.kind in "fi"


def test_sparse_pandas_frames_stay_sparse() -> None:
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), columns=list(NAMES))
    assert Table.of(frame) == Table.of(sp.csr_array(X), names=NAMES)
    mixed = frame.assign(more=[1.0, 2.0])
    assert Table.of(mixed) == Table.of(np.c_[X, [1, 2]], names=(*NAMES, "more"))


def test_labels_that_are_not_strings() -> None:
    assert Table.of(pd.DataFrame(X)).named is False
    table = Table.of(pd.DataFrame(X, columns=[10, 20, 30]))
    assert (table.names, table.named) == (("10", "20", "30"), True)
    nested = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    assert Table.of(pd.DataFrame(X, columns=nested)).names == ("('a', 1)", "('a', 2)", "('b', 1)")


def test_names_can_be_given() -> None:
    for data in (X, sp.csr_array(X), pd.DataFrame(X), pd.DataFrame(X, columns=list("abc"))):
        table = Table.of(data, names=list(NAMES))
        assert (table.names, table.named) == (NAMES, True)
    table = Table.of(X)
    assert Table.of(table) is table
    assert Table.of(table, names=NAMES) == Table.of(X, NAMES)


# ------------------------------------------------------------------ what is refused


def says(*parts: str) -> str:
    return "(?s)" + ".*".join(map(re.escape, parts))


def holed(value: float) -> np.ndarray:
    data = np.ones((9, 4))
    data[2:5, 1] = value
    data[0, 3] = value
    return data


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_nan_and_infinity_name_the_column_and_the_count(value: float, word: str) -> None:
    names = ["a", "b", "c", "d"]
    for data in (holed(value), holed(value).astype(np.float32), sp.csc_array(holed(value))):
        with pytest.raises(DataError, match=says("column 1 has 3 ", word, "values", "1 other")):
            Table.of(data)
    for frame in (pd.DataFrame(holed(value), columns=names), pl.DataFrame(holed(value), names)):
        with pytest.raises(DataError, match=says("column 'b' (index 1) has 3 ", word, "fill")):
            Table.of(frame)


def test_finite_values_whose_sum_is_not_are_fine() -> None:
    assert Table.of(np.full((4, 2), 1.5e308)).n_rows == 4


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2, 3], "c": pd.array([1, None, None], dtype="Int64")}),
        pd.DataFrame({"a": [1, 2, 3], "c": ["x", None, None]}),
        pd.DataFrame({"a": [1, 2, 3], "c": pd.Categorical(["x", None, None])}),
        pd.DataFrame({"a": [1, 2, 3], "c": pd.array([True, None, None], dtype="boolean")}),
        pd.DataFrame({"a": [1, 2, 3], "c": np.array([1, None, pd.NA], dtype=object)}),
        pl.DataFrame({"a": [1, 2, 3], "c": [1, None, None]}),
        pl.DataFrame({"a": [1, 2, 3], "c": ["x", None, None]}),
        pl.DataFrame({"a": [1, 2, 3], "c": [True, None, None]}),
        pa.table({"a": [1, 2, 3], "c": [1, None, None]}),
    ],
)
def test_missing_values_in_frames(frame: Any) -> None:
    with pytest.raises(DataError, match=says("column 'c' (index 1) has 2 NaN (missing) values:")):
        Table.of(frame)
    kept = Table.of(frame, missing=True)
    assert np.isnan(kept.values[:, 1]).tolist() == [False, True, True]
    with pytest.raises(DataError, match="has 2 NaN"):
        Table.of(kept)
    assert Table.of(kept, missing=True) is kept
    assert kept == Table.of(frame, missing=True)


def test_all_missing() -> None:
    for frame in (pl.DataFrame({"c": [None, None]}), pa.table({"c": [None, None]})):
        with pytest.raises(DataError, match=says("column 'c' (index 0) has 2 NaN")):
            Table.of(frame)
        assert Table.of(frame, missing=True).levels == (None,)
    texts = pd.DataFrame({"c": pd.Series([None, None], dtype="string")})
    assert Table.of(texts, missing=True).levels == (None,)


def test_masked_values_are_missing() -> None:
    masked = np.ma.MaskedArray(X, mask=[[1, 0, 0], [0, 1, 0]])
    with pytest.raises(DataError, match="missing"):
        Table.of(masked)
    assert np.array_equal(np.isnan(Table.of(masked, missing=True).values), masked.mask)


def test_infinity_and_sparse_gaps_are_always_refused() -> None:
    with pytest.raises(DataError, match="infinite"):
        Table.of([[1.0, np.inf], [np.nan, 2.0]], missing=True)
    with pytest.raises(DataError, match="NaN"):
        Table.of(sp.csr_array([[1.0, np.nan]]), missing=True)


def test_values_that_are_not_numbers() -> None:
    objects = np.ones((5, 3), dtype=object)
    objects[0, 2], objects[4, 2] = {"foo": "bar"}, "seven"
    # the words in which numpy says it, and which scikit-learn's checks look for
    with pytest.raises(NonNumericError, match=r"argument must be .* string.* number") as caught:
        Table.of(objects)
    assert "column 2 has 2 values" in str(caught.value)
    assert "{'foo': 'bar'}" in str(caught.value)
    assert isinstance(caught.value, TypeError)
    with pytest.raises(NonNumericError, match=says("column 'b' (index 1) has 1 value", "'x'")):
        Table.of(pd.DataFrame({"a": [1, 2], "b": np.array([1, "x"], dtype=object)}))
    with pytest.raises(NonNumericError, match="column 0 has 1 value"):
        Table.of(np.array([[1, "a" * 100], ["b", 2]], dtype=object))


@pytest.mark.parametrize(
    "data",
    [
        np.array([["a", "b"]]),
        [[1, "b"]],
        np.array([[b"a"]]),
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        np.array([[1]], dtype="timedelta64[s]"),
        np.zeros((2, 2), dtype=[("a", float)]),
    ],
    ids=str,
)
def test_arrays_of_other_types(data: Any) -> None:
    with pytest.raises(NonNumericError, match="does not hold numbers"):
        Table.of(data)


def test_frame_columns_of_other_types() -> None:
    for frame in (
        pd.DataFrame({"a": [1, 2], "when": pd.to_timedelta([1, 2], unit="s")}),
        pl.DataFrame({"a": [1, 2], "when": [[1], [2]]}),
        pl.DataFrame({"a": [1, 2], "when": [b"x", b"y"]}),
    ):
        # early versions of narwhals do not know bytes: these are then values that are no numbers
        with pytest.raises(NonNumericError, match=r"column 'when' \(index 1\) (holds|has)"):
            Table.of(frame)


def test_complex_numbers() -> None:
    for data in (X + 1j, sp.csr_array(X + 1j), [[1j]]):
        with pytest.raises(DataError, match="Complex data not supported"):
            Table.of(data)


@pytest.mark.parametrize(
    "data", [X[0], [1, 2, 3], 3.0, pd.Series([1, 2]), pl.Series([1, 2]), sp.coo_array([1, 0, 2])]
)
def test_too_few_dimensions(data: Any) -> None:
    with pytest.raises(DataError, match="Reshape your data"):
        Table.of(data)


def test_other_shapes() -> None:
    with pytest.raises(DataError, match="Found array with dim 3"):
        Table.of(np.zeros((2, 2, 2)))
    with pytest.raises(DataError, match="cannot be made into one table"):
        Table.of([[1, 2], [3]])
    with pytest.raises(DataError, match="collect"):
        Table.of(pl.DataFrame(COLUMNS).lazy())


def test_empty() -> None:
    no_rows = says("Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required.")
    no_columns = says("0 feature(s) (shape=(12, 0)) while a minimum of 1 is required.")
    for data in (
        np.empty((0, 3)),
        sp.csr_array((0, 3)),
        pd.DataFrame(X, columns=list(NAMES))[:0],
        pl.DataFrame(COLUMNS).select("age", "size", "colour")[:0],
    ):
        with pytest.raises(DataError, match=no_rows):
            Table.of(data)
    for data in (np.empty((12, 0)), sp.csr_array((12, 0)), pd.DataFrame(index=range(12))):
        with pytest.raises(DataError, match=no_columns):
            Table.of(data)
    with pytest.raises(DataError, match="minimum of 1"):
        Table.of(pl.DataFrame())


def test_names_must_fit() -> None:
    with pytest.raises(DataError, match=says("duplicate column names: 'a' (2 times);")):
        Table.of(X, names=["a", "b", "a"])
    for frame in (pd.DataFrame(X, columns=["a", "b", "a"]), pd.DataFrame(X, columns=["1", 1, "a"])):
        with pytest.raises(DataError, match="duplicate column names"):
            Table.of(frame)
    with pytest.raises(DataError, match="2 names were given for 3 columns"):
        Table.of(X, names=["a", "b"])
    with pytest.raises(DataError, match="name of column 1 must be a string, got 7"):
        Table.of(X, names=["a", 7, "c"])  # type: ignore[list-item]  # the wrong type is the point


# ------------------------------------------------------------------ the class


@given(hnp.arrays(np.int64, (5, 3), elements=st.integers(-2, 2)), st.lists(st.integers(-5, 4)))
def test_take_is_numpy_indexing(values: np.ndarray, rows: list[int]) -> None:
    chosen = np.array(rows, dtype=np.intp)
    for data in (values, sp.csr_array(values)):
        taken = Table.of(data, names=NAMES).take(rows)
        dense = taken.values.toarray() if taken.is_sparse else taken.values
        np.testing.assert_array_equal(dense, values[chosen])
        assert taken.names == NAMES
    mask = values[:, 0] > 0
    np.testing.assert_array_equal(Table.of(values).take(mask).values, values[mask])
    np.testing.assert_array_equal(Table.of(values).take(slice(3)).values, values[:3])


def test_equality_and_repr() -> None:
    table = Table.of(X, NAMES)
    assert table != Table.of(X)
    assert table != Table.of(X.astype(np.float32), NAMES)
    assert table != Table.of(X + 1, NAMES)
    assert table != X.tolist()
    assert Table.of(sp.csr_array(X)) != Table.of(sp.csr_array(2 * X))
    assert repr(table) == "Table(2 rows × 3 columns, dense float64)"
    assert repr(Table.of(sp.csr_array(X))) == "Table(2 rows × 3 columns, sparse float64, nnz 4)"
    assert repr(Table.of(pl.DataFrame(COLUMNS))).endswith("dense float64, 1 of categories)")
    with pytest.raises(TypeError, match="unhashable"):
        hash(table)
