"""``TopicModel`` next to other hierarchies of topics: words, levels, labels, stability, CPU seconds, memory.

Every model is a :class:`Hierarchy`: words of topics in levels, the parent of each topic, and a function that tells how
strong topics are in documents. All models get the same words and the same documents, about the same numbers of topics,
one thread and a process of their own; scores are of documents that they have not seen. A model whose packages are not
installed is left out with a message.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.measure import in_own_process, peak_bytes, reset_peak, warm_up
from reproduce.data import Rows, count_words, encoded, load
from tsenet import Table
from tsenet.explain import Topic, TopicWord, hierarchy_scores
from tsenet.topics.coherence import mean_of_pairs, npmi

CORPORA = ("20newsgroups", "ag_news", "imdb", "stackoverflow", "dbpedia", "nyt")
N_WORDS = 10_000
MOST_DOCUMENTS = 15_000
HELD_OUT = 0.2
JUNK_SHARE, JUNK_NPMI = 0.003, 0.05
SWEEPS = 300
#: The subjects of 20 Newsgroups, by class number.
_SUBJECTS = {
    "religion": (1, 16, 20),
    "computers": (2, 3, 4, 5, 6),
    "sale": (7,),
    "recreation": (8, 9, 10, 11),
    "science": (12, 13, 14, 15),
    "politics": (17, 18, 19),
}

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents.

    Attributes
    ----------
    texts : list of str
        Empty for a bag of words.
    counts : csr_array (documents, words)
    classes, broad : ndarray of str (documents,)
        Classes, and six subjects of 20 Newsgroups' classes.
    words : ndarray of str (words,)
    vectors : ndarray (documents, any) or None
        Vectors of an encoder.
    """

    texts: list[str]
    counts: Any
    classes: NDArray[Any]
    words: NDArray[Any]
    vectors: NDArray[Any] | None = None
    broad: NDArray[Any] | None = None

    def take(self, rows: NDArray[np.int64]) -> Documents:
        """Return some of the documents."""
        texts = [self.texts[k] for k in rows] if self.texts else []
        vectors = None if self.vectors is None else self.vectors[rows]
        broad = None if self.broad is None else self.broad[rows]
        return Documents(texts, self.counts[rows], self.classes[rows], self.words, vectors, broad)


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Topics in levels.

    Attributes
    ----------
    words : list of list of list of str
        Words of each topic of each level, the top level and the strongest word first.
    parent : list of list of int
        For each level, the number of each topic's parent in the level above, −1 for none; empty for the top level.
    strengths : function of Documents
        Returns for each level an array (documents, topics). The strongest topic is the main one of a document, those at
        least half as strong are present; a row of zeros has no topic.
    """

    words: list[list[list[str]]]
    parent: list[list[int]]
    strengths: Callable[[Documents], Sequence[Any]]


# ---- documents


def corpus(name: str, final: bool = False, vectors: bool = False) -> tuple[Documents, Documents]:
    """Documents to fit, and others: a fifth of the training documents, or with ``final`` the test documents.

    With ``vectors``, they also have those of an encoder. ``ag_news@4000`` has at most 4,000 training and as many test
    documents. ``nyt-all`` is scored on the training and test documents of ``nyt`` together, as TopMost's notebooks do.
    """
    name, _, n_documents = name.partition("@")
    most = int(n_documents or MOST_DOCUMENTS)
    all_documents, name = name.endswith("-all"), name.removesuffix("-all")
    train = load(name, "train")
    order = np.random.default_rng(0).permutation(train.y.size)[:most]
    n_held = 0 if final else round(HELD_OUT * order.size)
    fit = train.take(np.sort(order[n_held:]))
    held = train.take(np.sort(order[:n_held]))
    if final:
        held = load(name, "test")
        if held.y.size > most:
            held = held.take(np.sort(np.random.default_rng(0).permutation(held.y.size)[:most]))
    if all_documents:
        held = Rows(sp.vstack([train.X, held.X]), np.concatenate([train.y, held.y]), train.names)
    if isinstance(fit.X, list):
        *counts, words = count_words(fit.X, held.X, N_WORDS, stop_words="english")
        texts = [fit.X, held.X]
    else:
        counts, words, texts = [fit.X, held.X], fit.names, [[], []]
    subject = {str(k): subject for subject, classes in _SUBJECTS.items() for k in classes}

    def subjects(classes: NDArray[Any]) -> NDArray[Any] | None:
        return np.array([subject[k] for k in classes]) if name == "20newsgroups" else None

    def documents(k: int, rows: Rows, side: str) -> Documents:
        found = encoded(name, side, rows) if vectors else None
        return Documents(texts[k], counts[k], rows.y, np.array(words), found, subjects(rows.y))

    return documents(0, fit, "train"), documents(1, held, "test" if final else "train")


def subjects(n_documents: int, n_subjects: int, length: int = 30, seed: int = 0) -> Any:
    """Documents of one planted subject each, of uneven frequency, and their subjects.

    Subjects share no words: a quarter of the words of a document are of 100 general ones.

    Returns
    -------
    csr_array of bool (documents, words), ndarray of int (documents,)
    """
    rng = np.random.default_rng(seed)
    n_own, n_general, general = 20, 100, 0.25
    frequency = 1.0 / np.sqrt(np.arange(1, n_subjects + 1))
    subject = rng.choice(n_subjects, n_documents, p=frequency / frequency.sum())
    n_words = np.maximum(3, rng.poisson(length * rng.uniform(0.5, 1.5, n_documents)))
    row = np.repeat(np.arange(n_documents), n_words)

    def drawn(n: int) -> Any:
        zipf = np.arange(1, n + 1) ** -0.7
        return rng.choice(n, row.size, p=zipf / zipf.sum())

    own = subject[row] * n_own + drawn(n_own)
    word = np.where(rng.random(row.size) < general, n_subjects * n_own + drawn(n_general), own)
    shape = n_documents, n_subjects * n_own + n_general
    return sp.csr_array((np.ones(row.size), (row, word)), shape) > 0, subject


# ---- models


def _tsenet(
    encoder: bool, data: Documents, sizes: Sequence[int] | None, top_words: int
) -> Hierarchy:
    from tsenet import TopicModel

    def table(documents: Documents) -> Table:
        return Table.of(documents.counts, names=documents.words.tolist())

    model = TopicModel(levels=sizes, top_words=top_words, random_state=0)
    topics = model.fit(table(data), embeddings=data.vectors if encoder else None).topics_
    levels = sorted(topics["level"].unique(), reverse=True)
    rows = [np.flatnonzero(topics["level"] == level) for level in levels]
    names = [topics["id"].iloc[chosen].tolist() for chosen in rows]
    words = [[[word for word, _ in topics["words"].iloc[k]] for k in chosen] for chosen in rows]
    parents = topics["parent"].fillna("").tolist()
    parent = [[]] + [
        [above.index(name) if (name := parents[k]) else -1 for k in chosen]
        for above, chosen in zip(names, rows[1:], strict=False)
    ]

    def strengths(documents: Documents) -> list[Any]:
        vectors = documents.vectors if encoder else None
        found = model.transform(table(documents), embeddings=vectors).toarray()
        return [np.where(found >= 0.5, found, 0.0)[:, chosen] for chosen in rows]

    return Hierarchy(words, parent, strengths)


def ward(
    weights: Any,
    shapes: Floats,
    sizes: Sequence[int],
    words: NDArray[Any],
    strengths: Callable[[Documents], Any],
    top_words: int,
    describe: Callable[[Any], Any] = lambda weights: weights,
) -> Hierarchy:
    """Join the topics of a flat model to ``sizes`` by Ward's method.

    ``weights`` (topics, words) are added up for a parent and made into a description by ``describe``; ``shapes``
    (topics, any) are what the method compares, ``strengths`` those of the flat model.
    """
    from scipy.cluster.hierarchy import cut_tree, linkage

    tree = linkage(shapes, "ward")
    members, described, parent = [], [], []
    for size in [*sizes[:-1], len(shapes)]:
        group = cut_tree(tree, size)[:, 0] if size < len(shapes) else np.arange(size)
        members.append(sp.csr_array((np.ones(group.size), (np.arange(group.size), group))))
        joined = np.asarray(describe(members[-1].T @ weights))
        described.append([words[np.argsort(-row)[:top_words]].tolist() for row in joined])
    for above, below in pairwise(members):
        parent.append((below.T @ above).toarray().argmax(axis=1).tolist())

    def of_levels(documents: Documents) -> list[Any]:
        found = strengths(documents)
        return [found @ group for group in members]

    return Hierarchy(described, [[], *parent], of_levels)


def _lda(data: Documents, sizes: Sequence[int], top_words: int) -> Hierarchy:
    import tomotopy

    model = tomotopy.LDAModel(k=sizes[-1], seed=0)
    for bag in _bags(data):
        if bag:
            model.add_doc(bag)
    model.train(SWEEPS, workers=1)
    column = {word: k for k, word in enumerate(data.words)}
    at = [column[word] for word in model.used_vocabs]
    weights = np.zeros((model.k, data.words.size))
    weights[:, at] = [model.get_topic_word_dist(k) for k in range(model.k)]
    share = model.get_count_by_topics() / sum(model.get_count_by_topics())
    shares = partial(_lda_shares, model)
    return ward(weights * share[:, None], np.sqrt(weights), sizes, data.words, shares, top_words)


def _hlda(data: Documents, sizes: Sequence[int], top_words: int) -> Hierarchy:
    """Sizes are its own; the root, which holds all documents, is left out."""
    import tomotopy

    model = tomotopy.HLDAModel(depth=len(sizes) + 1, seed=0)
    for bag in _bags(data):
        if bag:
            model.add_doc(bag)
    model.train(SWEEPS // 3, workers=1)
    live = [k for k in range(model.k) if model.is_live_topic(k)]
    levels = [[k for k in live if model.level(k) == depth + 1] for depth in range(len(sizes))]
    words = [
        [[word for word, _ in model.get_topic_words(k, top_words)] for k in level]
        for level in levels
    ]
    parent = [
        [above.index(model.parent_topic(k)) for k in level] for above, level in pairwise(levels)
    ]

    def strengths(documents: Documents) -> list[Any]:
        counts = np.zeros((len(documents.classes), model.k))
        for row, document in zip(*_inferred(model, documents), strict=True):
            counts[row] = np.bincount(document.topics, minlength=model.k)
        found = [counts[:, level] for level in levels]
        for k in range(len(levels) - 1, 0, -1):  # a word of a topic is also one of those above it
            np.add.at(found[k - 1].T, parent[k - 1], found[k].T)
        return found

    return Hierarchy(words, [[], *parent], strengths)


def _bags(data: Documents) -> list[list[str]]:
    counts = sp.csr_array(data.counts)
    repeats = counts.data.astype(np.int64)
    spans = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    return [data.words[np.repeat(counts.indices[a:b], repeats[a:b])].tolist() for a, b in spans]


def _inferred(model: Any, documents: Documents) -> tuple[list[int], list[Any]]:
    """Documents that have words, and what a model of tomotopy infers of them."""
    bags = _bags(documents)
    kept = [k for k, bag in enumerate(bags) if bag]
    found = [model.make_doc(bags[k]) for k in kept]
    model.infer(found, iterations=100, workers=1)
    return kept, found


def _lda_shares(model: Any, documents: Documents) -> Floats:
    kept, inferred = _inferred(model, documents)
    shares = np.zeros((len(documents.classes), model.k))
    shares[kept] = [document.get_topic_dist() for document in inferred]
    return shares


def _nmf(data: Documents, sizes: Sequence[int], top_words: int) -> Hierarchy:
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    tfidf = TfidfTransformer(sublinear_tf=True).fit(data.counts)
    model = NMF(sizes[-1], init="nndsvd", random_state=0, max_iter=200)
    scale = model.fit_transform(tfidf.transform(data.counts)).std(axis=0)

    def strengths(documents: Documents) -> Floats:
        found: Floats = model.transform(tfidf.transform(documents.counts)) / scale
        return found

    weights = model.components_ * scale[:, None]
    shapes = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return ward(weights, shapes, sizes, data.words, strengths, top_words)


def _bertopic(encoder: bool, data: Documents, sizes: Sequence[int], top_words: int) -> Hierarchy:
    """Default settings, with its topics reduced to the size of the lowest level."""
    from bertopic import BERTopic
    from bertopic.vectorizers import ClassTfidfTransformer
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer
    from umap import UMAP

    reduction = make_pipeline(TfidfTransformer(), TruncatedSVD(100, random_state=0), Normalizer())
    if not encoder:
        reduction.fit(data.counts)

    def vectors(documents: Documents) -> Any:
        return documents.vectors if encoder else reduction.transform(documents.counts)

    model = BERTopic(
        language="multilingual",  # keeps words as they are
        embedding_model=None,
        umap_model=UMAP(
            n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=0
        ),
        vectorizer_model=CountVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False),
        nr_topics=sizes[-1] + 1,  # and the outliers
    )
    texts = [" ".join(bag) for bag in _bags(data)]
    found = np.asarray(model.fit_transform(texts, vectors(data))[0])
    n_topics = int(found.max()) + 1
    kept = np.flatnonzero(found >= 0)
    one_hot = sp.csr_array((np.ones(kept.size), (kept, found[kept])), (found.size, n_topics))
    weights = (one_hot.T @ data.counts).toarray()
    with np.errstate(divide="ignore"):  # words of outliers only
        describe = ClassTfidfTransformer().fit(sp.csr_matrix(weights))

    def tfidf(counts: Any) -> Any:
        return describe.transform(sp.csr_matrix(counts)).toarray()

    shapes = tfidf(weights)

    def strengths(documents: Documents) -> Floats:
        main = np.asarray(model.transform([""] * len(documents.classes), vectors(documents))[0])
        return (main[:, None] == np.arange(n_topics)).astype(np.float64)

    return ward(
        weights,
        shapes / np.linalg.norm(shapes, axis=1, keepdims=True),
        sizes,
        data.words,
        strengths,
        top_words,
        tfidf,
    )


def _keynmf(data: Documents, sizes: Sequence[int], top_words: int) -> Hierarchy:
    from sklearn.feature_extraction.text import CountVectorizer
    from turftopic import KeyNMF

    from tsenet.data import embed
    from tsenet.data.words import words_of

    vectorizer = CountVectorizer(
        vocabulary=data.words.tolist(), tokenizer=words_of, lowercase=False
    )
    encoder = SimpleNamespace(encode=lambda texts, **options: embed(texts))
    model = KeyNMF(sizes[-1], encoder=encoder, vectorizer=vectorizer, random_state=0)
    scale = model.fit_transform(data.texts, embeddings=data.vectors).std(axis=0)
    weights = np.asarray(model.components_) * scale[:, None]
    shapes = weights / np.linalg.norm(weights, axis=1, keepdims=True)

    def strengths(documents: Documents) -> Floats:
        found: Floats = model.transform(documents.texts, embeddings=documents.vectors) / scale
        return found

    return ward(weights, shapes, sizes, model.get_vocab(), strengths, top_words)


@dataclass(frozen=True)
class Method:
    """A model, the packages it needs, and whether it reads vectors of an encoder."""

    fit: Callable[[Documents, Any, int], Hierarchy]
    packages: tuple[str, ...] = ()
    vectors: bool = False


METHODS = {
    "tsenet": Method(partial(_tsenet, False)),
    "tsenet, MiniLM": Method(partial(_tsenet, True), ("sentence_transformers",), True),
    "LDA + Ward": Method(_lda, ("tomotopy",)),
    "NMF + Ward": Method(_nmf),
    "BERTopic, SVD": Method(partial(_bertopic, False), ("bertopic", "umap", "hdbscan")),
    "BERTopic, MiniLM": Method(partial(_bertopic, True), ("bertopic", "umap", "hdbscan"), True),
    "KeyNMF, MiniLM": Method(_keynmf, ("turftopic",), True),
    "hLDA": Method(_hlda, ("tomotopy",)),
}


# ---- scores


def score(model: Hierarchy, held: Documents, top_words: int = 10) -> pd.DataFrame:
    """Score a hierarchy on documents, one row for each level, the top one first.

    The scores are those of :func:`tsenet.explain.hierarchy_scores`, and: ``junk``, the share of topics present in less
    than 0.3 % of the documents or with an ``npmi_zero`` below .05; ``nmi`` and ``purity`` of the main topics with the
    classes; ``nmi_broad`` with the six subjects of 20 Newsgroups; ``npmi_zero``, in which words that never occur
    together count 0 and not −1.
    """
    from sklearn.metrics import normalized_mutual_info_score as nmi

    table = Table.of(held.counts, names=held.words.tolist())
    strengths = [np.asarray(part) for part in model.strengths(held)]
    present = [(part > 0) & (part >= part.max(axis=1, keepdims=True) / 2) for part in strengths]
    nested, order = _nested(model)
    on = sp.csr_array(np.column_stack([present[level][:, k] for level, k in order]))
    scores = pd.DataFrame(hierarchy_scores(nested, table, on, n_words=top_words))
    junk, labels, broad, coherence = [], [], [], []
    for level, words in enumerate(model.words):
        of_topic = np.array([npmi_zero(topic[:top_words], held) for topic in words])
        coherence.append(of_topic.mean())
        rare = present[level].mean(axis=0) < JUNK_SHARE
        junk.append(np.mean(rare | (of_topic < JUNK_NPMI)))
        # a topic without a parent counts at every level above its own
        alone = [
            strengths[below][:, np.array(model.parent[below]) < 0]
            for below in range(level + 1, len(model.words))
        ]
        main = main_topics(np.column_stack([strengths[level], *alone]))
        if held.broad is not None:
            broad.append(nmi(held.broad, main))
        counts = pd.crosstab(main, held.classes)
        labels.append((nmi(held.classes, main), counts.max(axis=1).sum() / main.size))
    scores.insert(3, "npmi_zero", coherence)
    scores.insert(5, "junk", junk)
    scores[["nmi", "purity"]] = labels
    if broad:
        scores["nmi_broad"] = broad
    return scores


def npmi_zero(topic: Sequence[str], documents: Documents) -> float:
    """Mean NPMI of the pairs of a topic's words in whole documents, in which words that never occur together count 0.

    Topics of short texts are not junk only because most pairs of their words meet in no document.
    """
    column = {word: k for k, word in enumerate(documents.words)}
    chosen = [column[word] for word in topic if word in column]
    present = (sp.csc_array(documents.counts)[:, chosen] > 0).astype(float)
    joint = (present.T @ present).toarray() / present.shape[0]  # (K, K)
    alone = np.diagonal(joint)
    scores = np.where(joint > 0, npmi(joint, np.outer(alone, alone)), 0.0)
    return mean_of_pairs(scores) if len(chosen) > 1 else 0.0


def main_topics(strengths: Any) -> NDArray[np.int64]:
    """The strongest topic of each document, −1 for none."""
    return np.where(strengths.max(axis=1) > 0, strengths.argmax(axis=1), -1)


def _words(words: Sequence[str]) -> tuple[TopicWord, ...]:
    return tuple(TopicWord(word, 1.0, 1.0, 0.0) for word in words)


def _nested(model: Hierarchy) -> tuple[list[Topic], list[tuple[int, int]]]:
    """Topics as nested objects, and their levels and numbers in the order of ``every_topic``."""
    order: list[tuple[int, int]] = []

    def topic(level: int, k: int) -> Topic:
        order.append((level, k))
        below = level + 1 < len(model.words)
        children = [c for c, p in enumerate(model.parent[level + 1]) if p == k] if below else []
        name = f"{level}.{k}"
        nested = tuple(topic(level + 1, child) for child in children)
        return Topic(
            name, len(model.words) - level, name, 0.0, _words(model.words[level][k]), nested
        )

    alone = [
        (level, k)
        for level in range(1, len(model.words))
        for k, parent in enumerate(model.parent[level])
        if parent < 0
    ]
    return [topic(*of) for of in [*((0, k) for k in range(len(model.words[0]))), *alone]], order


# ---- the command


def measure(
    name: str,
    method: str,
    sizes: list[int] | None,
    top_words: int = 10,
    final: bool = False,
    stability: bool = False,
    n_pairs: int = 0,
) -> dict[str, Any]:
    """Fit one model on one corpus and score it, in a process of its own."""
    from sklearn.metrics import adjusted_mutual_info_score

    fit, held = corpus(name, final, METHODS[method].vectors)
    if method.startswith("tsenet"):
        warm_up()
    reset_peak()
    start = time.process_time()
    model = METHODS[method].fit(fit, sizes, top_words)
    cost = {"cpu_s": time.process_time() - start, "mb": peak_bytes() / 1e6}
    scores = score(model, held, top_words).assign(**cost)
    if stability:
        main = []
        for seed in (1, 2):
            rows = np.random.default_rng(seed).permutation(fit.classes.size)
            part = fit.take(np.sort(rows[: rows.size * 9 // 10]))
            part_sizes = [len(level) for level in model.words]
            found = METHODS[method].fit(part, part_sizes, top_words).strengths(held)
            main.append([main_topics(np.asarray(level)) for level in found])
        scores["ami"] = [adjusted_mutual_info_score(a, b) for a, b in zip(*main, strict=True)]
    return {"scores": scores.to_dict("list"), "pairs": _pairs(model, n_pairs)}


def _pairs(model: Hierarchy, n: int) -> list[str]:
    """Random pairs of a topic and one below it, to read."""
    edges = [
        (level, k)
        for level in range(1, len(model.words))
        for k, parent in enumerate(model.parent[level])
        if parent >= 0
    ]
    chosen = np.random.default_rng(7).permutation(len(edges))[:n]
    lines = []
    for level, k in (edges[place] for place in chosen):
        above, below = model.words[level - 1][model.parent[level][k]], model.words[level][k]
        lines.append(f"- {', '.join(above[:6])} → {', '.join(below[:6])}")
    return lines


def run(
    names: Sequence[str],
    methods: Sequence[str],
    sizes: list[int] | None = None,
    top_words: int = 10,
    final: bool = False,
    stability: bool = False,
    n_pairs: int = 0,
) -> pd.DataFrame:
    """Compare models on corpora; without ``sizes``, all have as many topics as ``TopicModel`` chooses without vectors.

    With vectors it chooses itself.
    """
    rows = []
    for name in names:
        asked = sizes
        for method in dict.fromkeys(["tsenet", *methods] if sizes is None else methods):
            absent = [p for p in METHODS[method].packages if importlib.util.find_spec(p) is None]
            if METHODS[method].vectors and name.startswith("nyt"):
                print(f"{method} is left out: {name} has no texts", flush=True)
                continue
            if absent:
                print(f"{method} is left out: {', '.join(absent)} is not installed", flush=True)
                continue
            found = in_own_process(
                "benchmarks.topics:measure",
                name=name,
                method=method,
                sizes=sizes if method.startswith("tsenet") else asked,
                top_words=top_words,
                final=final,
                stability=stability,
                n_pairs=n_pairs,
            )
            scores = pd.DataFrame(found["scores"])
            scores.insert(0, "corpus", name)
            scores.insert(1, "model", method)
            print(scores.round(3).to_string(index=False), *found["pairs"], sep="\n", flush=True)
            rows.append(scores)
            if method == "tsenet" and asked is None:
                asked = scores["n_topics"].astype(int).tolist()
    return pd.concat(rows, ignore_index=True)


# ---- documents that fit no topic

#: Corpora of texts, of which each model gets its own and the others.
TEXT_CORPORA = (
    "20newsgroups",
    "ag_news",
    "dbpedia",
    "stackoverflow",
    "imdb",
    "paper-yahoo",
    "paper-yelp",
    "paper-sogou_c",
)


def outliers(
    names: Sequence[str] = TEXT_CORPORA,
    n_fit: int = 5_000,
    n_held: int = 1_000,
    final: bool = False,
) -> pd.DataFrame:
    """Share of the documents of each corpus that fit no topic of a model of each corpus.

    Of its own corpus, a model has not seen these documents: they are held out of the training documents, or with
    ``final`` the test documents.
    """
    from tsenet import TopicModel

    samples = {name: _texts_of(name, n_fit, n_held, final) for name in names}
    rows = []
    for name in names:
        model = TopicModel().fit(samples[name][0])
        shares = {
            other: float(np.mean(model.predict(held) < 0)) for other, (_, held) in samples.items()
        }
        rows.append({"model": name, **shares})
        print(pd.DataFrame(rows[-1:]).round(3).to_string(index=False), flush=True)
    return pd.DataFrame(rows)


def _texts_of(name: str, n_fit: int, n_held: int, final: bool) -> tuple[list[str], list[str]]:
    """Texts to fit and texts to ask for."""
    train = load(name, "train")
    order = np.random.default_rng(0).permutation(train.y.size)
    if not final:
        held, fit = order[:n_held], order[n_held : n_held + n_fit]
        return [train.X[k] for k in np.sort(fit)], [train.X[k] for k in np.sort(held)]
    test = load(name, "test")
    asked = np.random.default_rng(1).permutation(test.y.size)[:n_held]
    return [train.X[k] for k in np.sort(order[:n_fit])], [test.X[k] for k in np.sort(asked)]
