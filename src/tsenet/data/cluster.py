"""Functions of many items on the workers of a Dask cluster; scheduling, retries and moving data are Dask's."""

from __future__ import annotations

import copy
import logging
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

from tsenet.errors import ClusterError, MissingDependencyError, TSENetError
from tsenet.progress import Progress

__all__ = ["Cluster"]

AHEAD = 4  # items per worker that are submitted before the first result is taken
CONNECT_SECONDS = "30s"  # until a scheduler must have answered
# After this long without a finished task, look whether workers are being restarted.
LOOK_SECONDS = 2.0
# Restarts of workers that were over their memory limit, without a finished task in between.
MAX_RESTARTS = 3
# Of worker processes that are started here. Dask has malloc return memory to the system at once, which costs a quarter
# of the CPU time of passes with large arrays.
ENVIRONMENT = {
    "MALLOC_TRIM_THRESHOLD_": 1 << 26,
    "MALLOC_MMAP_THRESHOLD_": 1 << 28,
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1),
}
_MORE_MEMORY = "give workers more memory, or make shards with smaller shards"


class Cluster:
    """The workers of a Dask cluster.

    Functions are sent to each worker once, and again if it dies, so they may hold large arrays. They reach the
    scheduler as bytes: it need not know the library nor reach the folder.

    Parameters
    ----------
    client : distributed.Client or str or None
        A client, or the address of a scheduler such as ``"tcp://10.0.0.1:8786"``; None starts workers here.
    n_workers : int or None
        Worker processes to start if there is no client, one task each; they share the machine's memory.

    Attributes
    ----------
    n_slots : int
        Tasks that run at the same time.

    Raises
    ------
    ClusterError
        If no scheduler answers, or it has no workers.
    MissingDependencyError
        If Dask is not installed.
    """

    def __init__(self, client: Any = None, n_workers: int | None = None) -> None:
        try:
            import dask
            import distributed
        except ImportError as error:
            raise MissingDependencyError(
                "clusters need dask: pip install dask distributed"
            ) from error

        self._closing: list[Any] = []
        self._turn = count()
        try:
            if client is None:
                with dask.config.set({"distributed.nanny.pre-spawn-environ": ENVIRONMENT}):
                    client = distributed.LocalCluster(
                        n_workers=n_workers,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address=":0",
                        silence_logs=logging.CRITICAL,
                    )
                self._closing.append(client)

            if not isinstance(client, distributed.Client):
                address = getattr(client, "scheduler_address", client)
                with _clear_errors(f"connecting to {address}"):
                    client = distributed.Client(
                        client, timeout=CONNECT_SECONDS, set_as_default=False
                    )
                self._closing.append(client)

            self.client = client
            with _clear_errors("asking the scheduler for its workers"):
                workers = client.scheduler_info()["workers"].values()

            if not workers:
                raise ClusterError(
                    f"the cluster {client.scheduler.address} has no workers: start some with "
                    "`dask worker ADDRESS --nthreads 1 --memory-limit 2GB`"
                )
        except BaseException:
            self.close()
            raise

        self.n_slots = sum(int(worker["nthreads"]) for worker in workers)

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for each item, in order; a few items per worker are taken ahead."""
        waiting: deque[Any] = deque()
        rest = iter(items)
        try:
            with _clear_errors("the work", self.client):
                shared = self._shared(function)
                while True:
                    for item in rest:
                        waiting.append(self._submit(shared, item))
                        if len(waiting) >= AHEAD * self.n_slots:
                            break
                    if not waiting:
                        return
                    self._wait([waiting[0]])
                    yield waiting.popleft().result()
        finally:
            _release(waiting)

    def reduce(
        self,
        function: Callable[[Any], Any],
        items: Sequence[Any],
        combine: Callable[[Any, Any], Any],
        progress: Progress | None = None,
    ) -> Any:
        """Combine ``function(item)`` of all items, on the workers and in the order of the items."""
        futures: list[Any] = []
        try:
            with _clear_errors("the work", self.client):
                shared = self._shared(function)
                futures = [self._submit(shared, item) for item in items]
                sums = futures
                while len(sums) > 1:  # neighbours in pairs, and before more results are made
                    sums = [
                        self.client.submit(
                            _combined, combine, *sums[k : k + 2], pure=False, priority=1
                        )
                        if k + 1 < len(sums)
                        else sums[k]
                        for k in range(0, len(sums), 2)
                    ]

                (total,) = sums
                del sums
                self._wait(futures, progress)
                self._wait([total])
                return total.result()
        finally:
            _release(futures)

    def _shared(self, function: Callable[[Any], Any]) -> Any:
        """A function as a task of its own, which Dask can run again if a worker is lost."""
        import dask

        self._addresses = sorted(self.client.nthreads())
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            return self.client.submit(pickle.loads, pickle.dumps(function), pure=False)

    def _submit(self, shared: Any, item: Any) -> Any:
        """Submit one task, to the workers in turn: left alone, Dask takes the one that got the function first."""
        addresses = self._addresses
        return self.client.submit(
            _call,
            shared,
            pickle.dumps(item),
            pure=False,
            workers=addresses[next(self._turn) % len(addresses)] if addresses else None,
            allow_other_workers=bool(addresses),
        )

    def _wait(self, futures: list[Any], progress: Progress | None = None) -> None:
        """Wait for all futures, and drop those that are done; the first error ends the waiting.

        Dask restarts a worker that is over its memory limit with the same tasks, again and again: after a few
        restarts without a finished task that is an error too.
        """
        from distributed import wait

        n_before: int | None = None
        restarts = 0
        while futures:
            try:
                with self.client.as_current():
                    finished = wait(
                        futures, timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED"
                    ).done
            except TimeoutError:
                n_now = len(self.client.get_events("worker-restart-memory") or ())
                restarts += 0 if n_before is None else max(0, n_now - n_before)
                n_before = n_now
                if restarts >= MAX_RESTARTS:
                    raise ClusterError(
                        f"workers were stopped {restarts} times for being over their memory limit, and no task was "
                        f"finished in between: {_MORE_MEMORY}"
                    ) from None
                continue

            n_before = None
            restarts = 0
            for future in finished:
                if future.status != "finished":
                    future.result()
                futures.remove(future)
                if progress is not None:
                    progress.advance()

    def close(self) -> None:
        """Close what was started or connected here."""
        while self._closing:
            with suppress(Exception):
                self._closing.pop().close(timeout=10)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _call(function: Callable[[Any], Any], item: bytes) -> Any:
    return function(pickle.loads(item))


def _combined(combine: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Combine two results that Dask may need again, if a worker is lost."""
    return combine(copy.deepcopy(a), b)


def _release(futures: Iterable[Any]) -> None:
    """Let the scheduler drop tasks that nobody waits for; `cancel` would fail where one of them is gone already."""
    for future in futures:
        with suppress(Exception):  # the scheduler may be gone
            future.release()


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
