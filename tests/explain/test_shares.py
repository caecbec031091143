"""Documents divided among topics, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from tsenet.data.rows import BinaryRows
from tsenet.explain.shares import document_shares, word_profiles


def test_many_steps_lead_to_the_most_likely_shares() -> None:
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.ones(12), size=3)
    rows = BinaryRows.of_dense(rng.random((4, 12)) < 0.5)
    found = document_shares(rows, phi, 0.0, steps=100).toarray()
    prior = 1.0 / 3
    for row, share in zip(rows.to_dense(), found, strict=True):

        def loss(x: np.ndarray, words: np.ndarray = row) -> float:
            theta = np.exp(x - np.logaddexp.reduce(x))
            return float(-np.log(theta @ phi[:, words]).sum() - prior * np.log(theta).sum())

        best = minimize(loss, np.zeros(3)).x
        assert share == pytest.approx(np.exp(best - np.logaddexp.reduce(best)), abs=2e-3)


def test_ten_steps_of_em() -> None:
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.ones(12), size=3)
    rows = BinaryRows.of_dense(rng.random((4, 12)) < 0.5)
    found = document_shares(rows, phi, 0.0).toarray()
    for words, share in zip(rows.to_dense(), found, strict=True):
        theta = np.full(3, 1 / 3)
        for _ in range(10):
            joint = theta[:, None] * phi[:, words]
            theta = (joint / joint.sum(axis=0)).sum(axis=1) + 1 / 3
            theta /= theta.sum()
        assert share == pytest.approx(theta)


def test_similar_topics_share_a_document() -> None:
    # Two topics that hardly differ: the likelihood is highest if one has all, which would hide the other.
    phi = np.array([[0.45, 0.45, 0.1], [0.44, 0.46, 0.1], [0.05, 0.05, 0.9]])
    rows = BinaryRows.of_dense(np.array([[1, 1, 0]]))
    share = document_shares(rows, phi, 0.0).toarray()[0]
    assert share[:2].min() > 0.35


def test_small_shares_are_left_out_and_rows_sum_to_one() -> None:
    phi = np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01]])
    rows = BinaryRows.of_dense(np.array([[1, 0, 0], [0, 0, 0]]))
    found = document_shares(rows, phi, 0.45)
    assert found.toarray().tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert document_shares(rows.take(slice(0, 0)), phi).shape == (0, 2)


def test_profiles_hold_words_of_their_own_whatever_the_length() -> None:
    rng = np.random.default_rng(0)
    about = rng.random(2000) < 0.3
    # Documents of the topic are twice as long; its own words are the first two.
    inside, outside = [0.4, 0.4, *[0.2] * 50], [0.02, 0.02, *[0.1] * 50]
    rows = BinaryRows.of_dense(rng.random((2000, 52)) < np.where(about[:, None], inside, outside))
    profiles = word_profiles(rows, sp.csr_array(about[:, None].astype(float)))
    assert {0, 1} <= set(profiles.inside.indices.tolist())
    phi = profiles.distributions(np.array([0]))[0]
    usual = profiles.rate / profiles.rate.sum()
    assert phi.sum() == pytest.approx(1.0)
    assert (phi[:2] > 1.4 * usual[:2]).all()
    assert np.abs(phi[2:] / usual[2:] - 1.0).max() < 0.25
