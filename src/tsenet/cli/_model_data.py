"""Rows, word counts and targets from files, and the predictions and scores that the commands write."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.cli._options import given
from tsenet.data.files import DataFile
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.progress import Progress

if TYPE_CHECKING:
    from tsenet.data.text import Documents, WordCounter

__all__ = [
    "answers_of",
    "columns_of_file",
    "model_rows",
    "read_rows",
    "scores_of",
    "targets_of",
    "tokenizer_of",
    "truth_of",
    "word_counts",
]

# A target of numbers with more distinct values than this is a quantity, not a class.
MOST_CLASSES = 20


# ---- rows


def read_rows(path: Path, progress: Progress) -> DataFile:
    """Read a file of rows."""
    from tsenet.data.files import read_data

    progress.start("reading rows", None)
    file = read_data(path)
    progress.finish(f"{file.n_rows:,} rows")
    return file


def word_counts(
    documents: Documents | Iterable[str],
    progress: Progress,
    words: int | None = None,
    stop_words: str | None = None,
    min_documents: int | None = None,
    select: str | None = None,
    *,
    max_df: float | None = None,
    ngrams: int | None = None,
    tokenizer: str | None = None,
) -> tuple[WordCounter, Table]:
    """Count the words of documents; options that are None are the library's to choose."""
    from tsenet.data import text

    progress.start("counting words", None)
    splitting = given(tokenizer=tokenizer_of(tokenizer), ngrams=ngrams)
    table = text.vectorize(
        documents,
        **splitting,
        **given(
            n_words=words,
            stop_words=None if stop_words is None else _stop_words(stop_words),
            min_documents=min_documents,
            max_df=max_df,
            select=None if select is None else str(select),
        ),
    )
    progress.finish(f"{table.n_columns:,} words")
    return text.WordCounter(table.names, **splitting), table


def tokenizer_of(choice: str | None) -> Any:
    """What ``--tokenizer`` means: the name of a tokenizer, or a function to import."""
    module, colon, path = (choice or "").partition(":")
    if not colon:
        return choice
    try:
        found: Any = _import(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise DataError(f"--tokenizer: {choice} cannot be imported: {error}") from error
    return found


def _import(module: str) -> Any:
    """Import a module that is installed, or a file of the current folder."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module)
    finally:
        sys.path.remove(os.getcwd())


def _stop_words(choice: str) -> str | list[str] | Path:
    """What ``--stop-words`` means: a language, none, or a file of words."""
    path = Path(choice)
    if choice == "none":
        return []
    if path.is_file():
        return path
    if path.suffix or path.name != choice:
        raise DataError(
            f"--stop-words: there is no file {choice}; give a language, none, or a file of words"
        )
    return choice


def columns_of_file(file: DataFile, left_out: set[str]) -> tuple[Table, dict[str, Any]]:
    """All columns but ``left_out`` as a table, and what a model file keeps of them."""
    for name in left_out:
        file.column(name)  # its error names the columns there are
    names = [name for name in file.columns if name not in left_out]
    table = file.table(names)
    if file.rows is not None:
        return table, {"columns": None}
    categories = [name for name, found in zip(names, table.levels, strict=True) if found]
    return table, {"columns": names, "categories": categories}


def model_rows(fitted: Any, file: DataFile) -> Table:
    """The file's rows as the model was fitted on them."""
    source = fitted.source_ or {}
    counter = fitted.word_counter_
    column = source.get("text", "text" if counter and "text" in file.columns else None)
    if column is not None:
        from tsenet.data.text import WordCounter

        # Files of older versions do not say how words were counted: it was always so.
        counter = counter or WordCounter(fitted.wiring_.names[0])
        return counter.count(file.texts(column))
    names = source.get("columns")
    if names is None and file.rows is None:
        names = getattr(fitted, "feature_names_in_", None)
        if names is None:
            raise DataError(
                f"the model knows its {fitted.n_features_in_} columns by place, not by name: "
                "give the rows as an array X in an npz file"
            )
    return file.table(() if names is None else list(names), source.get("categories"))


# ---- targets


def targets_of(file: DataFile, names: list[str], task: str) -> tuple[NDArray[Any], bool]:
    """What to predict, and whether it is classes: (N,), or (N, C) for several columns."""
    if len(names) > 1:
        columns = [_numbers(file, name) for name in names]
        wanted = np.stack(columns, axis=1)
        labels = bool(np.isin(wanted[~np.isnan(wanted)], (0.0, 1.0)).all())
        return wanted, labels if task == "auto" else task == "classification"
    texts = file.texts(names[0])
    if n_missing := texts.count(""):
        raise DataError(
            f"{file.path}: {n_missing:,} rows have no {names[0]!r}: remove them, or fill them in"
        )
    numbers = file.numbers(names[0])
    if task == "auto":
        quantity = numbers is not None and (
            not np.array_equal(numbers, np.floor(numbers)) or np.unique(numbers).size > MOST_CLASSES
        )
        task = "regression" if quantity else "classification"
    if task == "regression":
        return _numbers(file, names[0]), False
    if numbers is not None and np.array_equal(numbers, np.floor(numbers)):
        whole = numbers.astype(np.int64)
        if [str(value) for value in whole.tolist()] == texts:  # "007" is a name, not a number
            return whole, True
    return np.array(texts), True


def truth_of(fitted: Any, file: DataFile, names: list[str]) -> NDArray[Any]:
    """The file's targets in the form the model was fitted on."""
    classes = getattr(fitted, "classes_", None)
    if len(names) > 1:
        return np.stack([_numbers(file, name) for name in names], axis=1)
    if classes is not None and classes.dtype.kind in "UO":
        return np.array(file.texts(names[0]))
    return _numbers(file, names[0])


def _numbers(file: DataFile, name: str) -> NDArray[np.float64]:
    numbers = file.numbers(name)
    if numbers is None:
        raise DataError(f"{file.path}: column {name!r} holds values that are not numbers")
    return numbers


# ---- answers


def answers_of(fitted: Any, table: Table) -> tuple[list[str], list[list[Any]]]:
    """Names and values of the columns of the csv that ``predict`` writes."""
    targets = (fitted.source_ or {}).get("targets") or ["prediction"]
    predicted = fitted.predict(table)
    if predicted.ndim == 2:
        if len(targets) != predicted.shape[1]:
            targets = [f"prediction {k}" for k in range(predicted.shape[1])]
        columns = predicted.T.tolist()
    else:
        columns = [predicted.tolist()]
    if not hasattr(fitted, "classes_"):
        return list(targets), columns
    shares = fitted.predict_proba(table)
    labels = targets if predicted.ndim == 2 else fitted.classes_.tolist()
    names = [*targets, *(f"P({label})" for label in labels)]
    return names, [*columns, *(np.round(share, 6).tolist() for share in shares.T)]


def scores_of(fitted: Any, table: Table, truth: NDArray[Any]) -> dict[str, float]:
    """What ``evaluate`` prints."""
    from sklearn import metrics

    if not hasattr(fitted, "classes_"):
        error = fitted.predict(table) - truth
        error = error[~np.isnan(error)]
        return {
            "R2": fitted.score(table, truth),
            "RMSE": float(np.sqrt(np.mean(np.square(error)))),
            "MAE": float(np.mean(np.abs(error))),
        }
    shares = fitted.predict_proba(table)
    if truth.ndim == 2:
        areas = []
        for column, share in zip(truth.T, shares.T, strict=True):
            known = ~np.isnan(column)
            if np.unique(column[known]).size == 2:
                areas.append(metrics.roc_auc_score(column[known], share[known]))
        right = (fitted.predict(table) == truth)[~np.isnan(truth)]
        scores = {"accuracy": float(right.mean())}
        return {**scores, "mean AUC": float(np.mean(areas))} if areas else scores
    scores = {"accuracy": fitted.score(table, truth)}
    known = np.isin(truth, fitted.classes_)
    if known.all():
        scores["log loss"] = float(metrics.log_loss(truth, shares, labels=fitted.classes_))
    return scores
