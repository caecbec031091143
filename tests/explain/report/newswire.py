"""Newswire in which a few words dominate: "said" is in four of five documents and tells most about all groups above it.

The tree is made by hand and the documents are drawn from it, so that nothing has to be learned: three levels of topics,
areas of skewed sizes, and one area, the largest, whose every level is about "said".
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tsenet
from tests.builders import Bools, cpt_of, draw_rows, level_of, node_names
from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.skeleton.tree import LatentTree

# The subjects of each area, and the groups of words of each subject.
AREAS = {
    "wire": "said year mln new, company last pct today; anitec antc shr vs, net loss revs qtr avg",
    "energy": "crude oil opec barrels, petroleum refinery bpd output; gas pipeline drilling, "
    "reserves feet exploration wells; nuclear power reactor, electricity utility kilowatt",
    "money": "interest fed discount, monetary bundesbank prime; dollar yen sterling, "
    "currency exchange intervention; debt brazil creditors, loans rescheduling imf",
    "farming": "wheat corn maize, bushels usda harvest grain; coffee quota ico, "
    "cocoa buffer exporters; cattle hogs beef, pork livestock slaughter",
    "takeovers": "tender offer merger, acquire stake stockholders; shares dividend split, "
    "nasdaq warrants issue",
    "trade": "tariffs japan surplus, semiconductor deficit retaliation; ship vessel seamen, "
    "port cargo tanker gulf; copper zinc smelter, gold silver ounces",
}
SHARES = (0.75, 0.28, 0.22, 0.16, 0.12, 0.07)  # how often each area is on


def words_of(area: str) -> list[str]:
    return AREAS[area].replace(",", "").replace(";", "").split()


@cache
def tree() -> LatentTree:
    """Words, groups of words, subjects, areas."""
    subjects = [text for area in AREAS.values() for text in area.split("; ")]
    groups = [text for subject in subjects for text in subject.split(", ")]
    words = [word for group in groups for word in group.split()]
    above = (
        [k for k, group in enumerate(groups) for _ in group.split()],
        [k for k, subject in enumerate(subjects) for _ in subject.split(", ")],
        [k for k, area in enumerate(AREAS.values()) for _ in area.split("; ")],
    )
    sizes = (len(words), len(groups), len(subjects), len(AREAS))
    start = np.concatenate([[0], np.cumsum(sizes)])
    parent = np.full(start[-1], -1, np.int32)
    for level, owner in enumerate(above):
        parent[start[level] : start[level + 1]] = start[level + 1] + np.array(owner)
    parent[start[3] + 1 :] = start[3]  # a star, whose links carry no hierarchy
    on = np.empty((start[-1], 2))
    on[: start[1]] = 0.01, 0.5
    on[: len(subjects[0].split())] = 0.2, 0.55  # the words of the first subject are everywhere
    on[0] = 0.35, 0.95
    on[start[1] : start[3]] = 0.03, 0.8  # groups and subjects follow what is above them
    on[start[1] : start[1] + 2], on[start[2]] = (0.05, 0.95), (0.05, 0.97)
    on[start[3] :] = np.array(SHARES)[:, None]
    rule = BinaryRule.learn(Table.of(np.eye(len(words) + 1, len(words)), names=words))
    names = (*words, *node_names(sizes)[len(words) :])
    return LatentTree(parent, level_of(sizes), cpt_of(parent, on), names, rule)


@cache
def rows() -> Bools:
    return draw_rows(tree(), 900, np.random.default_rng(7))


@cache
def documents() -> tuple[list[str], NDArray[np.str_]]:
    """Texts, and the area with most words in each."""
    of_area = [rows()[:, tree().ancestors(3) == k].sum(axis=1) for k in range(len(AREAS))]
    of_area[0] = of_area[0] // 3  # what every document has says little about its area
    texts = [" ".join(tree().names[k] for k in np.flatnonzero(row)) for row in rows()]
    return texts, np.array(list(AREAS))[np.argmax(of_area, axis=0)]


@cache
def table() -> Table:
    return Table.of(rows().astype(float), names=tree().names[: tree().n_observed])


@cache
def classifier() -> Any:
    """A network with skip paths and a linear skip over the same tree, of a few epochs."""
    made = tsenet.TSENetClassifier(
        wiring=tsenet.expand(tree(), table(), n_jobs=1),
        units_per_latent=1,
        skip_units=12,
        feature_units=20,
        linear_skip=True,
        max_epochs=6,
        random_state=0,
        n_jobs=1,
    )
    return made.fit(table(), documents()[1])
