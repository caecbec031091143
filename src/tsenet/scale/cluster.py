"""The passes over data on the workers of a Dask cluster (docs/adr/0018)."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

from tsenet.errors import ClusterError, MissingDependencyError, TSENetError
from tsenet.progress import Progress
from tsenet.scale.cluster_tasks import Sending, TaskResult, added, applied, part_of, result_of
from tsenet.scale.executor import Executor, Reduction
from tsenet.scale.report import Spent

__all__ = ["OnCluster"]

AHEAD = 4  # folds per worker that are submitted before the result of the first is taken
_CONNECT_SECONDS = "30s"
# After so long without a finished task, look whether workers are being restarted.
_LOOK_SECONDS = 2.0
# Of workers that were over their memory limit, without a finished task in between.
_MOST_RESTARTS = 3
_MORE_MEMORY = "give workers more memory, or make shards with smaller partitions"


class OnCluster(Executor):
    """Runs tasks on the workers of a Dask cluster; scheduling, retries and moving data are Dask's.

    Parameters
    ----------
    client : distributed.Client or str or None
        A client, or the address of a scheduler such as ``"tcp://10.0.0.1:8786"``; None starts workers here.
    n_workers : int or None
        Worker processes to start if there is no client, one task each.
    memory_limit : int or None
        Bytes of each worker that is started.

    Raises
    ------
    ClusterError
        If no scheduler answers, or it has no workers.
    MissingDependencyError
        If Dask is not installed.
    """

    def __init__(
        self, client: Any, n_workers: int | None = None, memory_limit: int | None = None
    ) -> None:
        try:
            import distributed
        except ImportError as error:
            raise MissingDependencyError("clusters need dask: pip install tsenet[dask]") from error
        self.is_distributed = True
        self._closing: list[Any] = []
        try:
            if client is None:
                cluster = distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=memory_limit,
                    dashboard_address=":0",
                    silence_logs=logging.CRITICAL,
                )
                self._closing.append(cluster)
                client = cluster
            if not isinstance(client, distributed.Client):
                client = _connected(client)
                self._closing.append(client)
            self.client = client
            self.n_slots, self.memory = self._workers()
        except BaseException:
            self.close()
            raise

    def _workers(self) -> tuple[int, int]:
        """Threads of all workers, and the least memory that one thread has."""
        with _clear_errors("asking the scheduler for its workers"):
            workers = self.client.scheduler_info()["workers"].values()
        if not workers:
            raise ClusterError(
                f"the cluster {self.client.scheduler.address} has no workers: start some with "
                "`dask worker ADDRESS --nthreads 1 --memory-limit 2GB`"
            )
        slots = sum(int(worker["nthreads"]) for worker in workers)
        limits = [
            worker["memory_limit"] / worker["nthreads"]
            for worker in workers
            if worker["memory_limit"]
        ]
        return slots, int(min(limits, default=2 << 30))

    def run(
        self, folds: Iterable[Reduction], progress: Progress, spent: Spent | None = None
    ) -> Iterator[Any]:
        """Yield the result of each fold, in order.

        At most a few folds per worker are in work. One of several items fills the workers by itself, and its parts may
        fill their memory: it is finished before the next begins.
        """
        spent = Spent() if spent is None else spent
        waiting: deque[tuple[list[Any], Any]] = deque()
        rest = iter(folds)
        try:
            with _clear_errors("the work", self.client):
                sending = Sending(self.client, spent)
                while True:
                    for fold in rest:
                        waiting.append(self._submit(fold, sending))
                        if len(fold.items) > 1 or len(waiting) >= AHEAD * self.n_slots:
                            break
                    if not waiting:
                        return
                    parts, last = waiting[0]
                    self._follow(parts, last, progress)
                    measured: TaskResult = last.result()
                    waiting.popleft()
                    del parts, last
                    spent.add(measured.spent)
                    yield measured.value
        finally:
            # The scheduler drops tasks that nobody waits for. (`cancel` fails in it where one of them is gone already.)
            for parts, last in waiting:
                for future in (*parts, last):
                    with suppress(Exception):  # the scheduler may be gone
                        future.release()

    def map_in_order(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for each item, in order; a few items per worker are read ahead."""
        arguments = (function,)
        return self.run((Reduction(applied, [item], arguments) for item in items), Progress())

    def __enter__(self) -> OnCluster:
        return self

    def _follow(self, parts: list[Any], last: Any, progress: Progress) -> None:
        """Report the parts as they are finished, until the result is; the first error ends the waiting."""
        from distributed import wait

        watch = _Restarts(self.client)
        while not last.done():
            pending = [part for part in parts if part is not last] or [last]
            try:
                with self.client.as_current():
                    wait(pending, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                watch.look()
                continue
            watch.forget()
            for part in pending:
                if part.status in ("error", "cancelled", "lost"):
                    part.result()
                if part.status == "finished" and part is not last:
                    parts.remove(part)
                    part.release()  # workers drop it as soon as it is added
                    progress.advance()
        progress.advance(len(parts))

    def _submit(self, fold: Reduction, sending: Sending) -> tuple[list[Any], Any]:
        """Submit the tasks of a fold: its parts, and the one that makes the result."""
        submit = self.client.submit
        shared = sending.shared(fold.arguments)
        places = sending.places(len(fold.items))
        parts = [
            submit(
                *(part_of, fold.function, shared, sending.packed(item)),
                pure=False,
                workers=place,
                allow_other_workers=place is not None,
            )
            for item, place in zip(fold.items, places, strict=True)
        ]
        sums = parts
        while len(sums) > 1:  # neighbours in pairs, and before more parts are made
            sums = [
                submit(added, fold.add, *sums[k : k + 2], pure=False, priority=1)
                if k + 1 < len(sums)
                else sums[k]
                for k in range(0, len(sums), 2)
            ]
        (total,) = sums
        if fold.finish is not None:
            total = submit(result_of, fold.finish, shared, total, pure=False)
        return parts, total

    def close(self) -> None:
        """Close what was started or connected here."""
        while self._closing:
            with suppress(Exception):
                self._closing.pop().close(timeout=10)


class _Restarts:
    """Sees workers that are stopped again and again because they are over their memory limit.

    Dask starts such a worker again, with the same tasks, and may do so for ever: a worker that it stops itself does
    not count as a failure of its tasks.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._known: int | None = None
        self._tally = 0

    def forget(self) -> None:
        """A task is finished: the work goes on."""
        self._known, self._tally = None, 0

    def look(self) -> None:
        """Count new restarts.

        Raises
        ------
        ClusterError
            If there were too many without a finished task.
        """
        found = len(self._client.get_events("worker-restart-memory") or ())
        if self._known is not None:
            self._tally += max(0, found - self._known)
        self._known = found
        if self._tally >= _MOST_RESTARTS:
            raise ClusterError(
                f"workers were stopped {self._tally} times for being over their memory limit, and no task was "
                f"finished in between: {_MORE_MEMORY}"
            )


def _connected(address: Any) -> Any:
    import distributed

    shown = getattr(address, "scheduler_address", address)
    with _clear_errors(f"connecting to {shown}"):
        return distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)


@contextmanager
def _clear_errors(doing: str, client: Any = None) -> Iterator[None]:
    """Say what a lost cluster means for the user."""
    from distributed import KilledWorker

    try:
        yield
    except TSENetError:
        raise
    except KilledWorker as error:
        raise ClusterError(
            f"a worker died again and again in {doing}, most likely out of memory: {_MORE_MEMORY}"
        ) from error
    except MemoryError as error:
        raise ClusterError(
            f"a worker had too little memory for {doing} ({error}): {_MORE_MEMORY}"
        ) from error
    except Exception as error:
        lost = isinstance(error, CancelledError | TimeoutError | OSError)  # closed connections too
        if not lost and (client is None or client.status in ("running", "connecting")):
            raise
        raise ClusterError(
            f"the cluster was lost in {doing} ({error or type(error).__name__}): nothing was written. "
            "Start it again, and the run again"
        ) from error
