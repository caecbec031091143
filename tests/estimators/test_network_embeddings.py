"""Embeddings of the rows, used while learning only: what they bring, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import tsenet
from tests.builders import QUICK
from tsenet import DataError, TSENetClassifier, TSENetRegressor
from tsenet.data import embed

N_ROWS, N_LABELLED = 600, 12
FAST = {**QUICK, "max_epochs": 10}


def documents(seed: int) -> tuple[csr_array, NDArray[np.int64], NDArray[np.float64]]:
    """Short documents of three subjects, and vectors that tell the subject almost without error.

    A document has three of the forty words of its subject and two of any: a dozen labels do not show them all.
    """
    rng = np.random.default_rng(seed)
    subject = rng.integers(3, size=N_ROWS)
    counts = np.zeros((N_ROWS, 120), np.float32)
    for row, kind in enumerate(subject):
        counts[row, 40 * kind + rng.choice(40, 3, replace=False)] = 1
        counts[row, rng.choice(120, 2, replace=False)] = 1
    centres = np.random.default_rng(0).normal(size=(3, 10))
    return csr_array(counts), subject, centres[subject] + rng.normal(scale=0.5, size=(N_ROWS, 10))


ROWS, SUBJECT, VECTORS = documents(0)
FEW = np.where(np.arange(N_ROWS) < N_LABELLED, SUBJECT, -1)


@pytest.fixture(scope="module")
def taught() -> TSENetClassifier:
    return TSENetClassifier(unlabeled=-1, **FAST).fit(ROWS, FEW, embeddings=VECTORS)


def test_a_network_of_words_learns_from_embeddings(taught: TSENetClassifier) -> None:
    alone = TSENetClassifier(unlabeled=-1, **FAST).fit(ROWS, FEW)
    new_rows, new_subject, _ = documents(1)

    assert taught.score(new_rows, new_subject) > alone.score(new_rows, new_subject) + 0.04
    assert taught.score(new_rows, new_subject) > 0.9
    assert taught.n_parameters_ == alone.n_parameters_
    assert np.array_equal(taught.wiring_.layers[0].indices, alone.wiring_.layers[0].indices)


def test_the_score_is_that_of_what_predicts() -> None:
    """Words that say nothing, and vectors that say all: the teacher is right, predictions of words alone are not."""
    rng = np.random.default_rng(0)
    words = csr_array((rng.random((N_ROWS, 60)) < 0.1).astype(np.float32))
    few = np.where(np.arange(N_ROWS) < 90, SUBJECT, -1)
    model = TSENetClassifier(unlabeled=-1, **FAST).fit(words, few, embeddings=VECTORS)
    score = model.cv_score_
    assert score is not None
    assert (score.scored, score.n_rows) == ("student", 90)
    assert abs(score.value - model.score(words[90:], SUBJECT[90:])) < 0.15
    assert score.value < 0.6
    assert "without embeddings" in str(score)

    both = TSENetClassifier(unlabeled=-1, **FAST)
    both.fit(words, few, embeddings=VECTORS, inputs="both")
    score = both.cv_score_
    assert score is not None
    assert score.scored == "teacher"
    assert score.value > 0.95


def test_the_order_of_the_rows_does_not_matter(taught: TSENetClassifier) -> None:
    order = np.random.default_rng(2).permutation(N_ROWS)
    again = TSENetClassifier(unlabeled=-1, **FAST)
    again.fit(ROWS[order], FEW[order], embeddings=VECTORS[order])
    assert np.allclose(again.predict_proba(ROWS), taught.predict_proba(ROWS), atol=1e-5)


def test_a_weight_of_two_is_a_row_twice() -> None:
    weights = np.where(np.arange(N_ROWS) % 3 == 0, 2, 1)
    twice = np.repeat(np.arange(N_ROWS), weights)
    weighted = TSENetClassifier(unlabeled=-1, **FAST)
    weighted.fit(ROWS, FEW, sample_weight=weights, embeddings=VECTORS)
    repeated = TSENetClassifier(unlabeled=-1, **FAST)
    repeated.fit(ROWS[twice], FEW[twice], embeddings=VECTORS[twice])
    assert np.allclose(
        weighted.predict_proba(ROWS), repeated.predict_proba(ROWS), rtol=0, atol=1e-5
    )


def test_a_regressor_of_dense_rows_learns_from_them() -> None:
    rng = np.random.default_rng(3)
    hidden = rng.normal(size=(400, 3))
    rows = np.repeat(hidden, 4, axis=1) + rng.normal(size=(400, 12))
    values = 5.0 + hidden.sum(axis=1)
    few = np.where(np.arange(400) < 15, values, np.nan)
    alone = TSENetRegressor(**FAST).fit(rows, few)
    taught = TSENetRegressor(**FAST).fit(rows, few, embeddings=hidden)
    assert taught.score(rows[200:], values[200:]) > alone.score(rows[200:], values[200:])


def test_where_every_row_has_a_label_they_change_nothing() -> None:
    models = [
        TSENetClassifier(**FAST).fit(ROWS, SUBJECT, embeddings=each) for each in (None, VECTORS)
    ]
    assert np.array_equal(models[0].predict_proba(ROWS), models[1].predict_proba(ROWS))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (VECTORS[1:], "each of the 600 rows; these have the shape"),
        (VECTORS[:, 0], "these have the shape"),
        (np.where(np.arange(N_ROWS)[:, None] == 7, np.nan, VECTORS), "must have finite numbers"),
        ([["a"]] * N_ROWS, "array of numbers"),
    ],
)
def test_wrong_embeddings_are_refused(wrong: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TSENetClassifier(unlabeled=-1, **FAST).fit(ROWS, FEW, embeddings=wrong)


# ---- embeddings as inputs


@pytest.mark.parametrize("n_labelled", [N_LABELLED, N_ROWS])
def test_both_inputs_predict_better_than_words(n_labelled: int, tmp_path: Path) -> None:
    some = np.where(np.arange(N_ROWS) < n_labelled, SUBJECT, -1)
    words, both = (
        TSENetClassifier(unlabeled=-1, **FAST).fit(ROWS, some, embeddings=VECTORS, inputs=inputs)
        for inputs in ("words", "both")
    )
    new_rows, new_subject, new_vectors = documents(1)

    accuracy = both.score(new_rows, new_subject, embeddings=new_vectors)
    assert accuracy > words.score(new_rows, new_subject)
    assert accuracy > 0.96

    both.save(tmp_path / "both.tsenet")
    loaded = tsenet.load(tmp_path / "both.tsenet")
    assert np.array_equal(
        loaded.predict_proba(new_rows, new_vectors), both.predict_proba(new_rows, new_vectors)
    )


def test_values_from_both_inputs() -> None:
    rng = np.random.default_rng(3)
    rows, vectors = rng.normal(size=(300, 4)), rng.normal(size=(300, 2))
    values = 5.0 + rows[:, 0] + vectors.sum(axis=1)
    few = np.where(np.arange(300) < 150, values, np.nan)
    model = TSENetRegressor(**FAST).fit(rows, few, embeddings=vectors, inputs="both")
    assert model.score(rows[150:], values[150:], embeddings=vectors[150:]) > 0.8


def test_wrong_uses_of_both_inputs_are_refused(taught: TSENetClassifier, tmp_path: Path) -> None:
    model = TSENetClassifier(unlabeled=-1, **FAST)
    with pytest.raises(ValueError, match='"both" together with embeddings'):
        model.fit(ROWS, FEW, inputs="both")
    with pytest.raises(ValueError, match="linear skip"):
        TSENetClassifier.paper(unlabeled=-1, **FAST).fit(
            ROWS, FEW, embeddings=VECTORS, inputs="both"
        )
    model.fit(ROWS, FEW, embeddings=VECTORS, inputs="both")
    with pytest.raises(DataError, match="pass the embeddings"):
        model.predict(ROWS)
    with pytest.raises(DataError, match="must have 10 columns"):
        model.predict(ROWS, VECTORS[:, 1:])
    with pytest.raises(DataError, match="each of the 600 rows"):
        model.predict_proba(ROWS, VECTORS[1:])
    with pytest.raises(DataError, match="reads no embeddings"):
        model.to_onnx(tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="partial_fit cannot"):
        model.partial_fit(ROWS, SUBJECT)
    with pytest.raises(DataError, match="reads no embeddings"):
        taught.predict(ROWS, VECTORS)


class Lengths:
    """An encoder whose vectors are the lengths of the texts."""

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[len(text), 1.0] for text in texts]


def test_embed_takes_any_encoder() -> None:
    found = embed(["four", None], Lengths())
    assert found.dtype == np.float32
    assert found.tolist() == [[4.0, 1.0], [0.0, 1.0]]
