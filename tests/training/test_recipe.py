"""The recipe: which rows are held out, which learning rate, which candidates, and that bad settings are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.special import softmax

from tests.builders import QUICK, one_latent_rows
from tests.network.wirings import random_wiring
from tsenet import Table, TSENetClassifier
from tsenet.network.inputs import Inputs
from tsenet.training.recipe import Recipe, RunSeeds

ROWS = one_latent_rows(np.random.default_rng(0), 600, (4, 4, 4)).astype(np.float64)
CLASSES = ROWS.reshape(600, 3, 4).sum(axis=2).argmax(axis=1)


def test_partial_fit_of_sparse_rows_starts_at_the_usual_rate() -> None:
    """Nothing started the network from labels, so nothing is there that large steps could undo."""
    model = TSENetClassifier(**QUICK)
    for _ in range(2):
        model.partial_fit(sp.csr_array(ROWS), CLASSES, classes=range(3))
        assert model.history_.learning_rate == (1e-3,)


@pytest.mark.parametrize(
    ("options", "rate"),
    [({"learning_rate": 0.5}, 0.5), ({"init": "random"}, 1e-3), ({"linear_skip": False}, 3e-3)],
)
def test_a_given_rate_is_used(options: dict[str, Any], rate: float) -> None:
    model = TSENetClassifier(**{**QUICK, "max_epochs": 1, "batch_size": 600, **options})
    assert model.fit(ROWS, CLASSES).history_.learning_rate[0] == rate


def test_rows_without_labels_are_taught() -> None:
    """The network sees all rows, and what the linear teacher says about those without a label."""
    steps: dict[str, int | None] = {}
    few = np.where(np.arange(600) < 60, CLASSES, -1)
    options = {**QUICK, "max_epochs": 1, "batch_size": 50, "linear_skip": False}
    model = TSENetClassifier(
        **options, unlabeled=-1, progress=lambda stage, done, total: steps.update({stage: total})
    )
    model.fit(sp.csr_array(ROWS), few)
    assert steps["training"] == 11  # 546 rows of 50, not 60; 54 are fresh
    assert model.history_.n_epochs == 1
    assert model.net_.linear_skip is None


def test_the_blend_is_one_network() -> None:
    """With linear_skip=True the outputs are a linear part and the network's, added; both know the classes."""
    model = TSENetClassifier(**QUICK, max_epochs=5, linear_skip=True).fit(ROWS, CLASSES)
    net = model.net_
    assert net.linear_skip is not None
    answer = model.predict_proba(ROWS)
    rows = torch.from_numpy(model.scaling_.apply(Table.of(ROWS)).values.astype(np.float32))
    with torch.no_grad():
        both = net(rows)
        linear = rows @ net.linear_skip
        net.linear_skip.zero_()
        network = net(rows)
    np.testing.assert_allclose(both, linear + network, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(softmax(both.numpy(), axis=1), answer, atol=1e-5)
    for part in (linear, network):
        assert np.mean(part.numpy().argmax(axis=1) == CLASSES) > 0.5
    without = TSENetClassifier(**QUICK, max_epochs=5, linear_skip=False).fit(ROWS, CLASSES)
    assert without.net_.linear_skip is None


def test_validation_rows_tell_how_long_to_train_on_sparse_rows() -> None:
    """Where labels are wrong as often as not, a long training learns them by heart."""
    best: dict[bool, int] = {}
    rng = np.random.default_rng(0)
    for noisy in (False, True):
        classes = np.where(noisy & (rng.random(600) < 0.6), rng.integers(3, size=600), CLASSES)
        options = {**QUICK, "linear_skip": False, "max_epochs": 100, "batch_size": 20}
        model = TSENetClassifier(**options).fit(sp.csr_array(ROWS), classes)
        assert model.history_.best_epoch is not None
        best[noisy] = model.history_.best_epoch
    assert best[True] < best[False]


def test_the_linear_part_learns_from_the_network_in_turn() -> None:
    """With few labels the linear skip is fitted to all rows, so it knows words that no labelled row has."""
    few = np.where(np.arange(600) < 24, CLASSES, -1)
    rows = ROWS.copy()
    rows[:24, 3] = 0.0  # a word of class 0 that no labelled row has
    model = TSENetClassifier(**QUICK, max_epochs=5, unlabeled=-1).fit(sp.csr_array(rows), few)
    skip = model.net_.linear_skip
    assert skip is not None
    assert int(skip.detach().numpy()[3].argmax()) == 0


def test_class_weights_count_once_where_a_teacher_follows_them() -> None:
    """A rare class must not take all rows: the teacher's probabilities follow the weights already."""
    rng = np.random.default_rng(0)
    few = np.full(600, -1)
    for k, n_labels in enumerate((40, 40, 1)):
        own = rng.permutation(np.flatnonzero(k == CLASSES))[:n_labels]
        few[own] = k
    options = {**QUICK, "max_epochs": 5, "class_weight": "balanced", "unlabeled": -1}
    model = TSENetClassifier(**options).fit(sp.csr_array(ROWS), few)
    assert model.score(ROWS, CLASSES) > 0.8


@pytest.mark.parametrize(
    "wrong",
    [
        {"learning_rate": -1.0},
        {"batch_size": 0},
        {"max_epochs": 0},
        {"linear_skip": "maybe"},
        {"init": "zeros"},
        {"dropout": 1.0},
        {"skip_units": -1},
        {"feature_units": 0},
    ],
)
def test_bad_settings_are_refused_before_any_work(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter"):
        TSENetClassifier(**wrong).fit(ROWS, CLASSES)


def test_without_a_linear_skip_the_features_of_texts_read_every_level() -> None:
    wiring = random_wiring(np.random.default_rng(0), (4, 3, 2), 0.5)
    sparse, dense = Inputs(sp.csr_array(np.ones((2, 4)))), Inputs(np.ones((2, 4), np.float32))

    def skips(inputs: Inputs, **recipe: Any) -> tuple[int, bool]:
        options = Recipe(**recipe).network(inputs, wiring, linear_skip=False)
        return options.skip_units, options.skip_input

    assert skips(sparse, linear_skip=False) == (32, False)
    assert skips(sparse, linear_skip=False, skip_units=7) == (7, True)  # the paper's
    assert skips(sparse, linear_skip=False, init="random") == (100, True)
    assert skips(sparse)[0] == skips(dense, linear_skip=False)[0] == 0


@pytest.mark.parametrize(
    ("n_latents", "units"),
    [(1, 32), (3, 32), (6, 16), (18, 8), (200, 8), (300, 8), (400, 4), (5000, 2)],
)
def test_the_first_level_of_dense_rows_is_neither_narrow_nor_needlessly_wide(
    n_latents: int, units: int
) -> None:
    wiring = random_wiring(np.random.default_rng(0), (4, n_latents), 0.5)
    dense = Recipe().network(Inputs(np.ones((2, 4), np.float32)), wiring, linear_skip=False)
    sparse = Recipe().network(Inputs(sp.csr_array(np.ones((2, 4)))), wiring, linear_skip=False)

    assert (dense.units_per_latent, dense.skip_units) == (units, 0)
    assert (sparse.units_per_latent, sparse.skip_units) == (2, 0)
    assert (
        Recipe(units_per_latent=5)
        .network(Inputs(np.ones((2, 4), np.float32)), wiring, linear_skip=False)
        .units_per_latent
        == 5
    )


def test_dropout_of_dense_inputs_has_more_steps() -> None:
    plain, dropped = (Recipe().cosine_schedule(5000, False, d).max_epochs for d in (False, True))
    sparse = [Recipe().cosine_schedule(5000, True, d).max_epochs for d in (False, True)]
    assert (plain, dropped) == (40, 80)
    assert sparse[0] == sparse[1]


def test_every_run_has_seeds_of_its_own() -> None:
    seed = np.random.SeedSequence(0)
    first, second = (RunSeeds.of(seed, k) for k in range(2))
    assert first.dropout != second.dropout
    assert first.weights == second.weights
    assert RunSeeds.of(seed, 0) == first
