"""The binary variables of a table, from which the structure is learned (paper section 3).

:class:`BinaryRows` are the data in this form: a CSR matrix without values, 4 bytes per variable that is on. A
:class:`BinaryRule` says how columns become variables. It is learned once, from the training table, and stored with the
tree, so that new rows are cut at the same thresholds. The network is trained on the original values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.table import (
    MAX_COLUMNS,
    Levels,
    Table,
    canonical_csr,
    default_names,
    equal_fields,
    is_canonical,
)
from tsenet.errors import DataError, count_of, listed

# A column with more levels than this, and more than half as many levels as rows, is text or a key.
_MAX_LEVELS = 100

# Each dense column is compared with each other: 10,000 take seconds, 50,000 minutes.
_MAX_DENSE_COLUMNS = 50_000

# Cells copied or compared at a time: 32 MB of float64.
_BLOCK = 1 << 22

# Smallest share of zeros for the most common value 0 to mean "absent".
_PRESENCE_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class BinaryRows:
    """N rows of `n_columns` binary variables, stored as lists of the columns that are on.

    Attributes
    ----------
    indptr : ndarray of int64, shape (N + 1,)
        The columns that are on in row ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.
    indices : ndarray of int32, shape (nnz,)
        Columns that are on, strictly increasing within a row.
    n_columns : int
        Number of binary variables.

    Examples
    --------
    >>> from tsenet.data import BinaryRows
    >>> rows = BinaryRows.of_dense([[1, 0, 1], [0, 0, 1]])
    >>> rows
    BinaryRows(2 rows × 3 columns, nnz 3, 50 % on)
    >>> rows.counts().tolist()
    [1, 0, 2]
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    n_columns: int

    def __post_init__(self) -> None:
        # Only cheap checks here; those that need a pass over the data are in validate().
        indptr = self.indptr
        indices = self.indices
        if indptr.dtype != np.int64 or indices.dtype != np.int32:
            raise DataError(f"BinaryRows of {indptr.dtype}, {indices.dtype}: int64, int32 needed")
        if indptr.ndim != 1 or not indptr.size or (indptr[0], indptr[-1]) != (0, indices.size):
            raise DataError(f"BinaryRows.indptr must run from 0 to {indices.size}, the indices")

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return int(self.indptr.size) - 1

    @property
    def nnz(self) -> int:
        """Number of entries that are on."""
        return int(self.indices.size)

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_rows, n_columns)``."""
        return self.n_rows, self.n_columns

    def __repr__(self) -> str:
        cells = self.n_rows * self.n_columns
        share = f", {100 * self.nnz / cells:.3g} % on" if cells else ""
        return f"BinaryRows({self.n_rows} rows × {self.n_columns} columns, nnz {self.nnz}{share})"

    __eq__ = equal_fields
    __hash__ = None  # type: ignore[assignment]  # holds arrays, so it is not hashable

    def validate(self) -> None:
        """Check every row: positions ascend, columns are in range and strictly increasing.

        Raises
        ------
        DataError
            If one is invalid.

        Examples
        --------
        >>> import numpy as np
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows(np.array([0, 2]), np.array([4, 1], np.int32), 5).validate()
        Traceback (most recent call last):
            ...
        tsenet.errors.DataError: column indices must be within 0..4 and increase within each row
        """
        if not is_canonical(self.to_csr()):
            most = self.n_columns - 1
            raise DataError(f"column indices must be within 0..{most} and increase within each row")

    def counts(self) -> npt.NDArray[np.int64]:
        """Count the rows in which each column is on.

        Returns
        -------
        ndarray of int64, shape (n_columns,)

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[1, 0], [1, 1]]).counts().tolist()
        [2, 1]
        """
        total = np.zeros(self.n_columns, dtype=np.int64)
        step = max(_BLOCK, self.n_columns)
        for start in range(0, self.nnz, step):
            block = self.indices[start : start + step]
            total += np.bincount(block, minlength=self.n_columns)
        return total

    def transpose(self) -> BinaryRows:
        """Return the transpose: row ``j`` of the result lists the rows in which column ``j`` is on.

        Time is O(nnz + n_rows + n_columns); memory is the result plus two bytes per entry.

        Returns
        -------
        BinaryRows, shape (n_columns, n_rows)

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[1, 0, 1]]).transpose().to_dense().tolist()
        [[True], [False], [True]]
        """
        return _without_values(self.to_csr().tocsc(), self.n_rows)

    def take(self, rows: Any) -> BinaryRows:
        """Return some of the rows, in the given order.

        Parameters
        ----------
        rows : slice, array of int, or boolean mask of shape (n_rows,)
            Which rows, as in numpy indexing.

        Returns
        -------
        BinaryRows

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[1, 0], [0, 1]]).take([1, 1]).to_dense().astype(int).tolist()
        [[0, 1], [0, 1]]
        """
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.n_rows)
            if step == 1:  # a range shares its columns with the whole
                indptr = self.indptr[start : max(start, stop) + 1]
                indices = self.indices[indptr[0] : indptr[-1]]
                return BinaryRows(indptr - indptr[0], indices, self.n_columns)
        chosen = np.arange(self.n_rows)[rows]
        return _without_values(self.to_csr()[chosen], self.n_columns)

    def first_columns(self, n_columns: int) -> BinaryRows:
        """Return the rows with their first columns alone.

        Parameters
        ----------
        n_columns : int
            How many, at most as many as there are.

        Returns
        -------
        BinaryRows

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> rows = BinaryRows.of_dense([[1, 0, 1], [0, 1, 1]])
        >>> rows.first_columns(2).to_dense().astype(int).tolist()
        [[1, 0], [0, 1]]
        """
        if n_columns == self.n_columns:
            return self
        is_first = self.indices < n_columns
        n_before = np.concatenate([[0], np.cumsum(is_first, dtype=np.int64)])
        return BinaryRows(n_before[self.indptr], self.indices[is_first], n_columns)

    def to_csr(self) -> sp.csr_array:
        """Return a scipy sparse array.

        Returns
        -------
        csr_array of uint8, shape (n_rows, n_columns)
            1 where on.

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[True, False]]).to_csr().toarray().tolist()
        [[1, 0]]
        """
        ones = np.ones(self.nnz, dtype=np.uint8)
        # scipy uses one type for both index arrays: with a 64-bit indptr it would widen the indices.
        indptr = self.indptr.astype(np.int32) if self.nnz <= MAX_COLUMNS else self.indptr
        return sp.csr_array((ones, self.indices, indptr), shape=self.shape)

    def to_dense(self) -> npt.NDArray[np.bool_]:
        """Return a dense array; only for small data.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_columns)

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[3, 0]]).to_dense().tolist()
        [[True, False]]
        """
        dense: npt.NDArray[np.uint8] = self.to_csr().toarray()
        return dense.view(np.bool_)

    @classmethod
    def of_csr(cls, matrix: Any) -> BinaryRows:
        """Return binary rows that are on where a sparse matrix is not zero.

        Parameters
        ----------
        matrix : scipy sparse matrix or array, shape (N, V)
            Any format. It is not changed. Its index array is shared if it is int32, sorted and
            without duplicates and stored zeros. Duplicate entries are summed first, so a pair that
            sums to zero is off.

        Returns
        -------
        BinaryRows

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_csr(sp.csr_array([[0, 2], [5, 0]])).indices.tolist()
        [1, 0]
        """
        csr = canonical_csr(matrix)
        return _without_values(csr, csr.shape[1])

    @classmethod
    def of_dense(cls, values: npt.ArrayLike) -> BinaryRows:
        """Return binary rows that are on where a dense array is not zero.

        Parameters
        ----------
        values : array-like, shape (N, V)
            Numbers or booleans.

        Returns
        -------
        BinaryRows

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[0, 2], [5, 0]]).indices.tolist()
        [1, 0]
        """
        on = np.asarray(values) != 0
        if on.ndim != 2:
            raise DataError(f"expected a 2-D array, got {on.ndim}-D")
        return _without_values(sp.csr_array(on), on.shape[1])

    def columns(self, start: int, stop: int) -> BinaryRows:
        """Return a range of the columns, numbered from 0.

        Parameters
        ----------
        start, stop : int
            The columns from `start` to `stop` − 1.

        Returns
        -------
        BinaryRows, shape (n_rows, stop − start)

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[1, 0, 1]]).columns(1, 3).to_dense().tolist()
        [[False, True]]
        """
        return _without_values(self.to_csr()[:, start:stop], stop - start)

    @classmethod
    def concatenate(cls, parts: Iterable[BinaryRows]) -> BinaryRows:
        """Stack the rows of several parts with the same columns.

        Parameters
        ----------
        parts : iterable of BinaryRows
            At least one.

        Returns
        -------
        BinaryRows

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> rows = BinaryRows.of_dense([[1, 0]])
        >>> BinaryRows.concatenate([rows, rows]).shape
        (2, 2)
        """
        stacked = sp.vstack([part.to_csr() for part in parts], format="csr")
        return _without_values(stacked, stacked.shape[1])


def _without_values(compressed: Any, n_columns: int) -> BinaryRows:
    """Keep the positions of a canonical csr (or csc, read as its transpose) array."""
    # Read-only arrays (memory maps) would make every numba kernel compile a second time.
    indices = np.require(compressed.indices, dtype=np.int32, requirements=["C", "W"])
    indptr = np.require(compressed.indptr, dtype=np.int64, requirements=["C", "W"])
    return BinaryRows(indptr, indices, int(n_columns))


# ---- the rule


@dataclass(frozen=True, eq=False)
class BinaryRule:
    """How each input column becomes binary variables; made with :meth:`learn`.

    A numeric column gives one variable, which is on where the value is above the column's
    threshold. A column of categories gives one variable per level. A missing value switches on no
    variable.

    Attributes
    ----------
    names_in : tuple of str, length V
        Names of the input columns.
    thresholds : ndarray of float64, shape (V,)
        A column is on where its value is greater. NaN for a column of categories.
    presence : ndarray of bool, shape (V,)
        Whether the column is on where it is present, that is, above 0. Its variable then has the
        column's own name.
    levels : tuple of (tuple of str, or None), length V
        The levels of a column of categories, None for a numeric column. Levels that did not occur
        in the training table switch on no variable.
    named : bool
        Whether the training table had column names. If so, tables with other names are refused.

    Examples
    --------
    >>> from tsenet.data import BinaryRule, Table
    >>> table = Table.of([[0, 1.5], [3, 2.0], [0, 4.0], [0, 8.0]], names=["clicks", "age"])
    >>> rule = BinaryRule.learn(table)
    >>> rule.names
    ('clicks', 'age > 3')
    >>> rule.apply(table).to_dense().astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [0, 1]]
    """

    names_in: tuple[str, ...]
    thresholds: npt.NDArray[np.float64]
    presence: npt.NDArray[np.bool_]
    levels: tuple[Levels, ...]
    named: bool = True

    @classmethod
    def learn(cls, table: Table) -> BinaryRule:
        """Choose a threshold for each column of a training table.

        The columns of a sparse table are on where they are not zero. A dense column is on above 0
        if 0 is its most common value and none is negative, as in counts; above its smaller value
        if it has two; and else above its median or its most common value. A constant column gives
        a constant variable.

        Parameters
        ----------
        table : Table
            The training rows.

        Returns
        -------
        BinaryRule

        Raises
        ------
        DataError
            For fewer than two rows, negative sparse values, or a string column of free text.

        Examples
        --------
        >>> import pandas as pd
        >>> from tsenet.data import BinaryRule, Table
        >>> frame = pd.DataFrame({"colour": ["red", "blue", "red"], "size": [1.0, 2.0, 5.0]})
        >>> BinaryRule.learn(Table.of(frame)).names
        ('colour=blue', 'colour=red', 'size > 2')
        """
        if table.n_rows < 2:
            raise DataError(
                f"at least two rows are needed to learn from, got n_samples = {table.n_rows}"
            )

        thresholds = np.zeros(table.n_columns)
        presence = np.ones(table.n_columns, dtype=bool)
        if table.is_sparse:
            negative = table.values.indices[table.values.data < 0]
            if negative.size:
                raise DataError(
                    f"Negative values in data: {table.label(int(negative.min()))} has some. Sparse data are read as "
                    "present or absent: give non-negative values, or a dense array, whose columns are cut at a "
                    "threshold"
                )
            return cls(table.names, thresholds, presence, table.levels, table.named)

        if table.n_columns > _MAX_DENSE_COLUMNS:
            raise DataError(
                f"the table has {table.n_columns:,} dense columns, at most {_MAX_DENSE_COLUMNS:,} can be compared with "
                "each other: choose some first, for example with sklearn.feature_selection.VarianceThreshold; or, if "
                "most values are 0, give a sparse table"
            )

        for j, levels in enumerate(table.levels):
            if levels is not None and is_free_text(len(levels), table.n_rows):
                raise DataError(
                    f"{table.label(j)} has {len(levels)} different values in {table.n_rows} rows: free text or a key, "
                    "not categories. Drop it, write dates as 2024-05-31, or make words of it with tsenet.data.vectorize"
                )

        numeric = np.array([levels is None for levels in table.levels])
        values = table.values if numeric.all() else table.values[:, numeric]
        if numeric.any():
            thresholds[numeric], presence[numeric] = column_thresholds(values)

        thresholds[~numeric] = np.nan
        presence[~numeric] = False
        return cls(table.names, thresholds, presence, table.levels, table.named)

    def apply(self, table: Table) -> BinaryRows:
        """Return the binary variables of a table with the same columns.

        A rule learned from a dense table applies to sparse tables too, and the other way round.

        Parameters
        ----------
        table : Table
            Any number of rows.

        Returns
        -------
        BinaryRows, shape (N, n_variables)

        Raises
        ------
        DataError
            If the number of columns, their names or order, or which of them hold categories
            differs from the training table.

        Examples
        --------
        >>> from tsenet.data import BinaryRule, Table
        >>> rule = BinaryRule.learn(Table.of([[1.0], [2.0], [4.0]]))
        >>> rule.apply(Table.of([[1.5], [3.0]])).to_dense().tolist()
        [[False], [True]]
        """
        self.check_columns(table)
        # A zero, which sparse rows do not store, is above a negative threshold.
        if table.is_sparse and not self.has_categories and not np.any(self.thresholds < 0):
            csr = table.values
            threshold = self.thresholds[csr.indices] if self.thresholds.any() else 0.0
            above = csr.data > threshold  # (nnz,)
            on = sp.csr_array((above, csr.indices, csr.indptr), shape=csr.shape)
            return BinaryRows.of_csr(on)

        step = max(1, _BLOCK // self.n_variables)
        starts = range(0, max(1, table.n_rows), step)
        code_maps = [self._code_map(table, int(j)) for j in self._category_columns]
        return BinaryRows.concatenate(
            self._apply_to_block(table.values[start : start + step], code_maps) for start in starts
        )

    @property
    def n_columns_in(self) -> int:
        """Number of input columns V."""
        return len(self.names_in)

    @property
    def n_variables(self) -> int:
        """Number of binary variables."""
        return int(self.sources.size)

    @cached_property
    def sources(self) -> npt.NDArray[np.int64]:
        """The input column of each binary variable, shape (n_variables,)."""
        sizes = [1 if levels is None else len(levels) for levels in self.levels]
        return np.repeat(np.arange(self.n_columns_in, dtype=np.int64), sizes)

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs of a network: a column of numbers by its name, a category as ``colour=red``."""
        return tuple(
            self.names_in[source] if self.levels[source] is None else name
            for name, source in zip(self.names, self.sources.tolist(), strict=True)
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Unique names of the binary variables: ``word``, ``age > 2.45`` or ``colour=red``."""
        proposed: list[str] = []
        columns = zip(self.names_in, self.thresholds, self.presence, self.levels, strict=True)
        for name, threshold, present, levels in columns:
            if levels is not None:
                proposed.extend(f"{name}={level}" for level in levels)
            elif present:
                proposed.append(name)
            else:
                proposed.append(f"{name} > {_threshold_text(float(threshold))}")
        return _unique_names(proposed, self.sources)

    def __repr__(self) -> str:
        return (
            f"BinaryRule({count_of(self.n_columns_in, 'column')} give "
            f"{count_of(self.n_variables, 'binary variable')})"
        )

    __eq__ = equal_fields
    __hash__ = None  # type: ignore[assignment]  # holds arrays, so it is not hashable

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as values that JSON can store.

        Returns
        -------
        dict
            Columns without threshold and levels are cut by presence.

        Examples
        --------
        >>> from tsenet.data import BinaryRule, Table
        >>> rule = BinaryRule.learn(Table.of([[1.0], [2.0], [4.0]]))
        >>> rule.to_dict()
        {'n_columns_in': 1, 'names_in': None, 'thresholds': {'0': 2.0}, 'levels': {}}
        """
        cut = np.flatnonzero(~self.presence & ~np.isnan(self.thresholds))
        return {
            "n_columns_in": self.n_columns_in,
            "names_in": list(self.names_in) if self.named else None,
            "thresholds": {str(j): float(self.thresholds[j]) for j in cut},
            "levels": {str(j): list(self.levels[j] or ()) for j in self._category_columns},
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], n_variables: int | None = None) -> BinaryRule:
        """Rebuild the rule that :meth:`to_dict` described.

        Parameters
        ----------
        fields : mapping
            The result of :meth:`to_dict`.
        n_variables : int, default=None
            Number of variables the rule must make. Give it for fields from a file, where a few bytes could claim any
            number of columns.

        Returns
        -------
        BinaryRule
            Equal to the original.

        Raises
        ------
        DataError
            If the fields do not describe a rule.

        Examples
        --------
        >>> from tsenet.data import BinaryRule, Table
        >>> rule = BinaryRule.learn(Table.of([[1.0], [2.0], [4.0]]))
        >>> BinaryRule.from_dict(rule.to_dict()) == rule
        True
        """
        try:
            n_columns = int(fields["n_columns_in"])
            made = n_columns + sum(len(texts) - 1 for texts in fields["levels"].values())
            if n_variables is not None and made != n_variables:
                raise ValueError(f"{n_columns} columns make {made} variables, not {n_variables}")

            named = fields["names_in"] is not None
            names = tuple(fields["names_in"]) if named else default_names(n_columns)
            if len(names) != n_columns or not all(isinstance(name, str) for name in names):
                raise ValueError(f"{n_columns} names of columns are needed")

            column = {str(j): j for j in range(n_columns)}
            thresholds = np.zeros(n_columns)
            presence = np.ones(n_columns, dtype=bool)
            levels: list[Levels] = [None] * n_columns
            for key, threshold in fields["thresholds"].items():
                if not math.isfinite(threshold):
                    raise ValueError(f"threshold {threshold} of column {key}")
                thresholds[column[key]] = threshold
                presence[column[key]] = False

            for key, texts in fields["levels"].items():
                j = column[key]
                if not all(isinstance(text, str) for text in texts) or not presence[j]:
                    raise ValueError(f"levels of column {key}")
                thresholds[j] = np.nan
                presence[j] = False
                levels[j] = tuple(texts)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise DataError(f"these are not the fields of a BinaryRule: {error}") from error
        return cls(names, thresholds, presence, tuple(levels), named)

    @property
    def has_categories(self) -> bool:
        """Whether a column holds categories."""
        return self._category_columns.size > 0

    @cached_property
    def _category_columns(self) -> npt.NDArray[np.int64]:
        """Input columns that hold categories."""
        return np.array([j for j, levels in enumerate(self.levels) if levels is not None], np.int64)

    def check_columns(self, table: Table) -> None:
        """Raise a DataError if the columns of a table differ from those of the training table.

        Parameters
        ----------
        table : Table

        Raises
        ------
        DataError
            Saying which columns differ.

        Examples
        --------
        >>> from tsenet.data import BinaryRule, Table
        >>> rule = BinaryRule.learn(Table.of([[1.0], [2.0], [4.0]]))
        >>> rule.check_columns(Table.of([[1.0, 2.0]]))
        Traceback (most recent call last):
            ...
        tsenet.errors.DataError: the table has 2 columns, but had 1 in training
        """
        in_training = self.names_in
        in_table = table.names
        # Comparing thousands of equal names takes longer than a prediction; the same tuple needs no comparison.
        may_differ = self.named and table.named and in_training is not in_table
        if may_differ and in_training != in_table:
            missing = listed(sorted(set(in_training) - set(in_table)))
            unknown = listed(sorted(set(in_table) - set(in_training)))
            advice = "" if missing else "; take X[list(rule.names_in)]"
            raise DataError(
                "the table must have the columns of training, in their order: "
                f"missing are {missing or 'none'}, unknown are {unknown or 'none'}{advice}"
            )

        if len(in_training) != len(in_table):
            raise DataError(
                f"the table has {len(in_table)} columns, but had {len(in_training)} in training"
            )
        if self.levels is table.levels or self.levels == table.levels:
            return

        for j, (old, new) in enumerate(zip(self.levels, table.levels, strict=True)):
            if (old is None) != (new is None) and not _all_missing(table, j):
                change = "numbers in training, now categories"
                if old is not None:
                    change = "categories in training, now numbers"
                raise DataError(f"{table.label(j)} held {change}")

    def _code_map(self, table: Table, column: int) -> npt.NDArray[np.int64]:
        """Return the binary variable of each level code of the table; -1 for an unseen level."""
        first = int(np.searchsorted(self.sources, column))
        variable = {level: first + k for k, level in enumerate(self.levels[column] or ())}
        return np.array([variable.get(level, -1) for level in table.levels[column] or ()], np.int64)

    def _apply_to_block(self, block: Any, code_maps: list[npt.NDArray[np.int64]]) -> BinaryRows:
        """Return the binary variables of a block of rows (n, V)."""
        values = block.toarray() if sp.issparse(block) else block
        if not code_maps:
            return BinaryRows.of_dense(values > self.thresholds)

        on = np.zeros((len(values), self.n_variables), dtype=bool)
        numeric = np.flatnonzero(~np.isnan(self.thresholds))
        variables = np.searchsorted(self.sources, numeric)
        on[:, variables] = values[:, numeric] > self.thresholds[numeric]

        for j, code_map in zip(self._category_columns, code_maps, strict=True):
            rows = np.flatnonzero(~np.isnan(values[:, j]))
            codes = values[rows, j].astype(np.int64)
            variables = code_map[codes]
            is_known = variables >= 0
            on[rows[is_known], variables[is_known]] = True
        return BinaryRows.of_dense(on)


def _all_missing(table: Table, column: int) -> bool:
    """Return whether all values of a column are missing: nothing shows then what it holds."""
    return not table.is_sparse and bool(np.isnan(table.values[:, column]).all())


def is_free_text(n_levels: int, n_rows: int) -> bool:
    """Return whether a column with this many different texts is free text or a key, not categories."""
    return n_levels > _MAX_LEVELS and 2 * n_levels > n_rows


# ---- names


def _threshold_text(threshold: float) -> str:
    """Write a threshold short enough for a name: ``3``, ``2.45``, ``1.5e-07``."""
    if threshold.is_integer() and abs(threshold) < 1e15:
        return str(int(threshold))
    return f"{threshold:.6g}"


def _unique_names(proposed: Sequence[str], columns: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """Return the names, with the number of the column added to one that another has already.

    Names can be equal if one column is named like the variable of another, such as ``a > 2``.
    """
    names: dict[str, None] = {}
    for name, column in zip(proposed, columns.tolist(), strict=True):
        unique = name
        while unique in names:
            unique += f" (column {column})"
        names[unique] = None
    return tuple(names)


# ---- thresholds


def column_thresholds(
    values: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Choose for each dense column the threshold above which it is on.

    The first rule that fits decides:

    1. A constant column: its value, so that it is never on (if it is 0: presence).
    2. Two distinct values: the smaller one, so that the larger is on.
    3. No negative value, and 0 more common than any other value and in at least a tenth of the
       rows: 0, that is, presence. So counts give the same variables dense and sparse. (Without the
       limit of a tenth, a column scaled to 0..1 would be on in all rows but its smallest.)
    4. One value in more than half of the rows: that value.
    5. Else the median.

    If rule 4 or 5 gives the maximum, the largest value below it is taken. Missing values are left out.

    Parameters
    ----------
    values : ndarray, shape (N, V)
        Finite numbers, or NaN where missing; N >= 1.

    Returns
    -------
    thresholds : ndarray of float64, shape (V,)
    presence : ndarray of bool, shape (V,)
        Whether the threshold means "present": it is 0 and no value was negative.
    """
    n_rows, n_columns = values.shape
    thresholds = np.zeros(n_columns)
    presence = np.ones(n_columns, dtype=bool)
    step = max(1, _BLOCK // n_rows)
    # "stable" is a radix sort for 8- and 16-bit integers (pixels), and slower for all others.
    kind: Literal["stable"] | None = "stable" if values.dtype.itemsize <= 2 else None

    for start in range(0, n_columns, step):
        block = np.ascontiguousarray(values[:, start : start + step].T)  # (columns, N)
        zeros = n_rows - np.count_nonzero(block, axis=1)
        # Half the values zero and none negative means presence: most columns need no sorting.
        least = block.min(axis=1)  # NaN if a value is missing
        unclear = np.flatnonzero((2 * zeros < n_rows) | ~(least >= 0))
        for k in unclear:
            ascending = np.sort(block[k], kind=kind)  # NaN comes last
            if np.isnan(least[k]):
                ascending = ascending[: n_rows - np.count_nonzero(np.isnan(ascending))]
            if ascending.size:
                thresholds[start + k], presence[start + k] = _threshold(ascending)

    return thresholds, presence


def _threshold(ascending: npt.NDArray[Any]) -> tuple[float, bool]:
    """Return threshold and presence of one column, given its sorted values (N,)."""
    n_rows = ascending.size
    lowest = float(ascending[0]) + 0.0  # −0.0 becomes 0.0
    highest = float(ascending[-1])
    changes = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
    if changes.size <= 1:
        return lowest, lowest == 0

    # Runs of equal values.
    edges = np.concatenate(([0], changes, [n_rows]))
    lengths = np.diff(edges)

    # Of runs of equal length the last: presence needs 0, the first run, to be the only longest.
    longest = lengths.size - 1 - int(np.argmax(lengths[::-1]))
    if lowest == 0 and longest == 0 and lengths[0] >= _PRESENCE_SHARE * n_rows:
        return 0.0, True

    if 2 * lengths[longest] > n_rows:
        centre = float(ascending[edges[longest]])
    else:
        # Halved before adding: two huge values must not overflow.
        middle = ascending[[(n_rows - 1) // 2, n_rows // 2]].astype(np.float64)
        centre = float(middle[0] * 0.5 + middle[1] * 0.5)

    if centre >= highest:
        centre = float(ascending[changes[-1] - 1])

    return centre, False
