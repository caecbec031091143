"""What all estimators share: texts as rows, names of columns, parameters in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import validate_data

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

    from tsenet.data.table import Table
    from tsenet.store.files import Storable

__all__ = [
    "FROM_0",
    "FROM_1",
    "FROM_2",
    "THREADS",
    "TREE_CONSTRAINTS",
    "SavedModel",
    "as_json",
    "check_columns",
    "fill_vectorizer",
    "fit_vectorizer",
    "vectorizer_parts",
]

_MANY_TEXTS = 10_000  # from this many texts on, words that occur in only one are left out

#: Whole numbers from 0, 1 and 2 on, what ``n_jobs`` may be, and the options of :func:`tsenet.learn_tree`.
FROM_0, FROM_1, FROM_2 = (Interval(Integral, least, None, closed="left") for least in range(3))
THREADS = [FROM_1, Options(Integral, {-1}), None]
TREE_CONSTRAINTS: dict[str, list[Any]] = {
    "max_island": [FROM_2],
    "max_top": [FROM_1],
    "ud_threshold": [Interval(Real, None, None, closed="neither")],
    "correlation_test": ["boolean"],
    "structure_samples": [FROM_2, None],
    "refine_steps": [FROM_0],
    "em_restarts": [FROM_1],
    "piece_size": [FROM_2, Options(Integral, {0}), StrOptions({"auto"}), None],
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


def check_columns(estimator: Any, names: Sequence[str], named: bool, *, reset: bool) -> None:
    """Compare number and names of columns with those of ``fit``, as scikit-learn does; with ``reset``, note them.

    Raises
    ------
    DataError
        If they differ.
    """
    columns: Any = np.empty((0, len(names)))
    if named:
        known = getattr(estimator, "feature_names_in_", None)
        if not reset and known is not None and known.tolist() == list(names):
            return
        import pandas as pd

        columns = pd.DataFrame(columns=list(names))
    try:
        validate_data(estimator, columns, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise DataError(str(error)) from error


# ---- files


class SavedModel:
    """An estimator that can be written to a file."""

    def save(self: Storable, path: str | PathLike[str]) -> None:
        """Write the fitted estimator to a ``.tsenet`` file, which :func:`tsenet.load` reads."""
        from tsenet.store import save

        save(self, path)


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
