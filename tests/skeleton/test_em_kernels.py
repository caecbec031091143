"""Progressive EM: each step against NumPy, each fit against a converged NumPy EM."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest

from tests.builders import all_states
from tsenet.skeleton import _em_kernels
from tsenet.skeleton._em_kernels import fit_join, fit_seed, fit_split, random_unit

Floats = NDArray[np.float64]
SMOOTH = 1.0
CELLS3 = all_states(3).astype(int)  # bit v of the cell's number is variable v


def bernoulli(on: Floats, state: NDArray[np.int64] | int) -> Floats:
    """P(state) for probabilities of being on."""
    return np.where(state, on, 1.0 - on)


def belief(*probabilities: Floats | float) -> float:
    """What the pseudo-counts add to the log-likelihood: each probability is drawn to one half."""
    return SMOOTH * sum(float(np.sum(np.log(p) + np.log1p(-np.asarray(p)))) for p in probabilities)


# ---- NumPy twins: joint distributions from the definition, and one EM step each


def seed_joint(prior: float, table: Floats) -> Floats:
    """P(Y, cell) of Y with three children: (2, 8)."""
    weight = np.array([1.0 - prior, prior])[:, None]
    return weight * bernoulli(table.T[:, None, :], CELLS3[None]).prod(axis=2)


def seed_step(counts: Floats, prior: float, table: Floats) -> tuple[float, Floats]:
    joint = seed_joint(prior, table)
    expected = counts * joint / joint.sum(axis=0)  # (2, 8)
    of_y = expected.sum(axis=1)
    on = expected @ CELLS3  # (2, 3)
    new = (on + SMOOTH) / (of_y[:, None] + 2 * SMOOTH)
    return (of_y[1] + SMOOTH) / (counts.sum() + 2 * SMOOTH), new.T


def join_joint(fixed: Floats, table: Floats) -> Floats:
    """P(Y, f, X): (2, 4, 2)."""
    return fixed[:, :, None] * np.stack([1 - table, table], axis=1)[:, None, :]


def join_step(fixed: Floats, counts: Floats, table: Floats) -> Floats:
    joint = join_joint(fixed, table)
    expected = counts * joint / joint.sum(axis=0)
    return (expected[:, :, 1].sum(axis=1) + SMOOTH) / (expected.sum(axis=(1, 2)) + 2 * SMOOTH)


def split_joint(fixed: Floats, table: Floats) -> Floats:
    """P(Y, Z, f, W, X): (2, 2, 4, 2, 2)."""
    joint = np.empty((2, 2, 4, 2, 2))
    for y, z, f, w, x in itertools.product(range(2), range(2), range(4), range(2), range(2)):
        joint[y, z, f, w, x] = (
            fixed[y, f]
            * (table[0, y] if z else 1 - table[0, y])
            * (table[1, z] if w else 1 - table[1, z])
            * (table[2, z] if x else 1 - table[2, z])
        )
    return joint


def split_step(fixed: Floats, counts: Floats, table: Floats) -> Floats:
    joint = split_joint(fixed, table)
    expected = counts.reshape(4, 2, 2) * joint / joint.sum(axis=(0, 1))
    of_yz = expected.sum(axis=(2, 3, 4))
    of_z = of_yz.sum(axis=0)
    w_on = expected[:, :, :, 1, :].sum(axis=(0, 2, 3))
    x_on = expected[:, :, :, :, 1].sum(axis=(0, 2, 3))
    return np.stack(
        [
            (of_yz[:, 1] + SMOOTH) / (of_yz.sum(axis=1) + 2 * SMOOTH),
            (w_on + SMOOTH) / (of_z + 2 * SMOOTH),
            (x_on + SMOOTH) / (of_z + 2 * SMOOTH),
        ]
    )


def seed_loglik(counts: Floats, prior: float, table: Floats) -> float:
    return float(counts @ np.log(seed_joint(prior, table).sum(axis=0)))


def join_loglik(fixed: Floats, counts: Floats, table: Floats) -> float:
    return float((counts * np.log(join_joint(fixed, table).sum(axis=0))).sum())


def split_loglik(fixed: Floats, counts: Floats, table: Floats) -> float:
    return float(
        (counts.ravel() * np.log(split_joint(fixed, table).sum(axis=(0, 1)).ravel())).sum()
    )


# ---- data


def random_counts(seed: int, *shape: int) -> Floats:
    """Counts of any kind, some of them zero."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.4, 300, shape)).astype(float)


def random_fixed(seed: int) -> Floats:
    """P(Y, f) of two members under Y."""
    rng = np.random.default_rng(seed)
    low, high = rng.uniform(0.02, 0.2, 2), rng.uniform(0.5, 0.9, 2)
    prior = rng.uniform(0.2, 0.5)
    on = np.stack([low, high])  # (Y, member)
    states = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    weight = np.array([1 - prior, prior])[:, None]
    return weight * bernoulli(on[:, None, :], states[None]).prod(axis=2)


# ---- the random numbers


def test_random_unit_is_splitmix64() -> None:
    """First outputs of splitmix64 with seed 1234567, as published with the generator."""
    outputs = [6457827717110365317, 3203168211198807973, 9817491932198370423]

    for index, output in enumerate(outputs):
        assert random_unit(1234567, index) == pytest.approx(output / 2**64, abs=2**-50)


@pytest.mark.parametrize("key", [0, 1, 2, 2**62 + 12345])
def test_random_unit_is_uniform(key: int) -> None:
    draws = np.array([random_unit(key, index) for index in range(4000)])

    assert 0 < draws.min() < 0.002
    assert 0.998 < draws.max() < 1
    assert kstest(draws, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.06


def test_neighbouring_keys_are_unrelated() -> None:
    draws = np.array([[random_unit(key, index) for index in range(2000)] for key in (7, 8, 9)])

    assert kstest([random_unit(key, 0) for key in range(4000)], "uniform").pvalue > 1e-3
    off_diagonal = np.corrcoef(draws)[np.triu_indices(3, 1)]
    assert np.abs(off_diagonal).max() < 0.08


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


def test_random_unit_ignores_numpys_state() -> None:
    before = random_unit(5, 3)
    np.random.seed(0)  # noqa: NPY002  # the global state is what must not matter
    np.random.default_rng(0).random(10)

    assert random_unit(5, 3) == before
    assert random_unit(5, 4) != before
    assert random_unit(6, 3) != before


# ---- one step


@pytest.mark.parametrize("seed", range(10))
def test_seed_step_is_an_em_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = random_counts(seed, 8)
    prior, table = rng.uniform(0.1, 0.9), rng.uniform(0.05, 0.95, (3, 2))

    share, new_table = np.empty(8), np.empty((3, 2))
    loglik = _em_kernels._seed_posterior(counts, prior, table, share)
    new_prior = _em_kernels._seed_step(counts, share, prior, new_table, SMOOTH)

    joint = seed_joint(prior, table)
    np.testing.assert_allclose(share, joint[1] / joint.sum(axis=0), rtol=1e-12)
    assert loglik == pytest.approx(seed_loglik(counts, prior, table), rel=1e-12)
    twin_prior, twin_table = seed_step(counts, prior, table)
    assert new_prior == pytest.approx(twin_prior, rel=1e-12)
    np.testing.assert_allclose(new_table, twin_table, rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_split_step_is_an_em_step(seed: int) -> None:
    counts = random_counts(seed, 4, 4)
    fixed = random_fixed(seed)
    table = np.random.default_rng(seed).uniform(0.05, 0.95, (3, 2))
    expected = split_step(fixed, counts, table)
    before = split_loglik(fixed, counts, table)

    loglik = _em_kernels._split_step(fixed, counts, SMOOTH, table)

    assert loglik == pytest.approx(before, rel=1e-12)
    np.testing.assert_allclose(table, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_join_steps_are_em_steps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, fixed = random_counts(seed, 4, 2), random_fixed(seed)
    monkeypatch.setattr(_em_kernels, "TOLERANCE", -np.inf)
    twin = np.full(2, (counts[:, 1].sum() + SMOOTH) / (counts.sum() + 2 * SMOOTH))

    for steps in range(1, 6):
        monkeypatch.setattr(_em_kernels, "MAX_STEPS", steps)
        table = np.empty(2)
        loglik = fit_join.py_func(fixed, counts, SMOOTH, table)
        assert loglik == pytest.approx(join_loglik(fixed, counts, twin), rel=1e-12)
        twin = join_step(fixed, counts, twin)
        np.testing.assert_allclose(table, twin, rtol=1e-12)


# ---- no step lowers the objective


@pytest.mark.parametrize("seed", range(10))
def test_seed_steps_never_lower_the_objective(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    counts = random_counts(seed, 8)
    share, table = rng.uniform(0.05, 0.95, 8), np.empty((3, 2))
    objective = []
    for _ in range(60):
        prior = _em_kernels._seed_step(counts, share, 0.5, table, SMOOTH)
        objective.append(
            _em_kernels._seed_posterior(counts, prior, table, share) + belief(prior, table)
        )

    assert np.diff(objective).min() >= -1e-9 * abs(objective[-1])
    assert objective[-1] > objective[0]


@pytest.mark.parametrize("seed", range(10))
def test_split_steps_never_lower_the_objective(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    counts, fixed = random_counts(seed, 4, 4), random_fixed(seed)
    table = rng.uniform(0.05, 0.95, (3, 2))
    objective = []
    for _ in range(60):
        before = belief(table)
        objective.append(_em_kernels._split_step(fixed, counts, SMOOTH, table) + before)

    assert np.diff(objective).min() >= -1e-9 * abs(objective[-1])
    assert objective[-1] > objective[0]


@pytest.mark.parametrize("seed", range(5))
def test_join_steps_never_lower_the_objective(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, fixed = random_counts(seed, 4, 2), random_fixed(seed)
    monkeypatch.setattr(_em_kernels, "TOLERANCE", -np.inf)
    objective = []
    for steps in range(1, 30):
        monkeypatch.setattr(_em_kernels, "MAX_STEPS", steps)
        table = np.empty(2)
        fit_join.py_func(fixed, counts, SMOOTH, table)
        objective.append(join_loglik(fixed, counts, table) + belief(table))

    assert np.diff(objective).min() >= -1e-9 * abs(objective[-1])


# ---- whole fits


def planted_seed_counts(seed: int) -> tuple[Floats, float, Floats]:
    """Expected counts (rounded) of 5,000 rows of a clear latent class model."""
    rng = np.random.default_rng(seed)
    prior = rng.uniform(0.2, 0.5)
    table = np.stack([rng.uniform(0.02, 0.1, 3), rng.uniform(0.6, 0.9, 3)], axis=1)
    return np.rint(5000 * seed_joint(prior, table).sum(axis=0)), prior, table


@pytest.mark.parametrize("seed", range(8))
def test_fit_seed_finds_the_planted_model(seed: int) -> None:
    counts, prior, planted = planted_seed_counts(seed)
    table = np.empty((3, 2))

    found, loglik = fit_seed(counts, 3, seed, SMOOTH, table)

    assert loglik == pytest.approx(seed_loglik(counts, found, table), rel=1e-12)
    if table[:, 1].sum() < table[:, 0].sum():  # states may come out swapped
        table, found = table[:, ::-1], 1 - found
    np.testing.assert_allclose(table, planted, atol=0.03)
    assert found == pytest.approx(prior, abs=0.03)


@pytest.mark.parametrize("seed", range(8))
def test_fit_seed_is_as_good_as_numpy_em(seed: int) -> None:
    """NumPy EM from ten random starts, run to the end, gains less than half a nat."""
    counts, *_ = planted_seed_counts(100 + seed)
    table = np.empty((3, 2))
    _, loglik = fit_seed(counts, 3, seed, SMOOTH, table)

    best = -np.inf
    rng = np.random.default_rng(seed)
    for _ in range(10):
        prior, twin = rng.uniform(0.2, 0.8), rng.uniform(0.1, 0.9, (3, 2))
        for _ in range(300):
            prior, twin = seed_step(counts, prior, twin)
        best = max(best, seed_loglik(counts, prior, twin))
    assert best - 0.5 < loglik < best + 0.5


@pytest.mark.parametrize("seed", range(8))
def test_fit_join_reaches_the_one_maximum(seed: int) -> None:
    """Only P(X|Y) moves, so the objective is concave: any EM run to the end gives the answer."""
    rng = np.random.default_rng(seed)
    fixed = random_fixed(seed)
    planted = np.array([rng.uniform(0.02, 0.2), rng.uniform(0.5, 0.9)])
    counts = rng.multinomial(5000, join_joint(fixed, planted).sum(axis=0).ravel()).reshape(4, 2)
    counts = counts.astype(float)
    table = np.empty(2)

    loglik = fit_join(fixed, counts, SMOOTH, table)

    twin = np.array([0.5, 0.5])
    for _ in range(3000):
        twin = join_step(fixed, counts, twin)
    best = join_loglik(fixed, counts, twin)
    assert best - 0.5 < loglik < best + 0.5
    np.testing.assert_allclose(table, twin, atol=0.03)
    np.testing.assert_allclose(table, planted, atol=0.1)


@pytest.mark.parametrize("seed", range(8))
def test_fit_split_is_as_good_as_numpy_em(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fixed = random_fixed(seed)
    planted = np.stack([rng.uniform(0.02, 0.2, 3), rng.uniform(0.6, 0.95, 3)], axis=1)
    counts = rng.multinomial(5000, split_joint(fixed, planted).sum(axis=(0, 1)).ravel())
    counts = counts.reshape(4, 4).astype(float)
    table = np.empty((3, 2))

    loglik = fit_split(fixed, counts, 3, seed, SMOOTH, table)

    assert loglik == pytest.approx(split_loglik(fixed, counts, table), abs=0.05)
    best = -np.inf
    for _ in range(10):
        twin = rng.uniform(0.1, 0.9, (3, 2))
        for _ in range(300):
            twin = split_step(fixed, counts, twin)
        best = max(best, split_loglik(fixed, counts, twin))
    assert best - 0.5 < loglik < best + 0.5


@pytest.mark.parametrize("seed", range(20))
def test_fits_stay_inside_the_open_interval(seed: int) -> None:
    """Any counts, empty cells and empty variables too: every probability is in (0, 1)."""
    counts8, counts42, counts44 = (random_counts(seed, *s) for s in ((8,), (4, 2), (4, 4)))
    if seed % 4 == 0:
        counts8[1::2] = 0.0  # the first variable never on
        counts42[:, 1] = 0.0
        counts44[:, 1::2] = 0.0
    fixed = random_fixed(seed)
    table, joined, split = np.empty((3, 2)), np.empty(2), np.empty((3, 2))

    prior, seed_ll = fit_seed(counts8, 3, seed, SMOOTH, table)
    join_ll = fit_join(fixed, counts42, SMOOTH, joined)
    split_ll = fit_split(fixed, counts44, 3, seed, SMOOTH, split)

    for values in (np.array([prior]), table, joined, split):
        assert ((values > 0) & (values < 1)).all()
    assert np.isfinite([seed_ll, join_ll, split_ll]).all()


def test_restarts_pay() -> None:
    """The start is chosen after two steps, so one fit may lose by it; over many, they gain."""
    advantage = []
    for seed in range(40):
        counts = random_counts(seed, 8)
        one, many = (fit_seed(counts, n, seed, SMOOTH, np.empty((3, 2)))[1] for n in (1, 5))
        advantage.append(many - one)

    assert np.mean(advantage) > 0
    assert np.median(advantage) >= 0


def test_the_key_decides_the_starts() -> None:
    counts = random_counts(3, 8)
    first, same, other = np.empty((3, 3, 2))

    fit_seed(counts, 3, 11, SMOOTH, first)
    fit_seed(counts, 3, 11, SMOOTH, same)
    np.testing.assert_array_equal(first, same)
    answers = set()
    for key in range(10):
        fit_seed(random_counts(3, 8), 3, key, SMOOTH, other)
        answers.add(other.tobytes())
    assert len(answers) > 1
