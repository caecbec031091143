"""scikit-learn's check of the number and names of columns, with this library's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from tsenet.data.binary import mismatch_message
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data.shards import ShardFolder
    from tsenet.data.table import Table

__all__ = ["check_table", "note_columns"]


def _check_features(estimator: Any, X: Any, *, reset: bool) -> None:
    """Compare number and names of columns with those of ``fit``; with ``reset``, note them.

    Raises
    ------
    DataError
        If they differ, or if some names are strings and others are not.
    """
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from error


def check_table(estimator: Any, X: Any, table: Table, *, reset: bool) -> None:
    """Do the same for the table made from ``X``, which has more columns than ``X`` if that holds dates."""
    if getattr(X, "shape", table.shape)[1:] == (table.n_columns,) or not table.named:
        _check_features(estimator, X, reset=reset)
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
