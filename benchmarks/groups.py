"""The correlation test, before and after: sizes and coherence of the level-1 groups of two corpora."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tsenet
from benchmarks.coherence import Meetings
from benchmarks.datasets import Corpus, ag_news, newsgroups
from benchmarks.measure import warm_up
from benchmarks.report import signed, table, write_block
from tsenet._system.threads import Workers
from tsenet.explain import topic_tree
from tsenet.progress import Progress
from tsenet.skeleton.information import PairCounter, pair_information
from tsenet.skeleton.islands import IslandFinder, IslandOptions
from tsenet.skeleton.layers import N_PARTNERS
from tsenet.skeleton.tree import LatentTree

N_WORDS = 10_000
CAP = 15
READ = 10  # words of a group that a reader is shown
EXAMPLES = 8

Group = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Grouping:
    """Groups of words and their coherence; words in no group are left over."""

    groups: list[Group]
    npmi: NDArray[np.float64]
    n_words: int

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.array([group.size for group in self.groups])

    def cells(self) -> list[str]:
        """Number, share of words in groups at the cap and in none; NPMI: of pairs, at the cap, all, per word."""
        sizes, real = self.sizes, self.sizes > 1
        full = sizes >= CAP
        means = [
            *(_mean(self.npmi[sizes == 2]), _mean(self.npmi[full]), _mean(self.npmi[real])),
            float(np.average(self.npmi[real], weights=sizes[real])),
        ]
        at_cap, left = sizes[full].sum() / self.n_words, 1.0 - sizes.sum() / self.n_words
        counts = [f"{sizes.size:,}", f"{100 * at_cap:.0f} %", f"{100 * left:.0f} %"]
        return counts + [signed("{:+.2f}", mean) if np.isfinite(mean) else "–" for mean in means]


@dataclass(frozen=True)
class Comparison:
    """One corpus learned one way.

    ``core`` are the tree's groups without words attached, ``read`` their top words.
    """

    title: str
    tested: bool
    found: Grouping
    final: Grouping
    core: Grouping
    read: Grouping
    loglik: float
    tree: LatentTree


def run(write: bool) -> None:
    """Print the tables; with ``write`` also update docs/results/groups.md and its pictures."""
    warm_up()
    results = []
    for load in (newsgroups, ag_news):
        corpus = load(N_WORDS, "frequency")
        results += [compare(corpus, tested) for tested in (False, True)]
    blocks = {"groups": _summary(results), "likelihood": _likelihood(results)}
    blocks |= {f"examples {r.title} {_test(r)}": _examples(r) for r in results}
    for name, text in blocks.items():
        print(f"\n## {name}\n\n{text}\n")
    if write:
        from benchmarks.group_pictures import draw

        draw(results)
        for name, text in blocks.items():
            write_block("groups.md", name, text)


def compare(corpus: Corpus, tested: bool) -> Comparison:
    """Islands as found, the tree's groups in the end, and what a reader sees of them."""
    tree = tsenet.learn_tree(corpus.train, correlation_test=tested, random_state=0)
    rows = tree.binary(corpus.train)
    meetings = Meetings(rows)

    def grouping(groups: Iterable[Group]) -> Grouping:
        groups = list(groups)
        return Grouping(groups, meetings.npmi_of(groups), rows.n_columns)

    with Workers() as workers:
        counter = PairCounter(rows)
        information = pair_information(counter, N_PARTNERS, workers, Progress())
        finder = IslandFinder(
            counter, information, IslandOptions(correlation_test=tested), 0, workers
        )
        islands: list[Group] = [island.members for island in finder.islands()]
    left_over = np.setdiff1d(np.arange(rows.n_columns), np.concatenate(islands))
    groups = tree.groups(1)
    return Comparison(
        corpus.title,
        tested,
        found=grouping(islands),
        final=grouping(groups),
        core=grouping([np.setdiff1d(group, left_over) for group in groups]),
        read=grouping(_top_words(tree)),
        loglik=float(tree.log_likelihood(corpus.test).mean()),
        tree=tree,
    )


def _top_words(tree: LatentTree) -> list[Group]:
    """Of each level-1 latent the ten words that tell most about it; words that tell little are not among them."""
    place = {name: k for k, name in enumerate(tree.names[: tree.n_observed])}
    topics = topic_tree(tree, n_words=READ)
    while topics and topics[0].level > 1:
        topics = [child for topic in topics for child in topic.children]
    return [np.array([place[word.word] for word in topic.words], int) for topic in topics]


def _summary(results: list[Comparison]) -> str:
    body = []
    for result in results:
        steps = {"as found": result.found, "in the tree": result.final}
        if result.tested:
            steps["… without words attached"] = result.core
        steps[f"… {READ} top words"] = result.read
        name = [result.title, _test(result)]
        body += [[*name, step, *grouping.cells()] for step, grouping in steps.items()]
    head = ["corpus", "test", "groups", "number", f"words in groups ≥ {CAP}", "words in none"]
    return table([*head, "NPMI of pairs", f"groups ≥ {CAP}", "all groups", "per word"], body)


def _likelihood(results: list[Comparison]) -> str:
    body = [
        [
            r.title,
            _test(r),
            "-".join(str(n) for n in r.tree.layer_sizes),
            signed("{:.2f}", r.loglik),
        ]
        for r in results
    ]
    return table(["corpus", "test", "layers", "held-out log-likelihood per document"], body)


def _examples(result: Comparison) -> str:
    """Groups met on the way through all words, from the most coherent island to the least; attached words slanted."""
    shown = result.core if result.tested else result.found
    order = np.argsort(-shown.npmi, kind="stable")  # NaN last
    order = order[shown.sizes[order] > 1]
    words_passed = np.cumsum(shown.sizes[order]) / shown.sizes[order].sum()
    lines = []
    for share in (np.arange(EXAMPLES) + 0.5) / EXAMPLES:
        z = order[np.searchsorted(words_passed, share)]
        core = " ".join(result.tree.names[w] for w in shown.groups[z])
        rest = np.setdiff1d(result.final.groups[z] if result.tested else [], shown.groups[z])
        attached = " ".join(result.tree.names[w] for w in rest[:READ]) + (
            " …" if len(rest) > READ else ""
        )
        words = f"{core} *{attached}*" if len(rest) else core
        lines.append([f"{100 * share:.0f} %", signed("{:+.2f}", shown.npmi[z]), words])
    return table(["words passed", "NPMI", "group"], lines)


def _test(result: Comparison) -> str:
    return "with" if result.tested else "without"


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else float("nan")
