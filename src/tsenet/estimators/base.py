"""What all estimators share: texts as rows, names of columns, parameters in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import validate_data

from tsenet.data.binary import mismatch_message
from tsenet.data.text import (
    checked_vectorizer,
    vectorize,
    vectorizer_fields,
    vectorizer_of_fields,
    vocabulary_of,
    word_vectorizer,
)
from tsenet.errors import DataError

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

    from tsenet.data.shards import ShardFolder
    from tsenet.data.table import Table

__all__ = [
    "THREADS",
    "TREE_CONSTRAINTS",
    "as_json",
    "check_table",
    "fill_vectorizer",
    "fit_vectorizer",
    "note_columns",
    "vectorizer_parts",
]

_MANY_TEXTS = 10_000  # from this many texts on, words that occur in only one are left out

#: What scikit-learn lets ``n_jobs`` be, and the options of :func:`tsenet.learn_tree`.
THREADS = [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None]
TREE_CONSTRAINTS: dict[str, list[Any]] = {
    "max_island": [Interval(Integral, 2, None, closed="left")],
    "max_top": [Interval(Integral, 1, None, closed="left")],
    "ud_threshold": [Interval(Real, None, None, closed="neither")],
    "correlation_test": ["boolean"],
    "structure_samples": [Interval(Integral, 2, None, closed="left"), None],
    "refine_steps": [Interval(Integral, 0, None, closed="left")],
    "em_restarts": [Interval(Integral, 1, None, closed="left")],
    "piece_size": [
        Interval(Integral, 2, None, closed="left"),
        Options(Integral, {0}),
        StrOptions({"auto"}),
        None,
    ],
    "ties": [StrOptions({"positive", "any"})],
    "n_jobs": THREADS,
}


# ---- texts


def fit_vectorizer(
    texts: Any, vectorizer: CountVectorizer | None, progress: Any = None
) -> tuple[CountVectorizer, Table]:
    """Fit a copy of a vectorizer, or the default one, to texts: the fitted copy, and the counts."""
    if vectorizer is not None:
        fitted = clone(checked_vectorizer(vectorizer))
    else:
        fitted = word_vectorizer(min_documents=1 if len(texts) < _MANY_TEXTS else 2)
    return fitted, vectorize(texts, fitted, progress=progress)


def vectorizer_parts(model: Any, words: Sequence[str]) -> dict[str, Any]:
    """What a model file holds of a model's vectorizer; the words are the names of its columns."""
    fitted = model.vectorizer_
    if fitted is None:
        return {"has_vectorizer": False, "words": None}
    if vocabulary_of(fitted) != tuple(words):
        raise DataError("the words of vectorizer_ are not the columns that the model was fitted on")
    return {
        "has_vectorizer": getattr(model, "vectorizer", None) is not None,
        "words": vectorizer_fields(fitted),
    }


def fill_vectorizer(model: Any, meta: dict[str, Any], words: Sequence[str]) -> None:
    """Give a model the vectorizer of its file."""
    model.vectorizer_ = None
    if meta["words"] is not None:
        model.vectorizer_ = vectorizer_of_fields(meta["words"], words)
        if meta["has_vectorizer"]:
            model.vectorizer = clone(model.vectorizer_)


# ---- columns


def check_table(estimator: Any, X: Any, table: Table, *, reset: bool) -> None:
    """Compare number and names of columns with those of ``fit``; with ``reset``, note them.

    Parameters
    ----------
    X : any
        The user's rows.
    table : Table
        The table made from ``X``; it has more columns than ``X`` if that holds dates.

    Raises
    ------
    DataError
        If they differ, or if some names are strings and others are not.
    """
    if not (reset or table.named or hasattr(estimator, "feature_names_in_")):
        known = estimator.n_features_in_
        if table.n_columns != known:
            raise DataError(
                f"X has {table.n_columns} features, but {type(estimator).__name__} is expecting "
                f"{known} features as input."
            )
    elif getattr(X, "shape", table.shape)[1:] == (table.n_columns,) or not table.named:
        try:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        except (TypeError, ValueError) as error:
            raise DataError(str(error)) from error
    elif not reset:
        known = getattr(estimator, "feature_names_in_", table.names)
        message = mismatch_message(known, True, table.names, True, type(estimator).__name__)
        if message:
            raise DataError(message)
    else:
        validate_data(estimator, table.values, skip_check_array=True)
        estimator.feature_names_in_ = np.array(table.names, dtype=object)


def note_columns(estimator: Any, folder: ShardFolder) -> None:
    """Note number and names of the columns of a folder of shards."""
    estimator.n_features_in_ = folder.n_columns
    if folder.named:
        estimator.feature_names_in_ = np.array(folder.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):  # of an earlier fit
        del estimator.feature_names_in_


# ---- files


def as_json(value: Any) -> Any:
    """A parameter as JSON holds it; None for what is no plain value, such as a function."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): as_json(each) for name, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [as_json(each) for each in value]
    return value if isinstance(value, bool | int | float | str | None) else None
