"""Seeds and seeded hashes; global random state is never used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """A seed sequence from any ``random_state`` that scikit-learn or numpy accepts."""
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**63, size=2).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**31 - 1, size=4).tolist())
    if isinstance(random_state, np.random.SeedSequence):
        # a copy: spawning would use the caller's up
        return np.random.SeedSequence(
            random_state.entropy, spawn_key=random_state.spawn_key, pool_size=random_state.pool_size
        )
    if random_state is np.random:  # scikit-learn's spelling of the global generator
        return np.random.SeedSequence()
    return np.random.SeedSequence(random_state)


def seed_number(seed: np.random.SeedSequence) -> int:
    """A seed of 31 bits, which every generator takes."""
    return int(seed.generate_state(1)[0] >> 1)


def splitmix64(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The next number of SplitMix64 from each state: Stafford's mixing function, which passes for random."""
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)
