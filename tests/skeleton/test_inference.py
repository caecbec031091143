"""EM over the whole tree: never lowers the likelihood; counts and tables say the same."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import Floats, draw_rows, planted_tree, random_tree
from tsenet._system.threads import Workers
from tsenet.data import Blocks
from tsenet.data.binary import BinaryRows
from tsenet.progress import Progress
from tsenet.skeleton.inference import Inference, counts_from_tables, refine, tables_from_counts
from tsenet.skeleton.tree import LatentTree

NO_PULL = 1e-300  # decides 0/0 (a root has no second row) and nothing else


def with_tables(tree: LatentTree, cpt: Floats) -> LatentTree:
    """The same tree with other tables; refuses what does not sum to 1."""
    return LatentTree(tree.parent, tree.level, cpt, tree.names, tree.rule)


def full_batch_em(tree: LatentTree, rows: BinaryRows, steps: int) -> tuple[Floats, list[float]]:
    """Textbook EM: all rows at every step, no pull. Returns the tables and the log-likelihoods."""
    cpt = tree.cpt.copy()
    numbers = np.arange(rows.n_rows)
    loglik = []
    with Workers(1) as workers:
        for _ in range(steps):
            inference = Inference.of(tree.parent, cpt, tree.n_observed)
            pairs, on, total = inference.expected_counts(rows, numbers, workers)
            loglik.append(total)
            tables_from_counts(pairs / rows.n_rows, on / rows.n_rows, tree.parent, NO_PULL, cpt)
            with_tables(tree, cpt)  # every table sums to 1 at every moment
    return cpt, loglik


@pytest.mark.parametrize("sizes", [(8, 1), (9, 3), (12, 4, 2), (12, 6, 3, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_full_batch_em_never_lowers_the_likelihood(sizes: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng([seed, *sizes])
    rows = BinaryRows.of_dense(draw_rows(random_tree(rng, sizes), 400, rng))
    start = random_tree(rng, sizes)  # another tree: links and tables are wrong for these rows

    cpt, loglik = full_batch_em(start, rows, 40)

    assert np.diff(loglik).min() >= -1e-9 * abs(loglik[-1])
    assert loglik[-1] > loglik[0] + 10
    final = with_tables(start, cpt).log_likelihood(rows).sum()
    assert final >= loglik[-1] - 1e-9 * abs(final)


def test_the_observed_means_are_met_after_one_step() -> None:
    """An M-step makes the model's marginals of observed variables the data's."""
    rng = np.random.default_rng(0)
    tree = random_tree(rng, (10, 4, 2))
    dense = draw_rows(random_tree(rng, (10, 4, 2)), 500, rng)

    cpt, _ = full_batch_em(tree, BinaryRows.of_dense(dense), 1)

    means = with_tables(tree, cpt).marginals()[:10]
    np.testing.assert_allclose(means, dense.mean(axis=0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("sizes", [(1, 1), (8, 1), (9, 3), (12, 4, 2), (12, 6, 3, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_counts_and_tables_are_inverse(sizes: tuple[int, ...], seed: int) -> None:
    tree = random_tree(np.random.default_rng([seed, *sizes]), sizes, n_constant=sizes[0] > 5)

    pairs, on = counts_from_tables(tree.parent, tree.cpt, tree.marginals(), tree.n_observed)
    back = tree.cpt.copy()
    latents_and_children = tree.parent >= 0
    latents_and_children[tree.n_observed :] = True
    back[latents_and_children] = np.nan  # only constants keep what they had
    tables_from_counts(pairs, on, tree.parent, NO_PULL, back)

    np.testing.assert_allclose(back, tree.cpt, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pseudo", [NO_PULL, 1e-3, 0.5])
def test_tables_from_any_counts_sum_to_one(pseudo: float) -> None:
    rng = np.random.default_rng(2)
    tree = random_tree(rng, (9, 3, 2), n_constant=1)
    pairs = rng.gamma(0.1, 1.0, (5, 2, 2)) + 1e-12  # most of the rows in few cells
    pairs[tree.parent[9:] < 0, 1] = 0.0  # a root stands under 0
    pairs /= pairs.sum(axis=(1, 2), keepdims=True)
    on = np.zeros((9, 2))
    for v in np.flatnonzero(tree.parent[:9] >= 0):
        on[v] = pairs[tree.parent[v] - 9].sum(axis=0) * rng.random(2)
    cpt = tree.cpt.copy()

    tables_from_counts(pairs, on, tree.parent, pseudo, cpt)

    np.testing.assert_allclose(cpt.sum(axis=2), 1.0, rtol=0, atol=1e-12)
    assert ((cpt > 0) & (cpt < 1)).all()


def test_the_pull_is_towards_the_marginal() -> None:
    """Much belief in independence: both rows of a table become the node's share of rows on."""
    tree = random_tree(np.random.default_rng(3), (6, 2))
    pairs, on = counts_from_tables(tree.parent, tree.cpt, tree.marginals(), 6)
    none, some, much = (tree.cpt.copy() for _ in range(3))

    for pseudo, cpt in ((NO_PULL, none), (1.0, some), (1e9, much)):
        tables_from_counts(pairs, on, tree.parent, pseudo, cpt)

    marginals = tree.marginals()
    np.testing.assert_allclose(much[:, :, 1], np.stack([marginals] * 2, axis=1), rtol=1e-6)
    distance = [np.abs(cpt[:, :, 1] - marginals[:, None]) for cpt in (none, some, much)]
    assert (distance[0] >= distance[1] - 1e-12).all()
    assert (distance[1] >= distance[2] - 1e-6).all()
    assert (distance[0] > distance[1] + 1e-3).any()


def test_no_latent_is_less_likely_when_its_parent_is_on_if_asked() -> None:
    """Where the unrestricted table falls, the restricted one has the marginal in both rows."""
    tree = random_tree(np.random.default_rng(4), (12, 6, 3))
    pairs, on = counts_from_tables(tree.parent, tree.cpt, tree.marginals(), 12)
    free, positive = tree.cpt.copy(), tree.cpt.copy()

    tables_from_counts(pairs, on, tree.parent, NO_PULL, free)
    tables_from_counts(pairs, on, tree.parent, NO_PULL, positive, positive=True)

    falls = (free[:, 1, 1] < free[:, 0, 1]) & (tree.level > 0)
    assert falls.any()
    np.testing.assert_array_equal(positive[~falls], free[~falls])
    np.testing.assert_allclose(positive[falls, 0, 1], tree.marginals()[falls])
    np.testing.assert_array_equal(positive[falls, 0], positive[falls, 1])


def run_refine(
    tree: LatentTree,
    rows: BinaryRows,
    steps: int,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> LatentTree:
    with Workers(n_jobs) as workers:
        rng = np.random.default_rng(seed)
        cpt = refine(Blocks(rows), tree, steps, rng, workers, progress or Progress())
    return with_tables(tree, cpt)


@pytest.mark.parametrize("seed", range(3))
def test_stepwise_em_comes_near_the_truth(seed: int) -> None:
    """Right links, wrong tables: held-out rows end close to what the planted tree gives them."""
    rng = np.random.default_rng(seed)
    truth = planted_tree(rng, (40, 8, 2))
    rows, held_out = (BinaryRows.of_dense(draw_rows(truth, n, rng)) for n in (4000, 2000))
    blurred = with_tables(truth, 0.7 * truth.cpt + 0.15)

    refined = run_refine(blurred, rows, 60, seed=seed)

    best, before, after = (t.log_likelihood(held_out).mean() for t in (truth, blurred, refined))
    assert before < best - 1
    assert best - 0.1 < after < best + 0.05


def test_same_seed_same_tables_for_any_thread_count() -> None:
    rng = np.random.default_rng(5)
    tree = random_tree(rng, (12, 4, 2))
    rows = BinaryRows.of_dense(rng.random((2500, 12)) < 0.3)

    first = run_refine(tree, rows, 10, seed=1)
    for n_jobs in (1, 2, 4):
        assert run_refine(tree, rows, 10, seed=1, n_jobs=n_jobs) == first
    assert run_refine(tree, rows, 10, seed=2) != first


def test_constants_keep_their_tables() -> None:
    rng = np.random.default_rng(6)
    tree = random_tree(rng, (8, 3), n_constant=2)
    rows = BinaryRows.of_dense(rng.random((200, 8)) < 0.3)

    refined = run_refine(tree, rows, 5)

    np.testing.assert_array_equal(refined.cpt[6:8], tree.cpt[6:8])
    assert (refined.cpt[:6] != tree.cpt[:6]).all()


@pytest.mark.parametrize("n_rows", [1, 2, 50])
def test_fewer_rows_than_a_batch(n_rows: int) -> None:
    rng = np.random.default_rng(7)
    rows = BinaryRows.of_dense(rng.random((n_rows, 6)) < 0.5)

    refined = run_refine(random_tree(rng, (6, 2)), rows, 30)

    assert ((refined.cpt > 0) & (refined.cpt < 1)).all()
