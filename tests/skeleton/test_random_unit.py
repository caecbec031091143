"""The kernels' random numbers: a pure function of key and index."""

from __future__ import annotations

import pytest

from tsenet.skeleton.kernels.island_kernels import random_unit


def test_random_unit_is_splitmix64() -> None:
    """First outputs of splitmix64 with seed 1234567, as published with the generator."""
    outputs = [6457827717110365317, 3203168211198807973, 9817491932198370423]

    for index, output in enumerate(outputs):
        assert random_unit(1234567, index) == pytest.approx(output / 2**64, abs=2**-50)


def unfinish(z: int) -> int:
    """Key that makes splitmix64 give ``z`` at index 0 (its finaliser can be inverted)."""
    mask = 2**64 - 1

    def unshift(value: int, shift: int) -> int:
        out = value
        for _ in range(64 // shift + 1):
            out = value ^ (out >> shift)
        return out

    z = unshift(z, 31)
    z = z * pow(0x94D049BB133111EB, -1, 2**64) & mask
    z = unshift(z, 27)
    z = z * pow(0xBF58476D1CE4E5B9, -1, 2**64) & mask
    z = unshift(z, 30)
    return (z - 0x9E3779B97F4A7C15) & mask


@pytest.mark.parametrize("extreme", [0, 2**64 - 1])
def test_random_unit_never_reaches_its_ends(extreme: int) -> None:
    """−ln of it is taken: 0 would be infinite. The key is searched among those that fit 63 bits."""
    keys = [unfinish(abs(extreme - low_bits)) for low_bits in range(2048)]
    draws = [random_unit(key, 0) for key in keys if key < 2**63]

    assert len(draws) > 500
    assert all(abs(draw - extreme / 2**64) < 2**-52 for draw in draws)  # the inverse is right
    assert all(0.0 < draw < 1.0 for draw in draws)
