"""Exact two-pass inference on a latent tree, in log space (ALGORITHM §5).

Most observed variables are off in most rows. The messages of the row in which everything is off are computed once
(:class:`AllOff`). The upward pass of a row then visits only the ancestors of the variables that are on. The downward
pass visits every latent, but a latent without an active descendant needs two multiplications and no exponential.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, kernel
from tsenet.skeleton.kernels.pair_kernels import Csr


class TreeArrays(NamedTuple):
    """A latent tree: arrays over all M nodes, ordered by level, observed first.

    Fields
    ------
    parent : int32 (M,), −1 for none.
    log_cpt : float64 (M, 2, 2), ``log_cpt[v, t, s] = ln P(v=s | parent=t)``.
    top_order : int32, the top level's latents with children before parents; only there does a parent lie in the same
        level.
    n_observed : number of observed variables.
    """

    parent: Array
    log_cpt: Array
    top_order: Array
    n_observed: int


class AllOff(NamedTuple):
    """Messages of the row in which every observed variable is off, as :func:`base_messages` computes them.

    Fields
    ------
    evidence : float64 (M, 2), ln P(everything below a node | its state).
    message : float64 (M, 2), the same given the parent's state.
    given : float64 (M, 2), P(node=1 | parent's state, everything below the node).
    total : ln P of the row.
    """

    evidence: Array
    message: Array
    given: Array
    total: float


class Upward(NamedTuple):
    """Working memory of one row's upward pass.

    Fields
    ------
    evidence, message : float64 (M, 2), as in :class:`AllOff`; valid only for the nodes marked in ``dirty``.
    dirty : bool (M,), the latents with an active descendant.
    queue : int32 (M,), those latents in the order in which they were reached.
    """

    evidence: Array
    message: Array
    dirty: Array
    queue: Array


@kernel
def _log_add(a: float, b: float) -> float:
    """ln(eᵃ + eᵇ)."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return float(a + np.log1p(np.exp(b - a)))


@kernel
def _message(log_cpt: Array, evidence: Array, z: int, t: int) -> float:
    """ln P(everything below z | its parent is in state t)."""
    return _log_add(log_cpt[z, t, 0] + evidence[z, 0], log_cpt[z, t, 1] + evidence[z, 1])


@kernel
def base_messages(model: TreeArrays, evidence: Array, message: Array, given: Array) -> float:
    """Upward pass for the row in which every observed variable is off; returns its log-probability.

    Fills ``evidence``, ``message`` and ``given``, each (M, 2) and zero at first, as :class:`AllOff` describes them.
    """
    parent, log_cpt, top_order, n_observed = model
    total = 0.0
    n_nodes = parent.size
    n_lower = n_nodes - top_order.size
    for k in range(n_nodes):
        v = k if k < n_lower else top_order[k - n_lower]
        for t in range(2):
            if v < n_observed:
                message[v, t] = log_cpt[v, t, 0]
            else:
                message[v, t] = _message(log_cpt, evidence, v, t)
                given[v, t] = np.exp(log_cpt[v, t, 1] + evidence[v, 1] - message[v, t])
            if parent[v] >= 0:
                evidence[parent[v], t] += message[v, t]
        if parent[v] < 0:
            total += message[v, 0]
    return total


@kernel
def _upward_row(items: Array, model: TreeArrays, base: AllOff, row: Upward) -> tuple[int, float]:
    """Upward pass for one row: (number of latents reached, log-probability of the row).

    ``row.queue`` is filled with the latents reached, ``row.dirty`` marks them. Working through the queue from the
    front takes the levels in order, because all children of a level lie in the level below. The top level comes last,
    in ``top_order``.
    """
    parent, log_cpt, top_order, _ = model
    base_evidence, base_message, _, total = base
    evidence, message, dirty, queue = row
    top = parent.size - top_order.size
    size = 0
    for v in items:
        z = parent[v]
        if z < 0:
            total += log_cpt[v, 0, 1] - log_cpt[v, 0, 0]
            continue
        if not dirty[z]:
            dirty[z] = True
            evidence[z, 0] = base_evidence[z, 0]
            evidence[z, 1] = base_evidence[z, 1]
            queue[size] = z
            size += 1
        for t in range(2):
            evidence[z, t] += log_cpt[v, t, 1] - log_cpt[v, t, 0]
    k = 0
    while k < size and queue[k] < top:
        z = queue[k]
        k += 1
        p = parent[z]
        if not dirty[p]:
            dirty[p] = True
            evidence[p, 0] = base_evidence[p, 0]
            evidence[p, 1] = base_evidence[p, 1]
            queue[size] = p
            size += 1
        for t in range(2):
            message[z, t] = _message(log_cpt, evidence, z, t)
            evidence[p, t] += message[z, t] - base_message[z, t]
    for z in top_order:
        if not dirty[z]:
            continue
        p = parent[z]
        for t in range(2):
            message[z, t] = _message(log_cpt, evidence, z, t)
        if p < 0:
            total += message[z, 0] - base_message[z, 0]
            continue
        if not dirty[p]:
            dirty[p] = True
            evidence[p, 0] = base_evidence[p, 0]
            evidence[p, 1] = base_evidence[p, 1]
            queue[size] = p
            size += 1
        for t in range(2):
            evidence[p, t] += message[z, t] - base_message[z, t]
    return size, total


@kernel
def _working_memory(n_nodes: int) -> Upward:
    """Memory for the upward pass over a tree of ``n_nodes`` nodes, with no node marked."""
    return Upward(
        np.empty((n_nodes, 2)),
        np.empty((n_nodes, 2)),
        np.zeros(n_nodes, np.bool_),
        np.empty(n_nodes, np.int32),
    )


@kernel
def log_likelihood_rows(
    first: int, last: int, rows: Csr, model: TreeArrays, base: AllOff, out: Array
) -> None:
    """Exact ln P(x) of rows ``first..last`` into ``out`` (N,)."""
    row_start, row_items = rows.start, rows.items
    upward = _working_memory(model.parent.size)
    dirty, queue = upward.dirty, upward.queue
    for row in range(first, last):
        items = row_items[row_start[row] : row_start[row + 1]]
        size, out[row] = _upward_row(items, model, base, upward)
        for k in range(size):
            dirty[queue[k]] = False


@kernel
def infer_rows(
    first: int,
    last: int,
    rows: Csr,
    row_numbers: Array,
    model: TreeArrays,
    base: AllOff,
    posterior: Array,
    pair_counts: Array,
    on_counts: Array,
) -> float:
    """Both passes over rows ``row_numbers[first:last]``; returns the sum of their log-probabilities.

    Parameters
    ----------
    posterior : float64, (N, L) to be filled with P(z=1|x), or (0, 0) if not wanted.
    pair_counts, on_counts : float64, (L, 2, 2) and (V, 2), or (0, 0, 0) and (0, 0): expected counts, added to.
        ``pair_counts[z, t, s]``: rows with parent in t and z in s (a root counts as under t = 0);
        ``on_counts[v, t]``: rows with v on and its parent in t.
    """
    row_start, row_items = rows.start, rows.items
    parent, log_cpt, top_order, n_observed = model
    base_given = base.given
    n_nodes = parent.size
    n_latents = n_nodes - n_observed
    n_top = top_order.size
    upward = _working_memory(n_nodes)
    evidence, message, dirty, queue = upward
    on = np.empty(n_nodes)  # P(z=1|x)
    total = 0.0
    for r in range(first, last):
        row = row_numbers[r]
        items = row_items[row_start[row] : row_start[row + 1]]
        size, loglik = _upward_row(items, model, base, upward)
        total += loglik
        for k in range(n_latents):  # downward: parents first
            z = top_order[n_top - 1 - k] if k < n_top else n_nodes - 1 - k
            given_0 = base_given[z, 0]
            given_1 = base_given[z, 1]
            if dirty[z]:
                given_0 = np.exp(log_cpt[z, 0, 1] + evidence[z, 1] - message[z, 0])
                given_1 = np.exp(log_cpt[z, 1, 1] + evidence[z, 1] - message[z, 1])
            p = parent[z]
            above = on[p] if p >= 0 else 0.0
            both = above * given_1
            only = (1.0 - above) * given_0
            on[z] = both + only
            if pair_counts.shape[0] > 0:
                counts = pair_counts[z - n_observed]
                counts[0, 0] += (1.0 - above) - only
                counts[0, 1] += only
                counts[1, 0] += above - both
                counts[1, 1] += both
            if posterior.shape[0] > 0:
                posterior[row, z - n_observed] = on[z]
        if on_counts.shape[0] > 0:
            for v in items:
                if parent[v] >= 0:
                    on_counts[v, 0] += 1.0 - on[parent[v]]
                    on_counts[v, 1] += on[parent[v]]
        for k in range(size):
            dirty[queue[k]] = False
    return total
