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

from tsenet.data import BinaryRows, Table
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
        np.ma.MaskedArray(X, mask=False),
        X.astype(">f8"),
        X.astype(np.longdouble),
        _NotAnArray(X),
        pd.DataFrame(X),
        np.pad(X, 2)[2:-2, 2:-2],
    ],
    ids=lambda data: type(data).__name__ + str(getattr(data, "dtype", "")),
)
def test_dense_inputs_give_one_table(data: Any) -> None:
    table = Table.of(data)
    assert table == Table.of(X)
    assert type(table.values) is np.ndarray
    assert table.values.dtype == np.dtype(float)
    assert table.names == ("x0", "x1", "x2")
    assert not table.named
    assert table.levels == (None, None, None)
    assert (table.shape, table.n_rows, table.n_columns, table.is_sparse) == ((2, 3), 2, 3, False)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_formats_give_one_table(form: str, kind: str) -> None:
    table = Table.of(getattr(sp, f"{form}_{kind}")(X))
    assert table == Table.of(sp.csr_array(X))
    assert table.is_sparse
    assert table != Table.of(X)
    np.testing.assert_array_equal(table.values.toarray(), X)


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
    assert Table.of(X, names=["a", 7, "c"]).names == ("a", "7", "c")  # type: ignore[list-item]  # the point
    table = Table.of(pd.DataFrame(X, columns=[10, 20, 30]))
    assert (table.names, table.named) == (("10", "20", "30"), True)


# ------------------------------------------------------------------ what is refused


def says(*parts: str) -> str:
    return "(?s)" + ".*".join(map(re.escape, parts))


def holed(value: float) -> np.ndarray:
    data = np.ones((9, 4))
    data[2:5, 1] = value
    data[0, 3] = value
    return data


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_names_the_column_and_the_count(value: float) -> None:
    names = ["a", "b", "c", "d"]
    for data in (holed(value), holed(value).astype(np.float32), sp.csc_array(holed(value))):
        with pytest.raises(DataError, match=says("column 1 has 3 ", "infinite values", "1 other")):
            Table.of(data)
    for frame in (pd.DataFrame(holed(value), columns=names), pl.DataFrame(holed(value), names)):
        with pytest.raises(DataError, match=says("column 'b' (index 1) has 3 ", "drop")):
            Table.of(frame)


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
    kept = Table.of(frame)
    assert np.isnan(kept.values[:, 1]).tolist() == [False, True, True]
    assert Table.of(kept) is kept
    assert kept == Table.of(frame)


def test_masked_values_are_missing() -> None:
    masked = np.ma.MaskedArray(X, mask=[[1, 0, 0], [0, 1, 0]])
    assert np.array_equal(np.isnan(Table.of(masked).values), masked.mask)


def test_infinity_beside_gaps_and_sparse_gaps_are_refused() -> None:
    with pytest.raises(DataError, match="infinite"):
        Table.of([[1.0, np.inf], [np.nan, 2.0]])
    with pytest.raises(DataError, match="NaN"):
        Table.of(sp.csr_array([[1.0, np.nan]]))


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


NO_ROWS = "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required."
NO_COLUMNS = "0 feature(s) (shape=(12, 0)) while a minimum of 1 is required."


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array([["a", "b"]]), "does not hold numbers"),
        ([[1, "b"]], "does not hold numbers"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "does not hold numbers"),
        (X + 1j, "Complex data not supported"),
        (sp.csr_array(X + 1j), "Complex data not supported"),
        ([[1j]], "Complex data not supported"),
        (X[0], "Reshape your data"),
        (3.0, "Reshape your data"),
        (pd.Series([1, 2]), "Reshape your data"),
        (pl.Series([1, 2]), "Reshape your data"),
        (sp.coo_array([1, 0, 2]), "Reshape your data"),
        (np.zeros((2, 2, 2)), "Found array with dim 3"),
        ([[1, 2], [3]], "cannot be made into one table"),
        (pl.DataFrame(COLUMNS).lazy(), "collect"),
        (np.empty((0, 3)), NO_ROWS),
        (sp.csr_array((0, 3)), NO_ROWS),
        (pd.DataFrame(X, columns=list(NAMES))[:0], NO_ROWS),
        (pl.DataFrame(COLUMNS).select("age", "size", "colour")[:0], NO_ROWS),
        (np.empty((12, 0)), NO_COLUMNS),
        (sp.csr_array((12, 0)), NO_COLUMNS),
        (pd.DataFrame(index=range(12)), NO_COLUMNS),
        (pl.DataFrame(), "minimum of 1"),
        (pd.DataFrame(X, columns=["a", "b", "a"]), "duplicate column names: 'a' occurs 2 times;"),
        (pd.DataFrame(X, columns=["1", 1, "a"]), "duplicate column names"),
        (
            pd.DataFrame({"when": pd.to_timedelta([1, 2], unit="s")}),
            "column 'when' (index 0) holds",
        ),
        (pl.DataFrame({"when": [[1], [2]]}), "column 'when' (index 0) holds"),
    ],
)
def test_what_is_no_table(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=says(message)):
        Table.of(data)


def test_names_must_fit() -> None:
    for names, message in (
        (["a", "b", "a"], "duplicate column names: 'a' occurs 2 times;"),
        (["a", "b"], "2 names were given for 3 columns"),
    ):
        with pytest.raises(DataError, match=message):
            Table.of(X, names=names)


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


# ------------------------------------------------------------------ damaged sparse matrices

DENSE = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 5]])


@pytest.mark.parametrize(
    ("form", "part", "value"),
    [
        ("csr", "indices", [1, 3, 0, 2, 99]),
        ("csr", "indices", [1, 3, 0, 2, -1]),
        ("csc", "indices", [1, 0, 99, 0, 2]),
        ("bsr", "indices", [1, 3, 0, 2, 99]),
        ("csr", "indptr", [0, 3, 2, 5]),
        ("csc", "indptr", [0, 1, 2, 3, 99]),
        ("csr", "data", [1, 2]),
    ],
)
def test_damaged_sparse_matrices_are_refused(form: str, part: str, value: list[int]) -> None:
    matrix = sp.csr_array(DENSE).asformat(form)
    setattr(matrix, part, np.array(value))
    for read in (Table.of, BinaryRows.of_csr):
        with pytest.raises(DataError, match="damaged"):
            read(matrix)


@pytest.mark.parametrize("dtype", [np.int64, ">i4"])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_matrices_of_any_index_type(form: str, dtype: Any) -> None:
    matrix = sp.csr_array(DENSE).asformat(form)
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    table = Table.of(matrix)
    np.testing.assert_array_equal(table.values.toarray(), DENSE)
    assert table.values.indices.dtype == table.values.indptr.dtype == np.dtype(np.int32)


@pytest.mark.parametrize("form", ["dia", "lil"])
def test_diagonals_and_lists_of_wrong_lengths_are_refused(form: str) -> None:
    """SciPy would read past the end of an array."""
    matrix = sp.eye_array(4, 8).asformat(form)
    if form == "dia":
        matrix.offsets = np.array([-3, -2], np.int32)
    else:
        matrix.data[1] = [1.0, 2.0]
    with pytest.raises(DataError, match="is damaged"):
        Table.of(matrix)


def test_texts_that_no_file_can_hold_are_refused() -> None:
    cells = pd.Series(["x"] * 12 + ["\ud800"], dtype=object)
    frame = pd.DataFrame({"n": range(13), "c": cells})
    with pytest.raises(DataError, match=r"column 'c' .* lone surrogate.*'.ud800'"):
        Table.of(frame)
    with pytest.raises(DataError, match="a column name holds a lone surrogate"):
        Table.of([[1, 2]], names=["\udc00", "b"])


def test_one_row_of_a_frame_is_shown_how_to_give() -> None:
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(DataError, match=r"write frame\.iloc\[\[0\]\]"):
        Table.of(frame.iloc[0])
