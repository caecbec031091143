"""What all estimators share: limits of parameters, columns, files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import (
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from tsenet.data.mixed import split_frame
from tsenet.data.table import Table
from tsenet.data.text import are_texts, as_counts, vectorizer_fields, vectorizer_of_fields
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.store.files import Storable

#: Whole numbers from 0, 1 and 2 on, what ``n_jobs`` may be, and the options of :func:`tsenet.learn_tree`.
NON_NEGATIVE, POSITIVE, AT_LEAST_TWO = (
    Interval(Integral, least, None, closed="left") for least in range(3)
)
THREADS = [POSITIVE, Options(Integral, {-1}), None]
#: Parameters that do not change the model.
_OF_SESSION = ("n_jobs", "progress")
TREE_CONSTRAINTS: dict[str, list[Any]] = {
    "max_island": [AT_LEAST_TWO],
    "max_top": [POSITIVE],
    "ud_threshold": [Interval(Real, None, None, closed="neither")],
    "correlation_test": ["boolean"],
    "structure_samples": [AT_LEAST_TWO, None],
    "refine_steps": [NON_NEGATIVE],
    "em_restarts": [POSITIVE],
    "completion": [StrOptions({"island", "layer"})],
    "piece_size": [AT_LEAST_TWO, Options(Integral, {0}), StrOptions({"auto"}), None],
    "ties": [StrOptions({"positive", "any"})],
    "n_jobs": THREADS,
}


# ---- columns


def keep_columns(estimator: Any, names: Sequence[str], named: bool) -> None:
    """Note number and names of the columns of ``fit``, as scikit-learn does."""
    estimator.n_features_in_ = len(names)
    vars(estimator).pop("feature_names_in_", None)
    if named:
        estimator.feature_names_in_ = np.array(names, dtype=object)


#: Of each estimator, the names of its columns and other ones that were found to be the same: there may be thousands.
_right_names: WeakKeyDictionary[Any, tuple[Any, tuple[str, ...]]] = WeakKeyDictionary()


def check_columns(estimator: Any, table: Table) -> None:
    """Compare number and names of columns with those of ``fit``, as scikit-learn does.

    Raises
    ------
    DataError
        If they differ.
    """
    names_in_training = getattr(estimator, "feature_names_in_", None)
    columns: Any = np.empty((0, table.n_columns))
    # Right columns are found here: scikit-learn's check takes longer than the prediction of one row.
    if table.named:
        known = _right_names.get(estimator, (None, None))
        if known[0] is names_in_training and known[1] is table.names:
            return
        if names_in_training is not None and names_in_training.tolist() == list(table.names):
            _right_names[estimator] = (names_in_training, table.names)
            return

        import pandas as pd

        columns = pd.DataFrame(columns=list(table.names))
    elif table.n_columns == estimator.n_features_in_:
        if names_in_training is not None:
            warnings.warn(
                f"X does not have valid feature names, but {type(estimator).__name__} was fitted with feature names",
                stacklevel=2,
            )
        return

    try:
        validate_data(estimator, columns, reset=False, skip_check_array=True)
    except ValueError as error:
        wanted = set() if names_in_training is None else set(names_in_training)
        remedy = ""
        if table.named and wanted <= set(table.names):
            remedy = "\nTake the columns of training, in their order: X[model.feature_names_in_]"
        elif table.named and wanted & set(table.names):
            remedy = (
                "\nGive all columns of training, NaN where a value is unknown: "
                "X.reindex(columns=model.feature_names_in_)"
            )
        raise DataError(f"{str(error).strip()}{remedy}") from error


# ---- estimators


class SavedEstimator(BaseEstimator):
    """An estimator that can be written to files."""

    vectorizer_: Any = None

    def save(self: Storable, path: str | PathLike[str]) -> None:
        """Write the fitted estimator to a ``.tsenet`` file, which :func:`tsenet.load` reads. It holds no rows.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.
        """
        from tsenet.store import save

        save(self, path)

    @classmethod
    def _with_params(cls, params: Mapping[str, Any]) -> Self:
        """An estimator with parameters of a file, checked."""
        validate_parameter_constraints(cls._parameter_constraints, params, cls.__name__)
        return cls(**params)


class TableEstimator(SavedEstimator):
    """An estimator of tables, dense or sparse, with missing values or without."""

    def report(
        self,
        path: str | PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        texts: Any = None,
        **options: Any,
    ) -> None:
        """Write the model as one HTML page to explore: its units, what they respond to, and how it was trained.

        Parameters
        ----------
        path : path
            The file to write; one of that name is replaced.
        X, y : optional
            Rows that show what activates the units and which classes they support, and the targets of these rows.
        texts : sequence of str, optional
            What to show of each row; default: the texts themselves, if ``X`` is texts. The page quotes it.
        **options
            Those of :func:`tsenet.explain.report.write_report`, such as ``title`` and ``progress``.
        """
        from tsenet.explain.report import write_report

        check_is_fitted(self)
        reader = getattr(self, "reader_", self.vectorizer_)
        if X is not None and hasattr(reader, "read") and not isinstance(X, Table):
            texts = (
                split_frame(X, reader.text, reader.steps.rule.names_in).texts
                if texts is None
                else texts
            )
            X = reader.read(X)
        elif X is not None and are_texts(X):
            texts = X if texts is None else texts
            X = as_counts(X, reader)

        write_report(path, self, X, y, texts=texts, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


# ---- files


def as_json(item: Any) -> Any:
    """A parameter as JSON holds it; None for what is no plain value, such as a function."""
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, Mapping):
        return {str(name): as_json(each) for name, each in item.items()}
    if isinstance(item, set | frozenset):
        return sorted(item)
    if isinstance(item, list | tuple | np.ndarray):
        return [as_json(each) for each in item]
    return item if isinstance(item, bool | int | float | str | None) else None


def saved_params(estimator: BaseEstimator) -> dict[str, Any]:
    """The parameters that a model file holds: all but those of the machine and the session that fitted it."""
    params = estimator.get_params(deep=False)
    return {name: as_json(value) for name, value in params.items() if name not in _OF_SESSION}


def vectorizer_parts(model: Any, words: Sequence[str]) -> dict[str, Any]:
    """What a model file holds of a model's vectorizer; the words are the names of its columns."""
    fitted = model.vectorizer_
    if fitted is None:
        return {"has_vectorizer": False, "words": None}
    if tuple(fitted.get_feature_names_out()) != tuple(words):
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
