"""Rows and targets from files, models that predict, and the predictions that the commands write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tsenet
from tsenet.cli._cells import (
    blank_marks,
    is_number,
    refuse_keys,
    tell_odd_columns,
    tell_unknown_texts,
    tell_unknown_values,
    without_marks,
)
from tsenet.cli._options import given
from tsenet.data.columns import listed, quoted
from tsenet.data.files import DataFile
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = [
    "Wanted",
    "answers_of",
    "columns_of_file",
    "load_model",
    "model_rows",
    "read_rows",
    "reasons_of",
    "targets_of",
    "truth_of",
]

# A target of numbers with more distinct values than this is a quantity, not a class.
MOST_CLASSES = 20


# ---- rows


def read_rows(
    path: Path, progress: Progress, encoding: str | None = None, no_header: bool = False
) -> DataFile:
    """Read a file of rows."""
    from tsenet.data.files import read_data

    progress.start("reading rows", None)
    file = read_data(path, header=not no_header, **given(encoding=encoding))
    progress.finish(f"{file.n_rows:,} rows")
    return file


def columns_of_file(file: DataFile, left_out: set[str]) -> tuple[Table, dict[str, Any]]:
    """All columns but ``left_out`` as a table, and what a model file keeps of them."""
    for name in left_out:
        file.column(name)  # its error names the columns there are
    if file.rows is not None:
        return file.table(()), {"columns": None}
    names = [name for name in file.columns if name not in left_out]
    file = without_marks(file, names)
    table = file.table(names)
    refuse_keys(file, table)
    tell_odd_columns(file, table)
    return table, {"columns": names}


def model_rows(fitted: Any, file: DataFile) -> Table:
    """The file's rows as the model was fitted on them."""
    source = fitted.source_ or {}
    vectorizer = fitted.vectorizer_
    column = source.get("text", "text" if vectorizer and "text" in file.columns else None)
    if column is not None:
        from tsenet.data.text import count_words

        table = count_words(file.texts(column), vectorizer)
        tell_unknown_texts(file, table)
        return table
    names = source.get("columns")
    if file.rows is not None:
        return _rows_without_names(fitted, file, names)
    if names is None:
        names = getattr(fitted, "feature_names_in_", None)
        if names is None:
            raise DataError(
                f"the model knows its {fitted.n_features_in_} columns by place, not by name: "
                "give the rows as an array X in an npz file"
            )
    rule = fitted.binary_rule_
    numbers = [name for name, levels in zip(rule.names_in, rule.levels, strict=True) if not levels]
    file = without_marks(file, [name for name in numbers if name in file.columns])
    table = file.table_for(rule)
    tell_unknown_values(file, table, rule)
    return table


def _rows_without_names(fitted: Any, file: DataFile, names: list[str] | None) -> Table:
    if names is not None:
        raise DataError(
            f"{file.path} holds rows without column names, but the model knows its columns by name "
            f"({listed(names, 5)}): give a csv, json or parquet file"
        )
    if file.rows.shape[1] != fitted.n_features_in_:
        raise DataError(
            f"{file.path} has {file.rows.shape[1]:,} columns, but the model was fitted on {fitted.n_features_in_:,}"
        )
    return file.table(())


# ---- targets


class Wanted(NamedTuple):
    """What a model is to predict, from the columns of a file."""

    values: NDArray[Any]  # (N,) or (N, C); None or NaN where a row has no target
    classifies: bool

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a target: (N,)."""
        if self.values.dtype.kind == "O":
            return np.array([value is not None for value in self.values])
        if self.values.dtype.kind != "f":
            return np.ones(len(self.values), bool)
        return np.asarray(~np.isnan(self.values.reshape(len(self.values), -1)).all(axis=1))


def targets_of(file: DataFile, names: list[str], task: str, unlabeled: str | None) -> Wanted:
    """What to predict; blank cells, and those that hold ``unlabeled``, are rows without a target."""
    if len(names) > 1:
        values = np.stack([_numbers(file, name, unlabeled) for name in names], axis=1)
        labels = bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
        wanted = Wanted(values, labels if task == "auto" else task == "classification")
    else:
        wanted = _one_target(file, names[0], task, unlabeled)
    if not wanted.known.any():
        raise DataError(f"{file.path}: no row has a value in {listed(names)}")
    if len(names) == 1 and wanted.classifies:
        classes = set(wanted.values[wanted.known].tolist())
        if len(classes) == 1:
            raise DataError(
                f"{file.path}: column {quoted(names[0])} holds only one class, {quoted(classes.pop())}: "
                "a classifier needs two"
            )
    return wanted


def _one_target(file: DataFile, name: str, task: str, unlabeled: str | None) -> Wanted:
    texts = _texts(file, name, unlabeled)
    known = [text for text in texts if text is not None]
    numbers = _as_numbers(known)
    if task == "auto":
        quantity = numbers is not None and (
            not np.array_equal(numbers, np.floor(numbers)) or np.unique(numbers).size > MOST_CLASSES
        )
        task = "regression" if quantity else "classification"
        _refuse_strays(file, name, known)
    if task == "regression":
        return Wanted(_numbers(file, name, unlabeled), False)
    classes: list[Any] = texts
    if numbers is not None and np.array_equal(numbers, np.floor(numbers)):
        whole = numbers.astype(np.int64)
        if [str(value) for value in whole.tolist()] == known:  # "007" is a name, not a number
            classes = [None if text is None else int(text) for text in texts]
    return Wanted(np.array(classes, object if len(known) < len(texts) else None), True)


def _refuse_strays(file: DataFile, name: str, known: list[str]) -> None:
    """Raise a DataError for a quantity with a few cells that are no numbers: they would make a class of each number."""
    wrong = [text for text in known if not is_number(text)]
    if wrong and 2 * len(wrong) < len(known) and len(set(known) - set(wrong)) > MOST_CLASSES:
        raise DataError(
            f"{file.path}: column {quoted(name)} holds numbers, but not in {len(wrong):,} of {len(known):,} rows, "
            f"such as {quoted(wrong[0])}: correct these cells or leave them blank; or give --task classification"
        )


def truth_of(
    fitted: Any, file: DataFile, names: list[str], unlabeled: str | None = None
) -> NDArray[Any]:
    """The file's targets in the form the model was fitted on, None or NaN where there is none.

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
        return np.stack([_numbers(file, name, unlabeled) for name in names], axis=1)
    if classes is None:
        return _numbers(file, names[0], unlabeled)
    texts = _texts(file, names[0], unlabeled)
    known = [text for text in texts if text is not None]
    if not known:
        raise DataError(f"{file.path}: no row has a value in {quoted(names[0])}")
    of_text = {str(value): value for value in classes.tolist()}
    if (
        classes.dtype.kind in "iuf" and _as_numbers(known) is not None
    ):  # 1, 1.0 and 1e0 are one class
        texts = [None if text is None else _plain_number(float(text)) for text in texts]
        of_text = {_plain_number(float(value)): value for value in classes.tolist()}
    unknown = [text for text in texts if text is not None and text not in of_text]
    if 2 * len(unknown) > len(known):
        shown = ", ".join(map(quoted, list(dict.fromkeys(unknown))[:3]))
        raise DataError(
            f"{file.path}: column {quoted(names[0])} cannot be the truth: {len(unknown):,} of {len(known):,} values "
            f"are classes unknown to the model, such as {shown}; it predicts {listed(classes.tolist(), 8)}"
        )
    return np.array([of_text.get(text, text) for text in texts], object)  # type: ignore[arg-type]  # None stays None


def _plain_number(value: float) -> str:
    return str(int(value)) if value.is_integer() else str(value)


def _texts(file: DataFile, name: str, unlabeled: str | None) -> list[str | None]:
    """A column as texts, None where it is blank or holds the marker."""
    marker = None if unlabeled is None else unlabeled.strip()
    texts = [text.strip() for text in file.texts(name)]
    texts, _ = blank_marks(["" if text == marker else text for text in texts])
    return [text or None for text in texts]


def _as_numbers(texts: Iterable[str | None]) -> NDArray[np.float64] | None:
    """Texts as numbers, NaN for None; None if one is not a number."""
    try:
        return np.array([np.nan if text is None else float(text) for text in texts], np.float64)
    except ValueError:
        return None


def _numbers(file: DataFile, name: str, unlabeled: str | None) -> NDArray[np.float64]:
    texts = _texts(file, name, unlabeled)
    numbers = _as_numbers(texts)
    if numbers is None:
        wrong = next(text for text in texts if text is not None and _as_numbers([text]) is None)
        raise DataError(
            f"{file.path}: column {quoted(name)} holds values that are not numbers, such as {quoted(wrong)}"
        )
    return numbers


# ---- models that predict


def load_model(path: Path, jobs: int | None) -> Any:
    """Read a classifier or a regressor."""
    fitted = tsenet.load(path)
    if not isinstance(fitted, tsenet.TSENetClassifier | tsenet.TSENetRegressor):
        raise DataError(_predicts_nothing(path, type(fitted).__name__))
    return fitted.set_params(n_jobs=jobs)


def _predicts_nothing(path: Path, kind: str) -> str:
    """What to say of a file that is no classifier or regressor, and what it is for."""
    use = "tsenet fit writes a model that predicts"
    if kind == "TopicModel":
        use = f"tsenet topics DATA --model {path} --out DIR finds its topics in new documents"
    return f"{path} holds a {kind}, which predicts nothing: {use}"


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


def reasons_of(fitted: Any, table: Table, n: int, progress: Progress) -> list[list[str]]:
    """The columns that add most to the output of each row, as ``age = 31 (+1.25)``: n lists of a text per row."""
    from tsenet.explain.prediction import explain_prediction

    progress.start("explaining predictions", table.n_rows)
    reasons = []
    for row in range(table.n_rows):
        features = explain_prediction(fitted, table.take([row]), n=n).features[:n]
        texts = [f"{part.name} = {part.value:.4g} ({part.contribution:+.4g})" for part in features]
        reasons.append(texts + [""] * (n - len(texts)))
        progress.advance()
    progress.finish()
    return [list(column) for column in zip(*reasons, strict=True)]
