"""Exact inference against the sum over all states of all latents, for trees up to 12 variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import all_states, presence_rule, random_tree
from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRows
from tsenet.skeleton.inference import Inference
from tsenet.skeleton.tree import LatentTree

TOLERANCE = 1e-10
LN_OF_NOTHING = -600.0  # an impossible row may have a probability of 1e-300 in place of 0

# Layer sizes, observed first: at most 12 variables in all.
SHAPES = [
    (1, 1),
    (5, 1),
    (6, 2),
    (5, 4),  # a top layer of four, linked as a random tree
    (4, 4, 4),
    (6, 3, 2),
    (7, 3, 1),
    (5, 3, 2, 1),
    (3, 3, 3, 3),
    (8, 2, 2),
]


@dataclass(frozen=True)
class Sums:
    """What enumeration says about N rows: ln P(x), posteriors, and those of child and parent."""

    log_likelihood: NDArray[np.float64]
    posterior: NDArray[np.float64]  # (N, L)
    pairs: NDArray[np.float64]  # (N, L, 2, 2), parent's state first; a root's under 0
    on: NDArray[np.float64]  # (N, V, 2)


def enumerate_states(tree: LatentTree, rows: NDArray[np.bool_]) -> Sums:
    """Sum the product of all tables over the 2^L states of the latents, row by row."""
    n_observed, n_latents = tree.n_observed, tree.n_latents
    latents = all_states(n_latents).astype(int)
    posterior = np.empty((len(rows), n_latents))
    pairs = np.zeros((len(rows), n_latents, 2, 2))
    on = np.zeros((len(rows), n_observed, 2))
    loglik = np.empty(len(rows))
    for r, row in enumerate(rows):
        state = np.concatenate([np.tile(row.astype(int), (len(latents), 1)), latents], axis=1)
        above = np.where(tree.parent >= 0, state[:, tree.parent], 0)
        joint = tree.cpt[np.arange(tree.n_nodes), above, state].prod(axis=1)
        with np.errstate(
            divide="ignore", invalid="ignore"
        ):  # impossible rows: ln 0, and 0/0 posteriors
            loglik[r] = np.log(joint.sum())
            weight = joint / joint.sum()
        posterior[r] = weight @ latents
        for z in range(n_latents):
            np.add.at(pairs[r, z], (above[:, n_observed + z], latents[:, z]), weight)
        for v in np.flatnonzero(row & (tree.parent[:n_observed] >= 0)):
            np.add.at(on[r, v], above[:, v], weight)
    return Sums(loglik, posterior, pairs, on)


def inference_of(tree: LatentTree) -> Inference:
    return Inference.of(tree.parent, tree.cpt, tree.n_observed)


def check_against_enumeration(tree: LatentTree) -> Sums:
    """Compare log-likelihood, posterior and expected counts over all 2^V rows."""
    rows = all_states(tree.n_observed)
    truth = enumerate_states(tree, rows)
    possible = np.isfinite(truth.log_likelihood)
    binary = BinaryRows.of_dense(rows)

    loglik = tree.log_likelihood(binary, n_jobs=1)
    np.testing.assert_allclose(
        loglik[possible], truth.log_likelihood[possible], rtol=0, atol=TOLERANCE
    )
    assert (loglik[~possible] < LN_OF_NOTHING).all()

    posterior = tree.posterior(binary, n_jobs=1)
    assert posterior.shape == (len(rows), tree.n_latents)
    np.testing.assert_allclose(
        posterior[possible], truth.posterior[possible], rtol=0, atol=TOLERANCE
    )

    numbers = np.flatnonzero(possible)
    with Workers(1) as workers:
        pairs, on, total = inference_of(tree).expected_counts(binary, numbers, workers)
    np.testing.assert_allclose(pairs, truth.pairs[possible].sum(axis=0), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(on, truth.on[possible].sum(axis=0), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(
        total, truth.log_likelihood[possible].sum(), rtol=1e-12, atol=TOLERANCE
    )
    return truth


def check_marginals(tree: LatentTree) -> None:
    """P(v=1) of every node against the sum over all states of all nodes."""
    state = all_states(tree.n_nodes).astype(int)
    above = np.where(tree.parent >= 0, state[:, tree.parent], 0)
    weight = tree.cpt[np.arange(tree.n_nodes), above, state].prod(axis=1)
    assert weight.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(tree.marginals(), weight @ state, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_random_trees(sizes: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng([seed, *sizes])
    tree = random_tree(rng, sizes)

    truth = check_against_enumeration(tree)
    check_marginals(tree)

    assert np.exp(truth.log_likelihood).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sizes", [(6, 2), (7, 3, 1), (6, 3, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_constant_variables_stand_alone(sizes: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng([seed, *sizes])
    tree = random_tree(rng, sizes, n_constant=2)

    assert (tree.parent[: tree.n_observed] < 0).sum() == 2
    check_against_enumeration(tree)
    check_marginals(tree)


def test_a_tree_of_constants_only() -> None:
    on = np.array([[0.2, 0.2], [0.7, 0.7], [0.5, 0.5]])
    tree = LatentTree(
        np.full(3, -1),
        np.zeros(3),
        np.stack([1 - on, on], axis=2),
        ("x0", "x1", "x2"),
        presence_rule(3),
    )
    rows = all_states(3)

    expected = np.where(rows, np.log(on[:, 0]), np.log(1 - on[:, 0])).sum(axis=1)
    np.testing.assert_allclose(
        tree.log_likelihood(BinaryRows.of_dense(rows)), expected, rtol=0, atol=TOLERANCE
    )
    assert tree.posterior(BinaryRows.of_dense(rows)).shape == (8, 0)
    np.testing.assert_array_equal(tree.marginals(), on[:, 0])


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_top_level_chains_in_any_numbering(order: tuple[int, ...]) -> None:
    """In the top level a parent may have a smaller or a larger number than its child."""
    rng = np.random.default_rng(order)
    tree = random_tree(rng, (8, 4))
    parent = tree.parent.copy()
    nodes = 8 + np.array(order)
    parent[nodes[0]] = -1
    parent[nodes[1:]] = nodes[:-1]
    cpt = tree.cpt.copy()
    cpt[nodes[0], 1] = cpt[nodes[0], 0]
    chain = LatentTree(parent, tree.level, cpt, tree.names, tree.rule)

    check_against_enumeration(chain)
    check_marginals(chain)


@pytest.mark.parametrize("sizes", [(6, 4), (6, 3, 2), (5, 3, 2, 1), (4, 4, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_latents_without_a_parent(sizes: tuple[int, ...], seed: int) -> None:
    """Several trees: any latent, of any level, may have no parent."""
    rng = np.random.default_rng([seed, *sizes])
    tree = random_tree(rng, sizes)
    parent, cpt = tree.parent.copy(), tree.cpt.copy()
    alone = rng.choice(np.arange(sizes[0], tree.n_nodes), 2, replace=False)
    parent[alone], cpt[alone, 1] = -1, cpt[alone, 0]
    forest = LatentTree(parent, tree.level, cpt, tree.names, tree.rule)

    check_against_enumeration(forest)
    check_marginals(forest)


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("certain", [0.2, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_of_zero_and_one(sizes: tuple[int, ...], certain: float, seed: int) -> None:
    """Certain tables are legal: impossible rows have no probability, possible ones exact answers."""
    rng = np.random.default_rng([seed, int(10 * certain), *sizes])
    tree = random_tree(rng, sizes, n_constant=sizes[0] > sizes[1], certain=certain)

    truth = check_against_enumeration(tree)
    check_marginals(tree)

    assert np.exp(truth.log_likelihood).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("state", [0, 1])
def test_a_variable_that_copies_its_latent(state: int) -> None:
    """P(x=1|z) is 0 and 1 for the two states of z: the posterior is 0 or 1."""
    on = np.array([[1 - state, state], [0.2, 0.9], [0.3, 0.3]], float)
    tree = LatentTree(
        np.array([2, 2, -1]),
        np.array([0, 0, 1]),
        np.stack([1 - on, on], axis=2),
        ("x0", "x1", "z"),
        presence_rule(2),
    )
    rows = all_states(2)

    expected = rows[:, :1] == bool(state)
    found = tree.posterior(BinaryRows.of_dense(rows))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    check_against_enumeration(tree)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_chunks_and_threads_leave_no_trace(n_jobs: int) -> None:
    """Bitwise the same in several tasks and in parts of seven rows; scratch space never leaks between rows."""
    rng = np.random.default_rng(0)
    tree = random_tree(rng, (6, 3, 2), n_constant=1)
    rows = BinaryRows.of_dense(rng.random((2800, 6)) < 0.4)
    parts = [rows.take(slice(k, k + 7)) for k in range(0, 2800, 7)]
    loglik = np.concatenate([tree.log_likelihood(part, n_jobs=1) for part in parts])
    posterior = np.concatenate([tree.posterior(part, n_jobs=1) for part in parts])

    np.testing.assert_array_equal(tree.log_likelihood(rows, n_jobs=n_jobs), loglik)
    np.testing.assert_array_equal(tree.posterior(rows, n_jobs=n_jobs), posterior)


def test_expected_counts_do_not_depend_on_the_thread_count() -> None:
    rng = np.random.default_rng(1)
    inference = inference_of(random_tree(rng, (6, 3, 2)))
    rows = BinaryRows.of_dense(rng.random((2000, 6)) < 0.4)
    numbers = rng.integers(2000, size=3000)  # any order, repeats too

    answers = []
    for n_jobs in (1, 2, 4):
        with Workers(n_jobs) as workers:
            answers.append(inference.expected_counts(rows, numbers, workers))
    for pairs, on, loglik in answers[1:]:
        np.testing.assert_array_equal(pairs, answers[0][0])
        np.testing.assert_array_equal(on, answers[0][1])
        assert loglik == answers[0][2]


def test_no_rows() -> None:
    tree = random_tree(np.random.default_rng(2), (4, 2))
    rows = BinaryRows.of_dense(np.zeros((0, 4), bool))

    assert tree.log_likelihood(rows).shape == (0,)
    assert tree.posterior(rows).shape == (0, 2)
