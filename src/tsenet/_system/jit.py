"""`kernel`: numba's ``njit`` with this package's settings.

Kernels are compiled on first call (never at import), kept in numba's cache on disk, and run without the GIL so
that `tsenet._system.threads` can run chunks of one stage in parallel. Where no cache can be written (a read-only
install and no writable home, a full disk) or read (a damaged file) they still work: each process compiles them again.

Write kernels as plain loops over scalars. Each slice assignment, reduction or literal number as an argument costs
another half second of compilation: hence ``np.int64(0)`` where a kernel passes a number to another.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numpy.typing import NDArray

Array = NDArray[Any]  # a kernel's docstring names dtype and shape
Int = Any  # a whole number; inside a kernel numba infers which, and int and np.int64 mix
F = TypeVar("F", bound=Callable[..., Any])

logger = logging.getLogger("tsenet.compile")


class _Compilation(event.Listener):
    """How long kernels were compiled in this process; the first one is logged. Those of a cache are not compiled."""

    seconds = 0.0
    _depth = 0  # kernels are compiled while the ones that call them are
    _began = 0.0

    def on_start(self, event: Any) -> None:
        """A kernel begins to be compiled, one at a time in all threads."""
        if not self._depth:
            self._began = time.perf_counter()
            if not self.seconds:
                logger.info(
                    "compiling kernels, once on this machine: a first fit takes some seconds longer"
                )
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """A kernel was compiled."""
        self._depth -= 1
        if not self._depth:
            self.seconds += time.perf_counter() - self._began


compilation = _Compilation()
event.register("numba:compile", compilation)  # type: ignore[no-untyped-call]


def kernel(function: F) -> F:
    """Compile a plain function on arrays; the result is called exactly like the function."""
    return _compile(function, fastmath=False)


def sum_kernel(function: F) -> F:
    """As `kernel`, but sums may be taken in another (fixed) order, so that the processor adds eight at a time."""
    return _compile(function, fastmath={"reassoc", "contract"})


def _compile(function: F, fastmath: bool | set[str]) -> F:
    compiler = partial(
        numba.njit, nogil=True, no_cfunc_wrapper=True, error_model="numpy", fastmath=fastmath
    )
    try:
        dispatcher: Any = compiler(cache=True)(function)
    except RuntimeError:  # numba found no place to keep its cache
        dispatcher = compiler()(function)
    if getattr(dispatcher, "_cache", None) is not None:  # a plain function under NUMBA_DISABLE_JIT
        dispatcher._cache = _ForgivingCache(dispatcher._cache)
    return cast(F, dispatcher)


class _ForgivingCache:
    """numba's cache of one kernel, whose errors are a warning: the kernel is then compiled in memory."""

    warned = False  # in this process, by any kernel

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *arguments: Any) -> Any:
        """The compiled kernel, or None if it is not there or cannot be read."""
        try:
            return self._cache.load_overload(*arguments)
        except Exception as error:  # what was unpickled may be anything
            self._warn(error)
            with suppress(Exception):
                self._cache.flush()  # forget the damaged entries, so that the next process finds good ones
            return None

    def save_overload(self, *arguments: Any) -> None:
        """Keep a compiled kernel, if there is room."""
        try:
            self._cache.save_overload(*arguments)
        except Exception as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not _ForgivingCache.warned:
            _ForgivingCache.warned = True
            warnings.warn(
                f"numba's cache in {self._cache.cache_path} cannot be used ({type(error).__name__}: {error}): "
                "kernels are compiled in memory, which takes longer. Free some disk space or delete the folder",
                RuntimeWarning,
                stacklevel=2,
            )
