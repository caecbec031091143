"""Scores of topics: gensim's values, and the definition where gensim is wrong."""

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
from tsenet.explain import Topic, TopicWord, coherence, every_topic, hierarchy_scores

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
        joint = share(a, b)
        return float(np.log(joint / (share(a) * share(b))) / -np.log(joint)) if joint else -1.0

    return float(np.mean([npmi(a, b) for a, b in permutations(topic, 2)]))


class TestCoherence:
    @pytest.mark.parametrize("window", [2, 10])
    def test_pairs_that_meet_have_gensims_score_and_others_have_minus_1(self, window: int) -> None:
        documents = texts(2, 120, repeats=False)
        pairs = [[*pair] for pair in combinations(topics(3, 120, size=16)[0], 2)]
        model = CoherenceModel(
            topics=pairs,
            texts=documents,
            dictionary=Dictionary(documents),
            coherence="c_npmi",
            window_size=window,
            topn=2,
            processes=1,
        )
        scores = coherence(pairs, documents, window=window)
        close = [
            {*document[k : k + window]} for document in documents for k in range(len(document))
        ]
        meet = np.array([any({*pair} <= words for words in close) for pair in pairs])
        assert 0 < meet.sum() < len(pairs)
        expected = np.where(meet, model.get_coherence_per_topic(), -1.0)
        assert scores.per_topic == pytest.approx(expected, abs=1e-8)
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
        pairs = [(f"a{k}", f"b{k}") for k in range(500)]
        documents = [list(pair) for pair in pairs] * 2
        once = ((token for token in document) for document in documents)
        assert coherence(pairs, once, window=window).per_topic == pytest.approx([1.0] * 500)

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


def topmost(hierarchy: list[tuple[Any, list[Any]]], counts: Any, names: list[str]) -> Any:
    """PCC, PCD, sibling diversity and PnCD of two levels, by loops over words as TopMost defines them."""

    def npmi(a: str, b: str) -> float:
        x, y = (counts[:, names.index(word)] > 0 for word in (a, b))
        if (x & y).all():
            return 0.0
        joint = (x & y).mean() + 1e-10
        return float(np.log(joint / (x.mean() * y.mean())) / -np.log(joint))

    def once(*lists: list[str]) -> float:
        every = [word for words in lists for word in words]
        return sum(every.count(word) == 1 for word in every) / len(every)

    pcc, pccx, pcd, pncd = [], [], [], []
    for parent, children in hierarchy:
        for child in children:
            both = set(parent) & set(child)
            free = [npmi(a, b) for a in set(parent) - both for b in set(child) - both]
            pccx += free
            pcc += free + [-1.0] * len(both) ** 2
            pcd.append(once(parent, child))
        others = [c for _, below in hierarchy for c in below if below is not children]
        pncd += [once(parent, other) for other in others]
    return {
        "pcc": np.mean(pcc),
        "pccx": np.mean(pccx),
        "pcd": np.mean(pcd),
        "pncd": np.mean(pncd),
        "sibling_diversity": np.mean([once(*children) for _, children in hierarchy]),
        "top_siblings": once(*(parent for parent, _ in hierarchy)),
    }


@pytest.mark.parametrize("seed", range(4))
def test_hierarchy_scores_are_topmosts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = VOCABULARY[:30]
    counts = (rng.random((60, 30)) < rng.beta(0.5, 1.5, 30)).astype(float)
    counts[:, :2], counts[0] = 1.0, 1.0  # two words in every document; every word occurs

    def words() -> list[str]:
        return [names[k] for k in rng.permutation(30)[:6]]

    hierarchy: list[tuple[Any, list[Any]]] = [
        (words(), [words() for _ in range(2 + seed % 2)]) for _ in range(3)
    ]

    def topic(level: int, words: list[str], children: tuple[Topic, ...] = ()) -> Topic:
        described = tuple(TopicWord(word, 1.0, 1.0, 0.0) for word in words)
        return Topic(f"{level}", level, "", 0.1, described, children)

    nested = [topic(2, p, tuple(topic(1, c) for c in below)) for p, below in hierarchy]
    flat = list(every_topic(nested))
    present = rng.random((60, len(flat))) < 0.4
    tokens = [[names[k] for k in rng.integers(30, size=25)] for _ in range(60)]
    table = Table.of(sp.csr_array(counts), names=names)
    found = hierarchy_scores(nested, table, sp.csr_array(present), tokens=tokens)
    wanted = topmost(hierarchy, counts, names)
    assert found["sibling_diversity"] == pytest.approx(
        [wanted.pop("top_siblings"), wanted["sibling_diversity"]]
    )
    for name, value in wanted.items():
        assert found[name][1] == pytest.approx(value), name
    assert np.isnan([found[name][0] for name in ("pcc", "pcd", "pncd", "negative_edges")]).all()
    # presence, and words within levels
    lower = [k for k, t in enumerate(flat) if t.level == 1]
    above = [max(p for p, t in enumerate(flat) if t.level == 2 and p < k) for k in lower]
    negative = [
        present[present[:, p], k].mean() < present[~present[:, p], k].mean()
        for p, k in zip(above, lower, strict=True)
    ]
    assert found["negative_edges"][1] == pytest.approx(np.mean(negative))
    assert found["coverage"][1] == pytest.approx(present[:, lower].any(axis=1).mean())
    below = [child for _, children in hierarchy for child in children]
    different = {word for child in below for word in child}
    assert found["diversity"][1] == pytest.approx(len(different) / (6 * len(below)))
    within = coherence(below, tokens, window=10)
    assert found["npmi_window"][1] == pytest.approx(within.score)


def test_words_that_never_occur_together_have_an_npmi_of_minus_1() -> None:
    table = Table.of(sp.csr_array([[1, 0, 1], [0, 1, 1], [0, 0, 0]]), names=["a", "b", "c"])

    def npmi(*words: str) -> float:
        described = tuple(TopicWord(word, 1.0, 1.0, 0.0) for word in words)
        topic = Topic("Z1.0", 1, "", 0.1, described)
        return hierarchy_scores([topic], table, sp.csr_array(np.ones((3, 1), bool)))["npmi"][0]

    assert (npmi("a", "b"), npmi("a")) == (-1.0, 0.0)
    assert npmi("a", "c") == pytest.approx(np.log(1 / 3 / (1 / 3 * 2 / 3)) / np.log(3))
