"""Topics next to LDA and hLDA (tomotopy), NMF (scikit-learn) and CorEx: coherence, classes, CPU, memory.

Every method gets the same 5,000 words, chosen from the training documents, and runs on one thread in a process of its
own. A method whose package is not installed is left out with a message.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.measure import in_own_process, peak_bytes, warm_up
from reproduce.data import DATA, count_words, load
from reproduce.markdown import table
from tsenet.data.text import words_of
from tsenet.explain import coherence, topic_diversity

N_WORDS = 5_000
SIZES = (25, 150)
TOP_WORDS = 10
MOST_DOCUMENTS = 15_000
JUNK = 0.05  # a topic with a lower w10 in the training texts is junk
SWEEPS = 300

Floats = NDArray[np.float64]
#: Words of each topic, best first; documents × topics of the training and of the held-out documents; CPU s of the fit.
Result = tuple[list[list[str]], Floats, Floats, float]


@dataclass(frozen=True)
class Corpus:
    """Texts, word counts and classes of training and held-out documents; ``words`` names the columns."""

    texts: tuple[list[str], list[str]]
    counts: tuple[Any, Any]
    classes: tuple[NDArray[Any], NDArray[Any]]
    words: NDArray[Any]


def corpus(name: str, validation: bool) -> Corpus:
    """Read a corpus; with ``validation`` a fifth of the training documents takes the place of the test documents."""
    train = load(name, "train")
    order = np.random.default_rng(0).permutation(train.y.size)[:MOST_DOCUMENTS]
    fit, held = train.take(np.sort(order)), None
    if validation:
        n_held = order.size // 5
        fit, held = train.take(np.sort(order[n_held:])), train.take(np.sort(order[:n_held]))
    held = load(name, "test") if held is None else held
    X, X_held, words = count_words(fit.X, held.X, N_WORDS)
    return Corpus((fit.X, held.X), (X, X_held), (fit.y, held.y), np.array(words))


# ---- methods


def _tsenet(data: Corpus, n_topics: int) -> Result:
    from sklearn.feature_extraction.text import CountVectorizer

    from tsenet import TopicModel

    warm_up()
    vectorizer = CountVectorizer(
        vocabulary=data.words.tolist(), tokenizer=words_of, lowercase=False
    )
    start = time.process_time()
    model = TopicModel(vectorizer=vectorizer, random_state=0, n_jobs=1)
    model.fit(data.texts[0]).reduce(n_topics)
    topics = [[word for word, _ in words] for words in model.topics_["words"]]
    cpu = time.process_time() - start
    train, test = (model.transform(texts).toarray() for texts in data.texts)
    return topics, train, test, cpu


def _tomotopy(kind: str) -> Callable[[Corpus, int], Result]:
    def run(data: Corpus, n_topics: int) -> Result:
        import tomotopy

        bags = [_bags(counts, data.words) for counts in data.counts]
        start = time.process_time()
        models = {
            "LDA": (tomotopy.LDAModel, {"k": n_topics}),
            "hLDA": (tomotopy.HLDAModel, {"depth": 3}),
        }
        make, options = models[kind]
        model = make(**options, seed=0)
        kept = [k for k, bag in enumerate(bags[0]) if bag]
        for k in kept:
            model.add_doc(bags[0][k])
        model.train(SWEEPS if kind == "LDA" else SWEEPS // 3, workers=1)
        cpu = time.process_time() - start
        live = list(range(model.k))
        if kind == "hLDA":
            live = [k for k in live if model.is_live_topic(k) and model.num_docs_of_topic(k) > 10]
        topics = [[word for word, _ in model.get_topic_words(k, TOP_WORDS)] for k in live]
        shares = [np.full((len(part), len(live)), 1.0 / len(live)) for part in bags]
        shares[0][kept] = [np.asarray(doc.get_topic_dist())[live] for doc in model.docs]
        held = [k for k, bag in enumerate(bags[1]) if bag]
        documents = [model.make_doc(bags[1][k]) for k in held]
        model.infer(documents, iterations=100, workers=1)
        shares[1][held] = [np.asarray(doc.get_topic_dist())[live] for doc in documents]
        return topics, shares[0], shares[1], cpu

    return run


def _bags(counts: Any, words: NDArray[Any]) -> list[list[str]]:
    repeats = counts.data.astype(np.int64)
    spans = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    return [words[np.repeat(counts.indices[a:b], repeats[a:b])].tolist() for a, b in spans]


def _nmf(data: Corpus, n_topics: int) -> Result:
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    start = time.process_time()
    weights = TfidfTransformer(sublinear_tf=True).fit(data.counts[0])
    model = NMF(n_topics, init="nndsvd", random_state=0, max_iter=200)
    train = model.fit_transform(weights.transform(data.counts[0]))
    cpu = time.process_time() - start
    topics = [data.words[np.argsort(-part)[:TOP_WORDS]].tolist() for part in model.components_]
    test = model.transform(weights.transform(data.counts[1]))
    return topics, train / train.std(), test / train.std(), cpu


def _corex(data: Corpus, n_topics: int) -> Result:
    from corextopic.corextopic import Corex

    train, test = (sp.csr_matrix(counts > 0, dtype=float) for counts in data.counts)
    start = time.process_time()
    model = Corex(n_hidden=n_topics, seed=0, max_iter=100).fit(train, words=data.words.tolist())
    cpu = time.process_time() - start
    described = model.get_topics(n_words=TOP_WORDS)
    topics = [[word for word, _, sign in topic if sign > 0] for topic in described]
    vectors = [model.transform(part, details=True)[0] for part in (train, test)]
    return topics, vectors[0], vectors[1], cpu


METHODS: dict[str, tuple[str, Callable[[Corpus, int], Result]]] = {
    "tsenet": ("tsenet", _tsenet),
    "LDA": ("tomotopy", _tomotopy("LDA")),
    "hLDA": ("tomotopy", _tomotopy("hLDA")),
    "NMF": ("sklearn", _nmf),
    "CorEx": ("corextopic", _corex),
}


# ---- scores


def measure(name: str, method: str, n_topics: int, validation: bool) -> dict[str, float]:
    """Run one method and score it, in a process of its own."""
    data = corpus(name, validation)
    topics, train, test, cpu = METHODS[method][1](data, n_topics)
    scores = {"CPU s": cpu, "MB": peak_bytes() / 1e6, "topics": float(len(topics))}
    return scores | score_words(topics, data) | score_documents((train, test), data)


def score_words(topics: list[list[str]], data: Corpus) -> dict[str, float]:
    """Score the words of topics: coherence within 10 words and within documents, diversity, coverage, junk."""
    described = [topic[:TOP_WORDS] for topic in topics if len(topic) > 1]
    scores: dict[str, float] = {}
    for part, texts in zip(("", " held out"), data.texts, strict=True):
        tokens = [words_of(text) for text in texts]
        near = coherence(described, tokens, window=10)
        scores[f"w10{part}"] = near.score
        scores[f"NPMI{part}"] = coherence(described, tokens).score
        if not part:
            scores["junk"] = float(np.mean(np.array(near.per_topic) < JUNK))
    shown = np.isin(data.words, sorted({word for topic in described for word in topic}))
    present = data.counts[0][:, np.flatnonzero(shown)]
    scores["coverage"] = float((np.diff(present.indptr) > 0).mean())
    scores["diversity"] = topic_diversity(described, n_words=TOP_WORDS)
    return scores


def score_documents(vectors: tuple[Floats, Floats], data: Corpus) -> dict[str, float]:
    """Score document vectors: NMI of the largest topic with the class, accuracy of logistic regression on them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import normalized_mutual_info_score

    scores = {}
    for part, rows, classes in zip(("", " held out"), vectors, data.classes, strict=True):
        scores[f"NMI{part}"] = float(normalized_mutual_info_score(classes, rows.argmax(axis=1)))
    classifier = LogisticRegression(max_iter=300).fit(vectors[0], data.classes[0])
    scores["LR held out"] = float(classifier.score(vectors[1], data.classes[1]))
    return scores


COLUMNS = (
    *("topics", "w10", "w10 held out", "NPMI", "NPMI held out", "diversity", "coverage", "junk"),
    *("NMI", "NMI held out", "LR held out", "CPU s", "MB"),
)


def run(names: list[str], methods: list[str], validation: bool) -> str:
    """Compare all methods on all corpora."""
    body = []
    for name in names:
        for n_topics in SIZES:
            for method in methods:
                if importlib.util.find_spec(METHODS[method][0]) is None:
                    print(
                        f"{method} is left out: {METHODS[method][0]} is not installed", flush=True
                    )
                    continue
                if method == "hLDA" and n_topics != SIZES[0]:
                    continue  # it chooses the number of topics itself
                arguments = {"name": name, "method": method, "n_topics": n_topics}
                scores = in_own_process(
                    "benchmarks.topics:measure", **arguments, validation=validation
                )
                cells = [_cell(column, scores[column]) for column in COLUMNS]
                body.append([DATA[name].title, method, *cells])
                print(*body[-1], flush=True)
    return table(["corpus", "method", *COLUMNS], body)


def _cell(column: str, value: float) -> str:
    return f"{value:.0f}" if column in ("topics", "CPU s", "MB") else f"{value:.3f}"
