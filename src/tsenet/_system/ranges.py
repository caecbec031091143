"""Conversion of arrays from outside, in which no value wraps around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["exact_array"]


def exact_array(values: Any, dtype: type[np.generic], name: str) -> NDArray[Any]:
    """Return a copy of the values as an array of another type.

    Raises
    ------
    ValueError
        If the type cannot hold a value: 2³² + 3 would become 3 in 32 bits.
    """
    given = np.asarray(values)
    if given.dtype == dtype:
        return given.copy()
    with np.errstate(all="ignore"):
        array: NDArray[Any] = given.astype(dtype)
    kinds = given.dtype.kind, array.dtype.kind
    if kinds[1] != "f" and given.size and (kinds[0] not in "biuf" or (array != given).any()):
        raise ValueError(f"{name} holds values that {np.dtype(dtype)} cannot hold")
    return array
