"""Rows and targets of files as the estimators take them, and fitted models of files."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import tsenet
from tsenet.cli import _shared as cli
from tsenet.data import count_words
from tsenet.data.binary import BinaryRule, is_free_text
from tsenet.data.mixed import MixedReader, TextTable
from tsenet.data.readers import DataFile, numbers_in_cells, read_data
from tsenet.data.table import Table
from tsenet.errors import DataError, listed, quoted
from tsenet.progress import Progress

#: A target of numbers with more distinct values than this is a quantity, not a class.
MAX_CLASSES = 20
# A date, a percentage or a price: begins with a digit, after a sign or one other character.
_NUMBER_LIKE = re.compile(r"[-+]?\D?\d")
# A column that numbers this many rows or more hardly does so by chance.
_MIN_NUMBERED = 20


def load_model(path: Path, jobs: int | None) -> Any:
    """Read a classifier or a regressor."""
    fitted = tsenet.load(path)
    if isinstance(fitted, tsenet.TSENetClassifier | tsenet.TSENetRegressor):
        return fitted.set_params(n_jobs=jobs)
    use = "write a model with tsenet fit"
    if isinstance(fitted, tsenet.TopicModel):
        use = f"find its topics in documents with tsenet topics DATA --model {path} --out DIR"
    raise DataError(f"{path} holds a {type(fitted).__name__}, which predicts no target: {use}")


def read_file(
    path: Path,
    progress: Progress,
    encoding: str | None = None,
    no_header: bool = False,
    columns: Sequence[str] | None = None,
    *,
    max_size: int | None = None,
) -> DataFile:
    """Read a file of rows, all columns or some; ``max_size`` in MB."""
    if cli.is_shard_folder(path):
        raise DataError(f"{path} is a folder of shards, which only fit, predict and topics read")
    progress.start("reading rows", None)
    file = read_data(
        path,
        columns,
        header=not no_header,
        max_bytes=None if max_size is None else max_size * 1_000_000,
        **cli.typed(encoding=encoding),
    )
    progress.finish(f"{file.n_rows:,} rows")
    return file


def _warn(file: DataFile, message: str) -> None:
    warnings.warn(f"{file.path}: {message}", UserWarning, stacklevel=3)


# ---- rows to learn from


def training_rows(
    file: DataFile, text: str | None, with_columns: bool, left_out: Sequence[str]
) -> list[str] | Table | TextTable:
    """Return what a model is fitted to: a text, all columns but ``left_out``, or both."""
    if with_columns and text is None:
        raise DataError("--columns says that columns stand beside a text: name it with --text")
    if text is None:
        return training_table(file, left_out)
    if not with_columns:
        return file.texts(text)
    return TextTable(file.texts(text), training_table(file, left_out))


def training_table(file: DataFile, left_out: Sequence[str]) -> Table:
    """Return all columns but ``left_out`` as a table.

    Raises
    ------
    DataError
        If a column holds keys or free text.
    """
    table = file.table([name for name in file.columns if name not in left_out])
    for j, (name, levels) in enumerate(zip(table.names, table.levels, strict=True)):
        if levels is not None:
            _check_categories(file, name, levels)
        elif table.n_rows >= _MIN_NUMBERED and (np.diff(table.values[:, j]) == 1).all():
            key = f"if it is their key, give --id {shlex.quote(name)}"
            _warn(file, f"column {quoted(name)} only numbers the rows: {key}")
    return table


def _check_categories(file: DataFile, name: str, levels: Sequence[str]) -> None:
    """Refuse a column of keys or free text; warn of one that may have been meant as numbers."""
    cells = file.column(name).dropna()
    _, not_numbers = numbers_in_cells(cells)
    n_not_numbers = len(not_numbers)
    n_cells = len(cells)
    look_like_numbers = 2 * sum(map(bool, map(_NUMBER_LIKE.match, map(str, cells)))) > n_cells
    label = f"column {quoted(name)}"
    hint = ""

    if 2 * n_not_numbers <= n_cells:
        hint = (
            f" It holds numbers, but not in {n_not_numbers:,} of {n_cells:,} rows, such as "
            f"{quoted(not_numbers.iloc[0])}: correct these cells or leave them blank."
        )
    elif look_like_numbers and len(levels) > MAX_CLASSES:
        hint = " If it holds numbers, write them as 1234.5; dates as 2024-05-31."

    if is_free_text(len(levels), file.n_rows):
        option = shlex.quote(name)
        raise DataError(
            f"{file.path}: {label} holds {len(levels):,} different texts in {file.n_rows:,} rows: a key or free text."
            f"{hint} If it is a key, give --id {option}; to learn from its words, --text {option}; to leave it out, "
            f"--ignore {option}"
        )

    if hint:
        shown = quoted(levels[0])
        _warn(file, f"{label} is read as {len(levels)} categories, such as {shown}.{hint}")


# ---- new rows


def model_input(fitted: Any, file: DataFile) -> Table:
    """Return the file's rows as a fitted classifier, regressor or tree takes them."""
    source = getattr(fitted, "source_", None) or {}
    vectorizer = getattr(fitted, "vectorizer_", None)
    reader = getattr(fitted, "reader_", None)
    if isinstance(reader, MixedReader):
        beside = file.table_for(reader.steps.rule)
        _warn_of_new_values(file, reader.steps.rule)
        table: Table = reader.read(TextTable(file.texts(reader.text), beside))
        return table
    column = source.get("text", "text" if "text" in file.columns else None)
    if vectorizer is not None and column is not None:
        table = count_words(file.texts(column), vectorizer)
        n_empty = table.n_rows - np.count_nonzero(np.diff(table.values.indptr))
        if n_empty:
            _warn(
                file,
                f"{n_empty:,} of {table.n_rows:,} texts contain no word that the model knows; their predictions are "
                "meaningless",
            )
        return table

    rule = getattr(fitted, "binary_rule_", None) or fitted.rule
    table = file.table_for(rule)
    _warn_of_new_values(file, rule)
    return table


def _warn_of_new_values(file: DataFile, rule: BinaryRule) -> None:
    """Warn of values of categories that training had not."""
    for name, levels in zip(rule.names_in, rule.levels, strict=True):
        texts = [] if levels is None else file.texts(name)
        new = [text for text in texts if text and text not in (levels or ())]
        if new:
            shown = f"{len(new):,} of {file.n_rows:,} values did not occur in training, such as {quoted(min(new))}"
            _warn(file, f"column {quoted(name)}: {shown}; they count as missing")


# ---- targets


def has_target(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have a target, that is, one that is not None or NaN: (N,)."""
    known = pd.notna(values)
    return np.asarray(known if known.ndim == 1 else known.any(axis=1))


def _target(
    file: DataFile, name: str, unlabeled: str | None
) -> tuple[pd.Series, pd.Series, pd.Series]:
    """A target as texts, None where it is missing; as numbers; and the non-numeric texts."""
    texts = pd.Series(file.texts(name), dtype=object).str.strip()
    texts = texts.where(~texts.isin(["", (unlabeled or "").strip()]), None)
    numbers, other = numbers_in_cells(texts)
    return texts.where(numbers.notna(), None) if other.empty else texts, numbers, other


def _target_numbers(file: DataFile, names: list[str], unlabeled: str | None) -> NDArray[np.float64]:
    """Targets that hold numbers: (N,), or (N, C) for several."""
    columns = []
    for name in names:
        _, numbers, not_numbers = _target(file, name, unlabeled)
        if not not_numbers.empty:
            wrong = f"values that are not numbers, such as {quoted(not_numbers.iloc[0])}"
            raise DataError(f"{file.path}: column {quoted(name)} holds {wrong}")
        columns.append(numbers.to_numpy(np.float64))
    return np.stack(columns, axis=1) if len(names) > 1 else np.asarray(columns[0])


def weights_of(file: DataFile, name: str | None) -> NDArray[np.float64] | None:
    """Return a column of weights of the rows, 1 where it is blank: (N,); None without a column."""
    if name is None:
        return None
    numbers = _target_numbers(file, [name], None)
    return np.where(np.isnan(numbers), 1.0, numbers)


def target_of(
    file: DataFile, names: list[str], task: str, unlabeled: str | None
) -> tuple[NDArray[Any], bool]:
    """Return the target, (N,) or (N, C) with None or NaN where a row has none, and whether it holds classes."""
    if len(names) > 1:
        values = _target_numbers(file, names, unlabeled)
        is_binary = bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
        return values, is_binary if task == "auto" else task == "classification"

    texts, numbers, not_numbers = _target(file, names[0], unlabeled)
    labels = texts.dropna()
    label = f"{file.path}: column {quoted(names[0])}"
    if labels.empty:
        raise DataError(f"{file.path}: no row has a value in {listed(names)}")
    are_integers = bool(not_numbers.empty and (numbers.dropna() % 1 == 0).all())
    has_many_values = numbers.nunique() > MAX_CLASSES
    if task == "auto" and has_many_values and 0 < 2 * len(not_numbers) < len(labels):
        raise DataError(
            f"{label} holds numbers, but not in {len(not_numbers):,} of {len(labels):,} rows, such as "
            f"{quoted(not_numbers.iloc[0])}: correct these cells or leave them blank; or give --task classification"
        )

    looks_continuous = not_numbers.empty and (has_many_values or not are_integers)
    if task == "regression" or (task == "auto" and looks_continuous):
        return _target_numbers(file, names, unlabeled), False
    if labels.nunique() == 1:
        raise DataError(f"{label} holds only one class, {quoted(labels.iloc[0])}: give two or more")

    # Classes that are plain integers become integers; "007" is a name. pandas writes 1.0 where a column has blanks.
    digits = labels.str.removesuffix(".0")
    written = numbers[labels.index].map("{:.0f}".format)
    if are_integers and (digits == written).all():
        texts = numbers.map(int, na_action="ignore").astype(object).where(texts.notna(), None)

    return np.array(texts.tolist(), object if len(labels) < len(texts) else None), True


def truth_of(
    fitted: Any, file: DataFile, names: list[str], unlabeled: str | None = None
) -> NDArray[Any]:
    """Return the file's targets in the form the model was fitted on, None or NaN where there is none.

    Raises
    ------
    DataError
        If the columns cannot be what the model predicts.
    """
    unlabeled = unlabeled or (fitted.source_ or {}).get("unlabeled")
    n_targets = fitted.targets_.n_targets
    if len(names) != n_targets:
        raise DataError(f"the model predicts {n_targets} columns, but {len(names)} are given")
    if n_targets > 1 or not hasattr(fitted, "classes_"):
        return _target_numbers(file, names, unlabeled)
    classes = fitted.classes_.tolist()
    texts, numbers, not_numbers = _target(file, names[0], unlabeled)
    class_of = {str(label): label for label in classes}
    if fitted.classes_.dtype.kind in "iuf" and not_numbers.empty:  # 1, 1.0 and 1e0 are one class
        class_of = {str(float(label)): label for label in classes}
        texts = numbers.map(str).where(numbers.notna(), None)

    labels = texts.dropna()
    unknown = labels[~labels.isin(list(class_of))]
    if labels.empty or 2 * len(unknown) > len(labels):
        shown = f", such as {listed(unknown.unique(), 3)}" if len(unknown) else ""
        raise DataError(
            f"{file.path}: column {quoted(names[0])} does not hold what the model predicts: {len(unknown):,} of "
            f"{len(labels):,} values are classes unknown to the model{shown}; it predicts {listed(classes, 8)}"
        )

    return np.array([class_of.get(label, label) for label in texts.tolist()], object)
