"""What the tests of islands share: the whole search on dense rows, and rows with linked groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.builders import Bools, Floats
from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRows
from tsenet.progress import Progress
from tsenet.skeleton.information import PairCounter, pair_information
from tsenet.skeleton.islands import find_islands
from tsenet.skeleton.kernels.island_kernels import IslandOptions


class Island(NamedTuple):
    """One group: its members, ascending, P(Y=1), and P(x=1|Y=0), P(x=1|Y=1) of each."""

    members: NDArray[np.intp]
    prior: float
    table: Floats


OPTIONS = IslandOptions()
PAPER = IslandOptions(correlation_test=False)


def find(
    on: Bools,
    options: IslandOptions = OPTIONS,
    *,
    key: int = 7,
    n_partners: int = 128,
    n_jobs: int = 1,
) -> tuple[list[Island], list[int]]:
    """Islands in the order found, and the variables left over."""
    counter = PairCounter(BinaryRows.of_dense(on))
    with Workers(n_jobs) as workers:
        pairs = pair_information(counter, n_partners, workers, Progress())
        layer, alive = find_islands(counter, *pairs, options, key, workers, Progress())
    members = [np.flatnonzero(layer.latent_of == z) for z in range(layer.n_latents)]
    islands = [
        Island(m, prior, layer.table[m]) for m, prior in zip(members, layer.prior, strict=True)
    ]
    return islands, np.flatnonzero(alive).tolist()


def groups(islands: list[Island]) -> list[list[int]]:
    return sorted(sorted(island.members.tolist()) for island in islands)


def assert_same(first: list[Island], second: list[Island]) -> None:
    """Bitwise the same islands in the same order."""
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.members, b.members)
        np.testing.assert_array_equal(a.table, b.table)
        assert a.prior == b.prior


def two_linked_latents(seed: int, n_rows: int = 3000, size: int = 6) -> Bools:
    """Two correlated latents with ``size`` variables each: all of them hang together."""
    rng = np.random.default_rng(seed)
    first = rng.random(n_rows) < 0.35
    second = rng.random(n_rows) < np.where(first, 0.75, 0.15)
    latent = np.repeat(np.stack([first, second], axis=1), size, axis=1)
    return rng.random((n_rows, 2 * size)) < np.where(latent, 0.7, 0.05)
