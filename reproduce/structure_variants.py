"""The ways to learn a structure that are compared, the networks on each, and what is measured of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduce.cells import Cell
from reproduce.runs import Settings, canonical
from reproduce.scoring import kept, score_on

if TYPE_CHECKING:
    from reproduce.run_context import RunContext
    from tsenet import LatentTree
    from tsenet.explain import Topic

__all__ = ["DEFAULT", "NAME", "VARIANTS", "Variant", "backbone_of", "cells", "topic_coherence"]

NAME = "structure"
_TOP_WORDS = 10
_BACKBONE: Settings = {"skip_units": 0, "linear_skip": False}


@dataclass(frozen=True)
class Variant:
    """A way to learn the structure; ``change`` is what differs from the defaults."""

    name: str
    title: str
    change: Settings = field(default_factory=dict)


DEFAULT = Variant("default", "default")
VARIANTS = (
    DEFAULT,
    Variant("paper-groups", "groups without significance test", {"correlation_test": False}),
    Variant("no-global-em", "no global EM", {"refine_steps": 0}),
    Variant("long-global-em", "global EM, 4 times as long", {"refine_steps": 400}),
    Variant("one-level", "one level (max_top 5,000)", {"max_top": 5_000}),
    Variant("top-100", "at most 100 on top", {"max_top": 100}),
    Variant("top-10", "at most 10 on top", {"max_top": 10}),
    Variant("island-5", "groups of at most 5", {"max_island": 5}),
    Variant("rows-5000", "structure from 5,000 rows", {"structure_samples": 5_000}),
    Variant("top-k", "links by top-k", {"link_rule": "top-k"}),
    Variant("random-links", "links at random", {"link_rule": "random"}),
    Variant("bare-tree", "no links but the tree's", {"link_rule": "tree"}),
    Variant("density-0.005", "density 0.005", {"density": 0.005}),
    Variant("density-0.02", "density 0.02", {"density": 0.02}),
    Variant("density-0.1", "density 0.1", {"density": 0.1}),
)


def cells(dataset: str, n_labels: int | None, quick: bool = False) -> list[Cell]:
    """Two networks on each structure: the Backbone, which has nothing else, and the whole TSE-Net.

    TSE-Net has the variant's name and comes after its Backbone: who asks for a variant gets both.
    """
    short: Settings = {"max_epochs": 30} if quick else {}
    found = []
    for variant in VARIANTS:
        name, settings = variant.name, {**short, **variant.change}
        for own, more, needs in (
            (backbone_of(name), _BACKBONE, ()),
            (name, {}, (backbone_of(name),)),
        ):
            found.append(
                Cell(
                    NAME,
                    dataset,
                    own,
                    variant.title,
                    "tsenet",
                    {**settings, **more},
                    needs=needs,
                    n_labels=n_labels,
                    probe=_probe,
                    final=False,
                )
            )
    return found


def backbone_of(variant: str) -> str:
    """Name of the cell with the Backbone of a variant."""
    return f"{variant}-backbone"


def topic_coherence(tree: LatentTree, X: Any, min_share: float) -> float | None:
    """Mean NPMI of the level-1 topics' ten top words, by the rows in which both are on.

    Parameters
    ----------
    tree : LatentTree
    X : table, (N, V)
        Its columns become binary as the tree has it.
    min_share : float
        Words that tell less than this share of what a topic's first word tells are left out.

    Returns
    -------
    float or None
        None if no topic has two words.
    """
    from tsenet.explain import coherence, topic_tree

    topics = _of_level_1(topic_tree(tree, n_words=_TOP_WORDS, min_share=min_share))
    words = [[word.word for word in topic.words] for topic in topics]
    rows = tree.binary(X).to_csr()
    names = tree.names[: tree.n_observed]
    score = coherence(words, rows, "npmi", feature_names=names, n_words=_TOP_WORDS).score
    return score if np.isfinite(score) else None


def _of_level_1(topics: Sequence[Topic]) -> Iterator[Topic]:
    for topic in topics:
        if topic.level == 1:
            yield topic
        else:
            yield from _of_level_1(topic.children)


def _probe(model: Any, context: RunContext) -> Mapping[str, Any]:
    """Coherence and links of a network's structure, and which validation rows it got right."""
    dataset = context.dataset
    settings = context.tree_settings(model)

    def scores() -> dict[str, float | None]:
        tree, _ = context.shared.tree(context.seed, **settings)
        return {
            name: topic_coherence(tree, dataset.train.X, min_share)
            for name, min_share in (("npmi", 0.0), ("npmi_clear", 0.1))
        }

    # One tree serves many networks, and so do its scores.
    found, _ = context.shared.cached(f"coherence {canonical([settings, context.seed])}", scores)
    score = score_on(model, dataset.validation, dataset)
    return {**found, "links": model.wiring_.n_edges, "on_validation": dict(kept(score))}
