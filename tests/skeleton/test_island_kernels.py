"""The island kernels on pattern tables, against the raw rows the tables stand for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import Bools, Floats, all_states, one_latent_rows
from tests.skeleton import island_reference
from tsenet.skeleton.kernels import island_kernels
from tsenet.skeleton.kernels.island_kernels import IslandOptions, Patterns


def patterns_of(on: Bools, candidate: Bools | None = None, table: Floats | None = None) -> Patterns:
    """Pattern table of the members ``on`` (N, k); the candidate's rows are marked."""
    code = on @ (1 << np.arange(on.shape[1]))
    bits, of_row, count = np.unique(code, return_inverse=True, return_counts=True)
    marked = np.zeros(len(on)) if candidate is None else candidate
    ratio = np.ones(bits.size)
    if table is not None:
        state = all_states(on.shape[1])[bits]
        both = np.where(state[:, :, None], table, 1 - table).prod(axis=1)
        ratio = both[:, 1] / both[:, 0]
    on_too = np.bincount(of_row, weights=marked, minlength=bits.size).astype(np.int64)
    return Patterns(bits.astype(np.uint64), count, on_too, ratio)


def test_random_numbers_are_those_of_splitmix64() -> None:
    """First outputs of splitmix64 with seed 1234567, as published with the generator."""
    outputs = [6457827717110365317, 3203168211198807973, 9817491932198370423]

    for index, output in enumerate(outputs):
        drawn = island_kernels.random_unit(1234567, index)
        assert drawn == pytest.approx(output / 2**64, abs=2**-50)


# ---- the uni-dimensionality test


@pytest.mark.parametrize("closest", [0, 1, 2, 3])
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_test_compares_the_two_models_by_bic(seed: int, together: bool, closest: int) -> None:
    """Fails if and only if LL(M2) − LL(M1) > ln N + δ: checked at a δ just below and just above."""
    rng = np.random.default_rng([seed, closest])
    on = one_latent_rows(rng, 2000, [5])
    if not together:  # the candidate hangs on its closest member
        on[:, 4] = on[:, closest] ^ (rng.random(2000) < 0.05)
    table = np.empty((4, 2))
    cells = np.bincount(on[:, :3] @ [1, 2, 4], minlength=8).astype(float)
    prior, _ = island_reference.fit_seed(cells, 3, 0, table[:3])
    table[3] = table[:3].mean(axis=0)
    patterns = patterns_of(on[:, :4], on[:, 4], table)

    joined, split = np.empty(2), np.empty((3, 2))
    first, second = (2, 1) if closest == 0 else (0, 2) if closest == 1 else (0, 1)
    island_kernels.fit_join(
        island_reference.fixed_pair(prior, table[0], table[1]),
        island_reference.cells_of(on, 0, 1, [2, 4]),
        joined,
    )
    island_kernels.fit_split(
        island_reference.fixed_pair(prior, table[first], table[second]),
        island_reference.cells_of(on, first, second, [closest, 4]),
        3,
        99,
        split,
    )
    advantage = island_reference.split_advantage(
        on, [0, 1, 2, 3], prior, table, closest, 4, joined, split
    )
    bar = advantage - np.log(2000)

    def suffices(ud_threshold: float, found: Floats) -> bool:
        options = IslandOptions(ud_threshold=ud_threshold)
        return island_kernels.one_latent_suffices(
            patterns, patterns.n.size, 2000, prior, table, closest, options, 99, found
        )

    found = np.empty(2)
    assert suffices(bar + 1e-6, found)
    assert not suffices(bar - 1e-6, found)
    np.testing.assert_allclose(found, joined, rtol=1e-10)
    assert (advantage > np.log(2000) + 3) != together


# ---- the last fit


@pytest.mark.parametrize("seed", range(4))
def test_refit_is_em_on_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    on = one_latent_rows(rng, 500, [6])
    keep = np.array([0, 2, 3, 5])  # the patterns may hold members that left
    patterns = patterns_of(on)
    prior, table = 0.4, np.stack([rng.uniform(0.1, 0.3, 4), rng.uniform(0.4, 0.8, 4)], axis=1)
    reference_prior, reference_table = prior, table.copy()
    for _ in range(7):
        reference_prior, reference_table = island_reference.em_step(
            on, keep.tolist(), reference_prior, reference_table
        )

    found, _ = island_kernels.fit_members(patterns, patterns.n.size, keep, 0, 0, prior, table, 7)

    assert found == pytest.approx(reference_prior, rel=1e-10)
    np.testing.assert_allclose(table, reference_table, rtol=1e-10)


@pytest.mark.parametrize(
    ("n00", "n01", "n10", "n11"),
    [(60, 10, 10, 20), (30, 30, 30, 10), (97, 1, 1, 1), (50, 0, 0, 50), (20, 40, 40, 0)],
)
def test_a_pair_fits_its_four_counts(n00: int, n01: int, n10: int, n11: int) -> None:
    """A line of perfect fits exists; half a row of smoothing is all that may be missing."""
    on = np.repeat(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], bool), [n00, n01, n10, n11], axis=0)
    patterns = patterns_of(on)
    table = np.empty((2, 2))

    prior = island_kernels.fit_pair(patterns, patterns.n.size, np.array([0, 1]), table)

    assert 0 < prior < 1
    assert ((table > 0) & (table < 1)).all()
    weight = np.array([1 - prior, prior])
    model = np.einsum(
        "y,ya,yb->ab",
        weight,
        np.stack([1 - table[0], table[0]], 1),
        np.stack([1 - table[1], table[1]], 1),
    )
    data = np.array([[n00, n01], [n10, n11]]) / len(on)
    np.testing.assert_allclose(model, data, atol=2 / len(on))
    assert table[0, 0] < 0.01  # the off state never shows the first
