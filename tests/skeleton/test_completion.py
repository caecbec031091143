"""Data completion and a variable's best latent, against dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, xlogy
from sklearn.metrics import mutual_info_score

from tests.builders import Bools, Floats, full_information
from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRows
from tsenet.skeleton import layers
from tsenet.skeleton.completion import Layer, SoftRows, complete
from tsenet.skeleton.information import PairCounter


def random_layer(rng: np.random.Generator, n_variables: int, n_latents: int) -> Layer:
    """Two variables belong to no group; every third latent is on when all of its group is off."""
    latent_of = rng.permutation(np.arange(n_variables) % n_latents).astype(np.int32)
    latent_of[rng.choice(n_variables, 2, replace=False)] = -1
    prior = np.where(np.arange(n_latents) % 3 == 2, 0.97, rng.uniform(0.1, 0.5, n_latents))
    table = np.stack([rng.uniform(0.02, 0.4, n_variables), rng.uniform(0.3, 0.8, n_variables)], 1)
    return Layer(latent_of, prior, table)


def never_on_by_default(rng: np.random.Generator, n_variables: int, n_latents: int) -> Layer:
    layer = random_layer(rng, n_variables, n_latents)
    return Layer(layer.latent_of, np.full(n_latents, 0.05), layer.table)


def dense_logodds(on: Bools, layer: Layer, without: int | None = None) -> Floats:
    """ln P(Y=1|group) − ln P(Y=0|group), from all members, the off ones too: (N, L)."""
    out = np.tile(np.log(layer.prior / (1 - layer.prior)), (len(on), 1))
    for v, z in enumerate(layer.latent_of):
        if z >= 0 and v != without:
            p = np.where(on[:, v, None], layer.table[v], 1 - layer.table[v])
            out[:, z] += np.log(p[:, 1] / p[:, 0])
    return out


def dense_of(soft: SoftRows) -> Floats:
    out = np.tile(soft.base, (soft.n_rows, 1))
    stored = soft.logodds.tocoo()
    out[stored.row, stored.col] = stored.data
    return out


@pytest.fixture(params=[random_layer, never_on_by_default], ids=["mixed", "off by default"])
def data(request: pytest.FixtureRequest) -> tuple[Bools, Layer]:
    rng = np.random.default_rng(0)
    on = rng.random((500, 24)) < rng.uniform(0.02, 0.4, 24)
    on[3] = False  # a row without any
    return on, request.param(rng, 24, 7)


def completed(on: Bools, layer: Layer) -> SoftRows:
    return complete(BinaryRows.of_dense(on), layer)


# ---- completion


def test_soft_completion_equals_dense(data: tuple[Bools, Layer]) -> None:
    on, layer = data

    soft = completed(on, layer)

    np.testing.assert_allclose(dense_of(soft), dense_logodds(on, layer), rtol=1e-11, atol=1e-11)


def test_only_groups_with_a_word_are_stored(data: tuple[Bools, Layer]) -> None:
    """The price is the non-zeros: a latent has an entry only where one of its group is on."""
    on, layer = data

    soft = completed(on, layer)

    spoken = np.zeros((len(on), layer.n_latents), bool)
    for v, z in enumerate(layer.latent_of):
        if z >= 0:
            spoken[:, z] |= on[:, v]
    np.testing.assert_array_equal(np.diff(soft.logodds.indptr), spoken.sum(axis=1))
    np.testing.assert_array_equal(soft.logodds.indices, np.nonzero(spoken)[1])  # ascending
    assert soft.n_rows == 500


def test_hard_completion_takes_the_likelier_state(data: tuple[Bools, Layer]) -> None:
    on, layer = data
    soft = completed(on, layer)

    hard = soft.hard()

    hard.validate()
    expected = dense_logodds(on, layer) > 0
    np.testing.assert_array_equal(hard.to_dense(), expected)
    assert expected.any()
    assert not expected.all()


def test_second_moments_and_means_equal_dense(data: tuple[Bools, Layer]) -> None:
    on, layer = data
    soft = completed(on, layer)

    posterior = expit(dense_logodds(on, layer))
    both, mean = soft.moments()
    np.testing.assert_allclose(both, posterior.T @ posterior / len(on), rtol=1e-10)
    np.testing.assert_allclose(mean, posterior.mean(axis=0), rtol=1e-10)


def test_rows_without_any_word() -> None:
    layer = random_layer(np.random.default_rng(2), 12, 3)

    soft = completed(np.zeros((4, 12), bool), layer)

    assert soft.logodds.nnz == 0
    np.testing.assert_array_equal(soft.hard().to_dense(), np.tile(soft.base > 0, (4, 1)))
    posterior = expit(np.tile(soft.base, (4, 1)))
    np.testing.assert_allclose(soft.moments()[0], posterior.T @ posterior / 4, rtol=1e-12)


# ---- the best latent for a variable


@pytest.mark.parametrize("positive", [False, True])
def test_best_latents_equal_dense(data: tuple[Bools, Layer], positive: bool) -> None:
    on, layer = data
    hard = completed(on, layer).hard()
    counter = PairCounter(BinaryRows.of_dense(on), positive)
    variables = np.random.default_rng(3).permutation(24)[:17].astype(np.int32)

    with Workers(2) as workers:
        best, found, joint = counter.best_latents(variables, hard, layer.latent_of, workers)

    state = hard.to_dense()
    gain = full_information(np.concatenate([on, state], axis=1))[:24, 24:]
    together = on.T.astype(int) @ state
    by_chance = np.outer(on.sum(axis=0), state.sum(axis=0)) / len(on)
    for b, v in enumerate(variables):
        allowed = (together[v] > 0) & (np.arange(layer.n_latents) != layer.latent_of[v])
        if positive:
            allowed &= together[v] > by_chance[v]
        expected = int(np.argmax(np.where(allowed, gain[v], -1))) if allowed.any() else -1
        assert best[b] == expected
        assert joint[b] == (together[v, expected] if expected >= 0 else 0)
        assert found[b] == pytest.approx(gain[v, expected] if expected >= 0 else 0.0, abs=1e-9)


def test_a_variable_that_meets_no_latent() -> None:
    """Its rows have no latent on but its own."""
    on = np.zeros((6, 3), bool)
    on[:2, 0] = on[2:4, 1] = on[4:, 2] = True
    layer = Layer(np.array([0, 1, 2], np.int32), np.full(3, 0.3), np.tile([0.05, 0.9], (3, 1)))
    hard = completed(on, layer).hard()
    np.testing.assert_array_equal(hard.to_dense(), on)

    counter = PairCounter(BinaryRows.of_dense(on))
    with Workers(1) as workers:
        best, _, joint = counter.best_latents(
            np.arange(3, dtype=np.int32), hard, layer.latent_of, workers
        )

    assert best.tolist() == [-1, -1, -1]
    assert joint.tolist() == [0, 0, 0]


def conditional_information(x: Bools, y: Bools, given: Bools) -> float:
    """N · I(x; y | given) in nats, by scikit-learn within each value of ``given``."""
    return sum(
        float(part.sum()) * mutual_info_score(x[part], y[part])
        for part in (given, ~given)
        if part.any()
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compare_assignments_equals_dense_leave_one_out(
    data: tuple[Bools, Layer], n_jobs: int
) -> None:
    """The state of a variable's own latent comes from the other members, so the variable adds no evidence."""
    on, layer = data
    soft = completed(on, layer)
    hard = soft.hard()
    variables = np.flatnonzero(layer.latent_of >= 0).astype(np.int32)
    target = ((layer.latent_of[variables] + 1 + variables % 5) % layer.n_latents).astype(np.int32)

    with Workers(n_jobs) as workers:
        tables = layers._compare(
            variables, target, layer, soft, hard, PairCounter(BinaryRows.of_dense(on)), workers
        )
    assert (tables.sum(axis=(1, 2, 3)) == len(on)).all()
    counts = np.arange(len(on) + 1)
    n_log_n = xlogy(counts, counts)
    stay = layers.conditional_gains(tables, n_log_n)
    go = layers.conditional_gains(tables.swapaxes(2, 3), n_log_n)

    state = hard.to_dense()
    for b, v in enumerate(variables):
        own = dense_logodds(on, layer, without=v)[:, layer.latent_of[v]] > 0
        other = state[:, target[b]]
        assert stay[b] == pytest.approx(conditional_information(on[:, v], own, other), abs=1e-8)
        assert go[b] == pytest.approx(conditional_information(on[:, v], other, own), abs=1e-8)
    assert go.max() > 0.5
    assert stay.max() > 0.5
