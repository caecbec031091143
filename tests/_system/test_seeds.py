"""Seeds: from whatever scikit-learn takes, the same each time, and nothing of the caller's is used up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tsenet._system.seeds import seed_number, seed_sequence, splitmix64


@pytest.mark.parametrize(
    "make",
    [
        lambda: 7,
        lambda: np.int64(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.RandomState(7),
        lambda: np.random.SeedSequence(7),
    ],
)
def test_equal_seeds_give_equal_numbers(make: Any) -> None:
    first, second = (seed_sequence(make()).generate_state(4).tolist() for _ in range(2))
    assert first == second
    assert first != seed_sequence(8).generate_state(4).tolist()


@pytest.mark.parametrize("state", [None, np.random])
def test_without_a_seed_numbers_differ(state: Any) -> None:
    first, second = (seed_sequence(state).generate_state(4).tolist() for _ in range(2))
    assert first != second


def test_a_generator_moves_on_and_a_seed_sequence_stays() -> None:
    generator = np.random.default_rng(0)
    first, second = (seed_sequence(generator).generate_state(4).tolist() for _ in range(2))
    assert first != second

    given = np.random.SeedSequence(0)
    given.spawn(2)
    copies = [seed_sequence(given).spawn(1)[0].generate_state(4).tolist() for _ in range(2)]
    assert copies[0] == copies[1]
    assert given.n_children_spawned == 2


def test_a_number_of_31_bits() -> None:
    numbers = [seed_number(np.random.SeedSequence(k)) for k in range(200)]
    assert max(numbers) < 2**31
    assert max(numbers) > 2**30
    assert len(set(numbers)) == 200


def test_splitmix64_is_the_published_one() -> None:
    """The first numbers of SplitMix64 from the state 1234567, as its reference implementation prints them."""
    gamma = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        states = np.uint64(1234567) + np.arange(3, dtype=np.uint64) * gamma
    assert splitmix64(states).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]
