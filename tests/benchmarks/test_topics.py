"""The scores of `benchmarks topics` of hierarchies that are right or wrong by construction."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.topics import METHODS, Documents, Hierarchy, main_topics, npmi_zero, score, ward

SUBJECTS = (
    ("goal", "team", "coach"),
    ("match", "cup"),
    ("tax", "law"),
    ("vote", "party", "senate"),
)
WORDS = np.array([word for subject in SUBJECTS for word in subject])


@pytest.fixture(scope="module")
def documents() -> Documents:
    """Documents of one of four subjects; two subjects of a pair share a third of their words."""
    rng = np.random.default_rng(0)
    subject = np.arange(800) % 4
    owner = np.repeat(np.arange(4), [len(words) for words in SUBJECTS])
    near = (owner[None, :] // 2 == subject[:, None] // 2) * 0.3 + 0.02
    counts = rng.random((800, WORDS.size)) < np.where(owner == subject[:, None], 0.8, near)
    return Documents([], sp.csr_array(counts.astype(float)), subject.astype(str), WORDS)


def by_counts(documents: Documents) -> list[np.ndarray]:
    owner = np.repeat(np.arange(4), [len(words) for words in SUBJECTS])
    below = documents.counts @ np.eye(4)[owner] / [3, 2, 2, 3]
    return [below @ np.repeat(np.eye(2), 2, axis=0), below]


def hierarchy(parent: list[int]) -> Hierarchy:
    top = [[*SUBJECTS[0][:2], *SUBJECTS[1][:1]], [*SUBJECTS[2][:1], *SUBJECTS[3][:2]]]
    return Hierarchy([top, [list(words) for words in SUBJECTS]], [[], parent], by_counts)


def test_a_true_hierarchy_scores_well_and_a_wrong_one_has_negative_edges(
    documents: Documents,
) -> None:
    right, wrong = (score(hierarchy(parent), documents) for parent in ([0, 0, 1, 1], [1, 1, 0, 0]))
    assert right["n_topics"].tolist() == [2, 4]
    assert right["npmi"].min() > 0.2
    assert right["nmi"][1] > 0.7
    assert right["purity"][1] > 0.85
    assert right["junk"].tolist() == [0.0, 0.0]
    assert right["negative_edges"][1] == 0.0
    assert wrong["negative_edges"][1] == 1.0
    assert right["pccx"][1] > 0.1 > wrong["pccx"][1]


def test_a_topic_that_no_document_has_is_junk(documents: Documents) -> None:
    model = hierarchy([0, 0, 1, 1])
    without = dataclasses.replace(
        model, strengths=lambda docs: [by_counts(docs)[0], by_counts(docs)[1] * [1, 1, 1, 0]]
    )
    assert score(without, documents)["junk"].tolist() == [0.0, 0.25]


def test_words_that_never_meet_count_0_for_junk() -> None:
    counts = sp.csr_array([[1, 2, 0], [1, 1, 0], [0, 0, 3], [0, 1, 0]])
    rows = Documents([], counts, np.zeros(4), np.array(["a", "b", "c"]))
    ab = np.log(0.5 / (0.5 * 0.75)) / -np.log(0.5)
    assert npmi_zero(["a", "b"], rows) == pytest.approx(ab)
    assert npmi_zero(["a", "b", "c"], rows) == pytest.approx(ab / 3)


def test_documents_without_a_topic_have_none_and_are_not_covered(documents: Documents) -> None:
    empty = dataclasses.replace(documents, counts=sp.csr_array(documents.counts.shape))
    model = hierarchy([0, 0, 1, 1])
    assert set(main_topics(model.strengths(empty)[0])) == {-1}
    assert score(model, empty)["coverage"].tolist() == [0.0, 0.0]


def test_ward_joins_topics_that_are_alike(documents: Documents) -> None:
    owner = np.repeat(np.arange(4), [len(words) for words in SUBJECTS])
    weights = (np.eye(4) + 0.5 * np.kron(np.eye(2), np.ones((2, 2))))[:, owner]
    model = ward(weights, weights, [2], WORDS, lambda docs: by_counts(docs)[1], 3)
    assert len(model.words) == 1
    model = ward(weights, weights, [2, 4], WORDS, lambda docs: by_counts(docs)[1], 3)
    assert model.parent[1][0] == model.parent[1][1] != model.parent[1][2] == model.parent[1][3]
    assert [set(words) for words in model.words[1]][1] >= set(SUBJECTS[1])
    assert model.strengths(documents)[0].shape == (800, 2)


@pytest.mark.parametrize("name", ["tsenet", "NMF + Ward"])
def test_models_learn_the_subjects(documents: Documents, name: str) -> None:
    scores = score(METHODS[name].fit(documents, [2], 5), documents)
    assert scores["n_topics"].tolist() == [2]
    assert scores["nmi"][0] > 0.4  # at most 2/3: four classes, two topics
