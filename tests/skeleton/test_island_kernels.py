"""The island kernels on pattern tables, against the raw rows the tables stand for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import Bools, Floats, all_states, one_latent_rows
from tests.skeleton import island_reference
from tsenet.skeleton.kernels import em_kernels, island_kernels
from tsenet.skeleton.kernels.island_kernels import PATTERN, GrowthOptions
from tsenet.skeleton.kernels.pair_kernels import Csr

Patterns = NDArray[np.void]


def ratios(state: Bools, table: Floats) -> Floats:
    """P(pattern|Y=1) / P(pattern|Y=0) of rows of members: (n,)."""
    both = np.where(state[:, :, None], table, 1 - table).prod(axis=1)
    return both[:, 1] / both[:, 0]


def patterns_of(on: Bools, candidate: Bools | None = None, table: Floats | None = None) -> Patterns:
    """Pattern table of the members ``on`` (N, k); the candidate's rows are marked."""
    code = on @ (1 << np.arange(on.shape[1]))
    bits, of_row, count = np.unique(code, return_inverse=True, return_counts=True)
    patterns = np.zeros(bits.size, PATTERN)
    patterns["bits"] = bits
    patterns["count"] = count
    if candidate is not None:
        patterns["on"] = np.bincount(of_row, weights=candidate, minlength=bits.size)
    patterns["ratio"] = 1.0
    if table is not None:
        patterns["ratio"] = ratios(all_states(on.shape[1])[bits], table)
    return patterns


def as_dict(patterns: Patterns) -> dict[int, int]:
    """Rows of every pattern that has any."""
    return {int(p["bits"]): int(p["count"]) for p in patterns if p["count"]}


# ---- the table of patterns


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("room", [1, 2, 64])
def test_patterns_follow_the_rows(seed: int, room: int) -> None:
    """Members join one by one; after each, table and rows agree, however small it began."""
    rng = np.random.default_rng(seed)
    on = one_latent_rows(rng, 500, [8], low=0.2, high=0.6)
    on[:, 3] = on[:, 2]  # moves whole patterns
    on[:, 5] = on[:, 2] | (rng.random(500) < 0.1)
    pattern_of = np.zeros(500, np.int32)
    patterns = np.zeros(room, PATTERN)
    patterns["ratio"] = 1.0
    patterns[0]["count"] = 500
    n_patterns = 1

    for k in range(8):
        rows = np.flatnonzero(on[:, k]).astype(np.int32)
        island_kernels.mark_candidate(rows, pattern_of, patterns)
        marked = patterns["on"][:n_patterns].copy()
        np.testing.assert_array_equal(
            marked, np.bincount(pattern_of, weights=on[:, k], minlength=n_patterns)
        )
        patterns, n_patterns = island_kernels.split_patterns(
            rows, pattern_of, patterns, n_patterns, k
        )
        expected = patterns_of(on[:, : k + 1])
        assert as_dict(patterns[:n_patterns]) == as_dict(expected)
        code = on[:, : k + 1] @ (1 << np.arange(k + 1))
        np.testing.assert_array_equal(patterns["bits"][pattern_of], code)
        assert patterns[0]["bits"] == 0  # the rows without any member stay where they are
        assert n_patterns <= 2 * len(expected) + 1


def test_rows_are_forgotten() -> None:
    on = one_latent_rows(np.random.default_rng(0), 60, [3])
    columns = [np.flatnonzero(column) for column in on.T]
    starts = np.concatenate([[0], np.cumsum([c.size for c in columns])])
    pattern_of = np.where(on[:, [0, 2]].any(axis=1), 7, 0).astype(np.int32)

    by_column = Csr(starts, np.concatenate(columns).astype(np.int32))
    island_kernels.forget_rows(np.array([0, 2], np.int32), by_column, pattern_of)

    assert not pattern_of.any()


@pytest.mark.parametrize("seed", range(3))
def test_cells_are_joint_counts(seed: int) -> None:
    on = one_latent_rows(np.random.default_rng(seed), 400, [6], low=0.2)
    patterns = patterns_of(on[:, :5], on[:, 5])

    for first, second, third in ((0, 1, 2), (2, 1, 0), (0, 2, 1), (0, 1, 4)):
        cells = island_kernels.pair_cells(patterns, len(patterns), first, second, third)
        expected = island_reference.cells_of(on, first, second, [third, 5])
        np.testing.assert_array_equal(cells, expected)
    three = patterns_of(on[:, :3])
    np.testing.assert_array_equal(
        island_kernels.seed_cells(three, len(three)),
        np.bincount(on[:, :3] @ [1, 2, 4], minlength=8),
    )


def test_fixed_pair_is_a_distribution() -> None:
    first, second = np.array([0.1, 0.8]), np.array([0.3, 0.6])

    fixed = island_kernels.fixed_pair(0.4, first, second)

    np.testing.assert_allclose(fixed, island_reference.fixed_pair(0.4, first, second), rtol=1e-14)
    np.testing.assert_allclose(fixed.sum(axis=1), [0.6, 0.4], rtol=1e-14)


def test_ratios_are_multiplied_member_by_member() -> None:
    rng = np.random.default_rng(1)
    on = one_latent_rows(rng, 300, [5], low=0.3)
    table = rng.uniform(0.05, 0.95, (5, 2))
    patterns = patterns_of(on)

    island_kernels.multiply_ratios(patterns, len(patterns), 0, table[:3])
    for k in (3, 4):
        island_kernels.multiply_ratios(patterns, len(patterns), k, table[k : k + 1])

    np.testing.assert_allclose(patterns["ratio"], patterns_of(on, table=table)["ratio"], rtol=1e-12)


def test_ratios_stay_finite() -> None:
    """63 certain members would reach 1e−500: the ratio stops where numbers are still numbers."""
    patterns = np.zeros(2, PATTERN)
    patterns["bits"] = [0, 2**63 - 1]
    patterns["ratio"] = 1.0
    table = np.tile([1e-8, 1 - 1e-8], (63, 1))

    island_kernels.multiply_ratios(patterns, 2, 0, table)

    assert np.isfinite(patterns["ratio"]).all()
    assert (patterns["ratio"] > 0).all()
    assert patterns["ratio"][0] < 1e-200
    assert patterns["ratio"][1] > 1e200


# ---- the uni-dimensionality test


@pytest.mark.parametrize("closest", [0, 1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_split_advantage_equals_the_rows_likelihoods(seed: int, closest: int) -> None:
    rng = np.random.default_rng([seed, closest])
    on = one_latent_rows(rng, 400, [6])
    prior, table = rng.uniform(0.2, 0.6), rng.uniform(0.05, 0.95, (5, 2))
    joined, split = rng.uniform(0.05, 0.95, 2), rng.uniform(0.05, 0.95, (3, 2))
    patterns = patterns_of(on[:, :5], on[:, 5], table)

    advantage = island_kernels.split_advantage(
        patterns, len(patterns), prior, closest, table[closest], joined, split
    )

    expected = island_reference.split_advantage(
        on, [0, 1, 2, 3, 4], prior, table, closest, 5, joined, split
    )
    assert advantage == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_split_that_changes_nothing_has_no_advantage() -> None:
    """Z a copy of Y, W and X as under Y: M2 is M1."""
    on = one_latent_rows(np.random.default_rng(14), 300, [4])
    table = np.array([[0.1, 0.8], [0.2, 0.7], [0.05, 0.6]])
    joined = np.array([0.15, 0.5])
    patterns = patterns_of(on[:, :3], on[:, 3], table)
    copy = np.array([[0.0, 1.0], table[2], joined])

    advantage = island_kernels.split_advantage(
        patterns, len(patterns), 0.3, 2, table[2], joined, copy
    )

    assert advantage == pytest.approx(0.0, abs=1e-9)


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
    prior, _ = em_kernels.fit_seed(cells, 3, 0, 1.0, table[:3])
    table[3] = table[:3].mean(axis=0)
    patterns = patterns_of(on[:, :4], on[:, 4], table)

    joined, split = np.empty(2), np.empty((3, 2))
    first, second = (2, 1) if closest == 0 else (0, 2) if closest == 1 else (0, 1)
    em_kernels.fit_join(
        island_reference.fixed_pair(prior, table[0], table[1]),
        island_reference.cells_of(on, 0, 1, [2, 4]),
        1.0,
        joined,
    )
    em_kernels.fit_split(
        island_reference.fixed_pair(prior, table[first], table[second]),
        island_reference.cells_of(on, first, second, [closest, 4]),
        3,
        99,
        1.0,
        split,
    )
    advantage = island_reference.split_advantage(
        on, [0, 1, 2, 3], prior, table, closest, 4, joined, split
    )
    bar = advantage - np.log(2000)

    def suffices(ud_threshold: float, found: Floats) -> bool:
        options = GrowthOptions(ud_threshold, 0.0, 3, 1.0, 0)
        return island_kernels.one_latent_suffices(
            patterns, len(patterns), 2000, prior, table, closest, options, 99, found
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
            on, keep.tolist(), reference_prior, reference_table, 1.0
        )

    found = island_kernels.refit(patterns, len(patterns), keep, prior, table, 1.0, 7)

    assert found == pytest.approx(reference_prior, rel=1e-10)
    np.testing.assert_allclose(table, reference_table, rtol=1e-10)


def test_refit_never_lowers_the_objective() -> None:
    """Likelihood of all rows plus the pull of the pseudo-counts, step by step."""
    rng = np.random.default_rng(5)
    on = one_latent_rows(rng, 400, [6], low=0.15, high=0.5)
    members = np.arange(6)
    patterns = patterns_of(on)
    prior, table = 0.5, rng.uniform(0.2, 0.8, (6, 2))
    objective = []
    for _ in range(50):
        likelihood = island_reference.likelihood_of(on, members.tolist(), table) @ [
            1 - prior,
            prior,
        ]
        values = np.append(table.ravel(), prior)
        objective.append(np.log(likelihood).sum() + np.log(values * (1 - values)).sum())
        prior = island_kernels.refit(patterns, len(patterns), members, prior, table, 1.0, 1)

    assert np.diff(objective).min() >= -1e-9 * abs(objective[-1])
    assert objective[-1] > objective[0] + 10


@pytest.mark.parametrize(
    ("n00", "n01", "n10", "n11"),
    [(60, 10, 10, 20), (30, 30, 30, 10), (97, 1, 1, 1), (50, 0, 0, 50), (20, 40, 40, 0)],
)
def test_a_pair_fits_its_four_counts(n00: int, n01: int, n10: int, n11: int) -> None:
    """A line of perfect fits exists; half a row of smoothing is all that may be missing."""
    on = np.repeat(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], bool), [n00, n01, n10, n11], axis=0)
    patterns = patterns_of(on)
    table = np.empty((2, 2))

    prior = island_kernels.fit_pair(patterns, len(patterns), np.array([0, 1]), table)

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
