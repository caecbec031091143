"""scikit-learn's check of the number and names of columns, with this library's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data.shards import ShardFolder

__all__ = ["check_features", "note_columns"]


def check_features(estimator: Any, X: Any, *, reset: bool) -> None:
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


def note_columns(estimator: Any, folder: ShardFolder) -> None:
    """Note number and names of the columns of a folder of shards."""
    estimator.n_features_in_ = folder.n_columns
    if folder.named:
        estimator.feature_names_in_ = np.array(folder.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):  # of an earlier fit
        del estimator.feature_names_in_
