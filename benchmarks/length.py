"""Document length and the tree: how much the latents of level 1 follow length, and how well their words go together.

``python -m benchmarks.length [corpus …] [name=value …]``, where a name is an option of ``learn_tree``.
"""

from __future__ import annotations

import ast
import sys
import time
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

import tsenet
from benchmarks.datasets import folder
from tsenet.data.table import Table
from tsenet.data.text import (
    count_words,
    read_documents,
    vectorize,
    word_vectorizer,
    words_of,
)
from tsenet.explain import coherence, topic_tree
from tsenet.skeleton.tree import LatentTree

N_WORDS = 5_000
AG_ROWS = 12_000
TOP_WORDS = 10
SHOWN_SHARE = (
    0.1  # a topic shows the words that tell at least this share of what its first word tells
)
WINDOW = 10
MAX_TOPICS = 400  # coherence is measured on so many topics of a level, drawn at random


@dataclass(frozen=True)
class Documents:
    """Training texts, and the counts of training and test documents."""

    texts: list[str]
    train: Table
    test: Table


def _newsgroups() -> tuple[list[str], list[str]]:
    from sklearn.datasets import _twenty_newsgroups as strip

    def body(text: str) -> str:
        text = strip.strip_newsgroup_quoting(strip.strip_newsgroup_header(text))
        return str(strip.strip_newsgroup_footer(text))

    home = folder("20newsgroups")
    train, test = (
        [body(text) for text in read_documents(home / f"{part}.csv.xz", "3", header=False).texts]
        for part in ("train", "test")
    )
    return train, test


def _ag_news() -> tuple[list[str], list[str]]:
    home = folder("ag_news")
    parts = []
    for part in ("train", "test"):
        read = read_documents(home / f"{part}.csv.xz", "3", columns=["2"], header=False)
        titles = read.columns["2"]
        parts.append([f"{title} {text}" for title, text in zip(titles, read.texts, strict=True)])
    chosen = np.random.default_rng(0).choice(len(parts[0]), AG_ROWS, replace=False)
    return [parts[0][k] for k in np.sort(chosen)], parts[1]


def _suite(name: str) -> tuple[list[str], list[str]]:
    home = folder("suite")
    train, test = (
        list(read_documents(home / f"{name}-{part}.csv.xz", "text").texts)
        for part in ("train", "test")
    )
    return train, test


def documents(name: str) -> Documents:
    """A corpus by name: 20newsgroups, ag_news, or a text set of ``suite/``."""
    if name == "20newsgroups":
        train, test = _newsgroups()
    elif name == "ag_news":
        train, test = _ag_news()
    else:
        train, test = _suite(name)
    known = vectorize(
        train, word_vectorizer(n_words=N_WORDS, stop_words="english", min_documents=2)
    )
    return Documents(train, known, count_words(test, known.names))


def follows_length(tree: LatentTree, table: Table) -> float:
    """Mean over the latents of level 1 of Spearman's ρ between posterior and number of words present."""
    rows = tree.binary(table)
    posterior = tree.posterior(table)[:, : tree.layer_sizes[1]]
    ranks = np.stack([rankdata(column) for column in posterior.T])
    length = rankdata(np.diff(rows.indptr))
    ranks -= ranks.mean(axis=1, keepdims=True)
    length -= length.mean()
    norm = np.sqrt((ranks**2).sum(axis=1) * (length**2).sum())
    return float(np.mean((ranks @ length) / np.maximum(norm, 1e-12)))


def topics_of(tree: LatentTree, level: int) -> list[list[str]]:
    """The words a reader is shown of each topic of a level; topics of one word are left out."""
    topics = topic_tree(tree, n_words=TOP_WORDS)
    while topics and topics[0].level > level:
        topics = [child for topic in topics for child in topic.children]
    shown = [
        [w.word for w in t.words if w.information >= SHOWN_SHARE * t.words[0].information]
        for t in topics
    ]
    return [words for words in shown if len(words) > 1]


def measure(data: Documents, **options: object) -> dict[str, str]:
    """Learn one tree and measure it."""
    start = time.process_time()
    tree = tsenet.learn_tree(data.train, random_state=0, **options)  # type: ignore[arg-type]  # options come from the command line
    cpu = time.process_time() - start
    tokens = [words_of(text) for text in data.texts]
    figures = {"layers": "-".join(str(size) for size in tree.layer_sizes)}
    figures["in no group"] = str(int((tree.parent[: tree.n_observed] < 0).sum()))
    figures["largest group"] = str(max(len(group) for group in tree.groups(1)))
    figures["ρ with length"] = f"{follows_length(tree, data.train):.3f}"
    for level in range(1, min(tree.n_levels, 2) + 1):
        topics = topics_of(tree, level)
        if len(topics) > MAX_TOPICS:
            chosen = np.random.default_rng(0).choice(len(topics), MAX_TOPICS, replace=False)
            topics = [topics[k] for k in np.sort(chosen)]
        score = coherence(topics, tokens, window=WINDOW, n_words=TOP_WORDS)
        figures[f"NPMI, window {WINDOW}, level {level}"] = f"{score.score:.3f}"
    figures["held-out LL per document"] = f"{tree.log_likelihood(data.test).mean():.2f}"
    figures["CPU s"] = f"{cpu:.1f}"
    return figures


def main(arguments: list[str]) -> None:
    """Print the figures of each corpus."""
    options = dict(a.split("=", 1) for a in arguments if "=" in a)
    values = {name: ast.literal_eval(value) for name, value in options.items()}
    names = [a for a in arguments if "=" not in a] or ["20newsgroups", "ag_news", "stackoverflow"]
    for name in names:
        figures = measure(documents(name), **values)
        print(f"{name} {values}: " + "; ".join(f"{k} {v}" for k, v in figures.items()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
