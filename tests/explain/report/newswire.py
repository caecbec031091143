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
from tests.builders import cpt_of, draw_states, level_of, presence_rule
from tsenet.data.table import Table
from tsenet.skeleton.tree import LatentTree

# Area → (how often it is on, subject → groups of words).
AREAS: dict[str, tuple[float, dict[str, tuple[str, ...]]]] = {
    "wire": (
        0.75,
        {
            "said": ("said year mln new", "company last pct today"),
            "reports": ("anitec antc shr vs", "net loss revs qtr avg"),
        },
    ),
    "energy": (
        0.28,
        {
            "oil": ("crude oil opec barrels", "petroleum refinery bpd output"),
            "gas": ("gas pipeline drilling", "reserves feet exploration wells"),
            "power": ("nuclear power reactor", "electricity utility kilowatt"),
        },
    ),
    "money": (
        0.22,
        {
            "rates": ("interest fed discount", "monetary bundesbank prime"),
            "currency": ("dollar yen sterling", "currency exchange intervention"),
            "debt": ("debt brazil creditors", "loans rescheduling imf"),
        },
    ),
    "farming": (
        0.16,
        {
            "grain": ("wheat corn maize", "bushels usda harvest grain"),
            "coffee": ("coffee quota ico", "cocoa buffer exporters"),
            "cattle": ("cattle hogs beef", "pork livestock slaughter"),
        },
    ),
    "takeovers": (
        0.12,
        {
            "bids": ("tender offer merger", "acquire stake stockholders"),
            "stocks": ("shares dividend split", "nasdaq warrants issue"),
        },
    ),
    "trade": (
        0.07,
        {
            "tariffs": ("tariffs japan surplus", "semiconductor deficit retaliation"),
            "shipping": ("ship vessel seamen", "port cargo tanker gulf"),
            "metals": ("copper zinc smelter", "gold silver ounces"),
        },
    ),
}
N_ROWS = 900


@cache
def tree() -> LatentTree:
    """Words, groups of words, subjects, areas."""
    words, groups, subjects, areas = [], [], [], []
    word_on: list[tuple[float, float]] = []
    for area, (share, found) in AREAS.items():
        for parts in found.values():
            for part in parts:
                for word in part.split():
                    words.append((word, len(groups)))
                    common = 0.95 if word == "said" else 0.55
                    rare = 0.35 if word == "said" else 0.2
                    often = found is AREAS["wire"][1] and len(subjects) == 0
                    word_on.append((rare, common) if often else (0.01, 0.5))
                groups.append(len(subjects))
            subjects.append(len(areas))
        areas.append((area, share))
    sizes = (len(words), len(groups), len(subjects), len(areas))
    start = np.concatenate([[0], np.cumsum(sizes)])
    parent = np.full(start[-1], -1, np.int32)
    owners = ([group for _, group in words], groups, subjects)
    for level, owner in enumerate(owners):
        parent[start[level] : start[level + 1]] = start[level + 1] + np.asarray(owner)
    parent[start[-2] + 1 :] = start[-2]  # a star, whose links carry no hierarchy
    on = np.empty((start[-1], 2))
    on[: start[1]] = word_on
    on[start[1] : start[3]] = 0.03, 0.8  # groups and subjects follow what is above them
    on[start[1] : start[1] + 2], on[start[2]] = (0.05, 0.95), (0.05, 0.97)
    on[start[3] :] = np.array([share for _, share in areas])[:, None]
    names = [word for word, _ in words]
    for level in (1, 2, 3):
        names += [f"Z{level}.{k}" for k in range(sizes[level])]
    rule = presence_rule(len(words))
    named = type(rule)(
        tuple(names[: len(words)]), rule.thresholds, rule.presence, rule.levels, named=True
    )
    return LatentTree(parent, level_of(sizes), cpt_of(parent, on), tuple(names), named)


@cache
def documents() -> tuple[list[str], NDArray[np.str_]]:
    """Texts, and the area with most words in each."""
    known = tree()
    states = draw_states(known, N_ROWS, np.random.default_rng(7))
    areas = np.array(list(AREAS))
    words = states[:, : known.n_observed]
    area_of_word = known.ancestors(3)
    counts = np.stack([words[:, area_of_word == k].sum(axis=1) for k in range(len(areas))], axis=1)
    counts[:, 0] = counts[:, 0] // 3  # what every document has says little about its area
    texts = [" ".join(known.names[k] for k in np.flatnonzero(row)) for row in words]
    return texts, areas[counts.argmax(axis=1)]


@cache
def table() -> Table:
    known = tree()
    place = {name: k for k, name in enumerate(known.names[: known.n_observed])}
    rows = np.zeros((N_ROWS, known.n_observed))
    for k, text in enumerate(documents()[0]):
        rows[k, [place[word] for word in text.split()]] = 1.0
    return Table.of(rows, names=known.names[: known.n_observed])


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
