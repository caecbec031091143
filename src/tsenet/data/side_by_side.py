"""A function of many items in several processes, with the results in order and a bounded number in memory."""

from __future__ import annotations

import multiprocessing
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from tsenet.errors import DataError, ProcessLostError

__all__ = ["MapInOrder", "in_processes"]

#: ``map_in_order(function, items)`` yields ``function(item)`` for each item, in order.
MapInOrder = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]

_AHEAD = 3  # items per process that are read before the result of the first is taken


@contextmanager
def in_processes(n_workers: int) -> Iterator[MapInOrder]:
    """Start processes; a function that is mapped in them must be importable by its name.

    Parameters
    ----------
    n_workers : int
        How many.

    Yields
    ------
    callable
        ``map_in_order(function, items)``.

    Raises
    ------
    ProcessLostError
        If a process ends before its work is done.
    """
    # Children are new interpreters, not copies: a copy of a process with threads may stand still.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_workers, mp_context=context)

    def map_in_order(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        _refuse_local(function)
        waiting: deque[Future[Any]] = deque()
        rest = iter(items)
        while True:
            for item in rest:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= _AHEAD * n_workers:
                    break
            if not waiting:
                return
            yield waiting.popleft().result()

    try:
        yield map_in_order
    except BrokenProcessPool as error:
        raise ProcessLostError(
            "a process that was started for the work has ended, perhaps out of memory: start the same "
            "again with fewer processes, finished work is kept"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _refuse_local(function: Callable[[Any], Any]) -> None:
    """Say at once what would fail in every process."""
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise DataError(
            f"other processes cannot import what is to be done: a tokenizer must be a function of a module ({error})"
        ) from error
