"""Ascending numbers in few bits: both ways, their size, and bytes that are none."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from tsenet.store.places import pack_places, unpack_places


@pytest.mark.parametrize("n", [1, 2, 9, 1000, 10**6, 2**40])
@pytest.mark.parametrize("m", [0, 1, 2, 7, 900])
def test_both_ways(m: int, n: int) -> None:
    if m > n:
        pytest.skip("more numbers than there are")
    rng = np.random.default_rng(m)
    places = np.arange(n)[:m] if n < 10 else np.unique(rng.integers(0, n, m))
    packed = pack_places(places, n)

    assert np.array_equal(unpack_places(packed, places.size, n), places)
    if places.size > 100:
        assert 8 * packed.size <= places.size * (3 + log2(n / places.size)) + 32


def test_all_and_both_ends() -> None:
    for places in (np.arange(50), np.array([0, 49]), np.array([49])):
        assert np.array_equal(unpack_places(pack_places(places, 50), places.size, 50), places)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda packed: packed[:-1], "do not fit"),
        (lambda packed: np.append(packed, np.uint8(0)), "do not fit"),
        (lambda packed: packed ^ np.uint8(128), "hold|ascend"),
        (lambda packed: packed.astype(np.int32), "row of bytes"),
        (lambda packed: packed.reshape(1, -1), "row of bytes"),
    ],
)
def test_other_bytes_are_refused(change: object, message: str) -> None:
    packed = pack_places(np.array([3, 50, 900, 901]), 1000)

    with pytest.raises(ValueError, match=message):
        unpack_places(change(packed), 4, 1000)  # type: ignore[operator]  # a function of bytes


@pytest.mark.parametrize(("m", "n"), [(10**15, 2**62), (5, 4), (-1, 4)])
def test_sizes_that_cannot_be_are_refused_before_memory_is_taken(m: int, n: int) -> None:
    with pytest.raises(ValueError, match="places"):
        unpack_places(np.zeros(8, np.uint8), m, n)
