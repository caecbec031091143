"""Exact two-pass inference on a latent tree, in log space (ALGORITHM §5).

Most observed variables are off in most rows. Messages for the all-off row are made once (``base_*``); a row then
touches only the latents above its own ones on the way up. On the way down every latent gets its posterior, but one
whose subtree is silent needs two multiplications and no exponential.

The model comes as arrays over all M nodes, ordered by level, observed first: ``parent`` (M,), ``log_cpt`` (M, 2, 2)
with ``log_cpt[v, t, s] = ln P(v=s | parent=t)``, and ``top_order``, the top level's latents with children before
parents (only there does a parent lie in the same level).
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, kernel


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
def base_messages(
    parent: Array,
    log_cpt: Array,
    top_order: Array,
    n_observed: int,
    evidence: Array,
    message: Array,
    given: Array,
) -> float:
    """Upward pass for the row in which every observed variable is off; returns its log-probability.

    Fills, each (M, 2) and zero at first: ``evidence``, what lies below a node given its state; ``message``, the same
    given its parent's state; ``given``, P(node=1 | parent's state, what lies below).
    """
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
def _upward_row(
    items: Array,
    parent: Array,
    log_cpt: Array,
    top_order: Array,
    base_evidence: Array,
    base_message: Array,
    base_total: float,
    evidence: Array,
    message: Array,
    dirty: Array,
    queue: Array,
) -> tuple[int, float]:
    """Upward pass for one row: (number of latents touched, log-probability of the row).

    ``queue`` (L,) is filled with the touched latents, ``dirty`` (M,) marks them. First come, first served keeps the
    levels in order, since all children of a level lie in the level below; the top level has an order of its own.
    """
    top = parent.size - top_order.size
    size = 0
    total = base_total
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
def log_likelihood_rows(
    first: int,
    last: int,
    row_start: Array,
    row_items: Array,
    parent: Array,
    log_cpt: Array,
    top_order: Array,
    base_evidence: Array,
    base_message: Array,
    base_total: float,
    out: Array,
) -> None:
    """Exact ln P(x) of rows ``first..last`` into ``out`` (N,)."""
    evidence = np.empty((parent.size, 2))
    message = np.empty((parent.size, 2))
    dirty = np.zeros(parent.size, np.bool_)
    queue = np.empty(parent.size, np.int32)
    for row in range(first, last):
        items = row_items[row_start[row] : row_start[row + 1]]
        size, out[row] = _upward_row(
            items,
            parent,
            log_cpt,
            top_order,
            base_evidence,
            base_message,
            base_total,
            evidence,
            message,
            dirty,
            queue,
        )
        for k in range(size):
            dirty[queue[k]] = False


@kernel
def infer_rows(
    first: int,
    last: int,
    row_start: Array,
    row_items: Array,
    row_numbers: Array,
    parent: Array,
    log_cpt: Array,
    top_order: Array,
    n_observed: int,
    base_evidence: Array,
    base_message: Array,
    base_given: Array,
    base_total: float,
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
    n_nodes = parent.size
    n_latents = n_nodes - n_observed
    n_top = top_order.size
    evidence = np.empty((n_nodes, 2))
    message = np.empty((n_nodes, 2))
    dirty = np.zeros(n_nodes, np.bool_)
    queue = np.empty(n_nodes, np.int32)
    on = np.empty(n_nodes)  # P(z=1|x)
    total = 0.0
    for r in range(first, last):
        row = row_numbers[r]
        items = row_items[row_start[row] : row_start[row + 1]]
        size, loglik = _upward_row(
            items,
            parent,
            log_cpt,
            top_order,
            base_evidence,
            base_message,
            base_total,
            evidence,
            message,
            dirty,
            queue,
        )
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
