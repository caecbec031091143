from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tsenet.data import BinaryRows
from tsenet.errors import DataError

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
