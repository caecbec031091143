"""Data and clusters of the tests of data beyond memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator
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


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Two worker processes of one thread each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit="2GB",
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
