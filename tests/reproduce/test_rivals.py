"""The registry of rivals: every one fits rows of which some have no label, and counts its parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import MultinomialNB

from reproduce.data import Fold
from reproduce.rivals import (
    RECIPES,
    RIVALS,
    EMNaiveBayes,
    Features,
    make_rival,
    n_parameters,
    rows_for,
    split_name,
    title_of,
)
from reproduce.runs import Cell, measure
from tsenet.errors import DataError

SIZED = ("pruned", "set", "rigl")
NETWORKS = tuple(name for name in RIVALS if name.startswith(("tsenet", "backbone")))
#: Without those that need a size, take long, or take dense rows only.
OF_TEXT = [
    name
    for name, rival in RIVALS.items()
    if rival.vectors == "no" and name not in (*SIZED, *NETWORKS, "fnn", "boosting", "mlp")
]


def right(name: str, fold: Fold, size: int | None = None) -> float:
    model = make_rival(name, fold, 0, size).fit(fold.X, fold.y)
    assert n_parameters(model) > 0
    return float(np.mean(model.predict(fold.X_held) == fold.y_held))


@pytest.mark.parametrize("name", OF_TEXT)
def test_rivals_learn_from_text_with_few_labels(name: str, text: Fold) -> None:
    few = ":n_components=10" if name in ("svd", "ppmi", "nmf") else ""
    assert right(name + few, text.with_labels(60, 0)) > 0.5


@pytest.mark.parametrize("name", ["tsenet:ties=any", "tsenet-paper-k-means", "backbone-pivot"])
def test_networks_over_any_wiring_are_fitted(name: str, text: Fold) -> None:
    assert 0 <= right(f"{name}:max_epochs=1", text.with_labels(60, 0)) <= 1


@pytest.mark.parametrize("recipe", [*RECIPES])
def test_a_changed_recipe_gives_another_network(recipe: str, text: Fold) -> None:
    few = text.with_labels(60, 0)
    name = "tsenet:units_per_latent=1:max_epochs=2"
    usual, changed = (
        make_rival(name + change, few, 0).fit(few.X, few.y).predict_proba(few.X_held)
        for change in ("", f":recipe={recipe}")
    )
    assert np.abs(usual - changed).max() > 1e-3
    again = make_rival(name, few, 0).fit(few.X, few.y).predict_proba(few.X_held)
    assert (again == usual).all()  # nothing of the change is left


def test_an_unknown_recipe_is_refused(text: Fold) -> None:
    with pytest.raises(DataError, match="choose from no-teacher"):
        make_rival("tsenet:recipe=nothing", text, 0).fit(text.X, text.y)


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("name", ["linear", "mlp", "boosting", "forest", "fnn-512", "teacher"])
def test_rivals_learn_from_tables(name: str, dense: Fold) -> None:
    assert right(name, dense) > 0.65


@pytest.mark.parametrize("name", [*SIZED, "tsenet:max_epochs=2"])
def test_a_size_is_kept(name: str, text: Fold) -> None:
    model = make_rival(f"{name}@900", text, 0, 900).fit(text.X, text.y)
    assert n_parameters(model) <= 902


def test_a_sparse_rival_needs_a_size(text: Fold) -> None:
    with pytest.raises(DataError, match="needs a size"):
        make_rival("set", text, 0)


def test_names_carry_parameters_and_sizes() -> None:
    assert split_name("tsenet:density=0.02:link_rule=top-k@20000") == (
        "tsenet",
        {"density": 0.02, "link_rule": "top-k"},
        "20000",
    )
    assert title_of("fnn-sized@tsenet-paper") == "FNN, size of TSE-Net (paper)"
    with pytest.raises(DataError, match="no rival 'nothing'"):
        split_name("nothing")
    with pytest.raises(DataError, match="name=value"):
        split_name("tsenet:density")


def test_em_without_unlabelled_rows_is_naive_bayes(text: Fold) -> None:
    model = EMNaiveBayes().fit(text.X, text.y)
    plain = [MultinomialNB(alpha=alpha).fit(text.X, text.y) for alpha in (0.1, 1.0)]
    chances = model.predict_proba(text.X_held)
    assert any(np.allclose(chances, one.predict_proba(text.X_held)) for one in plain)


def test_em_uses_unlabelled_rows(text: Fold) -> None:
    few = text.with_labels(6, 0)
    known = np.flatnonzero(~np.isnan(few.y))
    with_all = EMNaiveBayes().fit(few.X, few.y)
    alone = EMNaiveBayes().fit(few.X[known], few.y[known])
    scores = [np.mean(m.predict(text.X_held) == text.y_held) for m in (with_all, alone)]
    assert scores[0] >= scores[1]
    assert not np.allclose(with_all.feature_log_prob_, alone.feature_log_prob_)


def test_stop_words_have_half_their_weight() -> None:
    X = sp.csr_array([[1.0, 1.0], [1.0, 1.0]])
    weighted = Features(("the", "goal")).fit(X).transform(X).toarray()
    assert weighted[0] == pytest.approx(np.array([1, 2]) / np.sqrt(5))
    assert Features(("the", "goal"), weighting="weighted").fit(X).transform(X).toarray()[
        0
    ].tolist() == [
        0.5,
        1,
    ]


@pytest.fixture
def encoded(text: Fold) -> Fold:
    """Vectors that tell the classes by themselves."""
    rng = np.random.default_rng(0)
    vectors = [
        np.eye(3)[y.astype(int)] + 0.1 * rng.normal(size=(y.size, 3)) for y in (text.y, text.y_held)
    ]
    return replace(text, vectors=lambda: (vectors[0], vectors[1]))


@pytest.mark.parametrize("name", ["minilm", "tsenet-minilm:max_epochs=3"])
def test_vectors_of_an_encoder_are_read_or_teach(name: str, encoded: Fold) -> None:
    run = measure(Cell("subj", name, 6), encoded, lambda name: 0)
    assert run["score"] > 0.85  # six labels of words alone leave more errors


def test_an_encoder_needs_texts(dense: Fold) -> None:
    with pytest.raises(DataError, match="needs texts"):
        rows_for("minilm", replace(dense, vectors=None))


@pytest.mark.parametrize("recipe", ["", "-paper"])
def test_a_control_has_the_units_and_the_number_of_links_of_the_learned_network(
    recipe: str, text: Fold
) -> None:
    networks = [
        make_rival(f"backbone{recipe}{control}:max_epochs=1", text, 0).fit(text.X, text.y)
        for control in ("", "-random", "-shuffle")
    ]
    assert len({n_parameters(network) for network in networks}) == 1
    assert len({network.net_.layer_sizes for network in networks}) == 1
