"""The Chow–Liu tree over the latents of a layer, against networkx and scikit-learn."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, xlogy

from tests.builders import Floats
from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRows
from tsenet.errors import DataError
from tsenet.skeleton.chow_liu import binary_information, chow_liu_parents
from tsenet.skeleton.completion import Layer, SoftRows, complete
from tsenet.skeleton.hlta import link_latents, linked_states


def random_information(seed: int, n: int) -> Floats:
    rng = np.random.default_rng(seed)
    value = rng.gamma(0.5, 0.2, (n, n))
    return np.triu(value, 1) + np.triu(value, 1).T


def soft_rows(seed: int, n_rows: int = 300, n_latents: int = 6, sharp: float = 1.0) -> SoftRows:
    """Correlated posteriors; a third of the entries is left at the base."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_latents)) * 2
    noisy = cause + rng.normal(size=cause.shape) + np.where(rng.random(cause.shape) < 0.5, 1, -1)
    stored = rng.random(cause.shape) < 0.67
    logodds = csr_array((sharp * noisy[stored], np.nonzero(stored)), shape=stored.shape)
    return SoftRows(logodds, sharp * np.linspace(-2, 1, n_latents))


def posteriors(soft: SoftRows) -> Floats:
    dense = np.tile(soft.base, (soft.n_rows, 1))
    stored = soft.logodds.tocoo()
    dense[stored.row, stored.col] = stored.data
    return expit(dense)


def latent_information(soft: SoftRows) -> Floats:
    """Mutual information of all latents, from their moments."""
    both, mean = soft.moments()
    return binary_information(both, mean[:, None], mean[None, :])


def assert_is_tree(parents: np.ndarray) -> None:
    n = parents.size
    graph = networkx.Graph((v, int(p)) for v, p in enumerate(parents) if p >= 0)
    graph.add_nodes_from(range(n))
    assert (parents == -1).sum() == 1
    assert networkx.is_tree(graph)


@pytest.mark.parametrize("n", [2, 3, 10, 40])
@pytest.mark.parametrize("seed", range(3))
def test_total_weight_equals_networkx(seed: int, n: int) -> None:
    information = random_information(seed, n)

    parents = chow_liu_parents(information)

    assert_is_tree(parents)
    ours = sum(information[v, p] for v, p in enumerate(parents) if p >= 0)
    best = networkx.maximum_spanning_tree(networkx.from_numpy_array(information)).size("weight")
    assert ours == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_root_tells_most_about_the_others(seed: int) -> None:
    information = random_information(seed, 12)

    parents = chow_liu_parents(information)

    assert parents.dtype == np.int32
    assert np.flatnonzero(parents == -1).tolist() == [int(np.argmax(information.sum(axis=0)))]


@pytest.mark.parametrize("n", [2, 5, 9])
def test_ties_still_give_a_tree(n: int) -> None:
    information = np.full((n, n), 0.3)
    np.fill_diagonal(information, 0.7)  # a latent's entropy: no link

    parents = chow_liu_parents(information)

    assert_is_tree(parents)
    np.testing.assert_array_equal(parents, chow_liu_parents(information.copy()))


def test_islands_without_information_between_them_stay_apart() -> None:
    information = np.zeros((6, 6))
    information[:3, :3] = information[3:, 3:] = 0.4
    np.fill_diagonal(information, 0.6)

    parents = chow_liu_parents(information)

    assert (parents == -1).sum() == 2
    assert all(information[v, p] > 0 for v, p in enumerate(parents.tolist()) if p >= 0)


def test_one_latent_is_its_own_root() -> None:
    assert chow_liu_parents(np.array([[0.5]])).tolist() == [-1]


def test_too_many_latents_are_refused() -> None:
    without_memory = np.broadcast_to(0.5, (20_000, 20_000))

    with pytest.raises(DataError, match="20000 latents, more than 10000"):
        chow_liu_parents(without_memory)


@pytest.mark.parametrize("seed", range(3))
def test_soft_information_is_that_of_the_summed_products(seed: int) -> None:
    """P(Y, Y') ∝ Σ_d P(Y|d)·P(Y'|d), all four cells summed densely."""
    soft = soft_rows(seed)
    on = posteriors(soft)
    off = 1 - on
    n = soft.n_rows

    expected = np.zeros((6, 6))
    for first in (on, off):
        for second in (on, off):
            joint = first.T @ second / n
            margins = np.outer(first.mean(axis=0), second.mean(axis=0))
            expected += xlogy(joint, joint / margins)
    np.testing.assert_allclose(latent_information(soft), expected, rtol=0, atol=1e-12)
    assert expected.max() > 0.01


def test_binary_information_broadcasts_and_is_never_negative() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.uniform(0.05, 0.95, (2, 200))
    low, high = np.maximum(0, first + second - 1), np.minimum(first, second)
    both = low + rng.random(200) * (high - low)

    value = binary_information(both, first, second)

    assert (value >= 0).all()
    np.testing.assert_allclose(binary_information(first * second, first, second), 0, atol=1e-15)
    one = binary_information(both[7], first[7], second[7])
    assert one == value[7]
    p = np.array([[1 - first - second + both, second - both], [first - both, both]])[:, :, 7]
    reference = xlogy(p, p / np.outer(p.sum(axis=1), p.sum(axis=0))).sum()
    assert one == pytest.approx(reference, abs=1e-14)
    for edge in (0.0, 1.0):
        assert binary_information(np.array(edge * 0.4), np.array(edge), np.array(0.4)) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_links_of_the_top_layer(seed: int) -> None:
    soft = soft_rows(seed)
    on = posteriors(soft)

    parents, rate = link_latents(soft)

    np.testing.assert_array_equal(parents, chow_liu_parents(latent_information(soft)))
    for z, p in enumerate(parents):
        if p < 0:
            np.testing.assert_allclose(rate[z], on[:, z].mean(), rtol=1e-12)
        else:
            for state, above in enumerate((1 - on[:, p], on[:, p])):
                expected = (above * on[:, z]).sum() / above.sum()
                assert rate[z, state] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_linked_states_are_those_of_the_whole_layer(seed: int) -> None:
    """Against a sum over all states of five latents over twelve variables, two of which are in no group."""
    rng = np.random.default_rng(seed)
    latent_of = np.append(rng.permutation(np.arange(10) % 5), [-1, -1]).astype(np.int32)
    rate = np.sort(rng.uniform(0.05, 0.95, (12, 2)), axis=1)
    layer = Layer(latent_of, rng.uniform(0.2, 0.8, 5), rate)
    shared = np.repeat(rng.random((300, 1)) < 0.5, 12, axis=1)
    rows = BinaryRows.of_dense(
        np.where(rng.random((300, 12)) < 0.6, shared, rng.random((300, 12)) < 0.5)
    )
    soft = complete(rows, layer)

    with Workers(1) as workers:
        found = linked_states(rows, layer, soft, False, workers).to_dense()

    parents, link = link_latents(soft)
    assert (parents >= 0).sum() == 4
    states = np.array(list(itertools.product((0, 1), repeat=5)))
    above = np.where(parents >= 0, states[:, parents], 0)
    on = link[np.arange(5), above]
    log_prior = np.log(np.where(states == 1, on, 1 - on)).sum(axis=1)  # (32,)
    placed = latent_of >= 0
    on = rate[placed][np.arange(10), states[:, latent_of[placed]]]  # (32, 10)
    seen = rows.to_dense()[:, None, placed]
    joint = log_prior + np.log(np.where(seen, on, 1 - on)).sum(axis=2)  # (300, 32)
    probability = np.exp(joint - joint.max(axis=1, keepdims=True))
    posterior = probability @ states / probability.sum(axis=1, keepdims=True)
    clear = np.abs(posterior - 0.5) > 1e-9
    assert np.array_equal(found[clear], posterior[clear] > 0.5)
    assert (found != soft.hard().to_dense()).any()  # the other groups matter


def test_latents_that_exclude_each_other_are_not_linked_if_only_positive_ties_count() -> None:
    logodds = np.where(np.arange(40) % 2, 3.0, -3.0)
    soft = SoftRows(csr_array(np.stack([logodds, -logodds], axis=1)), np.zeros(2))

    assert (link_latents(soft)[0] >= 0).sum() == 1
    parents, rate = link_latents(soft, positive=True)
    assert parents.tolist() == [-1, -1]
    np.testing.assert_allclose(rate, 0.5)


def test_a_single_top_latent_has_its_mean() -> None:
    soft = soft_rows(5, n_latents=1)

    parents, rate = link_latents(soft)

    assert parents.tolist() == [-1]
    np.testing.assert_allclose(rate, np.full((1, 2), posteriors(soft).mean()), rtol=1e-12)


def test_probabilities_of_links_stay_inside_the_open_interval() -> None:
    """Two latents that are copies of each other in every row: no link of 0 or 1."""
    logodds = np.where(np.arange(40) % 2, 50.0, -50.0)
    soft = SoftRows(csr_array(np.stack([logodds, logodds], axis=1)), np.zeros(2))

    _, rate = link_latents(soft)

    assert ((rate > 0) & (rate < 1)).all()
