"""How many topics documents have: as many as were planted, and none above those that have nothing in common."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.topics import subjects
from tsenet.data.binary import BinaryRows
from tsenet.topics.mixture import learn_hierarchy


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
