"""Wirings to compare a learned one with: random links, shuffled links, k-means groups and pivot words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet import Wiring
from tsenet.expansion.wiring import WiringLayer

__all__ = ["CONTROLS", "kmeans_wiring", "pivot_wiring", "random_wiring", "shuffled_wiring"]


def random_wiring(wiring: Wiring, X: Any, seed: int) -> Wiring:
    """Draw new links at random: the same layers, and as many links for each unit as before."""
    del X
    rng = np.random.default_rng(seed)

    def draw(layer: WiringLayer) -> NDArray[np.int32]:
        degrees = np.diff(layer.indptr)
        drawn = [np.sort(rng.choice(layer.n_lower, degree, replace=False)) for degree in degrees]
        return np.concatenate(drawn).astype(np.int32)

    return _with_links(wiring, draw)


def shuffled_wiring(wiring: Wiring, X: Any, seed: int) -> Wiring:
    """Swap the lower ends of random pairs of links: every unit and every column keeps its number of links."""
    del X
    rng = np.random.default_rng(seed)

    def shuffle(layer: WiringLayer) -> NDArray[np.int32]:
        unit = np.repeat(np.arange(layer.n_upper), np.diff(layer.indptr))
        lower = layer.indices.astype(np.int64)
        links = set(zip(unit.tolist(), lower.tolist(), strict=True))
        pairs = rng.integers(0, lower.size, (10 * lower.size, 2))
        for a, b in pairs.tolist():
            first, second = (int(unit[a]), int(lower[b])), (int(unit[b]), int(lower[a]))
            if first in links or second in links:
                continue
            links -= {(int(unit[a]), int(lower[a])), (int(unit[b]), int(lower[b]))}
            links |= {first, second}
            lower[a], lower[b] = lower[b], lower[a]
        return lower[np.lexsort((lower, unit))].astype(np.int32)

    return _with_links(wiring, shuffle)


def kmeans_wiring(wiring: Wiring, X: Any, seed: int) -> Wiring:
    """Link every word to the nearest of as many k-means centres of SVD word vectors as the first layer has units."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    first = wiring.layers[0]
    vectors = normalize(
        TruncatedSVD(min(100, X.shape[0] - 1), random_state=seed).fit_transform(sp.csr_array(X).T)
    )
    centres = KMeans(first.n_upper, n_init=1, max_iter=30, random_state=seed).fit(vectors)
    return _nearest_units(wiring, -centres.transform(vectors), "k-means")


def pivot_wiring(wiring: Wiring, X: Any, seed: int) -> Wiring:
    """Link every word to the pivots, words drawn at random, with which it co-occurs most beyond chance.

    The score of words i and j is the smoothed log-lift ln (n_ij + ½) / (n_i·n_j / N + ½).
    """
    rng = np.random.default_rng(seed)
    present = sp.csr_array(sp.csr_array(X) > 0, dtype=np.float32)
    counts = np.asarray(present.sum(axis=0)).ravel()
    able = np.flatnonzero((counts >= 5) & (counts < present.shape[0]))
    n_units = min(wiring.layers[0].n_upper, able.size)
    pivots = np.sort(rng.choice(able, n_units, replace=False))
    joint = (present.T @ present[:, pivots]).toarray()
    expected = np.outer(counts, counts[pivots]) / present.shape[0]
    return _nearest_units(wiring, np.log((joint + 0.5) / (expected + 0.5)), "pivot")


def _nearest_units(wiring: Wiring, scores: NDArray[Any], kind: str) -> Wiring:
    """Make one layer in which each column (V, U) is linked to its best units, as many links as the first layer has."""
    first = wiring.layers[0]
    n_columns, n_units = scores.shape
    per_column = int(np.clip(round(first.n_edges / n_columns), 1, n_units))
    best = np.argpartition(-scores, per_column - 1, axis=1)[:, :per_column]
    column = np.repeat(np.arange(n_columns), per_column)
    unit = best.ravel()
    order = np.lexsort((column, unit))
    indptr = np.searchsorted(unit[order], np.arange(n_units + 1))
    none = np.zeros(order.size, bool)
    layer = WiringLayer(indptr, column[order].astype(np.int32), none, n_columns)
    names = tuple(f"{kind} {k}" for k in range(n_units))
    return Wiring((layer,), (wiring.names[0], names), kind)


def _with_links(wiring: Wiring, links_of: Callable[[WiringLayer], NDArray[np.int32]]) -> Wiring:
    """Replace the lower ends of all links."""
    layers = []
    for layer in wiring.layers:
        none = np.zeros(layer.n_edges, bool)
        layers.append(WiringLayer(layer.indptr, links_of(layer), none, layer.n_lower))
    return Wiring(tuple(layers), wiring.names, "random")


#: Controls by name: functions of the learned wiring, the rows and a seed.
CONTROLS: dict[str, Callable[[Wiring, Any, int], Wiring]] = {
    "random": random_wiring,
    "shuffle": shuffled_wiring,
    "k-means": kmeans_wiring,
    "pivot": pivot_wiring,
}
