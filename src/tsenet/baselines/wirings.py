"""Wirings to compare a learned one with: random links, and the links of the tree alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tsenet._system.seeds import seed_sequence
from tsenet.expansion.wiring import Wiring, WiringLayer

__all__ = ["bare_tree", "random_wiring"]


def random_wiring(wiring: Wiring, random_state: Any = None) -> Wiring:
    """Draw new links at random: the same layers, and as many links for each unit as before.

    To keep the links of the tree and draw only the added ones, use
    ``tsenet.expand(tree, X, link_rule="random")`` instead.

    Parameters
    ----------
    wiring : Wiring
        The wiring to imitate.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Seed of the draw; an integer gives the same links each time.

    Returns
    -------
    Wiring
        With ``link_rule="random"``.

    Examples
    --------
    >>> import tsenet
    >>> from sklearn.datasets import load_digits
    >>> from tsenet.baselines import random_wiring
    >>> X = load_digits().data
    >>> wiring = tsenet.expand(tsenet.learn_tree(X, max_top=10, random_state=0), X)
    >>> random_wiring(wiring, random_state=0).n_edges == wiring.n_edges
    True
    """
    rng = np.random.default_rng(seed_sequence(random_state))
    layers = []
    for layer in wiring.layers:
        indices = np.empty_like(layer.indices)
        for start, stop in zip(layer.indptr[:-1], layer.indptr[1:], strict=True):
            drawn = rng.choice(layer.n_lower, int(stop - start), replace=False)
            indices[start:stop] = np.sort(drawn)
        none = np.zeros_like(layer.from_tree)
        layers.append(WiringLayer(layer.indptr, indices, none, layer.n_lower))
    return Wiring(tuple(layers), wiring.names, "random")


def bare_tree(wiring: Wiring) -> Wiring:
    """Keep the links of the tree and remove those that expansion added.

    Parameters
    ----------
    wiring : Wiring
        From :func:`tsenet.expand`.

    Returns
    -------
    Wiring
        With ``link_rule="tree"``.

    Raises
    ------
    ValueError
        If a layer has no link of a tree, as in a random wiring.

    Examples
    --------
    >>> import tsenet
    >>> from sklearn.datasets import load_digits
    >>> from tsenet.baselines import bare_tree
    >>> X = load_digits().data
    >>> wiring = tsenet.expand(tsenet.learn_tree(X, max_top=10, random_state=0), X)
    >>> all(layer.from_tree.all() for layer in bare_tree(wiring).layers)
    True
    """
    layers = []
    for number, layer in enumerate(wiring.layers, start=1):
        kept = layer.from_tree
        if not kept.any():
            raise ValueError(f"layer {number} of the wiring has no link of a tree: {layer!r}")
        before = np.concatenate([[0], np.cumsum(kept)])
        layers.append(
            WiringLayer(
                before[layer.indptr],
                layer.indices[kept],
                kept[kept],
                layer.n_lower,
            )
        )
    return Wiring(tuple(layers), wiring.names, "tree")
