"""Lists of numbers in compressed form, as kernels take them."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray


class Csr(NamedTuple):
    """Lists of numbers in compressed form: list k is ``items[start[k]:start[k + 1]]``.

    Binary rows are such lists (the variables that are on in each row), and so are binary columns (the rows in which
    each variable is on). ``start`` is int64, ``items`` int32.
    """

    start: NDArray[Any]
    items: NDArray[Any]
