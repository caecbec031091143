"""A start from labels: each part against an independent fit, its folds, and the blend against what it promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax
from scipy.stats import sem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss

from tests.training.examples import labelled, table
from tsenet.network.inputs import Inputs
from tsenet.progress import as_progress
from tsenet.training.examples import Examples
from tsenet.training.linear_teacher import (
    Linear,
    LinearTeacher,
    NaiveBayesEM,
    _spanned,
    blend_weights,
    calibrated_score,
    fit_linear,
    fit_linear_teacher,
    losses_by_part,
    refine_by_em,
    standard_error,
    stratified_folds,
)
from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss, MultilabelLoss, RegressionLoss

RNG = np.random.default_rng(0)


N_ROWS, N_WORDS, N_CLASSES = 600, 60, 3


NONE = np.empty(0, np.int64)


WORDS_OF_CLASS = RNG.dirichlet(np.full(N_WORDS, 0.3), size=N_CLASSES)


CLASSES = RNG.integers(N_CLASSES, size=N_ROWS)


COUNTS = np.array([RNG.multinomial(12, WORDS_OF_CLASS[k]) for k in CLASSES]).astype(np.float32)


def bag() -> Inputs:
    return Inputs(csr_array(COUNTS))


def started(labelled: Examples, loss: Loss, seed: int = 0) -> LinearTeacher:
    with as_progress(False) as report:
        return fit_linear_teacher(labelled, loss, seed, report)


def labelled_rows(inputs: Inputs, n_rows: int, targets: NDArray[Any] = CLASSES) -> Examples:
    return Examples(inputs, np.arange(n_rows), targets[:n_rows])


# ---- linear fits


def converged(rows: Any, targets: NDArray[Any], loss: Loss) -> Linear:
    """The best weights; one fit stops as soon as it hardly gains any more."""
    found = fit_linear(rows, targets, None, loss, 2.0)
    for _ in range(30):
        found = fit_linear(rows, targets, None, loss, 2.0, start=found)
    return found


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_linear_fit_is_scikit_learns(is_sparse: bool) -> None:
    rows: Any = csr_array(COUNTS.astype(np.float64)) if is_sparse else COUNTS.astype(np.float64)
    loss = MulticlassLoss(3)
    found = converged(rows, CLASSES, loss)
    expected = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(rows, CLASSES)

    assert np.allclose(softmax(found(rows), axis=1), expected.predict_proba(rows), atol=2e-3)


def test_a_linear_fit_of_values_is_ridge() -> None:
    values = COUNTS @ RNG.normal(size=N_WORDS) + RNG.normal(size=N_ROWS)
    rows = COUNTS.astype(np.float64)
    found = fit_linear(rows, values, None, RegressionLoss(), 6.0)
    expected = Ridge(alpha=3.0).fit(rows, values)  # squared error has no half before it

    assert np.allclose(found(rows)[:, 0], expected.predict(rows), atol=0.05)


def test_blend_gives_a_useless_part_no_say() -> None:
    truth = 2.0 * np.eye(3)[CLASSES] + RNG.normal(size=(N_ROWS, 3))
    noise = RNG.normal(size=(N_ROWS, 3))
    against = -truth
    rows = Examples(Inputs(COUNTS), np.arange(N_ROWS), CLASSES)
    share = blend_weights(MulticlassLoss(3), rows, [truth, noise, against])

    assert share[0] > 0.5
    assert share[1] * noise.std() < 0.2 * share[0] * truth.std()
    assert share[2] == 0


# ---- the class model


def test_one_step_of_the_class_model_is_naive_bayes() -> None:
    """With all labels known EM has nothing to guess: smoothed counts, centred over the classes."""
    model = NaiveBayesEM(csr_array(COUNTS))
    found = refine_by_em(model, np.full((N_ROWS, 3), 1 / 3), np.arange(N_ROWS), CLASSES, NONE)
    unit = COUNTS / np.linalg.norm(COUNTS, axis=1, keepdims=True)
    counts = np.stack([unit[k == CLASSES].sum(axis=0) for k in range(3)], axis=1)
    counts += 0.25 * unit[unit > 0].mean()
    expected = np.log(counts / counts.sum(axis=0))
    expected -= expected.mean(axis=1, keepdims=True)

    assert np.allclose(found.weight, expected, atol=1e-5)


def test_rows_without_labels_help() -> None:
    few = np.array([np.flatnonzero(k == CLASSES)[j] for k in range(3) for j in range(2)])
    rows = csr_array(COUNTS)
    model = NaiveBayesEM(rows)
    alone = refine_by_em(
        NaiveBayesEM(rows[few]), np.full((6, 3), 1 / 3), np.arange(6), CLASSES[few], NONE
    )
    first = softmax(3 * alone(model.rows), axis=1)
    together = refine_by_em(model, first, few, CLASSES[few], NONE)

    def accuracy(found: Any) -> float:
        return float((found(model.rows).argmax(axis=1) == CLASSES).mean())

    assert accuracy(together) > accuracy(alone) + 0.05


def test_rows_left_out_have_no_say() -> None:
    """A model that leaves rows out is the one that never saw them."""
    few, kept = np.arange(30), np.arange(400)
    guess = np.full((N_ROWS, 3), 1 / 3)
    whole, part = NaiveBayesEM(csr_array(COUNTS)), NaiveBayesEM(csr_array(COUNTS[kept]))
    part.pseudo = whole.pseudo

    found = refine_by_em(whole, guess, few, CLASSES[few], np.arange(400, N_ROWS))

    np.testing.assert_allclose(
        found.weight, refine_by_em(part, guess[kept], few, CLASSES[few], NONE).weight, atol=1e-5
    )


# ---- the whole


def test_the_blend_says_what_the_classes_are() -> None:
    found = started(labelled_rows(bag(), 60), MulticlassLoss(3))
    assert found.model.weight.shape == (N_WORDS, 3)
    assert (found.model(COUNTS.astype(np.float64)).argmax(axis=1) == CLASSES).mean() > 0.9
    assert sorted(set(found.fold)) == [0, 1, 2, 3, 4]
    assert found.held_out.shape == (60, 3)
    assert (found.held_out.argmax(axis=1) == CLASSES[:60]).mean() > 0.8


def test_one_label_of_each_class_is_enough() -> None:
    few = np.array([np.flatnonzero(k == CLASSES)[0] for k in range(3)])
    found = started(Examples(bag(), few, CLASSES[few]), MulticlassLoss(3))
    assert found.fold.tolist() == [-1, -1, -1]
    assert found.held_out.shape == (0, 3)
    assert (found.outputs.argmax(axis=1) == CLASSES).mean() > 0.75


def test_the_only_label_of_a_class_is_not_held_out() -> None:
    rows = np.concatenate([np.flatnonzero(k == CLASSES)[:n] for k, n in enumerate((5, 5, 1))])
    found = started(Examples(bag(), rows, CLASSES[rows]), MulticlassLoss(3))
    assert found.fold[-1] == -1
    assert (found.fold[:-1] >= 0).all()


def test_embeddings_that_say_nothing_hardly_count() -> None:
    labelled = labelled_rows(bag(), 60)
    alone = started(labelled, MulticlassLoss(3))
    noise = np.random.default_rng(1).normal(size=(N_ROWS, 20))
    with as_progress(False) as report:
        found = fit_linear_teacher(labelled, MulticlassLoss(3), 0, report, embeddings=noise)
    assert found.of_embeddings is not None
    of_noise = found.outputs - found.model(COUNTS.astype(np.float64))
    assert of_noise.std() < 0.1 * alone.outputs.std()


def test_held_out_outputs_are_of_models_that_did_not_see_the_row() -> None:
    """With targets of pure noise a model that saw a row would know its target."""
    noise = np.random.default_rng(1).integers(3, size=N_ROWS)
    found = started(labelled_rows(Inputs(COUNTS), 200, noise), MulticlassLoss(3))
    assert (found.held_out.argmax(axis=1) == noise[:200]).mean() < 0.45


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (BinaryLoss(), (CLASSES == 1).astype(np.int64)),
        (
            MultilabelLoss(2),
            np.where(RNG.random((N_ROWS, 2)) < 0.2, np.nan, np.eye(3)[CLASSES][:, :2]),
        ),
        (RegressionLoss(), COUNTS[:, :5].sum(axis=1).astype(np.float64)),
    ],
)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_every_kind_of_target(is_sparse: bool, loss: Loss, targets: NDArray[Any]) -> None:
    inputs = bag() if is_sparse else Inputs(COUNTS)
    found = started(labelled_rows(inputs, 200, targets), loss)
    outputs = found.model(COUNTS[200:].astype(np.float64))
    after, _ = loss.gradient(outputs, targets[200:], None)
    known = targets[:200][~np.isnan(targets[:200])]
    level = known.mean() if isinstance(loss, RegressionLoss) else 0.0
    before, _ = loss.gradient(np.full_like(outputs, level), targets[200:], None)

    assert after < 0.7 * before


def test_bags_of_words_have_no_bias_from_the_labels_drawn() -> None:
    """Nine labels of one class and one of each other must not make the first class the usual answer."""
    rows = np.concatenate([np.flatnonzero(k == CLASSES)[:n] for k, n in enumerate((18, 2, 2))])
    labelled = Examples(bag(), rows, CLASSES[rows])
    loss = MulticlassLoss(3)
    found = started(labelled, loss)
    said = found.model(COUNTS.astype(np.float64)).argmax(axis=1)
    assert np.bincount(said, minlength=3).max() < 0.6 * N_ROWS


def test_same_seed_same_bytes_and_many_labels() -> None:
    """More labels than are cross-validated: chosen on some, fitted on all."""
    rows = np.tile(np.arange(N_ROWS), 8)
    inputs = Inputs(csr_array(COUNTS[rows]))
    labelled = labelled_rows(inputs, rows.size, CLASSES[rows])
    first, second = (started(labelled, MulticlassLoss(3), seed=4) for _ in range(2))

    assert np.array_equal(first.model.weight, second.model.weight)
    assert set(first.fold) == {-1, 0}
    assert (first.model(COUNTS.astype(np.float64)).argmax(axis=1) == CLASSES).mean() > 0.95


def test_duplicates_of_a_row_do_not_choose_the_penalty() -> None:
    """Rows given twice, pure noise as targets: by copies a weak penalty looks best, by other rows a strong one."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(60, 80)), 2, axis=0).astype(np.float32)
    targets = np.repeat(rng.integers(0, 2, 60), 2).astype(np.float64)
    size = {}
    for name, groups in (("known", np.repeat(np.arange(60), 2)), ("unknown", np.arange(120))):
        labelled = Examples(Inputs(rows), np.arange(120), targets, None, groups)
        size[name] = float(np.abs(started(labelled, BinaryLoss()).model.weight).max())
    assert size["known"] < 0.1 * size["unknown"]


def test_a_fit_in_the_space_that_few_rows_span_is_the_same() -> None:
    """Coordinates along orthonormal directions change neither outputs nor penalties, so neither the best weights."""
    rng = np.random.default_rng(5)
    classes = rng.integers(3, size=40)
    rows = rng.poisson(0.2, size=(40, 150)).astype(np.float64)
    rows[1] = rows[0]  # a row twice, and one without a word: they span 38 dimensions
    rows[2] = 0
    sparse = csr_array(rows)

    coordinates, directions = _spanned(sparse)

    assert directions.shape == (150, 38)
    np.testing.assert_allclose(directions.T @ directions, np.eye(38), atol=1e-10)
    np.testing.assert_allclose(coordinates @ directions.T, rows, atol=1e-10)
    whole = converged(sparse, classes, MulticlassLoss(3))
    spanned = converged(coordinates, classes, MulticlassLoss(3))
    np.testing.assert_allclose(directions @ spanned.weight, whole.weight, atol=2e-4)
    np.testing.assert_allclose(spanned.bias, whole.bias, atol=2e-4)


# ---- folds of labelled rows: each class with its share, duplicates together


def folds_of(classes: Any, groups: Any, n_folds: int, rng: np.random.Generator) -> Any:
    rows = labelled(table(len(classes))[0], classes)._replace(duplicate_groups=groups)
    return stratified_folds(rows, MulticlassLoss(4), n_folds, rng)


def test_each_class_has_its_share_of_every_fold() -> None:
    classes = np.repeat([0, 1, 2], [500, 400, 100])
    folds = [folds_of(classes, None, 10, np.random.default_rng(k)) for k in (0, 0, 1)]
    for fold in folds:
        for k in range(10):
            assert np.abs(np.bincount(classes[fold == k]) - [50, 40, 10]).max() <= 1
    assert np.array_equal(folds[0], folds[1])
    assert not np.array_equal(folds[0], folds[2])


@settings(deadline=None)
@given(
    copies=st.lists(st.integers(1, 4), min_size=5, max_size=60),
    n_classes=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_duplicates_of_a_row_stay_together(copies: list[int], n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(copies)), copies))
    classes = rng.integers(0, n_classes, groups.size)
    fold = folds_of(classes, groups, 5, rng)
    assert set(fold) == set(range(5))
    assert all(np.unique(fold[groups == group]).size == 1 for group in groups)


def test_few_rows_have_a_fold_each() -> None:
    fold = folds_of(np.array([0, 1, 1]), np.zeros(3, np.int64), 5, np.random.default_rng(0))
    assert sorted(fold) == [0, 1, 2]


# ---- losses by parts of the rows, and their error


def held(targets: np.ndarray, weights: Any = None) -> Examples:
    return labelled(Inputs(np.zeros((len(targets), 1), np.float32)), targets, weights)


@pytest.mark.parametrize("n_rows", [37, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_by_part_are_scikit_learns(n_rows: int, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    outputs, targets = rng.normal(size=(n_rows, 3)), rng.integers(3, size=n_rows)
    weights = rng.random(n_rows) if weighted else None
    shares = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    expected = [
        log_loss(
            targets[k::10],
            shares[k::10],
            labels=[0, 1, 2],
            sample_weight=None if weights is None else weights[k::10],
        )
        for k in range(min(10, n_rows))
    ]
    found = losses_by_part(MulticlassLoss(3), held(targets, weights), outputs)
    assert found == pytest.approx(np.array(expected))


def test_the_standard_error_is_scipys() -> None:
    values = np.random.default_rng(0).normal(size=10)
    assert standard_error(values) == pytest.approx(sem(values))
    assert standard_error(values[:1]) == 0.0


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (MulticlassLoss(3), np.arange(200) % 3),
        (BinaryLoss(), np.arange(200) % 2.0),
        (MultilabelLoss(2), (np.arange(400) % 3 == 0).astype(float).reshape(200, 2)),
    ],
)
def test_a_calibrated_score_does_not_depend_on_how_sure_outputs_are(
    loss: Loss, targets: np.ndarray
) -> None:
    """Outputs times any factor have the same score, and the best factor's loss is its value."""
    rng = np.random.default_rng(0)
    true = np.eye(3)[targets] if loss.n_outputs == 3 else 2.0 * targets.reshape(200, -1) - 1.0
    outputs = true + rng.normal(size=(200, loss.n_outputs))
    score = calibrated_score(loss)
    assert score is not None
    values = [score(held(targets), f * outputs) for f in (0.5, 1.0, 5.0)]
    assert values == pytest.approx([values[0]] * 3, rel=1e-3)
    tried = [-loss.gradient(f * outputs, targets)[0] for f in np.linspace(0.1, 5, 200)]
    assert values[0] == pytest.approx(max(tried), abs=5e-3)
    assert np.isfinite(score(held(targets), 1e6 * outputs))


def test_squared_error_is_its_own_score() -> None:
    assert calibrated_score(RegressionLoss()) is None
