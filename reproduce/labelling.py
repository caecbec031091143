"""How far a person gets in 5, 10 and 15 minutes of labelling: an oracle that knows the true labels, and its time.

The oracle reads and labels the texts that a strategy proposes, until its time is up; a model of these labels is scored
on the test rows. What an action costs:

- reading: 238 words a minute (Brysbaert, 2019: silent reading of English non-fiction), at most the first 100 words of
  a text (our assumption: people skim);
- deciding and pressing a key: 1.35 + 0.2 s, the mental step and the keystroke of Card, Moran and Newell's
  keystroke-level model (1980);
- a decision on a whole topic: its ten words are read, then a mental step, a movement to it (1.1 s) and two clicks
  (0.2 s each);
- a keyword: a mental step, seven keystrokes, and three of the texts that it finds are read.

Making classes costs nothing: every strategy needs the same ones. Nobody errs, tires or waits for a model.
"""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from reproduce.data import load
from tsenet.data import Table
from tsenet.labelling.learner import TOPIC_WEIGHT, Learner, TrainingLabels
from tsenet.labelling.propose import propose, pure_topics
from tsenet.labelling.text_topics import learn_topics
from tsenet.training.targets import doubt

__all__ = ["DATA_SETS", "MINUTES", "PATH", "STRATEGIES", "run", "table"]

#: Raised by hand when a change alters the numbers.
RECIPE = 3
PATH = Path("docs/results/labelling.csv")
FIGURE = Path("docs/images/label/minutes.png")
DATA_SETS = ("stackoverflow", "ag_news", "dbpedia", "imdb", "20newsgroups")
MINUTES = (5, 10, 15)
FIELDS = ("recipe", "data", "strategy", "seed", "minutes", "labels", "topics", "accuracy")

# Texts to label, drawn by the seed, and rows to score on: enough for a clear answer, few enough for many fits.
_N_TEXTS, _N_TEST = 2_000, 4_000
_WORDS_A_SECOND = 238 / 60
_MOST_WORDS = 100
_THINK, _KEY, _POINT = 1.35, 0.2, 1.1  # seconds
_TOPIC_WORDS = 10
_KEYSTROKES, _CHECKED = 7, 3  # of a keyword; texts that are read to see whether it is right
_FIRST, _BATCH = 10, 5  # random texts before a model chooses; texts between two models …
_GROWTH = 0.15  # … or this share of the labels, if that is more

Ints = NDArray[np.int64]


@dataclass
class Person:
    """The oracle: what it has labelled so far, and its time.

    Attributes
    ----------
    texts : list of str
    truth : list of str
        The class of each text.
    order : int64 (N,)
        A random order.
    spent : float
        Seconds.
    labels : dict of int to str
    topics : dict of int to str
        The classes of topics that were labelled as a whole.
    keywords : list of tuple of str
        Words and their classes.
    """

    texts: list[str]
    truth: list[str]
    order: Ints
    spent: float = 0.0
    labels: dict[int, str] = field(default_factory=dict)
    topics: dict[int, str] = field(default_factory=dict)
    keywords: list[tuple[str, str]] = field(default_factory=list)

    def read(self, text: int) -> None:
        """Take the time to read a text."""
        self.spent += min(len(self.texts[text].split()), _MOST_WORDS) / _WORDS_A_SECOND

    def label(self, text: int) -> None:
        """Read a text and label it."""
        self.read(text)
        self.spent += _THINK + _KEY
        self.labels[text] = self.truth[text]

    def label_topic(self, topic: int, chosen: str) -> None:
        """Label a whole topic."""
        self.spent += _TOPIC_WORDS / _WORDS_A_SECOND + _THINK + _POINT + 2 * _KEY
        self.topics[topic] = chosen

    @property
    def closed(self) -> NDArray[np.bool_]:
        """The texts that have a label: (N,)."""
        closed = np.zeros(len(self.texts), bool)
        closed[list(self.labels)] = True
        return closed

    def unlabelled(self) -> Iterator[int]:
        """The other texts in random order."""
        return (i for i in self.order.tolist() if i not in self.labels)


class Bench:
    """Texts to label and test rows of a data set and a seed, and what the strategies share."""

    def __init__(self, data: str, seed: int) -> None:
        train, test = load(data, "train"), load(data, "test")
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(train.X))[:_N_TEXTS]
        held = rng.permutation(len(test.X))[:_N_TEST]
        self.texts = [str(train.X[i]) for i in rows]
        self.truth = [str(train.y[i]) for i in rows]
        self.test_texts = [str(test.X[i]) for i in held]
        self.test_truth = np.array([str(test.y[i]) for i in held])
        self.order = rng.permutation(len(self.texts))
        self.lengths = np.array([len(text) for text in self.texts])
        self.ids = sorted(set(self.truth))
        self.learner = Learner(self.texts, self.order, n_jobs=1)
        self.topics = learn_topics(self.texts)
        counts = self.learner.vectorizer.transform(self.test_texts)
        self.test_rows = Table.of(counts, names=self.learner.table.names)
        tfidf = TfidfVectorizer(sublinear_tf=True)
        self.tfidf, self.test_tfidf = tfidf.fit_transform(self.texts), None
        self.test_tfidf = tfidf.transform(self.test_texts)
        self.words = tfidf.get_feature_names_out()

    def person(self) -> Person:
        """A person who has not begun."""
        return Person(self.texts, self.truth, self.order)

    # ---- our network

    def training_labels(self, person: Person) -> TrainingLabels:
        """The labels of texts, and those of topics for their other texts."""
        texts = list(person.labels)
        classes = list(person.labels.values())
        for topic, chosen in person.topics.items():
            more = [i for i in self.topics.members(topic).tolist() if i not in person.labels]
            texts += more
            classes += [chosen] * len(more)
        weights = np.full(len(texts), TOPIC_WEIGHT)
        weights[: len(person.labels)] = 1.0
        single = [(chosen,) for chosen in classes]
        return TrainingLabels(np.array(texts, np.int64), single, weights, self.ids, False)

    def network_accuracy(self, person: Person) -> float:
        """Of our network on the test rows."""
        labels = self.training_labels(person)
        if not labels.can_be_fitted:
            return float((self.test_truth == labels.classes[0][0]).mean())
        model = self.learner.fit(labels)
        shares = self.learner.shares(model, labels, self.test_rows)
        return float((np.array(labels.model_ids)[shares.argmax(axis=1)] == self.test_truth).mean())

    # ---- logistic regression

    def logistic(self, texts: Sequence[int], classes: Sequence[str]) -> LogisticRegression:
        """Fitted to the TF-IDF of some texts."""
        return LogisticRegression(C=10.0, max_iter=1000).fit(self.tfidf[list(texts)], classes)

    def logistic_accuracy(self, texts: Sequence[int], classes: Sequence[str]) -> float:
        """Of logistic regression on the test rows."""
        if len(set(classes)) < 2:
            return float((self.test_truth == classes[0]).mean()) if classes else 0.0
        found = self.logistic(texts, classes).predict(self.test_tfidf)
        return float((found == self.test_truth).mean())


# ---- strategies: each labels a little more whenever it is asked, for ever

Steps = Iterator[None]


def _random(bench: Bench, person: Person) -> Steps:
    """Texts in random order."""
    for text in list(person.unlabelled()):
        person.label(text)
        yield


def _ours(bench: Bench, person: Person, whole_topics: bool = False) -> Steps:
    """What `tsenet label` proposes; with ``whole_topics``, a topic is labelled as a whole once its labels agree."""
    prediction = None
    n_fitted = 0
    asked: set[int] = set()
    while len(person.labels) < len(person.texts):
        labels = {i: (chosen,) for i, chosen in person.labels.items()}
        if len(labels) >= n_fitted + max(_BATCH, _GROWTH * n_fitted):
            known = bench.training_labels(person)
            if known.can_be_fitted:
                prediction = bench.learner.predict(bench.learner.fit(known), known)
                n_fitted = len(labels)
        found = propose(
            _BATCH, person.closed, bench.order, bench.lengths, bench.topics, labels, prediction
        )
        for proposal in found:
            person.label(proposal.text)
            yield
        if not whole_topics:
            continue
        labels = {i: (chosen,) for i, chosen in person.labels.items()}
        for topic, chosen in pure_topics(bench.topics, labels).items():
            if topic not in asked:
                asked.add(topic)
                person.label_topic(topic, chosen)
                yield


def _uncertain(bench: Bench, person: Person) -> Steps:
    """The texts of which our network is most unsure."""
    yield from _label_first(person)
    while len(person.labels) < len(person.texts):
        known = bench.training_labels(person)
        if known.can_be_fitted:
            shares = bench.learner.predict(bench.learner.fit(known), known, 0).shares
            unsure = np.where(person.closed, -1.0, doubt(shares, several=False))
        else:
            unsure = -np.argsort(bench.order).astype(np.float64)
        yield from _label_most(person, unsure)


def _active(bench: Bench, person: Person) -> Steps:
    """The texts of which logistic regression on TF-IDF is most unsure."""
    yield from _label_first(person)
    while len(person.labels) < len(person.texts):
        texts, classes = list(person.labels), list(person.labels.values())
        if len(set(classes)) > 1:
            shares = bench.logistic(texts, classes).predict_proba(bench.tfidf)
            unsure = np.where(person.closed, -1.0, doubt(shares, several=False))
        else:
            unsure = np.where(person.closed, -1.0, 0.0)
        yield from _label_most(person, unsure)


def _label_first(person: Person) -> Steps:
    for text in list(person.unlabelled())[:_FIRST]:
        person.label(text)
        yield


def _label_most(person: Person, unsure: NDArray[np.float64]) -> Steps:
    n = max(_BATCH, int(_GROWTH * len(person.labels)))
    for text in np.argsort(-unsure, kind="stable")[:n].tolist():
        if text not in person.labels:
            person.label(text)
            yield


def _keywords(bench: Bench, person: Person) -> Steps:
    """The best words of each class in turn, as one who knows all true labels would choose them."""
    present = bench.tfidf > 0
    truth = np.array(bench.truth)
    share = np.asarray(present.mean(axis=0)).ravel()
    best = {}
    for chosen in bench.ids:
        inside = np.asarray(present[truth == chosen].mean(axis=0)).ravel()
        # What the word says about the class, times how many of its texts have it.
        best[chosen] = np.argsort(-inside * np.log((inside + 1e-3) / (share + 1e-3)))
    for rank in range(present.shape[1]):
        for chosen in bench.ids:
            word = int(best[chosen][rank])
            person.spent += _THINK + _KEYSTROKES * _KEY
            for text in present[:, [word]].nonzero()[0][:_CHECKED].tolist():
                person.read(text)
            person.keywords.append((str(bench.words[word]), chosen))
            yield


def _network_accuracy(bench: Bench, person: Person) -> float:
    return bench.network_accuracy(person)


def _labels_accuracy(bench: Bench, person: Person) -> float:
    return bench.logistic_accuracy(list(person.labels), list(person.labels.values()))


def _keywords_accuracy(bench: Bench, person: Person) -> float:
    """Of logistic regression fitted to the texts with a keyword, by the votes of their keywords."""
    column = {word: k for k, word in enumerate(bench.words)}
    votes: dict[int, Counter[str]] = {}
    for word, chosen in person.keywords:
        for text in bench.tfidf[:, [column[word]]].nonzero()[0].tolist():
            votes.setdefault(text, Counter())[chosen] += 1
    classes = [counter.most_common(1)[0][0] for counter in votes.values()]
    return bench.logistic_accuracy(list(votes), classes)


@dataclass(frozen=True)
class Strategy:
    """How texts are chosen, and what is fitted to their labels."""

    title: str
    steps: Callable[[Bench, Person], Steps]
    accuracy: Callable[[Bench, Person], float]


STRATEGIES = {
    "ours": Strategy("tsenet label", _ours, _network_accuracy),
    "topics": Strategy(
        "tsenet label, and whole topics", partial(_ours, whole_topics=True), _network_accuracy
    ),
    "random": Strategy("our network, random texts", _random, _network_accuracy),
    "uncertain": Strategy("our network, most uncertain texts", _uncertain, _network_accuracy),
    "active": Strategy("TF-IDF and logistic regression, active", _active, _labels_accuracy),
    "keywords": Strategy("keywords of each class", _keywords, _keywords_accuracy),
}


# ---- runs


def measure(bench: Bench, strategy: Strategy, minutes: Sequence[float] = MINUTES) -> list[Any]:
    """Labels, topics and accuracy after each time."""
    person = bench.person()
    steps = strategy.steps(bench, person)
    found = []
    for limit in minutes:
        while person.spent < 60 * limit:
            if next(steps, "end") == "end":
                break
        n_labels = len(person.labels) or len(person.keywords)
        found.append((limit, n_labels, len(person.topics), strategy.accuracy(bench, person)))
    return found


def run(
    data: Sequence[str] = DATA_SETS,
    n_seeds: int = 3,
    path: Path = PATH,
    strategies: Sequence[str] = tuple(STRATEGIES),
) -> None:
    """Measure what is not stored yet, seed by seed; each strategy is written as it is done."""
    known = set()
    if path.exists():
        stored = pd.read_csv(path)
        stored = stored[stored["recipe"] == RECIPE]
        known = set(stored[["data", "strategy", "seed"]].itertuples(index=False, name=None))
    for seed in range(n_seeds):
        for name in data:
            missing = [s for s in strategies if (name, s, seed) not in known]
            if not missing:
                continue
            bench = Bench(name, seed)
            for strategy in missing:
                start = time.perf_counter()
                found = measure(bench, STRATEGIES[strategy])
                _write(path, [(RECIPE, name, strategy, seed, *one) for one in found])
                shown = ", ".join(f"{100 * accuracy:.1f}" for *_, accuracy in found)
                print(f"{name} {seed} {strategy}: {shown} ({time.perf_counter() - start:.0f} s)")


def _write(path: Path, rows: list[tuple[Any, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(FIELDS)
        writer.writerows((*row[:-1], f"{row[-1]:.4f}") for row in rows)


def _means(path: Path) -> pd.DataFrame:
    """Mean accuracy over the seeds that all measured strategies have, by data set, strategy and minutes."""
    runs = pd.read_csv(path)
    runs = runs[runs["recipe"] == RECIPE]
    n_strategies = runs.groupby(["data", "seed"])["strategy"].transform("nunique")
    runs = runs[n_strategies == runs["strategy"].nunique()]
    return runs.groupby(["data", "strategy", "minutes"])[["accuracy", "labels"]].mean()


def table(path: Path = PATH) -> str:
    """The accuracies as a table in Markdown: after 5, 10 and 15 minutes."""
    means = _means(path)
    names = [name for name in DATA_SETS if name in means.index.get_level_values(0)]
    lines = [f"| | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for key, strategy in _measured(means).items():
        cells = []
        for name in names:
            scores = [100 * means.loc[(name, key, m), "accuracy"] for m in MINUTES]
            cells.append(" / ".join(f"{score:.1f}" for score in scores))
        lines.append(f"| {strategy.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _measured(means: pd.DataFrame) -> dict[str, Strategy]:
    """The strategies that there are runs of."""
    names = set(means.index.get_level_values("strategy"))
    return {key: strategy for key, strategy in STRATEGIES.items() if key in names}


def draw(path: Path = PATH, out: Path = FIGURE) -> Path:
    """Draw accuracy against minutes, a panel for each data set."""
    from matplotlib.figure import Figure

    from reproduce.pictures import COLOURS, DPI

    means = _means(path)
    names = [name for name in DATA_SETS if name in means.index.get_level_values(0)]
    figure = Figure(figsize=(2.4 * len(names), 3.2), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e6e6e6", linewidth=0.8)
        for k, (key, strategy) in enumerate(_measured(means).items()):
            scores = [100 * means.loc[(name, key, m), "accuracy"] for m in MINUTES]
            width = 2.4 if key == "ours" else 1.4
            axes.plot(
                MINUTES,
                scores,
                marker="o",
                markersize=4,
                linewidth=width,
                color=COLOURS[k],
                label=strategy.title,
            )
        axes.set_title(name, fontsize=10)
        axes.set_xticks(MINUTES)
        axes.set_xlabel("minutes")
    panels[0].set_ylabel("test accuracy, %")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(out, dpi=DPI)
    return out
