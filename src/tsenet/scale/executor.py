"""Where the passes over data run: here, one partition at a time, or on the workers of a Dask cluster.

Both run :class:`Reduction` objects and give the same bits: the parts of a fold are added in the order of its items, and
their sums are exact however they are grouped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tsenet.progress import Progress
from tsenet.scale.report import Spent

__all__ = ["Executor", "InProcess", "Reduction"]


@dataclass(frozen=True)
class Reduction:
    """Parts of some items, added in their order.

    Attributes
    ----------
    function : callable
        Makes the part of one item: ``function(*arguments, item)``. It must be importable by its name.
    items : sequence
        What the parts are made of, such as groups of partitions; at least one.
    arguments : tuple, default=()
        The same for all items.
    add : callable or None, default=None
        Makes one part of two, changing neither; not needed for one item. It must be associative to the bit, as sums of
        whole numbers are.
    finish : callable or None, default=None
        Makes the result of the sum: ``finish(*arguments, sum)``; None returns the sum.
    """

    function: Callable[..., Any]
    items: Sequence[Any]
    arguments: tuple[Any, ...] = ()
    add: Callable[[Any, Any], Any] | None = None
    finish: Callable[..., Any] | None = None


class Executor(ABC):
    """Runs folds.

    Attributes
    ----------
    n_slots : int
        Tasks that run at the same time.
    memory : int
        Bytes that one task may use.
    is_distributed : bool
        Whether tasks run in other processes.
    """

    n_slots: int
    memory: int
    is_distributed: bool

    @abstractmethod
    def run(
        self, folds: Iterable[Reduction], progress: Progress, spent: Spent | None = None
    ) -> Iterator[Any]:
        """Yield the result of each fold, in order; progress advances by one for each item.

        What the tasks take is added to ``spent``. Folds with the same ``arguments`` object share what is sent.
        """

    def close(self) -> None:
        """Stop what was started for the work."""
        return

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class InProcess(Executor):
    """Runs one task after the other in this process, so only one partition is in memory.

    Parameters
    ----------
    memory : int
        Bytes that the process may use.
    """

    def __init__(self, memory: int) -> None:
        self.n_slots = 1
        self.memory = memory
        self.is_distributed = False

    def run(
        self, folds: Iterable[Reduction], progress: Progress, spent: Spent | None = None
    ) -> Iterator[Any]:
        """Yield the result of each fold, in order."""
        spent = Spent() if spent is None else spent
        for fold in folds:
            parts = deque(fold.items)
            spent.tasks += len(parts)
            total = fold.function(*fold.arguments, parts.popleft())
            progress.advance()
            while parts:
                part = fold.function(*fold.arguments, parts.popleft())
                if fold.add is None:
                    raise ValueError("a fold of several items needs a function that adds")
                total = fold.add(total, part)
                progress.advance()
            yield total if fold.finish is None else fold.finish(*fold.arguments, total)
