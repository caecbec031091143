"""Counter-based dropout: the bits, their statistics, and that they depend on nothing else."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from tsenet.network.dropout import CounterDropout, mix
from tsenet.network.kernels.activation_kernels import (
    RELU,
    activate,
    draw,
    dropout_factors,
    random_word,
)

MASK = 2**64 - 1
RATES = [0.1, 0.25, 0.5, 0.9]
Floats = NDArray[np.float64]


# ---- the same in Python's whole numbers


def word(key: int, counter: int) -> int:
    z = (key + counter * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def drawn(unit: int, salt: int) -> int:
    low, high = salt % 2**32, salt // 2**32
    x = (unit * 0x9E3779B9 + low) % 2**32
    x = ((x ^ (x >> 16)) * 0x7FEB352D) % 2**32 ^ high
    x = ((x ^ (x >> 15)) * 0x846CA68B) % 2**32
    return x >> 16


def is_dropped(key: int, unit: int, row: int, threshold: int) -> bool:
    return drawn(unit, word(key, row)) < threshold


def mask_of(key: int, rate: float, n_rows: int, n_units: int, first_row: int = 0) -> Floats:
    """1 where kept, 0 where dropped: (B, U)."""
    factors = np.empty((n_units, n_rows))
    dropout_factors(key, first_row, round(rate * 65536), factors)
    return (factors.T > 0).astype(float)


@pytest.mark.parametrize(
    ("key", "counter", "output"),
    [
        (0, 1, 0xE220A8397B1DCDAF),
        (1234567, 1, 6457827717110365317),
        (1234567, 2, 3203168211198807973),
        (1234567, 3, 9817491932198370423),
    ],
)
def test_random_word_is_splitmix64(key: int, counter: int, output: int) -> None:
    """Outputs published with the generator: seed ``key``, output number ``counter``."""
    assert int(random_word(key, counter)) == output
    assert word(key, counter) == output


@settings(max_examples=300, deadline=None)
@given(key=st.integers(0, 2**62 - 1), counter=st.integers(0, 2**62 - 1))
def test_random_word_equals_whole_number_arithmetic(key: int, counter: int) -> None:
    assert int(random_word(key, counter)) == word(key, counter)


@settings(max_examples=300, deadline=None)
@given(unit=st.integers(0, 2**31 - 1), salt=st.integers(0, 2**64 - 1))
def test_draw_equals_whole_number_arithmetic(unit: int, salt: int) -> None:
    """32-bit arithmetic, which numba would widen if left to itself."""
    low, high = np.uint32(salt % 2**32), np.uint32(salt // 2**32)
    assert int(draw(unit, low, high)) == drawn(unit, salt)


@settings(max_examples=100, deadline=None)
@given(
    key=st.integers(0, 2**62 - 1),
    first_row=st.integers(0, 2**33),
    threshold=st.integers(0, 65535),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 11)),
)
def test_factors_equal_whole_number_arithmetic(
    key: int, first_row: int, threshold: int, shape: tuple[int, int]
) -> None:
    factors = np.full(shape, np.nan)
    dropout_factors(key, first_row, threshold, factors)

    for (unit, r), factor in np.ndenumerate(factors):
        dropped = is_dropped(key, unit, first_row + r, threshold)
        assert factor == (0 if dropped else 65536 / (65536 - threshold))


def test_mix_is_a_62_bit_chain_of_splitmix64() -> None:
    assert mix(0) == 0xE220A8397B1DCDAF >> 2
    keys = {
        mix(seed, step, place) for seed in range(20) for step in range(20) for place in range(9)
    }
    assert len(keys) == 20 * 20 * 9  # (1, 2) is not (2, 1)
    assert all(0 <= key < 2**62 for key in keys)
    assert max(keys) > 2**61
    assert 0 <= mix(2**64 + 5, -3) < 2**62


# ---- statistics


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("key", [0, 1, mix(3, 1, 4)])
def test_share_dropped_is_the_rate(rate: float, key: int) -> None:
    n_rows, n_units = 250, 400
    dropped = 1 - mask_of(key, rate, n_rows, n_units)

    low, high = binom.interval(1 - 1e-5, dropped.size, rate)
    assert low <= dropped.sum() <= high
    for axis, n in ((0, n_rows), (1, n_units)):  # and in every unit and row, neither more nor less
        counts = dropped.sum(axis=axis)
        statistic = ((counts - n * rate) ** 2).sum() / (n * rate * (1 - rate))
        low, high = chi2.interval(1 - 1e-5, counts.size)
        assert low < statistic < high


@pytest.mark.parametrize("rate", RATES)
def test_what_is_kept_is_scaled_up_so_that_the_mean_stays(rate: float) -> None:
    factors = np.empty((300, 300))
    threshold = round(rate * 65536)
    dropout_factors(mix(1, 2, 3), 0, threshold, factors)

    assert set(np.unique(factors)) == {0.0, 65536 / (65536 - threshold)}
    deviation = math.sqrt(rate / (1 - rate) / factors.size)
    assert factors.mean() == pytest.approx(1, abs=4.5 * deviation)


def contingency(a: Floats, b: Floats, rate: float) -> float:
    """Squared z-score of the number of entries kept in both: chi-square with one degree if independent."""
    kept = 1 - rate
    agree = ((a - kept) * (b - kept)).sum()
    return float(agree**2 / (a.size * (rate * kept) ** 2))


LIMIT = chi2.isf(1e-6, 1)


@pytest.mark.parametrize("rate", RATES)
def test_neighbouring_rows_and_units_are_unrelated(rate: float) -> None:
    mask = mask_of(mix(7, 0, 1), rate, 512, 512)

    for distance in (1, 2, 3, 4, 5, 8, 16, 64):
        assert contingency(mask[distance:], mask[:-distance], rate) < LIMIT
        assert contingency(mask[:, distance:], mask[:, :-distance], rate) < LIMIT
        assert contingency(mask[distance:, distance:], mask[:-distance, :-distance], rate) < LIMIT


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("key", [0, mix(2, 5, 0)])
def test_eight_neighbours_take_all_patterns_equally_often(key: int, axis: int) -> None:
    """Eight rows of a unit (axis 0), eight units of a row."""
    mask = mask_of(key, 0.5, 800, 800)
    eight = (mask if axis else mask.T).reshape(800, 100, 8)
    counts = np.bincount((eight @ 2 ** np.arange(8)).astype(int).ravel(), minlength=256)

    expected = 80_000 / 256
    low, high = chi2.interval(1 - 1e-5, 255)
    assert low < ((counts - expected) ** 2 / expected).sum() < high


@pytest.mark.parametrize("rate", [0.25, 0.5])
def test_how_many_units_of_a_row_and_rows_of_a_unit_agree_is_binomial(rate: float) -> None:
    """Pairs of rows, and pairs of units: neither too alike nor too unlike, as a weak mixing would make them."""
    mask = mask_of(mix(1, 1, 1), rate, 256, 1024)
    kept = 1 - rate
    for wide in (mask, mask[:, :256].T):
        centred = wide - kept
        z = (centred @ centred.T)[np.triu_indices(256, 1)] / (rate * kept * wide.shape[1] ** 0.5)
        assert np.abs(z).max() < 5.7  # of 32,640 pairs
        assert z.std() == pytest.approx(1, abs=0.05)


def test_masks_of_other_steps_seeds_and_places_are_unrelated() -> None:
    keys = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1), (1, 1, 0), (0, 2, 0), (5, 9, 2)]
    masks = [mask_of(mix(*key), 0.5, 128, 128) for key in keys]

    for a, b in combinations(masks, 2):
        assert contingency(a, b, 0.5) < LIMIT


def test_no_two_rows_or_units_have_the_same_mask() -> None:
    mask = mask_of(mix(0, 0, 0), 0.5, 256, 256)

    assert len({row.tobytes() for row in mask}) == 256
    assert len({unit.tobytes() for unit in mask.T}) == 256


# ---- chunks and the module


@pytest.mark.parametrize("first_row", [1, 2, 3, 4, 63, 64, 65, 190])
def test_a_chunk_has_the_mask_of_its_rows_in_the_batch(first_row: int) -> None:
    whole = mask_of(99, 0.3, 200, 17)

    part = mask_of(99, 0.3, 200 - first_row, 17, first_row)
    z = np.ones((17, 200 - first_row))
    activate(RELU, 99, first_row, round(0.3 * 65536), z)

    np.testing.assert_array_equal(part, whole[first_row:])
    np.testing.assert_array_equal(z.T > 0, whole[first_row:] > 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_module_uses_the_kernels_mask(dtype: torch.dtype) -> None:
    dropout = CounterDropout(0.4, place=3)
    dropout.begin_step(seed=11, step=12)
    x = torch.randn(70, 9, dtype=dtype, generator=torch.Generator().manual_seed(0))
    x.requires_grad_()

    out = dropout(x)
    out.sum().backward()

    factors = np.empty((9, 70))
    dropout_factors(mix(11, 12, 3), 0, round(0.4 * 65536), factors)
    expected = torch.from_numpy(factors.T.copy()).to(dtype)
    assert torch.equal(out, x * expected)
    assert x.grad is not None
    assert torch.equal(x.grad, expected)


def test_module_in_evaluation_mode_or_at_rate_zero_changes_nothing() -> None:
    x = torch.ones(3, 4)

    assert CounterDropout(0.9, place=0).eval()(x) is x
    assert CounterDropout(0.0, place=0).train()(x) is x
    assert CounterDropout(1e-9, place=0).train()(x) is x  # rounds to 0 of 65536


def test_mask_depends_on_seed_step_and_place_alone() -> None:
    def masked(place: int, seed: int, step: int) -> bytes:
        dropout = CounterDropout(0.5, place)
        dropout.begin_step(seed, step)
        return dropout(torch.ones(64, 64)).numpy().tobytes()

    torch.manual_seed(0)
    state = torch.get_rng_state()
    first = masked(0, 1, 2)
    assert torch.equal(torch.get_rng_state(), state)  # torch's own numbers are not used up
    torch.manual_seed(1)
    assert masked(0, 1, 2) == first
    others = {masked(1, 1, 2), masked(0, 2, 2), masked(0, 1, 3), masked(0, 2, 1)}
    assert len(others | {first}) == 5


def test_the_mask_stays_until_the_next_step_begins() -> None:
    dropout, x = CounterDropout(0.5, place=1), torch.ones(20, 20)
    dropout.begin_step(0, 1)

    first = dropout(x)
    assert torch.equal(dropout(x), first)
    dropout.begin_step(0, 2)
    assert not torch.equal(dropout(x), first)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, math.nan])
def test_rates_that_mean_nothing_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        CounterDropout(rate, place=0)


def test_a_rate_just_below_one_still_keeps_something() -> None:
    dropout = CounterDropout(0.9999999, place=0)
    out = dropout(torch.ones(600, 600))

    assert torch.isfinite(out).all()
    assert 0 < (out > 0).sum() < 30  # 360,000 / 65,536 expected


def test_repr_names_the_rate() -> None:
    assert repr(CounterDropout(0.25, place=0)) == "CounterDropout(rate=0.25)"
