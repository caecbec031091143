"""Data and clusters of the tests of data beyond memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp


@pytest.fixture(scope="session")
def documents() -> sp.csr_array:
    """Documents of very different lengths over 60 words in 6 topics; long ones are cut into pieces."""
    rng = np.random.default_rng(0)
    topic = np.repeat(rng.random((900, 6)) < 0.25, 10, axis=1)
    length = rng.lognormal(0.0, 0.9, (900, 1))
    rate = np.minimum(1.0, np.where(topic, 0.35, 0.015) * length)
    return sp.csr_array(
        (rng.random((900, 60)) < rate) * rng.integers(1, 4, (900, 60)), dtype=np.int32
    )


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """On a loaded machine an answer may take minutes; workers of the tests inherit the setting."""
    import dask

    waits = {"connect": "300s", "tcp": "300s"}
    with dask.config.set(
        {"distributed.comm.timeouts": waits, "distributed.scheduler.worker-ttl": None}
    ):
        yield


@contextmanager
def started_workers(n_workers: int = 2, memory_limit: str = "2GB") -> Iterator[Any]:
    """Worker processes of one thread each: a client of their cluster."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=memory_limit,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Two workers that tests share; those that stop workers start their own."""
    with started_workers() as client:
        yield client
