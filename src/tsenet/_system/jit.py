"""`kernel`: numba's ``njit`` with this package's settings.

Kernels are compiled on first call (never at import), kept in numba's cache on disk, and run without the GIL so
that `tsenet._system.threads` can run chunks of one stage in parallel. Where no cache can be written (a read-only
install and no writable home) they still work: each process compiles them again.

Write kernels as plain loops over scalars. Each slice assignment, reduction or literal number as an argument costs
another half second of compilation: hence ``np.int64(0)`` where a kernel passes a number to another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numba
from numpy.typing import NDArray

Array = NDArray[Any]  # a kernel's docstring names dtype and shape
Int = Any  # a whole number; inside a kernel numba infers which, and int and np.int64 mix
F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a plain function on arrays; the result is called exactly like the function."""
    return _compile(function, fastmath=False)


def sum_kernel(function: F) -> F:
    """As `kernel`, but sums may be taken in another (fixed) order, so that the processor adds eight at a time."""
    return _compile(function, fastmath={"reassoc", "contract"})


def _compile(function: F, fastmath: bool | set[str]) -> F:
    compiler = partial(numba.njit, nogil=True, error_model="numpy", fastmath=fastmath)
    try:
        compiled = compiler(cache=True)(function)
    except RuntimeError:  # numba found no place to keep its cache
        compiled = compiler()(function)
    return cast(F, compiled)
