"""``paper()``: what the paper states is what a network of it does, not only what its parameters say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import tsenet
from tests.builders import one_latent_rows
from tsenet import TSENetClassifier, TSENetRegressor
from tsenet.data import word_vectorizer
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.skeleton.hlta import learn_tree

SIZES = (4,) * 12
QUICK: dict[str, Any] = {"max_epochs": 3, "skip_units": 7, "feature_units": 5, "random_state": 0}


@pytest.fixture(scope="module")
def counts() -> sp.csr_array:
    """600 bags of 48 words in 12 groups; a word that is there occurs once to three times."""
    rng = np.random.default_rng(0)
    there = one_latent_rows(rng, 600, SIZES)
    return sp.csr_array(there * rng.integers(1, 4, there.shape)).astype(np.float64)


@pytest.fixture(scope="module")
def kinds(counts: sp.csr_array) -> NDArray[Any]:
    totals = counts.toarray().reshape(600, 12, 4).sum(axis=2)
    return np.asarray(totals[:, :3].argmax(axis=1))


@pytest.fixture(scope="module")
def fitted(counts: sp.csr_array, kinds: NDArray[Any]) -> TSENetClassifier:
    return TSENetClassifier.paper(**QUICK, density=0.25, max_top=6).fit(counts, kinds)


def test_the_default_weighs_counts_and_the_paper_does_not(
    counts: sp.csr_array, kinds: NDArray[Any]
) -> None:
    table = Table.of(counts)
    raw = TSENetClassifier.paper(**QUICK).fit(counts, kinds).scaling_.apply(table).values
    assert (raw != counts).nnz == 0
    weighed = TSENetClassifier(**QUICK).fit(counts, kinds).scaling_.apply(table).values
    assert (weighed != counts).nnz > 0


def test_there_is_one_unit_a_latent_and_no_linear_skip(fitted: TSENetClassifier) -> None:
    sizes, wiring = fitted.net_.layer_sizes, fitted.wiring_
    assert sizes == wiring.layer_sizes
    assert fitted.net_.linear_skip is None
    links = sum(layer.n_edges for layer in wiring.layers) + sum(sizes[1:])
    skips = sum(7 * (size + 1) for size in sizes[:-1])
    top = 5 * (sizes[-1] + 1)
    output = 3 * (7 * (len(sizes) - 1) + 5 + 1)
    assert fitted.n_parameters_ == links + skips + top + output


def test_the_backbone_is_the_same_without_skip_paths(
    counts: sp.csr_array, kinds: NDArray[Any]
) -> None:
    backbone = TSENetClassifier.paper(**{**QUICK, "skip_units": 0}).fit(counts, kinds)
    assert not list(backbone.net_.skips)
    sizes = backbone.net_.layer_sizes
    links = sum(layer.n_edges for layer in backbone.wiring_.layers) + sum(sizes[1:])
    assert backbone.n_parameters_ == links + 5 * (sizes[-1] + 1) + 3 * 6


def test_every_word_has_a_group_even_noise() -> None:
    rng = np.random.default_rng(1)
    noise = sp.csr_array((rng.random((400, 30)) < 0.2).astype(float))
    tree = TSENetClassifier.paper(**QUICK).fit(noise, rng.integers(0, 2, 400)).tree_
    assert tree is not None
    assert len(tree.ungrouped) == 0  # no significance test
    assert 1 < len(tree.groups(1)) < 30
    tested = learn_tree(noise, random_state=0)
    assert len(tested.groups(1)) == 1


def test_rows_without_a_label_serve_the_structure_alone(
    counts: sp.csr_array, kinds: NDArray[Any]
) -> None:
    wiring = TSENetClassifier.paper(**QUICK).fit(counts, kinds).wiring_
    few = np.where(np.arange(600) < 200, kinds, -1)
    recipe = TSENetClassifier.paper(**QUICK, wiring=wiring, unlabeled=-1)
    alone = recipe.fit(counts[:200], kinds[:200]).predict_proba(counts)
    assert np.array_equal(alone, recipe.fit(counts, few).predict_proba(counts))


def test_texts_lose_their_stop_words_and_are_counted() -> None:
    subject = ["the goal of the goal and a referee", "the senate and an election"]
    texts = [subject[i % 2] for i in range(60)]
    model = TSENetClassifier.paper(**QUICK).fit(texts, np.arange(60) % 2)
    words = ["election", "goal", "referee", "senate"]
    assert model.vectorizer_.get_feature_names_out().tolist() == words
    (read,) = model.network_inputs(texts[:2])
    assert read.values.toarray().tolist() == [[0, 2, 1, 0], [1, 0, 0, 1]]
    mine = word_vectorizer(n_words=3)
    kept = TSENetClassifier.paper(**QUICK, vectorizer=mine).fit(texts, np.arange(60) % 2)
    assert len(kept.vectorizer_.vocabulary_) == 3


def test_the_score_is_that_of_the_rows_held_out(counts: sp.csr_array, kinds: NDArray[Any]) -> None:
    model = TSENetClassifier.paper(**{**QUICK, "max_epochs": 20}).fit(counts, kinds)
    score = model.cv_score_
    assert score is not None
    assert score.n_rows == 60
    # minus the loss on these rows; a model this good is right where it is sure
    assert len(model.history_.validation_score) == model.history_.n_epochs
    right = model.predict(counts) == kinds
    assert score.low - 0.05 < right.mean() < score.high + 0.2
    own = TSENetClassifier.paper(**QUICK, wiring=model.wiring_)
    assert own.fit(counts, kinds, eval_set=(counts, kinds)).cv_score_ is None


# ---- informed: the same network, started as the probability of its latents

INFORMED: dict[str, Any] = {"feature_units": 5, "random_state": 0, "density": 0.25, "max_top": 6}


def test_informed_units_start_as_the_log_odds_of_their_links(
    counts: sp.csr_array, kinds: NDArray[Any]
) -> None:
    model = TSENetClassifier.informed(**INFORMED, learning_rate=1e-12, max_epochs=1)
    net = model.fit(counts, kinds).net_
    assert model.wiring_.link_rule == "informative"
    assert [skip.bias.numel() for skip in net.skips.values()] == [10] * (len(net.layer_sizes) - 1)
    assert (net.options.dropout, net.options.skip_dropout) == (0.5, 0.5)
    below = counts.toarray()
    below = np.where(below > 0, 1 + np.log(np.maximum(below, 1)), 0)  # then rows of length 1
    below /= np.maximum(np.linalg.norm(below, axis=1, keepdims=True), 1e-9)
    for layer, links in zip(net.layers, model.wiring_.layers, strict=True):
        weight = layer.dense_weight().detach().numpy()
        assert links.log_odds is not None
        for unit in range(links.n_upper):
            part = slice(links.indptr[unit], links.indptr[unit + 1])
            ratio = weight[unit, links.indices[part]] / links.log_odds[part]
            np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)
        z = below @ weight.T + layer.bias.detach().numpy()
        np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-3)
        np.testing.assert_allclose(z.std(axis=0), 1, atol=1e-3)
        below = np.maximum(z, 0)


def test_one_structure_with_its_weights_serves_another_task(
    counts: sp.csr_array, kinds: NDArray[Any], tmp_path: Path
) -> None:
    first = TSENetClassifier.informed(**INFORMED, max_epochs=2).fit(counts, kinds)
    first.save(tmp_path / "first.tsenet")
    read = tsenet.load(tmp_path / "first.tsenet")
    assert read.wiring_ == first.wiring_
    assert read.wiring_.has_log_odds

    is_first = kinds[:200] == 0
    given = {**INFORMED, "learning_rate": 1e-12, "max_epochs": 1}
    second = TSENetClassifier.informed(**given, wiring=read.learned_wiring_)
    second.fit(counts[:200], is_first)
    assert second.wiring_ == first.wiring_
    again = TSENetClassifier.informed(**given, wiring=first.wiring_).fit(counts[:200], is_first)
    assert np.array_equal(second.predict_proba(counts), again.predict_proba(counts))

    without = TSENetClassifier.paper(**QUICK, max_top=6).fit(counts, kinds)
    with pytest.raises(DataError, match=r"log_odds=True"):
        TSENetClassifier.informed(**INFORMED, wiring=without.wiring_).fit(counts, kinds)
    with pytest.raises(ValueError, match="units_per_latent=1"):
        TSENetClassifier.informed(units_per_latent=2).fit(counts, kinds)


def test_informed_holds_out_none_of_few_labels(counts: sp.csr_array, kinds: NDArray[Any]) -> None:
    few = np.where(np.arange(600) < 100, kinds, -1)
    model = TSENetClassifier.informed(**INFORMED, unlabeled=-1).fit(counts, few)
    assert not model.history_.validation_score
    assert model.history_.n_epochs == 115  # 7 batches of at most 16 rows: 800 steps
    assert model.cv_score_ is None
    many = np.tile(np.arange(600), 6)
    assert many.size > 3000
    model = TSENetClassifier.informed(**INFORMED, max_epochs=1).fit(counts[many], kinds[many])
    assert model.cv_score_ is not None


def test_informed_predicts_numbers_and_is_pruned(counts: sp.csr_array) -> None:
    totals = np.asarray(counts[:, :8].sum(axis=1))
    model = TSENetRegressor.informed(**INFORMED).fit(counts, totals)
    assert model.score(counts, totals) > 0.6
    before = model.learned_wiring_
    model.prune(model.n_parameters_ // 4, counts)
    assert model.wiring_ != before
    assert model.wiring_.has_log_odds


def test_changes_and_regression(counts: sp.csr_array) -> None:
    model = TSENetRegressor.paper(**QUICK, link_rule="random")
    model.fit(counts, np.asarray(counts.sum(axis=1)))
    assert model.wiring_.link_rule == "random"
    with pytest.raises(ValueError, match="weighting"):
        TSENetClassifier(weighting="binary").fit(counts, np.zeros(600))  # type: ignore[arg-type]  # what a user may write
