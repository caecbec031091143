"""Columns of a file that are not what they seem: numbers with stray cells, keys, values unknown to the model."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tsenet.data.binary import is_free_text
from tsenet.data.columns import quoted
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data.files import DataFile
    from tsenet.data.table import Table

__all__ = [
    "blank_marks",
    "is_number",
    "refuse_keys",
    "tell_odd_columns",
    "tell_unknown_texts",
    "tell_unknown_values",
    "without_marks",
]

# What other programs write where a number is missing, in lower case.
_MARKS = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "?", "-", ".", "\\n"})
# A date, a share or a price: begins with a digit, after a sign or one other character.
_WRITTEN_NUMBER = re.compile(r"[-+]?\D?\d")
# More categories than this, all of them digits, are more likely a quantity.
_MANY_CATEGORIES = 20
# A column that counts so many rows or more is hardly so by chance.
_FEWEST_TO_COUNT = 20


def is_number(text: str) -> bool:
    """Whether a text spells a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def blank_marks(texts: Sequence[str]) -> tuple[list[str], str | None]:
    """Texts with the marks of missing numbers blank, if all other texts are numbers; and the first such mark.

    In a column of names ``NA`` may be one of them, so there it stays.
    """
    marks = [_is_mark(text) for text in texts]
    if not any(marks):
        return list(texts), None
    others = [text for text, mark in zip(texts, marks, strict=True) if text and not mark]
    if not others or not all(map(is_number, others)):
        return list(texts), None
    first = next(text for text, mark in zip(texts, marks, strict=True) if mark)
    return ["" if mark else text for text, mark in zip(texts, marks, strict=True)], first


def _is_mark(text: str) -> bool:
    return text.strip().lower() in _MARKS


def without_marks(file: DataFile, names: Iterable[str]) -> DataFile:
    """The file with the marks of missing numbers blank in those columns; a warning tells of each."""
    columns = dict(file.columns)
    for name in names:
        if file.numbers(name) is not None:
            continue
        texts, mark = blank_marks(file.texts(name))
        if mark is not None:
            columns[name] = texts
            _warn(
                file,
                f"column {quoted(name)} holds numbers; cells such as {quoted(mark)} count as missing",
            )
    return replace(file, columns=columns)


def refuse_keys(file: DataFile, table: Table) -> None:
    """Raise a DataError for a column of keys or free text, before anything is compiled or learned."""
    for j, (name, levels) in enumerate(zip(table.names, table.levels, strict=True)):
        if levels is None or not is_free_text(len(levels), table.n_rows):
            continue
        strays = _strays(table, j, levels)
        option = shlex.quote(name)
        if strays is not None:
            raise DataError(
                f"{file.path}: column {quoted(name)} holds numbers, but {strays}: correct these cells or leave them "
                f"blank; or leave the column out with --ignore {option}"
            )
        numbers = (
            " If it holds numbers, write them as 1234.5; dates as 2024-05-31."
            if _look_like_numbers(levels)
            else ""
        )
        raise DataError(
            f"{file.path}: column {quoted(name)} holds {len(levels):,} different texts in {table.n_rows:,} rows: a key "
            f"or free text.{numbers} If it is a key, give --id {option}; to learn from its words, "
            f"--text {option}; to leave it out, --ignore {option}"
        )


def tell_odd_columns(file: DataFile, table: Table) -> None:
    """Warn of columns that are read in another way than their author may have meant."""
    for j, (name, levels) in enumerate(zip(table.names, table.levels, strict=True)):
        if levels is None:
            if _counts_rows(np.asarray(table.values[:, j])):
                _warn(
                    file,
                    f"column {quoted(name)} only counts the rows: if it is their key, give --id {shlex.quote(name)}",
                )
            continue
        strays = _strays(table, j, levels)
        if strays is not None:
            _warn(
                file,
                f"column {quoted(name)} is read as {len(levels)} categories: it holds numbers, but {strays}. "
                "Leave these cells blank to have it read as numbers",
            )
        elif len(levels) > _MANY_CATEGORIES and _look_like_numbers(levels):
            _warn(
                file,
                f"column {quoted(name)} is read as {len(levels)} categories, such as {quoted(levels[0])}. If it "
                "holds numbers, write them as 1234.5; dates as 2024-05-31",
            )


def tell_unknown_values(file: DataFile, table: Table, rule: Any) -> None:
    """Warn of categories of new rows that did not occur in training."""
    known = dict(zip(rule.names_in, rule.levels, strict=True))
    for j, (name, levels) in enumerate(zip(table.names, table.levels, strict=True)):
        new = set(levels or ()) - set(known.get(name) or ())
        if not levels or not new:
            continue
        codes = np.asarray(table.values[:, j])
        of_new = np.isin(codes, [code for code, level in enumerate(levels) if level in new])
        _warn(
            file,
            f"column {quoted(name)}: {int(of_new.sum()):,} of {len(codes):,} values did not occur in training, such as "
            f"{quoted(min(new))}; they count as missing",
        )


def tell_unknown_texts(file: DataFile, table: Table) -> None:
    """Warn of texts without any word of the model."""
    n_empty = table.n_rows - np.count_nonzero(np.diff(table.values.indptr))
    if n_empty:
        _warn(
            file,
            f"{n_empty:,} of {table.n_rows:,} texts have no word that the model knows; their answers say nothing",
        )


def _strays(table: Table, column: int, levels: Sequence[str]) -> str | None:
    """What to say of the cells that are no numbers, in a column that is mostly numbers; None for other columns."""
    wrong = [code for code, level in enumerate(levels) if not is_number(level)]
    codes = np.asarray(table.values[:, column])
    given = codes[~np.isnan(codes)].astype(np.int64)
    counts = np.bincount(given, minlength=len(levels))
    n_wrong = int(counts[wrong].sum())
    if not wrong or 2 * n_wrong > given.size:
        return None
    first = levels[given[np.isin(given, wrong)][0]]
    return f"not in {n_wrong:,} of {given.size:,} rows, such as {quoted(first)}"


def _look_like_numbers(levels: Sequence[str]) -> bool:
    return 2 * sum(bool(_WRITTEN_NUMBER.match(level)) for level in levels) > len(levels)


def _counts_rows(values: Any) -> bool:
    n_rows = len(values)
    return (
        n_rows >= _FEWEST_TO_COUNT
        and values[0] in (0, 1)
        and np.array_equal(values, np.arange(n_rows) + values[0])
    )


def _warn(file: DataFile, message: str) -> None:
    warnings.warn(f"{file.path}: {message}", UserWarning, stacklevel=3)
