"""Scores of topics: gensim's values, and the definition where gensim is wrong."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from gensim.corpora import Dictionary
from gensim.models.coherencemodel import CoherenceModel

from tsenet import Table
from tsenet.errors import DataError
from tsenet.explain import coherence, topic_diversity

VOCABULARY = [f"w{k}" for k in range(300)]
Texts = list[list[str]]


def texts(seed: int, n_words: int, *, repeats: bool, longest: int = 160) -> Texts:
    """Documents of 0 to ``longest`` words, each drawn around a subject; words come twice only with ``repeats``."""
    rng = np.random.default_rng(seed)
    documents = []
    for _ in range(80):
        chance = rng.gamma(0.3, size=n_words) + 1e-3
        size = int(rng.integers(0, min(longest, n_words if not repeats else longest)))
        chosen = rng.choice(n_words, size, replace=repeats, p=chance / chance.sum())
        documents.append([VOCABULARY[k] for k in chosen])
    return documents


def topics(seed: int, n_words: int, size: int = 8) -> Texts:
    rng = np.random.default_rng(seed)
    return [[VOCABULARY[k] for k in rng.permutation(n_words)[:size]] for _ in range(6)]


def by_hand(topic: list[str], documents: Texts, window: int | None) -> float:
    """The definition, over sets of words: one for each window of each document."""
    windows: list[set[str]] = []
    for document in documents:
        size = len(document) if window is None else window
        for start in range(max(1, len(document) - size + 1)):
            windows.append(set(document[start : start + size]))

    def share(*words: str) -> float:
        return sum(all(word in one for word in words) for one in windows) / len(windows)

    def npmi(a: str, b: str) -> float:
        joint = share(a, b) + 1e-12
        return float(np.log(joint / (share(a) * share(b))) / -np.log(joint))

    return float(np.mean([npmi(a, b) for a, b in permutations(topic, 2)]))


class TestCoherence:
    @pytest.mark.parametrize("window", [2, 10])
    def test_it_is_gensims(self, window: int) -> None:
        documents, asked = texts(2, 120, repeats=False), topics(3, 120)
        model = CoherenceModel(
            topics=asked,
            texts=documents,
            dictionary=Dictionary(documents),
            coherence="c_npmi",
            window_size=window,
            topn=8,
            processes=1,
        )
        scores = coherence(asked, documents, window=window)
        assert scores.per_topic == pytest.approx(model.get_coherence_per_topic(), abs=1e-9)
        assert scores.score == pytest.approx(np.mean(scores.per_topic))
        assert scores.window == window

    @pytest.mark.parametrize("window", [None, 2, 7, 500])
    def test_it_is_the_definition_where_words_repeat(self, window: int | None) -> None:
        documents, asked = texts(4, 25, repeats=True, longest=60), topics(5, 25, size=4)
        expected = [by_hand(topic, documents, window) for topic in asked]
        scores = coherence(asked, documents, window=window)
        assert scores.per_topic == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("window", [None, 10])
    def test_many_words_in_a_corpus_that_can_be_read_only_once(self, window: int | None) -> None:
        pairs = [(f"a{k}", f"b{k}") for k in range(3000)]  # more words than are counted at once
        documents = [list(pair) for pair in pairs] * 2
        once = ((token for token in document) for document in documents)
        assert coherence(pairs, once, window=window).per_topic == pytest.approx([1.0] * 3000)

    def test_a_document_longer_than_a_block(self) -> None:
        tokens = np.random.default_rng(0).integers(20, size=300_000)
        windows = np.lib.stride_tricks.sliding_window_view(tokens, 10)
        with_a, with_b = ((windows == word).any(axis=1) for word in (3, 7))
        joint, alone = (with_a & with_b).mean(), with_a.mean() * with_b.mean()
        documents = [[VOCABULARY[k] for k in tokens], ["w3"]]  # the second does not change much
        scores = coherence([["w3", "w7"]], documents, window=10)
        assert scores.score == pytest.approx(np.log(joint / alone) / -np.log(joint), abs=1e-4)

    def test_counts_give_the_same_as_documents(self) -> None:
        documents, asked, names = texts(6, 60, repeats=True), topics(7, 60), VOCABULARY[:60]
        counts = np.array([[document.count(word) for word in names] for document in documents])
        expected = coherence(asked, documents)
        for corpus in (
            Table.of(counts, names),
            Table.of(sp.csr_array(counts), names),
            pd.DataFrame(counts, columns=names),
        ):
            assert coherence(asked, corpus) == expected
        for array in (counts, sp.coo_array(counts)):
            assert coherence(asked, array, feature_names=names) == expected
        with pytest.raises(DataError, match="needs the words in order"):
            coherence(asked, counts, window=10, feature_names=names)

    def test_words_missing_in_the_corpus_are_listed_and_ignored(self) -> None:
        documents, asked = texts(0, 300, repeats=False), topics(1, 300)
        scores = coherence([["nowhere", *asked[0], "neither"], ["nowhere", "w1"]], documents)
        assert scores.missing == ("nowhere", "neither")
        assert scores.per_topic[0] == coherence(asked[:1], documents).score
        assert np.isnan(scores.per_topic[1])
        assert scores.score == scores.per_topic[0]
        assert np.isnan(coherence([["nowhere"]], documents).score)

    def test_words_in_every_document_tell_nothing(self) -> None:
        documents = [["a", "b"], ["a", "b", "c"], ["a", "b", "d"]]
        assert coherence([["a", "b"]], documents).score == 0.0

    def test_only_the_first_words_count(self) -> None:
        documents, asked = texts(0, 300, repeats=False), topics(1, 300)
        short = [topic[:3] for topic in asked]
        assert coherence(asked, documents, n_words=3) == coherence(short, documents)

    @pytest.mark.parametrize(
        ("asked", "corpus", "options", "message"),
        [
            ([], [["a"]], {}, "no topics"),
            (["a b"], [["a"]], {}, "not a string"),
            ([["a", "b"]], ["a b", "b c"], {}, "list of tokens"),
            ([["a", "b"]], [], {}, "no documents"),
            ([["a", "b"]], [["a"]], {"n_words": 0}, "n_words"),
            ([["a", "b"]], [["a"]], {"window": 1}, "at least 2 words"),
        ],
    )
    def test_bad_arguments(
        self, asked: Any, corpus: Any, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            coherence(asked, corpus, **options)


class TestDiversity:
    @pytest.mark.parametrize(
        ("asked", "share"),
        [([["a", "b"], ["c", "d"]], 1.0), ([["a", "b"], ["b", "c"], ["d"]], 0.8)],
    )
    def test_by_hand(self, asked: Any, share: float) -> None:
        assert topic_diversity(asked) == pytest.approx(share)

    def test_only_the_first_words_count(self) -> None:
        assert topic_diversity([["a", "z"], ["b", "z"]], n_words=1) == 1.0

    def test_no_words(self) -> None:
        with pytest.raises(DataError, match="no words"):
            topic_diversity([[], []])
