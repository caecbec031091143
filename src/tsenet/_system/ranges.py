"""Checks of arrays from outside, without arithmetic that could wrap around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["exact_array", "rise_from_zero"]


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


def rise_from_zero(starts: NDArray[Any], end: int) -> bool:
    """Whether whole numbers (n + 1,) never fall, begin with 0 and stop at ``end``: all are then within 0..``end``.

    Neighbours are compared, not subtracted: 2⁶³ − 1 followed by −2⁶³ would have the difference 1.
    """
    return bool(
        starts.ndim == 1
        and starts.size
        and starts[0] == 0
        and starts[-1] == end
        and (starts[1:] >= starts[:-1]).all()
    )
