"""How likely documents are, against a loop over words, and which of them fit no topic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.topics.planted import planted
from tsenet.data.binary import BinaryRows
from tsenet.errors import DataError
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.likelihood import DocumentFit, log_likelihoods, mean_log_likelihood
from tsenet.topics.mixture import learn_hierarchy


def documents_with(rows: BinaryRows) -> np.ndarray:
    return np.maximum(rows.counts(), 1).astype(np.float64)


def none_unknown(rows: BinaryRows) -> np.ndarray:
    return np.zeros(rows.n_rows, np.int64)


def test_each_word_is_explained_by_the_others(learned: TopicHierarchy, rows: BinaryRows) -> None:
    new, _ = planted(40, seed=1)
    n_documents = documents_with(rows)
    word_share = n_documents / rows.n_rows
    counts = learned.counts[:, learned.levels[0]].toarray()
    of_topic = n_documents @ (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-12))
    of_topic = of_topic / of_topic.sum()
    expected = []
    for document in new.to_dense():
        total = 0.0
        words = np.flatnonzero(document)
        for word in words:
            mixture = of_topic.copy()  # one word of all topics
            for other in words:
                if other != word and counts[other].any():
                    mixture += learned.weight[other] * counts[other] / counts[other].sum()
            mixture /= mixture.sum()
            total += math.log(word_share[word])
            if counts[word].any():
                total += math.log(mixture @ (counts[word] / counts[word].sum() / of_topic))
        expected.append(total)
    found = log_likelihoods(learned, n_documents, rows.n_rows, new)
    np.testing.assert_allclose(found, expected, rtol=1e-10)

    several = np.diff(new.indptr) >= 2
    scale = math.log(word_share.sum()) * new.take(several).nnz
    mean = (np.array(expected)[several].sum() - scale) / new.take(several).nnz
    found = mean_log_likelihood(learned, n_documents, rows.n_rows, new)
    assert found == pytest.approx(mean)


def test_the_planted_number_of_topics_is_likelier_than_one(rows: BinaryRows) -> None:
    new, _ = planted(400, seed=1)
    scores = {
        n: mean_log_likelihood(learn_hierarchy(rows, (n,)), documents_with(rows), rows.n_rows, new)
        for n in (1, 4, 12)
    }
    assert scores[1] < scores[4] < scores[12]


def test_documents_of_one_word_have_no_score(learned: TopicHierarchy, rows: BinaryRows) -> None:
    one = np.zeros((2, rows.n_columns), bool)
    one[0, 3] = True
    with pytest.raises(DataError, match="no document has two words"):
        mean_log_likelihood(learned, documents_with(rows), 10, BinaryRows.of_dense(one))


class TestDocumentFit:
    def test_documents_of_topics_fit_and_random_words_do_not(
        self, learned: TopicHierarchy, rows: BinaryRows
    ) -> None:
        fit = DocumentFit.of(learned, rows, none_unknown(rows))
        new, _ = planted(1000, seed=1)
        assert fit.fits(learned, rows, none_unknown(rows)).mean() >= 0.97
        assert fit.fits(learned, new, none_unknown(new)).mean() >= 0.95

        rng = np.random.default_rng(0)
        random = np.zeros((300, rows.n_columns), bool)
        for row in random:
            row[rng.choice(rows.n_columns, 12, replace=False)] = True
        drawn = BinaryRows.of_dense(random)
        assert fit.fits(learned, drawn, none_unknown(drawn)).mean() < 0.2

    def test_unknown_words_are_evidence_against_topics(
        self, learned: TopicHierarchy, rows: BinaryRows
    ) -> None:
        fit = DocumentFit.of(learned, rows, none_unknown(rows))
        fitting = rows.take(fit.fits(learned, rows, none_unknown(rows)))
        for n_unknown in (0, 100):
            fits = fit.fits(learned, fitting, np.full(fitting.n_rows, n_unknown))
            assert fits.all() if n_unknown == 0 else not fits.any()

    def test_a_document_without_a_known_word_does_not_fit(
        self, learned: TopicHierarchy, rows: BinaryRows
    ) -> None:
        fit = DocumentFit.of(learned, rows, none_unknown(rows))
        empty = BinaryRows.of_dense(np.zeros((2, rows.n_columns), bool))
        assert not fit.fits(learned, empty, np.array([0, 5])).any()

    def test_one_word_of_a_topic_fits(self, learned: TopicHierarchy, rows: BinaryRows) -> None:
        fit = DocumentFit.of(learned, rows, none_unknown(rows))
        frequent = np.flatnonzero((rows.counts() > 20) & (learned.main_topic >= 0))
        single = BinaryRows.of_dense(np.eye(rows.n_columns, dtype=bool)[frequent])
        assert fit.fits(learned, single, none_unknown(single)).all()

    @pytest.mark.parametrize(
        "damage", ["positive", "nan", "no documents", "more documents than all", "shape"]
    )
    def test_a_damaged_file_is_refused(
        self, damage: str, learned: TopicHierarchy, rows: BinaryRows
    ) -> None:
        parts = DocumentFit.of(learned, rows, none_unknown(rows)).to_parts()
        back = DocumentFit.from_parts(parts, rows.n_columns).to_parts()
        assert all(np.array_equal(parts[name], back[name]) for name in parts)
        if damage == "positive":
            parts["least"][0] = 0.5
        elif damage == "nan":
            parts["least"][0] = np.nan
        elif damage == "no documents":
            parts["documents"][0] = 0.0
        elif damage == "more documents than all":
            parts["n_all"][0] = 2
        else:
            parts["least"] = np.zeros(2)
        with pytest.raises(ValueError, match=r"documents|least"):
            DocumentFit.from_parts(parts, rows.n_columns)
