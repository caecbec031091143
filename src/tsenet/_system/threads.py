"""Threads for kernels: a stage is cut into chunks, each chunk's kernel runs without the GIL.

The chunks never depend on the number of threads, each owns its part of the output, and results come back in
chunk order, so a stage gives the same bytes for any ``n_jobs``. Why not numba's ``prange``: docs/decisions.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Task = TypeVar("Task")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """Number of threads to use: ``None`` takes every core this process may use, −1 too, −2 all but one.

    ``OMP_NUM_THREADS`` bounds ``None``, so that joblib's worker processes share the machine.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n_jobs is None:
        asked = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give a number of threads, -1 or None for all cores")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class Workers:
    """A small pool of threads, used as a context manager; with one thread it runs tasks in place."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_threads = thread_count(n_jobs)
        self._pool = ThreadPoolExecutor(self.n_threads) if self.n_threads > 1 else None

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield ``function(task)`` in the order of the tasks."""
        if self._pool is None:
            return map(function, tasks)
        return self._pool.map(function, tasks)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def chunks(n_items: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(n_items)`` into ``(start, stop)`` pieces of ``size``; the cut ignores the thread count."""
    return [(start, min(start + size, n_items)) for start in range(0, n_items, size)]


def chunks_of_equal_work(work: NDArray[np.int64], per_chunk: int) -> list[tuple[int, int]]:
    """Cut a list of items into ``(start, stop)`` pieces of about ``per_chunk`` work each.

    ``work`` (n,) is positive; the cut ignores the thread count.
    """
    total = np.cumsum(work)
    if total.size == 0:
        return []
    last = np.searchsorted(total, np.arange(per_chunk, total[-1] + per_chunk, per_chunk))
    stops = np.unique(np.minimum(last + 1, total.size)).tolist()
    return list(zip([0, *stops[:-1]], stops, strict=True))


@contextmanager
def torch_threads(n_threads: int) -> Iterator[None]:
    """Let torch use this many threads in a block of code.

    On small arrays one is faster, most of all where other programs use the cores too.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def blas_threads(n_threads: int) -> Any:
    """Let NumPy's and SciPy's BLAS use this many threads in a block of code."""
    return _libraries().limit(limits=n_threads, user_api="blas")


@lru_cache(maxsize=1)
def _libraries() -> Any:
    """The BLAS libraries; finding them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
