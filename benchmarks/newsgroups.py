"""20 Newsgroups on 1,000 words: how well the tree models unseen documents, and how coherent its topics are."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import tsenet
from benchmarks.coherence import Meetings
from benchmarks.datasets import newsgroups
from benchmarks.measure import independence, warm_up
from benchmarks.report import Figure, figures, signed
from tsenet.explain import Topic, topic_tree

N_WORDS = 1000
TOP_WORDS = 4  # the HLTA papers' M
JAVA_LL, JAVA_UMASS = -118.22, -11.06
DEFINITION = (
    f"UMass coherence of a topic: its {TOP_WORDS} words of most mutual information with the latent, Σ over pairs "
    "ln((D(w, v) + 1) / D(v)), v ranked before w, D counted in the training documents; mean over the latents of all "
    f"levels that have {TOP_WORDS} such words (a smaller group has fewer pairs to lose by and would flatter the mean). "
    "Words: those of highest mean tf-idf in the training documents; headers, footers and quotes stripped; all "
    "documents count, also those with none of the words. Java chose its words and documents in its own way: its "
    "figures stand beside ours for orientation, they are no race."
)


def run() -> str:
    """Learn with the defaults; every figure from one tree."""
    corpus = newsgroups(N_WORDS, "tfidf")
    warm_up()
    start = time.process_time()
    tree = tsenet.learn_tree(corpus.train, random_state=0)
    cpu = time.process_time() - start
    train, test = tree.binary(corpus.train), tree.binary(corpus.test)
    loglik = float(tree.log_likelihood(test).mean())
    meetings = Meetings(train)
    place = {name: k for k, name in enumerate(corpus.train.names)}
    scores: dict[int, list[float]] = {}
    small = []
    for topic in _all(topic_tree(tree, n_words=TOP_WORDS)):
        words = [place[word.word] for word in topic.words]
        if len(words) == TOP_WORDS:
            scores.setdefault(topic.level, []).append(meetings.umass(words))
        elif len(words) > 1:
            small.append(meetings.umass(words))
    every = np.concatenate(list(scores.values()))
    empty = 100 * float((np.diff(test.indptr) == 0).mean())
    sizes = "-".join(str(size) for size in tree.layer_sizes)
    rows = [
        Figure(f"held-out log-likelihood per document ({sizes})", loglik, compared=signed("{}", JAVA_LL)),
        Figure("… if no word depended on another", independence(train, test)),
        Figure(f"UMass coherence, {every.size} topics", float(every.mean()), compared=signed("{}", JAVA_UMASS)),
        *(Figure(f"… level {k}, {len(v)} topics", float(np.mean(v))) for k, v in sorted(scores.items())),
        Figure(f"… with the {len(small)} topics of 2 or 3 words", float(np.mean([*every, *small]))),
        Figure("learning with 100 steps of EM, CPU s", cpu),
        Figure("test documents without any of the words, %", empty),
    ]  # fmt: skip
    return f"{figures(rows)}\n\n{DEFINITION}"


def _all(topics: list[Topic] | tuple[Topic, ...]) -> Iterator[Topic]:
    """Topics of every level."""
    for topic in topics:
        yield topic
        yield from _all(topic.children)
