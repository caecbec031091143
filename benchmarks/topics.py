"""Topics side by side: TopicModel, LDA, hLDA and PAM of tomotopy, LDA of gensim, NMF of scikit-learn, CorEx.

Every method gets the same 5,000 words, chosen from the training documents, and runs on one thread in a process of its
own. A method whose package is not installed is left out with a message.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import folder
from benchmarks.measure import in_own_process, peak_bytes
from benchmarks.report import signed, table
from tsenet.data.files import read_documents
from tsenet.data.text import count_words, vectorize, vocabulary_of, word_vectorizer, words_of
from tsenet.explain import coherence, topic_diversity

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

N_WORDS = 5_000
SIZES = (25, 150)
TITLES = {"20newsgroups": "20 Newsgroups", "ag_news": "AG's News"}
TOP_WORDS = 10
AG_ROWS = 15_000
JUNK = 0.05  # a topic of a lower w10 in the training texts is junk
SWEEPS = 300
INFERENCE_SWEEPS = 100

Floats = NDArray[np.float64]
#: Words of each topic, best first; documents × topics, of the training and of the held-out documents; CPU s of fitting.
Result = tuple[list[list[str]], Floats, Floats, float]


@dataclass(frozen=True)
class Corpus:
    """Texts and labels of training and held-out documents."""

    train: list[str]
    test: list[str]
    train_labels: NDArray[Any]
    test_labels: NDArray[Any]


def corpus(name: str, validation: bool) -> Corpus:
    """A corpus; with ``validation`` a fifth of the training part takes the place of the test part."""
    home = folder(name)
    texts, labels = [], []
    for part in ("train", "test"):
        read = read_documents(home / f"{part}.csv.xz", "3", columns=["1", "2"], header=False)
        labels.append(np.array(read.columns["1"]))
        if name == "20newsgroups":
            texts.append([_body(text) for text in read.texts])
        else:
            titles = read.columns["2"]
            texts.append([f"{a} {b}" for a, b in zip(titles, read.texts, strict=True)])
    rng = np.random.default_rng(0)
    order = rng.permutation(len(texts[0]))[: AG_ROWS if name == "ag_news" else None]
    train = np.sort(order)
    if validation:
        held, train = np.sort(order[: order.size // 5]), np.sort(order[order.size // 5 :])
        texts[1], labels[1] = [texts[0][k] for k in held], labels[0][held]
    return Corpus([texts[0][k] for k in train], texts[1], labels[0][train], labels[1])


def _body(text: str) -> str:
    from sklearn.datasets import _twenty_newsgroups as strip

    text = strip.strip_newsgroup_quoting(strip.strip_newsgroup_header(text))
    return str(strip.strip_newsgroup_footer(text))


# ---- methods: texts, the vectorizer and its counts, and the number of topics


def _tsenet(data: Corpus, vectorizer: CountVectorizer, counts: Any, n_topics: int) -> Result:
    from benchmarks.measure import warm_up
    from tsenet import TopicModel

    warm_up()
    start = time.process_time()
    model = TopicModel(vectorizer=vectorizer, random_state=0, n_jobs=1)
    model.fit(data.train).reduce(n_topics)
    topics = [[word for word, _ in words] for words in model.topics_["words"]]
    cpu = time.process_time() - start
    return topics, model.transform(data.train).toarray(), model.transform(data.test).toarray(), cpu


def _bags(counts: Any, names: tuple[str, ...]) -> list[list[str]]:
    csr = counts.values.tocsr()
    return [
        [names[j] for j in np.repeat(csr.indices[a:b], csr.data[a:b])]
        for a, b in zip(csr.indptr[:-1], csr.indptr[1:], strict=True)
    ]


def _tomotopy(kind: str) -> Callable[[Corpus, CountVectorizer, Any, int], Result]:
    def run(data: Corpus, vectorizer: CountVectorizer, counts: Any, n_topics: int) -> Result:
        import tomotopy

        bags = [
            _bags(part, vocabulary_of(vectorizer))
            for part in (counts, count_words(data.test, vectorizer))
        ]
        start = time.process_time()
        if kind == "LDA":
            model = tomotopy.LDAModel(k=n_topics, seed=0)
        elif kind == "PAM":
            model = tomotopy.PAModel(k1=max(2, n_topics // 10), k2=n_topics, seed=0)
        else:
            model = tomotopy.HLDAModel(depth=3, seed=0)
        kept = [k for k, bag in enumerate(bags[0]) if bag]
        for k in kept:
            model.add_doc(bags[0][k])
        model.train(SWEEPS if kind != "hLDA" else SWEEPS // 3, workers=1)
        cpu = time.process_time() - start
        live = range(model.k2 if kind == "PAM" else model.k)
        if kind == "hLDA":
            live = [k for k in live if model.is_live_topic(k) and model.num_docs_of_topic(k) > 10]
        topics = [[word for word, _ in model.get_topic_words(k, TOP_WORDS)] for k in live]

        def vector(document: Any) -> Any:
            whole = document.get_sub_topic_dist() if kind == "PAM" else document.get_topic_dist()
            return np.asarray(whole)[list(live)]

        train = np.full((len(bags[0]), len(topics)), 1.0 / len(topics))
        train[kept] = [vector(document) for document in model.docs]
        test = np.full((len(bags[1]), len(topics)), 1.0 / len(topics))
        held = [k for k, bag in enumerate(bags[1]) if bag]
        made = [model.make_doc(bags[1][k]) for k in held]
        model.infer(made, iterations=INFERENCE_SWEEPS, workers=1)
        test[held] = [vector(document) for document in made]
        return topics, train, test, cpu

    return run


def _gensim(data: Corpus, vectorizer: CountVectorizer, counts: Any, n_topics: int) -> Result:
    from gensim.matutils import Sparse2Corpus, corpus2dense
    from gensim.models import LdaModel

    parts = [
        Sparse2Corpus(part.values.tocsr(), documents_columns=False)
        for part in (counts, count_words(data.test, vectorizer))
    ]
    start = time.process_time()
    names = dict(enumerate(vocabulary_of(vectorizer)))
    model = LdaModel(parts[0], n_topics, names, passes=10, random_state=0, alpha="auto")
    cpu = time.process_time() - start
    topics = [[word for word, _ in model.show_topic(k, TOP_WORDS)] for k in range(n_topics)]
    model.minimum_probability = 0.0
    train, test = (corpus2dense(model[part], n_topics).T for part in parts)
    return topics, train, test, cpu


def _nmf(data: Corpus, vectorizer: CountVectorizer, counts: Any, n_topics: int) -> Result:
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    start = time.process_time()
    weights = TfidfTransformer(sublinear_tf=True).fit(counts.values)
    model = NMF(n_topics, init="nndsvd", random_state=0, max_iter=200)
    train = model.fit_transform(weights.transform(counts.values))
    cpu = time.process_time() - start
    names = np.array(vocabulary_of(vectorizer))
    topics = [names[np.argsort(-part)[:TOP_WORDS]].tolist() for part in model.components_]
    test = model.transform(weights.transform(count_words(data.test, vectorizer).values))
    return topics, train / train.std(), test / train.std(), cpu


def _corex(data: Corpus, vectorizer: CountVectorizer, counts: Any, n_topics: int) -> Result:
    import scipy.sparse as sp
    from corextopic.corextopic import Corex

    train, test = (
        sp.csr_matrix((part.values > 0).astype(float))
        for part in (counts, count_words(data.test, vectorizer))
    )
    start = time.process_time()
    model = Corex(n_hidden=n_topics, seed=0, max_iter=100).fit(
        train, words=list(vocabulary_of(vectorizer))
    )
    cpu = time.process_time() - start
    found = model.get_topics(n_words=TOP_WORDS)
    topics = [[word for word, _, sign in topic if sign > 0] for topic in found]
    vectors = [model.transform(part, details=True)[0] for part in (train, test)]
    return topics, vectors[0], vectors[1], cpu


METHODS: dict[str, tuple[str, Callable[[Corpus, CountVectorizer, Any, int], Result]]] = {
    "tsenet": ("tsenet", _tsenet),
    "LDA": ("tomotopy", _tomotopy("LDA")),
    "PAM": ("tomotopy", _tomotopy("PAM")),
    "hLDA": ("tomotopy", _tomotopy("hLDA")),
    "LDA, gensim": ("gensim", _gensim),
    "NMF": ("sklearn", _nmf),
    "CorEx": ("corextopic", _corex),
}


def measure(name: str, method: str, n_topics: int, validation: bool) -> dict[str, Any]:
    """Run one method and measure it: the job of a process of its own."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import normalized_mutual_info_score

    data = corpus(name, validation)
    vectorizer = word_vectorizer(n_words=N_WORDS, stop_words="english", min_documents=2)
    counts = vectorize(data.train, vectorizer)
    topics, train, test, cpu = METHODS[method][1](data, vectorizer, counts, n_topics)
    memory = peak_bytes()
    described = [topic[:TOP_WORDS] for topic in topics if len(topic) > 1]
    figures: dict[str, Any] = {"topics": len(topics), "CPU s": cpu, "MB": memory / 1e6}
    for part, texts in (("", data.train), (" held out", data.test)):
        tokens = [words_of(text) for text in texts]
        near = coherence(described, tokens, window=10)
        figures[f"w10{part}"] = near.score
        figures[f"NPMI{part}"] = coherence(described, tokens).score
        if not part:
            figures["junk"] = float(np.mean(np.array(near.per_topic) < JUNK))
    figures["diversity"] = topic_diversity(described, n_words=TOP_WORDS)
    shown = {word for topic in described for word in topic}
    column = {word: k for k, word in enumerate(vocabulary_of(vectorizer))}
    present = counts.values[:, [column[word] for word in sorted(shown)]]
    figures["coverage"] = float((np.diff(present.tocsr().indptr) > 0).mean())
    for part, vectors, labels in (
        ("", train, data.train_labels),
        (" held out", test, data.test_labels),
    ):
        figures[f"NMI{part}"] = float(normalized_mutual_info_score(labels, vectors.argmax(axis=1)))
    classifier = LogisticRegression(max_iter=300).fit(train, data.train_labels)
    figures["LR held out"] = float(classifier.score(test, data.test_labels))
    return figures


COLUMNS = (
    *("topics", "w10", "w10 held out", "NPMI", "NPMI held out", "diversity"),
    *("coverage", "NMI", "NMI held out", "LR held out", "junk", "CPU s", "MB"),
)


def run(names: list[str], methods: list[str], validation: bool) -> str:
    """One table of all corpora."""
    body = []
    for name in names:
        for n_topics in SIZES:
            for method in methods:
                package = METHODS[method][0]
                if importlib.util.find_spec(package) is None:
                    print(f"{method} is left out: {package} is not installed", flush=True)
                    continue
                if method == "hLDA" and n_topics != SIZES[0]:
                    continue  # it finds the number of topics itself
                figures = in_own_process(
                    "topics", name=name, method=method, n_topics=n_topics, validation=validation
                )
                cells = [_cell(column, figures[column]) for column in COLUMNS]
                body.append([TITLES[name], method, *cells])
                print(*body[-1], flush=True)
    held = "a fifth of the training part" if validation else "the test part"
    return f"Held out: {held}.\n\n{table(['corpus', 'method', *COLUMNS], body)}\n\n{_note()}"


def _cell(column: str, value: float) -> str:
    form = "{:.0f}" if column in ("topics", "CPU s", "MB") else "{:.3f}"
    return signed(form, value)


def _note() -> str:
    return (
        f"{N_WORDS:,} words by frequency; at most {TOP_WORDS} words of a topic count. w10 and NPMI: mean normalised "
        "pointwise mutual information within 10 words and within documents. Coverage: share of "
        "training documents with at least one of the shown words. NMI: of the class with the largest topic. LR: "
        "accuracy of logistic regression on the document–topic vectors. Junk: share of topics of w10 below "
        f"{JUNK} in the training texts. CPU: fitting, one thread; MB: peak of the process, documents included. "
        "tsenet: `TopicModel(random_state=0).reduce(n)`; its CPU serves every number of topics."
    )
