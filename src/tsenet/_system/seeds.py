"""Turns a ``random_state`` into numpy's seed sequence; global random state is never used."""

from __future__ import annotations

from typing import Any

import numpy as np


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
