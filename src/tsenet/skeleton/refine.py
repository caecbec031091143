"""Stepwise EM over the whole tree: all tables are fitted jointly, from batches of rows (ALGORITHM §5)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers
from tsenet.progress import Progress
from tsenet.scale.blocks import Blocks
from tsenet.skeleton.inference import Inference, children_first
from tsenet.skeleton.tree import LatentTree

BATCH_ROWS = 1000
STEP_EXPONENT = 0.75
PSEUDO_ROWS = 1.0  # strength, in rows, of the prior that a child does not depend on its parent
SMALLEST = 1e-9
STEPS_PER_READ = 200  # steps whose rows are read in one pass


def tables_from_counts(
    pairs: NDArray[np.float64],
    on: NDArray[np.float64],
    parent: NDArray[np.int32],
    pseudo: float,
    cpt: NDArray[np.float64],
) -> None:
    """M-step: fill the tables from running shares of rows, for V variables, L latents and M = V + L nodes.

    Parameters
    ----------
    pairs : float64 (L, 2, 2)
        Share of rows with the parent in state t and latent z in state s; for a root, t is 0.
    on : float64 (V, 2)
        Share of rows with variable v on and its parent in state t.
    parent : int32 (M,)
    pseudo : float
        Share of rows by which each table is shrunk towards the node's marginal.
    cpt : float64 (M, 2, 2)
        The tables, which are overwritten.
    """
    n_observed = on.shape[0]
    state = pairs.sum(axis=1)  # (L, 2): share of rows with z in each state
    has = parent[:n_observed] >= 0
    above = state[parent[:n_observed][has] - n_observed]  # (V', 2)
    marginal = on[has].sum(axis=1, keepdims=True)
    rate = (on[has] + pseudo * marginal) / (above + pseudo)
    rate = np.clip(rate, SMALLEST, 1.0 - SMALLEST)
    leaves = np.flatnonzero(has)
    cpt[leaves, :, 1] = rate
    cpt[leaves, :, 0] = 1.0 - rate
    marginal = state[:, None, 1]
    rate = (pairs[:, :, 1] + pseudo * marginal) / (pairs.sum(axis=2) + pseudo)
    rate = np.where(parent[n_observed:, None] >= 0, rate, marginal)
    rate = np.clip(rate, SMALLEST, 1.0 - SMALLEST)
    cpt[n_observed:, :, 1] = rate
    cpt[n_observed:, :, 0] = 1.0 - rate


def counts_from_tables(
    parent: NDArray[np.int32], cpt: NDArray[np.float64], on: NDArray[np.float64], n_observed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of rows implied by the tables: the starting point of stepwise EM.

    ``on`` (M,) are the marginals P(v=1). Returns ``pairs`` and ``on`` of :func:`tables_from_counts`.
    """
    above = np.where(parent >= 0, on[parent], 0.0)  # for a root, t is 0
    weight = np.stack([1.0 - above, above], axis=1)
    joint = weight[:, :, None] * cpt
    return joint[n_observed:].copy(), joint[:n_observed, :, 1].copy()


def batch_numbers(n_rows: int, steps: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """The rows of each step, ascending; each pass over all rows takes them in a new random order."""
    size = min(BATCH_ROWS, n_rows)
    order = np.empty(0, np.int64)
    for _ in range(steps):
        if order.size < size:
            order = np.concatenate([order, rng.permutation(n_rows)])
        yield np.sort(order[:size])
        order = order[size:]


def refine(
    pieces: Blocks,
    tree: LatentTree,
    steps: int,
    rng: np.random.Generator,
    workers: Workers,
    progress: Progress,
) -> NDArray[np.float64]:
    """Improve all tables by ``steps`` of stepwise EM: counts ← (1−η)·counts + η·counts of a batch, η = (u+2)^−¾.

    Parameters
    ----------
    pieces : Blocks
        All rows, binary; only those of the batches are read into memory.

    Returns
    -------
    float64 (M, 2, 2)
        The new ``cpt``.
    """
    parent, cpt, n_observed = tree.parent, tree.cpt.copy(), tree.n_observed
    top_order = children_first(parent, tree.layer(tree.n_levels).start)
    pairs, on = counts_from_tables(parent, cpt, tree.marginals(), n_observed)
    pseudo = PSEUDO_ROWS / pieces.n_rows
    size = min(BATCH_ROWS, pieces.n_rows)
    numbers = batch_numbers(pieces.n_rows, steps, rng)
    for u in range(steps):
        if u % STEPS_PER_READ == 0:
            window = list(islice(numbers, STEPS_PER_READ))
            read = np.unique(np.concatenate(window))
            rows = pieces.take(read, stage="rows of stepwise EM", progress=None if u else progress)
            if u == 0:
                progress.start("refine", steps)
        batch = np.searchsorted(read, window[u % STEPS_PER_READ]).astype(np.int64)
        inference = Inference.of(parent, cpt, top_order, n_observed)
        batch_pairs, batch_on, loglik = inference.expected_counts(rows, batch, workers)
        eta = (u + 2.0) ** -STEP_EXPONENT
        pairs += eta * (batch_pairs / size - pairs)
        on += eta * (batch_on / size - on)
        tables_from_counts(pairs, on, parent, pseudo, cpt)
        progress.advance(1, f"log-likelihood {loglik / size:.2f} per row")
    progress.finish()
    return cpt
