"""A text with columns of numbers and categories beside it: both become one sparse table.

The words of the text are counted. A category is one column of 0 and 1 for each level. A number is one column of 0 and 1
for each of a few thresholds, on where it is greater, and one for missing: a linear model of these is a step function of
the number, and none of them is negative, so the whole row is a bag of words and of such facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table, is_frame
from tsenet.data.text import count_words, is_missing_text, texts_of, vectorize
from tsenet.errors import DataError, listed, quoted

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

    from tsenet.progress import Progress

# A column of numbers is cut at its deciles: enough steps for a curve, few enough for small tables. Not tuned.
_N_PARTS = 10


@dataclass(frozen=True)
class TextTable:
    """Texts and the columns beside them, row by row, as a file of rows gives them.

    Attributes
    ----------
    texts : list of str
    columns : Table
    """

    texts: list[str]
    columns: Table

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.columns.n_rows


class ColumnSteps:
    """How columns of numbers and categories become columns of 0 and 1.

    Parameters
    ----------
    rule : BinaryRule
        Names and levels of the columns.
    thresholds : sequence of float arrays
        Ascending thresholds of each column; none for one of categories.
    """

    def __init__(self, rule: BinaryRule, thresholds: Sequence[npt.ArrayLike]) -> None:
        self.rule = rule
        self.thresholds = [np.asarray(values, np.float64) for values in thresholds]
        if len(self.thresholds) != rule.n_columns_in:
            raise ValueError(f"there must be thresholds for {rule.n_columns_in} columns")
        for levels, values in zip(rule.levels, self.thresholds, strict=True):
            is_ascending = (
                values.ndim == 1 and np.isfinite(values).all() and (np.diff(values) > 0).all()
            )
            if not is_ascending or (levels is not None and values.size):
                raise ValueError("thresholds of a column of numbers must be finite and ascend")

    @classmethod
    def learn(cls, columns: Table) -> ColumnSteps:
        """Take the deciles of each column of numbers; of one with few values, the middles between them."""
        rule = BinaryRule.learn(columns)
        dense = columns.values.toarray() if columns.is_sparse else columns.values
        thresholds = []
        for levels, values in zip(rule.levels, dense.T.astype(np.float64), strict=True):
            if levels is not None:
                thresholds.append(np.empty(0))
                continue

            known = values[~np.isnan(values)]
            distinct = np.unique(known)
            if distinct.size > _N_PARTS:
                shares = np.arange(1, _N_PARTS) / _N_PARTS
                cuts = np.unique(np.quantile(known, shares))
                cuts = cuts[cuts < distinct[-1]]
            else:
                cuts = (distinct[1:] + distinct[:-1]) / 2
            thresholds.append(cuts)
        return cls(rule, thresholds)

    @classmethod
    def of_parts(cls, fields: Mapping[str, Any]) -> ColumnSteps:
        """What :meth:`MixedReader.to_parts` holds of the columns."""
        rule = BinaryRule.from_dict(fields["rule"])
        if not rule.named:
            raise ValueError("the columns beside a text must have names")
        return cls(rule, fields["thresholds"])

    @cached_property
    def sources(self) -> npt.NDArray[np.int64]:
        """The column that each column of 0 and 1 comes from: (J,)."""
        return np.repeat(np.arange(len(self.thresholds)), self._sizes)

    @cached_property
    def _sizes(self) -> list[int]:
        """How many columns of 0 and 1 each column becomes: one more than thresholds, or one for each level."""
        levels = self.rule.levels
        return [
            cuts.size + 1 if known is None else len(known)
            for known, cuts in zip(levels, self.thresholds, strict=True)
        ]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of 0 and 1: ``price > 12.5``, ``price missing``, ``colour=red``."""
        names: list[str] = []
        for name, levels, cuts in zip(
            self.rule.names_in, self.rule.levels, self.thresholds, strict=True
        ):
            if levels is not None:
                names += [f"{name}={level}" for level in levels]
            else:
                names += [f"{name} > {cut:.9g}" for cut in cuts] + [f"{name} missing"]
        return tuple(names)

    def apply(self, columns: Table) -> sp.csr_array:
        """The columns of 0 and 1 of new rows: (N, J)."""
        binary = (
            self.rule.apply(columns).to_csr().tocsc()
        )  # a column for each level; one for numbers
        dense = columns.values.toarray() if columns.is_sparse else columns.values

        parts = []
        for j, (levels, cuts) in enumerate(zip(self.rule.levels, self.thresholds, strict=True)):
            if levels is not None:
                parts.append(binary[:, self.rule.sources == j])
                continue

            values = dense[:, j].astype(np.float64)  # (N,)
            with np.errstate(invalid="ignore"):
                above = values[:, None] > cuts
            parts.append(sp.csc_array(np.column_stack([above, np.isnan(values)])))
        return sp.csr_array(sp.hstack(parts, format="csr").astype(np.int32))

    def described(self, on: npt.NDArray[np.bool_]) -> dict[int, str]:
        """What the columns of 0 and 1 of a row, (J,), say about each column: ``12.5 < price ≤ 20``, ``colour=red``."""
        ends = np.cumsum([0, *self._sizes])
        texts = {}
        for j, (first, last) in enumerate(pairwise(ends.tolist())):
            states = on[first:last]
            name = self.rule.names_in[j]
            cuts = self.thresholds[j]
            if self.rule.levels[j] is not None:
                texts[j] = self.names[first + int(np.argmax(states))] if states.any() else name
            elif states[-1]:
                texts[j] = f"{name} missing"
            else:
                n_below = int(np.count_nonzero(states))
                low = f"{cuts[n_below - 1]:.4g} < " if n_below else ""
                high = f" ≤ {cuts[n_below]:.4g}" if n_below < cuts.size else ""
                texts[j] = f"{low}{name}{high}"
        return texts


class MixedReader:
    """How data frames of a text and other columns become the rows of a model.

    Parameters
    ----------
    text : str
        The column of the text.
    vectorizer : CountVectorizer
        Fitted; counts its words.
    steps : ColumnSteps
        Of the other columns.
    """

    def __init__(self, text: str, vectorizer: CountVectorizer, steps: ColumnSteps) -> None:
        self.text = text
        self.vectorizer = vectorizer
        self.steps = steps
        words = set(vectorizer.get_feature_names_out())
        if taken := [name for name in steps.names if name in words]:
            raise DataError(
                f"a word of the text is called as the column {quoted(taken[0])}: rename it"
            )

    @classmethod
    def learn(
        cls, given: TextTable, text: str, vectorizer: CountVectorizer, progress: Progress
    ) -> tuple[MixedReader, Table]:
        """Learn words and thresholds; return the rows, too. A vectorizer that is fitted already keeps its words."""
        if hasattr(vectorizer, "vocabulary_"):
            words = count_words(given.texts, vectorizer)
        else:
            words = vectorize(given.texts, vectorizer, progress=progress)
        reader = cls(text, vectorizer, ColumnSteps.learn(given.columns))
        return reader, reader._beside(words, given.columns)

    @property
    def n_words(self) -> int:
        """Number of words; the columns of 0 and 1 come after them."""
        return len(self.vectorizer.vocabulary_)

    def read(self, X: Any) -> Any:
        """The rows of a model: of a data frame with the columns of training, in any order; of a table as they are."""
        if isinstance(X, Table) or sp.issparse(X):
            return X
        if not isinstance(X, TextTable):
            X = split_frame(X, self.text, self.steps.rule.names_in)
        return self._beside(count_words(X.texts, self.vectorizer), X.columns)

    def _beside(self, words: Table, columns: Table) -> Table:
        values = sp.hstack([words.values, self.steps.apply(columns)], format="csr")
        return Table.of(sp.csr_array(values.astype(np.int32)), (*words.names, *self.steps.names))

    def to_parts(self) -> dict[str, Any]:
        """The file form; the words are kept elsewhere."""
        thresholds = [values.tolist() for values in self.steps.thresholds]
        return {"text": self.text, "rule": self.steps.rule.to_dict(), "thresholds": thresholds}

    @classmethod
    def from_parts(
        cls, fields: Mapping[str, Any], vectorizer: CountVectorizer, names: Sequence[str]
    ) -> MixedReader:
        """Rebuild a reader from :meth:`to_parts`; ``names`` are those of the rows that it must give."""
        if not isinstance(fields["text"], str):
            raise ValueError("the column of the text must have a name")
        reader = cls(fields["text"], vectorizer, ColumnSteps.of_parts(fields))
        if tuple(names) != (*vectorizer.get_feature_names_out(), *reader.steps.names):
            raise ValueError(
                "the columns of the rows are not the words and the columns beside them"
            )
        return reader


def split_frame(X: Any, text: str, columns: Sequence[str] | None = None) -> TextTable:
    """The texts of a data frame, and its other columns.

    Parameters
    ----------
    X : dataframe
    text : str
        The column of the texts.
    columns : sequence of str, optional
        Names of the other columns in training, for new rows; by default all.

    Raises
    ------
    DataError
        If ``X`` is not a data frame, lacks a column, or its text column does not hold texts.
    """
    if isinstance(X, TextTable):
        return X
    if not is_frame(X):
        raise DataError(
            f"text={text!r} names a column, so the rows must be a data frame with that column, "
            f"not a {type(X).__name__}"
        )

    import narwhals as nw
    import pandas as pd

    frame = nw.from_native(X, eager_only=True)
    if text not in frame.columns:
        raise DataError(
            f"there is no column {text!r} of texts: the columns are {listed(frame.columns)}"
        )

    cells = frame.get_column(text).to_list()
    for number, cell in enumerate(cells):
        is_missing = is_missing_text(cell) and bool(pd.isna(cell))
        if not isinstance(cell, str) and not is_missing:
            raise DataError(
                f"row {number} of the column {text!r} holds a {type(cell).__name__}, not a text: {quoted(cell)}"
            )

    others = frame.drop(text)
    if columns is not None:
        others = others.select(_needed(others.columns, columns))
    elif not others.columns:
        raise DataError(f"there is no column beside {text!r}: give the texts alone, X[{text!r}]")
    table = Table.of(nw.to_native(others), columns=columns)
    if not table.named:
        table = Table(table.values, table.names, table.levels)
    return TextTable(texts_of(cells), table)


def _needed(found: Sequence[str], trained: Sequence[str]) -> list[str]:
    """Which columns of a frame make those of training, in their order; dates have become three columns there."""
    needed: dict[str, None] = {}
    for name in trained:
        day = name.rpartition(": ")[0]
        source = day if name not in found and day in found else name
        if source not in found:
            raise DataError(
                f"the rows lack the column {quoted(name)}, which the model was fitted on"
            )
        needed[source] = None
    return list(needed)
