"""Exact two-pass inference on a latent tree, in log space.

Most observed variables are off in most rows. The messages of the row in which everything is off are computed once
(:class:`PreparedTree`). The upward pass of a row then works only on the ancestors of the variables that are on. The
downward pass visits every latent only if all posteriors are wanted. Expected counts need no more than those ancestors:
what a latent without an active descendant adds is linear in P(parent=1|x), so the sum over such rows takes one step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, kernel
from tsenet.skeleton.kernels.csr import Csr

_N = np.uintp  # indices without a sign: no negative one has to be looked for


class PreparedTree(NamedTuple):
    """A latent tree, and the messages of the row in which every observed variable is off.

    Arrays are over all M nodes, ordered by level, observed first.

    Fields
    ------
    parent : int32 (M,), −1 for none.
    cpt : float64 (M, 2, 2), ``cpt[v, t, s] = P(v=s | parent=t)``, never 0.
    log_cpt : float64 (M, 2, 2), its logarithm.
    order : int32 (L,), the latents with children before parents.
    evidence : float64 (M, 2), ln P(everything below a node | its state).
    message : float64 (M, 2), the same given the parent's state.
    given : float64 (M, 2), P(node=1 | parent's state, everything below the node).
    total : ln P of the row.
    """

    parent: Array
    cpt: Array
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
    pair_counts, on_counts : float64, (L, 2, 2) and (V, 2), or (0, 0, 0) and (0, 0): expected counts, zeros before.
        ``pair_counts[z, t, s]``: rows with parent in t and z in s (a root counts as under t = 0);
        ``on_counts[v, t]``: rows with v on and its parent in t.
    """
    row_start, row_items = rows
    parent = base.parent
    cpt = base.cpt
    log_cpt = base.log_cpt
    order = base.order
    n_nodes = parent.size
    n_latents = order.size
    n_observed = n_nodes - n_latents
    evidence = base.evidence.copy()
    given = base.given.copy()
    message = np.empty(2)
    dirty = np.zeros(n_nodes, np.int32)  # 1 for latents with an active descendant
    on = np.empty(n_nodes)  # P(z=1|x)

    for r in range(numbers.size):
        first = row_start[numbers[r]]
        last = row_start[numbers[r] + 1]

        # What the variables that are on change in the evidence of their parents.
        total = base.total
        for e in range(first, last):
            v = _N(row_items[e])
            if parent[v] < 0:
                total += log_cpt[v, 0, 1] - log_cpt[v, 0, 0]
                continue
            z = _N(parent[v])
            dirty[z] = 1
            for t in range(2):
                evidence[z, t] += log_cpt[v, t, 1] - log_cpt[v, t, 0]

        # Upward, children first: only along the paths from the variables that are on. With the larger of the two
        # evidences taken out, one exponential serves both states of the parent.
        for k in range(n_latents):
            z = _N(order[k])
            if not dirty[z]:
                continue

            # P(all below z | z=s), relative to the larger of the two
            larger = max(evidence[z, 0], evidence[z, 1])
            smaller_share = np.exp(-abs(evidence[z, 1] - evidence[z, 0]))
            off_share = 1.0 if evidence[z, 0] >= evidence[z, 1] else smaller_share
            on_share = 1.0 if evidence[z, 1] > evidence[z, 0] else smaller_share
            for t in range(2):
                z_off = cpt[z, t, 0] * off_share
                z_on = cpt[z, t, 1] * on_share
                message[t] = larger + np.log(z_off + z_on)
                given[z, t] = z_on / (z_off + z_on)

            if parent[z] < 0:
                total += message[0] - base.message[z, 0]
            else:
                p = _N(parent[z])
                dirty[p] = 1
                for t in range(2):
                    evidence[p, t] += message[t] - base.message[z, t]

        loglik[r] = total

        # Downward, parents first: P(z=1|x) = Σ_t P(parent=t|x) · P(z=1 | parent=t, all below z). It also cleans up.
        for k in range(n_latents - 1, -1, -1):
            z = _N(order[k])
            if not dirty[z] and posterior.shape[0] == 0:
                continue

            parent_on = on[_N(parent[z])] if parent[z] >= 0 else 0.0
            both_on = parent_on * given[z, 1]
            only_z = (1.0 - parent_on) * given[z, 0]
            on[z] = both_on + only_z
            if posterior.shape[0] > 0:
                posterior[r, z - _N(n_observed)] = on[z]

            if pair_counts.shape[0] > 0:
                counts = pair_counts[z - _N(n_observed)]
                counts[0, 0] += (1.0 - parent_on) - only_z
                counts[0, 1] += only_z
                counts[1, 0] += parent_on - both_on
                counts[1, 1] += both_on

            if dirty[z]:
                dirty[z] = 0
                for t in range(2):
                    evidence[z, t] = base.evidence[z, t]
                    given[z, t] = base.given[z, t]

        if on_counts.shape[0] > 0:
            for e in range(first, last):
                v = _N(row_items[e])
                if parent[v] >= 0:
                    parent_on = on[_N(parent[v])]
                    on_counts[v, 0] += 1.0 - parent_on
                    on_counts[v, 1] += parent_on

    # What each latent adds in the rows without an active descendant, parents first.
    for k in range(n_latents - 1, -1, -1):
        if pair_counts.shape[0] == 0:
            break

        z = _N(order[k])
        counts = pair_counts[z - _N(n_observed)]
        parent_on = -(counts[1, 0] + counts[1, 1])
        if parent[z] >= 0:
            of_parent = pair_counts[_N(parent[z]) - _N(n_observed)]
            parent_on += of_parent[0, 1] + of_parent[1, 1]

        # differences may fall below 0 in their last digits
        parent_on = max(parent_on, 0.0)
        n_active = counts[0, 0] + counts[0, 1] + counts[1, 0] + counts[1, 1]
        parent_off = max(numbers.size - n_active - parent_on, 0.0)
        counts[0, 0] += parent_off * (1.0 - base.given[z, 0])
        counts[0, 1] += parent_off * base.given[z, 0]
        counts[1, 0] += parent_on * (1.0 - base.given[z, 1])
        counts[1, 1] += parent_on * base.given[z, 1]
