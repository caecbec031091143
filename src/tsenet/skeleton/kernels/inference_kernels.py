"""Exact two-pass inference on a latent tree, in log space.

Most observed variables are off in most rows. The messages of the row in which everything is off are computed once
(:class:`PreparedTree`). The upward pass of a row then works only on the ancestors of the variables that are on. The
downward pass visits every latent, but one without an active descendant needs two multiplications and no exponential.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, kernel
from tsenet.skeleton.kernels.csr import Csr


class PreparedTree(NamedTuple):
    """A latent tree, and the messages of the row in which every observed variable is off.

    Arrays are over all M nodes, ordered by level, observed first.

    Fields
    ------
    parent : int32 (M,), −1 for none.
    log_cpt : float64 (M, 2, 2), ``log_cpt[v, t, s] = ln P(v=s | parent=t)``.
    order : int32 (L,), the latents with children before parents.
    evidence : float64 (M, 2), ln P(everything below a node | its state).
    message : float64 (M, 2), the same given the parent's state.
    given : float64 (M, 2), P(node=1 | parent's state, everything below the node).
    total : ln P of the row.
    """

    parent: Array
    log_cpt: Array
    order: Array
    evidence: Array
    message: Array
    given: Array
    total: float


@kernel
def infer_rows(
    numbers: Array,
    rows: Csr,
    base: PreparedTree,
    loglik: Array,
    posterior: Array,
    pair_counts: Array,
    on_counts: Array,
) -> None:
    """Both passes over some rows; the downward pass only if more than ``loglik`` is wanted.

    Parameters
    ----------
    numbers : int64 (R,), the rows.
    loglik : float64 (R,), filled with ln P(x).
    posterior : float64, (R, L) to be filled with P(z=1|x), or (0, 0) if not wanted.
    pair_counts, on_counts : float64, (L, 2, 2) and (V, 2), or (0, 0, 0) and (0, 0): expected counts, added to.
        ``pair_counts[z, t, s]``: rows with parent in t and z in s (a root counts as under t = 0);
        ``on_counts[v, t]``: rows with v on and its parent in t.
    """
    row_start, row_items = rows
    parent = base.parent
    log_cpt = base.log_cpt
    order = base.order
    n_nodes = parent.size
    n_latents = order.size
    n_observed = n_nodes - n_latents
    evidence = base.evidence.copy()
    message = np.empty((n_nodes, 2))
    dirty = np.zeros(n_nodes, np.bool_)  # latents with an active descendant
    on = np.empty(n_nodes)  # P(z=1|x)

    for r in range(numbers.size):
        first = row_start[numbers[r]]
        last = row_start[numbers[r] + 1]

        # What the variables that are on change in the evidence of their parents.
        total = base.total
        for e in range(first, last):
            v = row_items[e]
            z = parent[v]
            if z < 0:
                total += log_cpt[v, 0, 1] - log_cpt[v, 0, 0]
                continue
            dirty[z] = True
            for t in range(2):
                evidence[z, t] += log_cpt[v, t, 1] - log_cpt[v, t, 0]

        # Upward, children first: only along the paths from the variables that are on.
        for k in range(n_latents):
            z = order[k]
            if not dirty[z]:
                continue

            for t in range(2):
                a = log_cpt[z, t, 0] + evidence[z, 0]
                b = log_cpt[z, t, 1] + evidence[z, 1]
                message[z, t] = max(a, b) + np.log1p(np.exp(-abs(a - b)))

            p = parent[z]
            if p < 0:
                total += message[z, 0] - base.message[z, 0]
            else:
                dirty[p] = True
                for t in range(2):
                    evidence[p, t] += message[z, t] - base.message[z, t]

        loglik[r] = total

        # Downward, parents first: P(z=1|x) = Σ_t P(parent=t|x) · P(z=1 | parent=t, all below z). It also cleans up.
        is_wanted = posterior.shape[0] > 0 or pair_counts.shape[0] > 0
        for k in range(n_latents - 1, -1, -1):
            z = order[k]
            if is_wanted:
                given_0 = base.given[z, 0]
                given_1 = base.given[z, 1]
                if dirty[z]:
                    given_0 = np.exp(log_cpt[z, 0, 1] + evidence[z, 1] - message[z, 0])
                    given_1 = np.exp(log_cpt[z, 1, 1] + evidence[z, 1] - message[z, 1])

                p = parent[z]
                parent_node = on[p] if p >= 0 else 0.0
                both_on = parent_node * given_1
                only_z = (1.0 - parent_node) * given_0
                on[z] = both_on + only_z
                if posterior.shape[0] > 0:
                    posterior[r, z - n_observed] = on[z]

                if pair_counts.shape[0] > 0:
                    counts = pair_counts[z - n_observed]
                    counts[0, 0] += (1.0 - parent_node) - only_z
                    counts[0, 1] += only_z
                    counts[1, 0] += parent_node - both_on
                    counts[1, 1] += both_on

            if dirty[z]:
                dirty[z] = False
                evidence[z, 0] = base.evidence[z, 0]
                evidence[z, 1] = base.evidence[z, 1]

        if on_counts.shape[0] > 0:
            for e in range(first, last):
                v = row_items[e]
                if parent[v] >= 0:
                    on_counts[v, 0] += 1.0 - on[parent[v]]
                    on_counts[v, 1] += on[parent[v]]
