"""Progressive EM: each step against NumPy, each fit against a converged EM, on pattern tables and raw rows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import Bools, Floats, all_states, one_latent_rows
from tests.skeleton import island_reference
from tests.skeleton.em_reference import (
    belief,
    bernoulli,
    join_joint,
    join_loglik,
    join_step,
    seed_joint,
    seed_loglik,
    seed_step,
    split_joint,
    split_loglik,
    split_step,
)
from tests.skeleton.island_reference import fit_seed, patterns_of_cells
from tsenet.skeleton.kernels import island_kernels
from tsenet.skeleton.kernels.island_kernels import (
    IslandOptions,
    Patterns,
    fit_join,
    fit_members,
    fit_split,
)


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


# ---- progressive EM: each step against NumPy, each fit against a converged NumPy EM


# ---- data


def random_counts(seed: int, *shape: int) -> Floats:
    """Counts of any kind, some of them zero."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.4, 300, shape)).astype(float)


def without_w(cells: Floats) -> Floats:
    """Joint counts of f and X from those of f and (W, X), the second index being 2·W + X: (4, 2)."""
    return cells.reshape(4, 2, 2).sum(axis=1)


def random_fixed(seed: int) -> Floats:
    """P(Y, f) of two members under Y."""
    rng = np.random.default_rng(seed)
    low, high = rng.uniform(0.02, 0.2, 2), rng.uniform(0.5, 0.9, 2)
    prior = rng.uniform(0.2, 0.5)
    on = np.stack([low, high])  # (Y, member)
    states = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    weight = np.array([1 - prior, prior])[:, None]
    return weight * bernoulli(on[:, None, :], states[None]).prod(axis=2)


# ---- one step


@pytest.mark.parametrize("seed", range(10))
def test_steps_are_em_steps_and_never_lower_the_objective(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = random_counts(seed, 8)
    prior, table = rng.uniform(0.1, 0.9), rng.uniform(0.05, 0.95, (3, 2))
    objective = []
    for _ in range(60):
        expected_prior, expected = seed_step(counts, prior, table)
        before = seed_loglik(counts, prior, table)
        objective.append(before + belief(prior, table))
        prior, loglik = fit_members(
            *(patterns_of_cells(counts), 8, np.arange(3), 0, 0, prior, table, 1)
        )
        assert loglik == pytest.approx(before, rel=1e-9)
        assert prior == pytest.approx(expected_prior, rel=1e-9)
        np.testing.assert_allclose(table, expected, rtol=1e-9)

    assert np.diff(objective).min() >= -1e-9 * abs(objective[-1])
    assert objective[-1] > objective[0]


# ---- whole fits


def planted_seed_counts(seed: int) -> tuple[Floats, float, Floats]:
    """Expected counts (rounded) of 5,000 rows of a clear latent class model."""
    rng = np.random.default_rng(seed)
    prior = rng.uniform(0.2, 0.5)
    table = np.stack([rng.uniform(0.02, 0.1, 3), rng.uniform(0.6, 0.9, 3)], axis=1)
    return np.rint(5000 * seed_joint(prior, table).sum(axis=0)), prior, table


@pytest.mark.parametrize("seed", range(8))
def test_fit_seed_is_as_good_as_numpy_em(seed: int) -> None:
    """NumPy EM from ten random starts, run to the end, gains less than half a nat."""
    counts, *_ = planted_seed_counts(100 + seed)
    table = np.empty((3, 2))
    _, loglik = fit_seed(counts, 3, seed, table)

    best = -np.inf
    rng = np.random.default_rng(seed)
    for _ in range(10):
        prior, reference = rng.uniform(0.2, 0.8), rng.uniform(0.1, 0.9, (3, 2))
        for _ in range(300):
            prior, reference = seed_step(counts, prior, reference)
        best = max(best, seed_loglik(counts, prior, reference))
    assert best - 0.5 < loglik < best + 0.5


@pytest.mark.parametrize("seed", range(8))
def test_fit_join_reaches_the_one_maximum(seed: int) -> None:
    """Only P(X|Y) moves, so the objective is concave: any EM run to the end gives the answer."""
    rng = np.random.default_rng(seed)
    fixed = random_fixed(seed)
    planted = np.array([rng.uniform(0.02, 0.2), rng.uniform(0.5, 0.9)])
    by_x = rng.multinomial(5000, join_joint(fixed, planted).sum(axis=0).ravel()).reshape(4, 2)
    with_w = rng.binomial(by_x, 0.4)  # W may be anything: it does not matter here
    cells = np.concatenate([by_x - with_w, with_w], axis=1).astype(float)
    counts = without_w(cells)
    table = np.empty(2)

    loglik = fit_join(fixed, cells, table)

    reference = np.array([0.5, 0.5])
    for _ in range(3000):
        reference = join_step(fixed, counts, reference)
    best = join_loglik(fixed, counts, reference)
    assert best - 0.5 < loglik < best + 0.5
    np.testing.assert_allclose(table, reference, atol=0.03)
    np.testing.assert_allclose(table, planted, atol=0.1)


@pytest.mark.parametrize("seed", range(8))
def test_fit_split_is_as_good_as_numpy_em(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fixed = random_fixed(seed)
    planted = np.stack([rng.uniform(0.02, 0.2, 3), rng.uniform(0.6, 0.95, 3)], axis=1)
    counts = rng.multinomial(5000, split_joint(fixed, planted).sum(axis=(0, 1)).ravel())
    counts = counts.reshape(4, 4).astype(float)
    table = np.empty((3, 2))

    loglik = fit_split(fixed, counts, 3, seed, table)

    assert loglik == pytest.approx(split_loglik(fixed, counts, table), abs=0.05)
    best = -np.inf
    for _ in range(10):
        reference = rng.uniform(0.1, 0.9, (3, 2))
        for _ in range(300):
            reference = split_step(fixed, counts, reference)
        best = max(best, split_loglik(fixed, counts, reference))
    assert best - 0.5 < loglik < best + 0.5


@pytest.mark.parametrize("seed", range(20))
def test_fits_stay_inside_the_open_interval(seed: int) -> None:
    """Any counts, empty cells and empty variables too: every probability is in (0, 1)."""
    counts8, counts44 = random_counts(seed, 8), random_counts(seed, 4, 4)
    if seed % 4 == 0:
        counts8[1::2] = 0.0  # the first variable never on
        counts44[:, 1::2] = 0.0
    fixed = random_fixed(seed)
    table, joined, split = np.empty((3, 2)), np.empty(2), np.empty((3, 2))

    prior, seed_ll = fit_seed(counts8, 3, seed, table)
    join_ll = fit_join(fixed, counts44, joined)
    split_ll = fit_split(fixed, counts44, 3, seed, split)

    for values in (np.array([prior]), table, joined, split):
        assert ((values > 0) & (values < 1)).all()
    assert np.isfinite([seed_ll, join_ll, split_ll]).all()


def test_the_key_decides_the_starts() -> None:
    counts = random_counts(3, 8)
    first, same, other = np.empty((3, 3, 2))

    fit_seed(counts, 3, 11, first)
    fit_seed(counts, 3, 11, same)
    np.testing.assert_array_equal(first, same)
    answers = set()
    for key in range(10):
        fit_seed(random_counts(3, 8), 3, key, other)
        answers.add(other.tobytes())
    assert len(answers) > 1
