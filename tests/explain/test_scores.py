"""Scores of topics: gensim's values, brute force where gensim is wrong, and the paper's score by hand."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from gensim.corpora import Dictionary
from gensim.models.coherencemodel import CoherenceModel

from tsenet import Table
from tsenet.errors import DataError
from tsenet.explain import _cooccurrence as counting
from tsenet.explain import scores as module
from tsenet.explain.scores import coherence, interpretability_score, topic_diversity
from tsenet.explain.vectors import WordVectors

GENSIM = {"npmi": "c_npmi", "umass": "u_mass", "c_v": "c_v"}
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


def by_gensim(
    asked: Texts, documents: Texts, measure: str, window: int | None = None
) -> list[float]:
    model = CoherenceModel(
        topics=asked,
        texts=documents,
        dictionary=Dictionary(documents),
        coherence=GENSIM[measure],
        window_size=window,
        topn=max(map(len, asked)),
        processes=1,
    )
    return [float(score) for score in model.get_coherence_per_topic()]


def by_hand(topic: list[str], documents: Texts, measure: str, window: int | None) -> float:
    """The definitions, over sets of words: one for each window of each document."""
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

    if measure == "npmi":
        return float(np.mean([npmi(a, b) for a, b in permutations(topic, 2)]))
    if measure == "umass":
        pairs = [(b, a) for a, b in combinations(topic, 2)]  # a comes before b in the topic
        return float(np.mean([np.log((share(b, a) + 1e-12) / share(a)) for b, a in pairs]))
    table = np.array([[npmi(a, b) for b in topic] for a in topic])
    whole = table.sum(axis=0)
    return float(np.mean(table @ whole / (np.linalg.norm(table, axis=1) * np.linalg.norm(whole))))


class TestCoherence:
    @pytest.mark.parametrize("measure", GENSIM)
    def test_it_is_gensims(self, measure: Any) -> None:
        documents, asked = texts(0, 300, repeats=False), topics(1, 300)
        found = coherence(asked, documents, measure)
        assert found.per_topic == pytest.approx(by_gensim(asked, documents, measure), abs=1e-9)
        assert found.score == pytest.approx(np.mean(found.per_topic))
        assert found.window == {"npmi": 10, "umass": None, "c_v": 110}[measure]

    @pytest.mark.parametrize("window", [2, 5, 40])
    @pytest.mark.parametrize("measure", ["npmi", "c_v"])
    def test_other_windows_too(self, measure: Any, window: int) -> None:
        documents, asked = texts(2, 120, repeats=False), topics(3, 120)
        found = coherence(asked, documents, measure, window=window)
        assert found.per_topic == pytest.approx(
            by_gensim(asked, documents, measure, window), abs=1e-9
        )
        assert found.window == window

    @pytest.mark.parametrize("window", [None, 2, 7, 30, 500])
    @pytest.mark.parametrize("measure", GENSIM)
    def test_it_is_the_definitions_where_words_repeat(
        self, measure: Any, window: int | None
    ) -> None:
        documents, asked = texts(4, 25, repeats=True, longest=60), topics(5, 25, size=4)
        found = coherence(asked, documents, measure, window=window)
        wanted = [by_hand(topic, documents, measure, window) for topic in asked]
        assert found.per_topic == pytest.approx(wanted, abs=1e-9)

    @pytest.mark.parametrize("window", [None, 10])
    def test_a_corpus_that_can_be_read_only_once(self, window: int | None) -> None:
        pairs = [(f"a{k}", f"b{k}") for k in range(3000)]  # more words than are counted at once
        documents = [list(pair) for pair in pairs] * 2
        found = coherence(pairs, documents, window=window)
        assert found.per_topic == pytest.approx([1.0] * 3000)
        once = ((token for token in document) for document in documents)
        assert coherence(pairs, once, window=window) == found

    def test_umass_of_documents_is_gensims_where_words_repeat(self) -> None:
        documents, asked = texts(4, 25, repeats=True), topics(5, 25)
        assert coherence(asked, documents, "umass").per_topic == pytest.approx(
            by_gensim(asked, documents, "umass"), abs=1e-9
        )

    @pytest.mark.parametrize("measure", GENSIM)
    def test_counts_say_the_same_as_documents(self, measure: Any) -> None:
        documents, asked = texts(6, 60, repeats=True), topics(7, 60)
        counts = np.array(
            [[document.count(word) for word in VOCABULARY[:60]] for document in documents]
        )
        names = VOCABULARY[:60]
        wanted = coherence(asked, documents, measure, window=None)
        for corpus in (
            Table.of(counts, names),
            Table.of(sp.csr_array(counts), names),
            pd.DataFrame(counts, columns=names),
        ):
            assert coherence(asked, corpus, measure, window=None) == wanted
        assert coherence(asked, counts, measure, window=None, feature_names=names) == wanted
        assert (
            coherence(asked, sp.coo_array(counts), measure, window=None, feature_names=names)
            == wanted
        )

    def test_counts_are_taken_by_documents_without_asking_but_for_c_v(self) -> None:
        corpus = Table.of(np.eye(5) + 1, VOCABULARY[:5])
        assert coherence([["w0", "w1"]], corpus, "npmi").window is None
        with pytest.raises(DataError, match="needs the words in order"):
            coherence([["w0", "w1"]], corpus, "c_v")
        with pytest.raises(DataError, match="window of 10 words needs"):
            coherence([["w0", "w1"]], corpus, "npmi", window=10)

    def test_blocks_and_parts_do_not_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        documents, asked = texts(8, 50, repeats=True), topics(9, 50)
        wanted = coherence(asked, documents, "c_v", window=12)
        monkeypatch.setattr(counting, "_BLOCK", 300)
        monkeypatch.setattr(module, "_MOST_WORDS", 10)
        assert coherence(asked, documents, "c_v", window=12) == wanted
        corpus = Table.of(np.random.default_rng(0).poisson(0.3, (90, 50)), VOCABULARY[:50])
        in_parts = coherence(asked, corpus)
        monkeypatch.undo()
        assert in_parts == coherence(asked, corpus)

    def test_words_the_corpus_lacks_are_reported_and_left_out(self) -> None:
        documents = texts(0, 300, repeats=False)
        asked = topics(1, 300)
        strange = [["nowhere", *asked[0], "neither"], ["nowhere", "w1"]]
        found = coherence(strange, documents)
        assert found.missing == ("nowhere", "neither")
        assert found.per_topic[0] == coherence(asked[:1], documents).score
        assert np.isnan(found.per_topic[1])
        assert found.score == found.per_topic[0]
        assert np.isnan(coherence([["nowhere"]], documents).score)

    def test_words_that_are_everywhere_say_nothing(self) -> None:
        documents = [["a", "b"], ["a", "b", "c"], ["a", "b", "d"]]
        assert coherence([["a", "b"]], documents, window=None).score == 0.0

    def test_only_the_first_words_count(self) -> None:
        documents, asked = texts(0, 300, repeats=False), topics(1, 300)
        short = [topic[:3] for topic in asked]
        assert coherence(asked, documents, n_words=3) == coherence(short, documents)

    def test_words_that_go_together_score_higher(self) -> None:
        rng = np.random.default_rng(0)
        subjects = (["cat", "dog", "cow"], ["moon", "star", "sun"])
        documents = [[str(w) for w in rng.permutation(subjects[k % 2])] for k in range(60)]
        documents += [[str(w)] for w in rng.choice([*subjects[0], *subjects[1]], 40)]
        for measure in GENSIM:
            whole, mixed = coherence(
                [["cat", "dog", "cow"], ["cat", "star", "cow"]],
                documents,
                measure,  # type: ignore[arg-type]
            ).per_topic
            assert whole > mixed

    @pytest.mark.parametrize(
        ("asked", "corpus", "options", "message"),
        [
            ([], [["a"]], {}, "no topics"),
            (["a b"], [["a"]], {}, "not a string"),
            ([["a", "b"]], ["a b", "b c"], {}, "list of tokens"),
            ([["a", "b"]], [], {}, "no documents"),
            ([["a", "b"]], [["a"]], {"n_words": 0}, "n_words"),
            ([["a", "b"]], [["a"]], {"window": 1}, "at least 2 words"),
            ([["a", "b"]], [["a"]], {"measure": "c_w2v"}, "measure must be one of"),
        ],
    )
    def test_bad_questions_are_refused(
        self, asked: Any, corpus: Any, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            coherence(asked, corpus, **options)


class TestInterpretability:
    VECTORS = WordVectors(
        ("cat", "dog", "moon"), np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)
    )

    def test_by_hand(self) -> None:
        found = interpretability_score([["cat", "dog", "moon"], ["cat", "moon"]], self.VECTORS)
        assert found.per_topic == pytest.approx(((0.6 + 0.0 + 0.8) / 3, 0.0), abs=1e-6)
        assert found.score == pytest.approx(0.7 / 3, abs=1e-6)
        assert found.missing == ()

    def test_all_pairs(self) -> None:
        rng = np.random.default_rng(0)
        matrix = rng.normal(size=(30, 5))
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        vectors = WordVectors(tuple(VOCABULARY[:30]), matrix.astype(np.float32))
        found = interpretability_score(topics(1, 30, size=12), vectors)
        for topic, score in zip(topics(1, 30, size=12), found.per_topic, strict=True):
            pairs = [vectors.similarity(a, b) for a, b in combinations(topic[:10], 2)]
            assert score == pytest.approx(np.mean(pairs), abs=1e-6)

    def test_words_without_a_vector(self) -> None:
        found = interpretability_score(
            [["qqq", "cat", "dog"], ["cat", "zzz"], ["zzz", "qqq"]], self.VECTORS
        )
        assert found.per_topic[0] == pytest.approx(0.6, abs=1e-6)
        assert np.isnan(found.per_topic[1:]).all()
        assert found.score == found.per_topic[0]
        assert found.missing == ("qqq", "zzz")
        assert np.isnan(interpretability_score([["zzz"]], self.VECTORS).score)

    def test_only_the_first_words_count(self) -> None:
        found = interpretability_score([["cat", "dog", "moon"]], self.VECTORS, n_words=2)
        assert found.score == pytest.approx(0.6, abs=1e-6)


class TestDiversity:
    @pytest.mark.parametrize(
        ("asked", "share"),
        [
            ([["a", "b"], ["c", "d"]], 1.0),
            ([["a", "b"], ["a", "b"]], 0.5),
            ([["a", "b"], ["b", "c"], ["d"]], 0.8),
        ],
    )
    def test_by_hand(self, asked: Any, share: float) -> None:
        assert topic_diversity(asked) == pytest.approx(share)

    def test_only_the_first_words_count(self) -> None:
        assert topic_diversity([["a", "z"], ["b", "z"]], n_words=1) == 1.0

    def test_nothing_to_count(self) -> None:
        with pytest.raises(DataError, match="no words"):
            topic_diversity([[], []])
