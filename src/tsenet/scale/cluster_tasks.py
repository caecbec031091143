"""What is sent to a cluster, and tasks that measure themselves."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tsenet.scale.report import Spent, bytes_held, peak_memory

__all__ = ["Sending", "TaskResult", "added", "applied", "part_of", "result_of"]


def applied(function: Callable[[Any], Any], item: Any) -> Any:
    """Call a function that is an argument itself."""
    return function(item)


class Sending:
    """Sends arguments to the cluster, and counts their bytes.

    The scheduler sends the arguments of a fold to each worker once, and again if that worker dies. They are bytes to
    it: it need not know the library nor reach the folder.
    """

    def __init__(self, client: Any, spent: Spent) -> None:
        self._client, self._spent = client, spent
        self._last: tuple[Any, Any] = (None, None)
        self._workers = sorted(client.nthreads())
        self._n_folds = 0

    def places(self, n_items: int) -> list[str | None]:
        """Workers on which the items of a fold should be worked on: neighbours on the same one, or folds in turn.

        Left alone, Dask takes the worker that got the arguments first, and moves tasks to others only when it knows how
        long they take. A place is a wish: a worker that is gone is replaced by any other.
        """
        if not self._workers:
            return [None] * n_items
        first, n_workers = self._n_folds, len(self._workers)
        self._n_folds += 1
        return [
            self._workers[(first + k * n_workers // n_items) % n_workers] for k in range(n_items)
        ]

    def packed(self, value: Any) -> bytes:
        """A value as bytes that will be sent."""
        made = pickle.dumps(value)
        self._spent.sent += len(made)
        return made

    def shared(self, arguments: tuple[Any, ...]) -> Any:
        """The arguments as a task of their own; the same for folds that follow each other with the same object."""
        import dask

        if self._last[0] is not arguments:
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
                task = self._client.submit(pickle.loads, self.packed(arguments), pure=False)
            self._last = (arguments, task)
        return self._last[1]


@dataclass
class TaskResult:
    """A result, and what all its tasks took."""

    value: Any
    spent: Spent

    def __sizeof__(self) -> int:
        """Dask asks how much memory a result takes."""
        return bytes_held(self.value)


def _measured(make: Callable[[], Any], before: Sequence[Spent] = (), tasks: int = 1) -> TaskResult:
    cpu = time.thread_time()
    value = make()
    spent = Spent(tasks, time.thread_time() - cpu, 0, bytes_held(value), peak_memory())
    for each in before:
        spent.add(each)
    return TaskResult(value, spent)


def part_of(function: Any, arguments: tuple[Any, ...], item: bytes) -> TaskResult:
    """The part of one item."""
    return _measured(lambda: function(*arguments, pickle.loads(item)))


def added(add: Any, a: TaskResult, b: TaskResult) -> TaskResult:
    """The sum of two parts."""
    return _measured(lambda: add(a.value, b.value), (a.spent, b.spent), tasks=0)


def result_of(function: Any, arguments: tuple[Any, ...], total: TaskResult) -> TaskResult:
    """The result of the sum."""
    return _measured(lambda: function(*arguments, total.value), (total.spent,), tasks=0)
