"""The score of topics on documents they have not seen, against a loop over words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.topics.planted import planted
from tsenet.data.binary import BinaryRows
from tsenet.errors import DataError
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.likelihood import log_likelihood
from tsenet.topics.mixture import learn_hierarchy


def test_is_the_mean_over_the_words_of_the_other_half(
    learned: TopicHierarchy, rows: BinaryRows
) -> None:
    new, _ = planted(40, seed=1)
    word_share = rows.counts() / rows.n_rows
    background = word_share / word_share.sum()
    topics = learned.counts[:, learned.levels[0]].toarray()
    topics = topics / topics.sum(axis=0)
    logs = []
    for document in new.to_dense():
        words = np.flatnonzero(document)
        told, asked = words[::2], words[1::2]
        half = np.zeros((1, new.n_columns), bool)
        half[0, told] = True
        ((_, shares),) = learned.evidence(BinaryRows.of_dense(half))
        weight = learned.weight[told].sum()
        amount = shares[0, learned.levels[0]] * weight / (weight + 1)
        for word in asked:
            chance = amount @ topics[word] + (1 - amount.sum()) * background[word]
            logs.append(math.log(chance))
    assert log_likelihood(learned, word_share, new) == pytest.approx(np.mean(logs))


def test_the_planted_number_of_topics_is_likelier_than_one(rows: BinaryRows) -> None:
    new, _ = planted(400, seed=1)
    word_share = rows.counts() / rows.n_rows
    scores = {n: log_likelihood(learn_hierarchy(rows, (n,)), word_share, new) for n in (1, 4, 12)}
    assert scores[1] < scores[4] < scores[12]


def test_documents_of_one_word_have_no_score(learned: TopicHierarchy, rows: BinaryRows) -> None:
    one = np.zeros((2, rows.n_columns), bool)
    one[0, 3] = True
    with pytest.raises(DataError, match="no document has two words"):
        log_likelihood(learned, np.full(rows.n_columns, 0.1), BinaryRows.of_dense(one))
