"""Word vectors from co-occurrence, against a reference in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.estimator_checks import check_estimator

from reproduce.rivals import PPMIVectors
from reproduce.rivals.ppmi import positive_pmi

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def documents() -> Floats:
    """Weights of 25 words in 60 documents; a word nobody uses, an empty document."""
    rng = np.random.default_rng(0)
    weights = rng.random((60, 25)) * (rng.random((60, 25)) < rng.uniform(0.05, 0.5, 25))
    weights[:, 3] = 0
    weights[7] = 0
    return weights


def reference(documents: Floats) -> Floats:
    """PPMI of all pairs of different words, by definition."""
    on = documents > 0
    n_rows, n_words = on.shape
    answer = np.zeros((n_words, n_words))
    for i in range(n_words):
        for j in range(n_words):
            both = (on[:, i] & on[:, j]).sum()
            if i != j and both:
                answer[i, j] = max(0, np.log(both * n_rows / (on[:, i].sum() * on[:, j].sum())))
    return answer


def test_the_matrix(documents: Floats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduce.rivals.ppmi._WORDS", 8)  # several blocks of words
    found = positive_pmi(sp.csr_array(documents))
    assert sp.issparse(found)
    assert (found.data > 0).all()
    np.testing.assert_allclose(found.toarray(), reference(documents), rtol=1e-5, atol=1e-7)
    stored_zeros = sp.csr_array(documents)
    stored_zeros.data[:10] = 0
    wanted = reference(stored_zeros.toarray())
    np.testing.assert_allclose(positive_pmi(stored_zeros).toarray(), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, np.asarray])
def test_the_vectors_of_words_and_documents(documents: Floats, form: Any, power: float) -> None:
    model = PPMIVectors(5, power=power, random_state=0).fit(form(documents))
    left, size, _ = np.linalg.svd(reference(documents))
    vectors = left[:, :5] * size[:5] ** power  # up to the sign of each column
    sign = np.sign((vectors * model.vectors_).sum(axis=0))
    np.testing.assert_allclose(model.vectors_ * sign, vectors, rtol=1e-3, atol=1e-3)
    wanted = np.zeros((60, 5))
    for row, weights in enumerate(documents):
        if weights.any():
            wanted[row] = sum(w * model.vectors_[j] for j, w in enumerate(weights)) / weights.sum()
    np.testing.assert_allclose(model.transform(form(documents)), wanted, rtol=1e-9, atol=1e-12)
    assert not model.transform(form(documents))[7].any()


def test_same_seed_same_vectors(documents: Floats) -> None:
    first, second = (PPMIVectors(4, random_state=1).fit(documents).vectors_ for _ in range(2))
    assert np.array_equal(first, second)
    assert PPMIVectors(100).fit(documents).vectors_.shape == (25, 25)


def test_every_check_of_sklearn_passes() -> None:
    results = check_estimator(PPMIVectors(3, random_state=0), on_fail=None, on_skip=None)
    others = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] != "passed"}
    assert set(others) <= {"check_array_api_input"}, others


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="Negative values"):
        PPMIVectors().fit(np.array([[1.0, -1.0], [0.0, 1.0]]))
