"""scikit-learn's check of the number and names of columns, with this library's errors."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from tsenet.errors import DataError

__all__ = ["check_features"]


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
