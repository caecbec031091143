"""Rows and targets of files as the estimators take them, and fitted models of files."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import tsenet
from tsenet.cli._options import typed
from tsenet.data import count_words
from tsenet.data.binary import is_free_text
from tsenet.data.columns import listed, quoted
from tsenet.data.files import DataFile, read_data
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.progress import Progress

#: A target of numbers with more distinct values than this is a quantity, not a class.
MOST_CLASSES = 20
# What other programs write where a number is missing, in lower case.
_MISSING = ["na", "n/a", "#n/a", "nan", "null", "none", "?", "-", ".", "\\n"]
# A date, a percentage or a price: begins with a digit, after a sign or one other character.
_NUMBER_LIKE = re.compile(r"[-+]?\D?\d")
# A column that numbers this many rows or more hardly does so by chance.
_FEWEST_NUMBERED = 20


def load_model(path: Path, jobs: int | None) -> Any:
    """Read a classifier or a regressor."""
    fitted = tsenet.load(path)
    if isinstance(fitted, tsenet.TSENetClassifier | tsenet.TSENetRegressor):
        return fitted.set_params(n_jobs=jobs)
    use = "tsenet fit writes a model that predicts"
    if isinstance(fitted, tsenet.TopicModel):
        use = f"tsenet topics DATA --model {path} --out DIR finds its topics in new documents"
    raise DataError(f"{path} holds a {type(fitted).__name__}, which predicts nothing: {use}")


def read_file(
    path: Path, progress: Progress, encoding: str | None = None, no_header: bool = False
) -> DataFile:
    """Read a file of rows."""
    if (path / "shards.json").is_file():
        raise DataError(f"{path} is a folder of shards, which only fit, predict and topics read")
    progress.start("reading rows", None)
    file = read_data(path, header=not no_header, **typed(encoding=encoding))
    progress.finish(f"{file.n_rows:,} rows")
    return file


# ---- columns


def _texts(file: DataFile, name: str) -> pd.Series:
    """A column as texts, None where it is blank."""
    return pd.Series([text or None for text in file.texts(name)], dtype=object)


def _numbers(texts: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Texts as numbers, NaN where one is missing; and the texts that are neither numbers nor marks of missing ones."""
    numbers = pd.to_numeric(texts, errors="coerce").astype(np.float64)
    other = texts[texts.notna() & numbers.isna()]
    if numbers.notna().any():  # in a column of names, NA may be one of them
        other = other[~other.str.strip().str.lower().isin(_MISSING)]
    return numbers, other


def _without_marks(file: DataFile, names: Iterable[str]) -> DataFile:
    """The file with blank cells for marks of missing numbers in these columns; a warning names each column."""
    columns = dict(file.columns)
    for name in names:
        if file.numbers(name) is not None:
            continue
        texts = _texts(file, name)
        numbers, other = _numbers(texts)
        if other.empty:
            columns[name] = texts.where(numbers.notna(), "").tolist()
            mark = texts[texts.notna() & numbers.isna()].iloc[0]
            _warn(
                file,
                f"column {quoted(name)} holds numbers; cells such as {quoted(mark)} count as missing",
            )
    return replace(file, columns=columns)


def _warn(file: DataFile, message: str) -> None:
    warnings.warn(f"{file.path}: {message}", UserWarning, stacklevel=3)


# ---- rows to learn from


def training_table(file: DataFile, left_out: set[str]) -> tuple[Table, list[str] | None]:
    """Return all columns but ``left_out`` as a table, and their names; None for an array without names.

    Raises
    ------
    DataError
        If a column does not exist, or holds keys or free text.
    """
    for name in left_out:
        file.column(name)  # its error lists the columns
    if file.rows is not None:
        return file.table(()), None
    names = [name for name in file.columns if name not in left_out]
    file = _without_marks(file, names)
    table = file.table(names)
    for j, (name, levels) in enumerate(zip(table.names, table.levels, strict=True)):
        if levels is not None:
            _check_categories(file, name, len(levels))
        elif _numbers_rows(table.values[:, j]):
            _warn(
                file,
                f"column {quoted(name)} only numbers the rows: if it is their key, give --id {shlex.quote(name)}",
            )
    return table, names


def _numbers_rows(values: NDArray[Any]) -> bool:
    return (
        len(values) >= _FEWEST_NUMBERED
        and values[0] in (0, 1)
        and np.array_equal(values, np.arange(len(values)) + values[0])
    )


def _check_categories(file: DataFile, name: str, n_levels: int) -> None:
    """Refuse a column of keys or free text; warn of one that may have been meant as numbers."""
    texts = _texts(file, name).dropna()
    _, other = _numbers(texts)
    option, label = shlex.quote(name), f"column {quoted(name)}"
    is_key = is_free_text(n_levels, file.n_rows)
    number_like = 2 * texts.map(lambda cell: bool(_NUMBER_LIKE.match(cell))).sum() > len(texts)
    if 2 * len(other) <= len(texts):
        strays = f"not in {len(other):,} of {len(texts):,} rows, such as {quoted(other.iloc[0])}"
        if is_key:
            raise DataError(
                f"{file.path}: {label} holds numbers, but {strays}: correct these cells or leave them blank; or leave "
                f"the column out with --ignore {option}"
            )
        _warn(
            file,
            f"{label} is read as {n_levels} categories: it holds numbers, but {strays}. Leave these cells blank to "
            "have it read as numbers",
        )
    elif is_key:
        numbers = " If it holds numbers, write them as 1234.5; dates as 2024-05-31."
        raise DataError(
            f"{file.path}: {label} holds {n_levels:,} different texts in {file.n_rows:,} rows: a key or free text."
            f"{numbers if number_like else ''} If it is a key, give --id {option}; to learn from its words, "
            f"--text {option}; to leave it out, --ignore {option}"
        )
    elif n_levels > MOST_CLASSES and number_like:
        _warn(
            file,
            f"{label} is read as {n_levels} categories, such as {quoted(texts.iloc[0])}. If it holds numbers, write "
            "them as 1234.5; dates as 2024-05-31",
        )


# ---- new rows


def model_input(fitted: Any, file: DataFile) -> Table:
    """Return the file's rows as a fitted classifier, regressor or tree takes them."""
    source = getattr(fitted, "source_", None) or {}
    vectorizer = getattr(fitted, "vectorizer_", None)
    column = source.get("text", "text" if "text" in file.columns else None)
    if vectorizer is not None and column is not None:
        table = count_words(file.texts(column), vectorizer)
        n_empty = table.n_rows - np.count_nonzero(np.diff(table.values.indptr))
        if n_empty:
            _warn(
                file,
                f"{n_empty:,} of {table.n_rows:,} texts have no word that the model knows; their predictions mean "
                "nothing",
            )
        return table
    rule = getattr(fitted, "binary_rule_", None) or fitted.rule
    if file.rows is not None:
        if source.get("columns"):
            raise DataError(
                f"{file.path} holds rows without column names, but the model knows its columns by name "
                f"({listed(source['columns'], 5)}): give a csv, json or parquet file"
            )
        if file.rows.shape[1] != len(rule.names_in):
            raise DataError(
                f"{file.path} has {file.rows.shape[1]:,} columns, but the model was fitted on {len(rule.names_in):,}"
            )
        return file.table(())
    if hasattr(fitted, "binary_rule_") and not rule.named:
        raise DataError(
            f"the model knows its {len(rule.names_in)} columns by position, not by name: give the rows as an array X "
            "in an npz file"
        )
    known = dict(zip(rule.names_in, rule.levels, strict=True))
    numbers = [name for name in file.columns if name in known and known[name] is None]
    table = _without_marks(file, numbers).table_for(rule)
    for name, levels in known.items():
        new = [] if levels is None else [text for text in file.texts(name) if text not in levels]
        new = [text for text in new if text]
        if new:
            _warn(
                file,
                f"column {quoted(name)}: {len(new):,} of {file.n_rows:,} values did not occur in training, such as "
                f"{quoted(min(new))}; they count as missing",
            )
    return table


# ---- targets


def has_target(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have a target, that is, one that is not None or NaN: (N,)."""
    known = pd.notna(values)
    return np.asarray(known if known.ndim == 1 else known.any(axis=1))


def _target_texts(file: DataFile, name: str, unlabeled: str | None) -> pd.Series:
    """A target as texts, None where it is blank, holds the marker, or marks a missing number."""
    text = _texts(file, name).str.strip()
    text = text.where((text != "") & (text != (unlabeled or "").strip()), None)
    numbers, other = _numbers(text)
    return text if not other.empty or numbers.isna().all() else text.where(numbers.notna(), None)


def _target_numbers(file: DataFile, name: str, unlabeled: str | None) -> NDArray[np.float64]:
    numbers, other = _numbers(_target_texts(file, name, unlabeled))
    if not other.empty:
        raise DataError(
            f"{file.path}: column {quoted(name)} holds values that are not numbers, such as {quoted(other.iloc[0])}"
        )
    return np.asarray(numbers, np.float64)


def target_of(
    file: DataFile, names: list[str], task: str, unlabeled: str | None
) -> tuple[NDArray[Any], bool]:
    """Return the target, (N,) or (N, C) with None or NaN where a row has none, and whether it holds classes."""
    if len(names) > 1:
        values = np.stack([_target_numbers(file, name, unlabeled) for name in names], axis=1)
        labels = bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
        classifies = labels if task == "auto" else task == "classification"
    else:
        values, classifies = _one_target(file, names[0], task, unlabeled)
    known = has_target(values)
    if not known.any():
        raise DataError(f"{file.path}: no row has a value in {listed(names)}")
    if len(names) == 1 and classifies and len(set(values[known].tolist())) == 1:
        raise DataError(
            f"{file.path}: column {quoted(names[0])} holds only one class, {quoted(values[known][0])}: "
            "a classifier needs two"
        )
    return values, classifies


def _one_target(
    file: DataFile, name: str, task: str, unlabeled: str | None
) -> tuple[NDArray[Any], bool]:
    text = _target_texts(file, name, unlabeled)
    numbers, other = _numbers(text)
    n_known, n_numbers = int(text.notna().sum()), numbers.nunique()
    whole = bool(other.empty and (numbers.dropna() % 1 == 0).all())
    if task == "auto" and other.empty and (not whole or n_numbers > MOST_CLASSES):
        task = "regression"
    elif task == "auto" and n_numbers > MOST_CLASSES and 2 * len(other) < n_known:
        raise DataError(
            f"{file.path}: column {quoted(name)} holds numbers, but not in {len(other):,} of {n_known:,} rows, such as "
            f"{quoted(other.iloc[0])}: correct these cells or leave them blank; or give --task classification"
        )
    if task == "regression":
        return _target_numbers(file, name, unlabeled), False
    known = text.dropna()
    if whole and (known == numbers[known.index].map("{:.0f}".format)).all():  # "007" is a name
        text = text.map(int, na_action="ignore")
    values = text.astype(object).where(text.notna(), None).to_numpy()
    return (values if len(known) < len(text) else np.array(values.tolist())), True


def truth_of(
    fitted: Any, file: DataFile, names: list[str], unlabeled: str | None = None
) -> NDArray[Any]:
    """Return the file's targets in the form the model was fitted on, None or NaN where there is none.

    Raises
    ------
    DataError
        If the columns cannot be what the model predicts.
    """
    if unlabeled is None:
        unlabeled = (fitted.source_ or {}).get("unlabeled")
    classes = getattr(fitted, "classes_", None)
    n_targets = fitted.targets_.n_targets
    if len(names) != n_targets:
        raise DataError(f"the model predicts {n_targets} columns, but {len(names)} are given")
    if n_targets > 1:
        return np.stack([_target_numbers(file, name, unlabeled) for name in names], axis=1)
    if classes is None:
        return _target_numbers(file, names[0], unlabeled)
    text = _target_texts(file, names[0], unlabeled)
    numbers, other = _numbers(text)
    if not text.notna().any():
        raise DataError(f"{file.path}: no row has a value in {quoted(names[0])}")
    class_of = {str(value): value for value in classes.tolist()}
    if classes.dtype.kind in "iuf" and other.empty:  # 1, 1.0 and 1e0 are one class
        class_of = {str(float(value)): value for value in classes.tolist()}
        text = numbers.map(str).where(numbers.notna(), None)
    known = text.dropna()
    unknown = known[~known.isin(list(class_of))]
    if 2 * len(unknown) > len(known):
        shown = ", ".join(map(quoted, unknown.unique()[:3]))
        raise DataError(
            f"{file.path}: column {quoted(names[0])} cannot be the truth: {len(unknown):,} of {len(known):,} values "
            f"are classes unknown to the model, such as {shown}; it predicts {listed(classes.tolist(), 8)}"
        )
    values = [class_of.get(value, value) for value in text.where(text.notna(), None)]
    return np.array(values, object)
