"""How many topics documents have: as many as were planted, and none above those that have nothing in common."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.topics import subjects
from tsenet.data.binary import BinaryRows
from tsenet.topics.mixture import Mixture, learn_hierarchy
from tsenet.topics.number import FoundTopics


@pytest.mark.parametrize(
    ("n_documents", "n_subjects", "length"),
    [
        (300, 5, 30),
        (300, 5, 8),
        (1000, 12, 30),
        (1000, 40, 30),
        (3000, 40, 8),
        (3000, 120, 30),
        (10000, 200, 30),
    ],
)
def test_planted_subjects_are_found_and_have_no_parents(
    n_documents: int, n_subjects: int, length: int
) -> None:
    documents, subject = subjects(n_documents, n_subjects, length)
    rows = BinaryRows.of_csr(documents)
    found = learn_hierarchy(rows)
    assert len(found.sizes) == 1
    assert abs(found.sizes[0] - n_subjects) <= n_subjects // 10
    main = found.strengths(rows).toarray().argmax(axis=1)
    assert normalized_mutual_info_score(subject, main) > 0.97


def test_copies_of_documents_do_not_hide_a_subject() -> None:
    documents, subject = subjects(600, 6)
    copies = np.flatnonzero(subject == 0)[:1].repeat(200)
    rows = BinaryRows.of_csr(documents[np.concatenate([np.arange(600), copies])])
    found = learn_hierarchy(rows)
    assert abs(found.sizes[0] - 6) <= 1
    main = found.strengths(rows).toarray()[:600].argmax(axis=1)
    assert normalized_mutual_info_score(subject, main) > 0.9


@pytest.mark.parametrize("is_cast", [True, False])
def test_names_that_meet_in_few_documents_join_the_subject_beside_them(is_cast: bool) -> None:
    """Ten names, each in 20 documents of a subject: all of them in the same three, or a few in each of many."""
    rng = np.random.default_rng(0)
    names = 160 + np.arange(10)
    subject = np.arange(8_000) % 4
    values = np.zeros((8_000, 170), np.int8)
    for document, number in enumerate(subject):
        values[document, number * 40 + rng.choice(40, 12, replace=False)] = 1

    own = rng.permutation(np.flatnonzero(subject == 0))
    if is_cast:
        values[np.ix_(own[:3], names)] = 1
        for k, name in enumerate(names):
            values[own[3 + 17 * k : 20 + 17 * k], name] = 1
    else:
        for document in own[:67]:
            values[document, rng.choice(names, 3, replace=False)] = 1

    rows = BinaryRows.of_csr(sp.csr_array(values))
    mixture = Mixture.of(rows, {}, rows.n_columns)
    counts = np.zeros((170, 5))
    topic = np.append(np.repeat(np.arange(4), 40), np.full(10, 4))
    counts[np.arange(170), topic] = values.sum(axis=0)

    into = FoundTopics(mixture.flat(counts), mixture).sources_into(0)
    assert into.tolist() == ([0, 1, 2, 3, 0] if is_cast else [0, 1, 2, 3, 4])


def test_what_leads_hardly_any_document_is_no_topic() -> None:
    documents, _ = subjects(10_000, 5)
    n_words = documents.shape[1]
    rare = sp.csr_array((4, n_words), dtype=documents.dtype)
    apart = sp.csr_array(
        np.ones((4, 6), documents.dtype)
    )  # four documents of words that no other has
    table = sp.vstack(
        [
            sp.hstack([documents, sp.csr_array((10_000, 6), dtype=documents.dtype)]),
            sp.hstack([rare, apart]),
        ],
        format="csr",
    )
    found = learn_hierarchy(BinaryRows.of_csr(sp.csr_array(table)))
    assert found.sizes == (5,)
