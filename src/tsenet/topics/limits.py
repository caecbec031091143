"""What an array of a model file must be, checked before anything is made of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The largest float: a limit that leaves out infinity.
FINITE = float(np.finfo(np.float64).max)


class Limits(NamedTuple):
    """Type, shape and range of an array."""

    dtype: type
    shape: tuple[int, ...]
    low: float
    high: float
    may_be_nan: bool = False

    def check(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """A copy of the array, if it fits.

        Raises
        ------
        ValueError
            If it does not; the message says what is wrong.
        """
        if array.dtype != self.dtype or array.shape != self.shape:
            expected = f"{self.dtype.__name__} {self.shape}"
            raise ValueError(f"{name} is {array.dtype} {array.shape}, not {expected}")
        fits = (array >= self.low) & (array <= self.high)
        if self.may_be_nan:
            fits |= np.isnan(array)
        if not fits.all():
            raise ValueError(f"{name} has values that are not between {self.low} and {self.high}")
        return np.array(array)
