"""Merge latents of a tree into one that is on where any of them is; all probabilities follow from the tree's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.skeleton.chow_liu import binary_information, chow_liu_parents
from tsenet.skeleton.tree import LatentTree

__all__ = ["merge_latents"]

Floats = NDArray[np.float64]
SMALLEST = 1e-9


@dataclass(frozen=True)
class _Links:
    """The latents as an undirected tree: ``given[v][w]`` is P(v | w), (2, 2) with the state of w first."""

    given: dict[int, dict[int, Floats]]
    marginal: dict[int, Floats]

    @classmethod
    def of(cls, tree: LatentTree) -> _Links:
        on = tree.marginals()
        nodes = range(tree.n_observed, tree.n_nodes)
        marginal = {v: np.array([1.0 - on[v], on[v]]) for v in nodes}
        given: dict[int, dict[int, Floats]] = {v: {} for v in nodes}
        for v in nodes:
            above = int(tree.parent[v])
            if above >= 0:
                joint = marginal[above][:, None] * tree.cpt[v]
                given[v][above] = tree.cpt[v]
                given[above][v] = (joint / np.maximum(joint.sum(axis=0), 1e-300)).T
        return cls(given, marginal)

    def from_node(self, source: int) -> dict[int, Floats]:
        """P(v | source) of every latent, (2, 2) each, the state of the source first."""
        found = {source: np.eye(2)}
        stack = [source]
        while stack:
            at = stack.pop()
            for neighbour in self.given[at]:
                if neighbour not in found:
                    found[neighbour] = found[at] @ self.given[neighbour][at]
                    stack.append(neighbour)
        return found

    def with_off(self, node: int) -> _Links:
        """The distribution of the latents in the rows where one of them is off."""
        after = {v: rows[0] for v, rows in self.from_node(node).items()}
        given: dict[int, dict[int, Floats]] = {v: {} for v in self.given}
        stack, seen = [node], {node}
        while stack:
            at = stack.pop()
            for neighbour in self.given[at]:
                if neighbour in seen:
                    continue
                seen.add(neighbour)
                stack.append(neighbour)
                down = self.given[neighbour][at]
                joint = after[at][:, None] * down
                given[neighbour][at] = down
                given[at][neighbour] = (joint / np.maximum(joint.sum(axis=0), 1e-300)).T
        return _Links(given, after)


def merge_latents(tree: LatentTree, names: Sequence[str]) -> LatentTree:
    """Merge latents of one level into the first of them, which is then on where any of them was.

    Its children are the children of all, and its parent stays. P(child | merged) and P(merged | parent) are computed
    exactly from the tree. Latents that lose their last child are removed; if the top level changes, its links are
    chosen anew.

    Parameters
    ----------
    tree : LatentTree
        The tree; it is not changed.
    names : sequence of str
        Two or more latents of the same level.

    Returns
    -------
    LatentTree
        All other latents keep their names.

    Raises
    ------
    DataError
        If a name is no latent, fewer than two are given, or they are of different levels.

    Examples
    --------
    >>> import numpy as np
    >>> import tsenet
    >>> from tsenet.skeleton.merge import merge_latents
    >>> rng = np.random.default_rng(0)
    >>> topic = np.repeat(rng.random((500, 3)) < 0.4, 4, axis=1)
    >>> X = rng.random((500, 12)) < np.where(topic, 0.8, 0.05)
    >>> tree = tsenet.learn_tree(X, max_top=3, random_state=0)
    >>> merge_latents(tree, ["Z1.0", "Z1.2"]).layer_sizes
    (12, 2)
    """
    chosen = list(dict.fromkeys(names))
    known = {name: tree.n_observed + k for k, name in enumerate(tree.latent_names)}
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise DataError(f"no topic is called {unknown[0]!r}")
    if len(chosen) < 2:
        raise DataError("merging needs at least two different topics")
    levels = {int(tree.level[known[name]]) for name in chosen}
    if len(levels) > 1:
        raise DataError(
            f"only topics of one level can be merged, but these are of levels {sorted(levels)}"
        )
    for other in chosen[1:]:
        tree = _merge_two(tree, tree.names.index(chosen[0]), tree.names.index(other))
    return tree


def _merge_two(tree: LatentTree, first: int, second: int) -> LatentTree:
    """Merge the second latent into the first."""
    links = _Links.of(tree)
    joint = links.marginal[first][:, None] * links.from_node(first)[second]  # P(first, second)
    off = joint[0, 0]
    parent, cpt = tree.parent.copy(), tree.cpt.copy()
    top = int(tree.level[first]) == tree.n_levels
    for node, states in ((first, joint.sum(axis=1)), (second, joint.sum(axis=0))):
        below = np.flatnonzero((parent == node) & (tree.level < tree.level[node]))
        on_with_node = states[1] * tree.cpt[below, 1, 1]  # P(child on, node on)
        on_alone = (states[0] - off) * tree.cpt[below, 0, 1]  # … and only the other latent on
        rate = (on_with_node + on_alone) / max(1.0 - off, SMALLEST)
        cpt[below, 1, 1] = np.clip(rate, SMALLEST, 1.0 - SMALLEST)
        cpt[below, 1, 0] = 1.0 - cpt[below, 1, 1]
        parent[below] = first
    together: Floats | None = None
    if top:
        together = _top_moments(tree, links, first, second)
    else:
        above = int(parent[first])
        other = links.from_node(above)[second]  # P(second | parent of first)
        cpt[first, :, 0] = np.clip(cpt[first, :, 0] * other[:, 0], SMALLEST, 1.0 - SMALLEST)
        cpt[first, :, 1] = 1.0 - cpt[first, :, 0]
    return _without(tree, parent, cpt, second, together)


def _top_moments(tree: LatentTree, links: _Links, first: int, second: int) -> Floats:
    """P(both on) of all latents of the top level (T, T) once the second is merged into the first."""
    here = tree.layer(tree.n_levels)
    nodes = range(here.start, here.stop)
    together = _moments(links, nodes)
    without = links.with_off(first)
    off = links.marginal[first][0] * without.marginal[second][0]
    after = without.with_off(second)
    a = first - here.start
    for v in nodes:
        k = v - here.start
        neither = off * after.marginal[v][1]  # P(v on, first and second off)
        together[a, k] = together[k, a] = max(links.marginal[v][1] - neither, 0.0)
    together[a, a] = 1.0 - off
    return together


def _moments(links: _Links, nodes: Sequence[int]) -> Floats:
    """P(v on, w on) of pairs of latents."""
    return np.array(
        [
            [links.marginal[v][1] * given[w][1, 1] for w in nodes]
            for v in nodes
            for given in [links.from_node(v)]
        ]
    )


def _without(
    tree: LatentTree,
    parent: NDArray[np.int32],
    cpt: Floats,
    gone: int,
    together: Floats | None,
) -> LatentTree:
    """The tree without one latent, and without those that have no child then."""
    kept = np.ones(tree.n_nodes, bool)
    node = gone
    while True:
        kept[node] = False
        above = int(parent[node])
        top = int(tree.level[node]) == tree.n_levels
        if top or ((parent == above) & kept & (tree.level < tree.level[above])).any():
            break
        node = above
    here = tree.layer(tree.n_levels)
    if not kept[here].all():
        if together is None:
            together = _moments(_Links.of(tree), range(here.start, here.stop))
        stay = np.flatnonzero(kept[here])
        _link_top(parent, cpt, here.start + stay, together[np.ix_(stay, stay)])
    number = np.cumsum(kept) - 1
    new_parent = np.where(parent[kept] >= 0, number[parent[kept]], -1)
    names = tuple(name for name, stays in zip(tree.names, kept, strict=True) if stays)
    return LatentTree(new_parent, tree.level[kept], cpt[kept], names, tree.rule)


def _link_top(
    parent: NDArray[np.int32], cpt: Floats, nodes: NDArray[np.intp], together: Floats
) -> None:
    """Link latents of the top level by the Chow–Liu tree of their moments."""
    on = np.diagonal(together)
    information = np.stack([binary_information(together[k], on[k], on) for k in range(on.size)])
    above = chow_liu_parents(information)
    joint = together[np.arange(on.size), above]
    other = on[above]
    rate = np.stack([(on - joint) / (1.0 - other), joint / other], axis=1)
    rate = np.clip(np.where(above[:, None] >= 0, rate, on[:, None]), SMALLEST, 1.0 - SMALLEST)
    parent[nodes] = np.where(above >= 0, nodes[above], -1)
    cpt[nodes] = np.stack([1.0 - rate, rate], axis=2)
