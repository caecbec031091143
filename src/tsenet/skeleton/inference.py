"""Inference on a latent tree, and stepwise EM over all its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks
from tsenet.data.binary import BinaryRows
from tsenet.data.blocks import Blocks
from tsenet.progress import Progress
from tsenet.skeleton.kernels.csr import Csr
from tsenet.skeleton.kernels.inference_kernels import PreparedTree, infer_rows
from tsenet.skeleton.tree import LatentTree, nodes_by_depth

ROWS_PER_CHUNK = 1024
ROWS_PER_STATISTIC = 256  # rows whose expected counts are summed by one thread
BLOCK_CELLS = 1 << 23  # posteriors in memory at a time: 64 MB
NEVER = 1e-300  # replaces probability 0: messages subtract logarithms, and −inf − (−inf) is NaN
BATCH_ROWS = 1000
STEP_EXPONENT = 0.75
PSEUDO_ROWS = 1.0  # strength, in rows, of the prior that a child does not depend on its parent
SMALLEST = 1e-9


@dataclass(frozen=True)
class Inference:
    """Exact inference on a tree that is prepared for the kernel."""

    tree: PreparedTree

    @classmethod
    def of(
        cls,
        parent: NDArray[np.int32],
        cpt: NDArray[np.float64],
        n_observed: int,
        by_depth: Sequence[NDArray[np.intp]] | None = None,
    ) -> Inference:
        """Prepare a tree given by its arrays (``cpt`` is (M, 2, 2), ``cpt[v, t, s] = P(v=s | parent=t)``).

        ``by_depth`` is what :func:`nodes_by_depth` returns for ``parent``, if it is known.
        """
        by_depth = nodes_by_depth(parent) if by_depth is None else by_depth
        latents = [nodes[nodes >= n_observed] for nodes in reversed(by_depth)]
        # Copies are writable: read-only arrays are another type to numba and would compile the kernel again.
        log_cpt = np.log(np.maximum(cpt, NEVER))
        order = np.concatenate(latents).astype(np.int32)
        evidence, given = np.zeros((parent.size, 2)), np.zeros((parent.size, 2))
        message = log_cpt[:, :, 0].copy()  # right for the observed variables, which are off
        placed = np.flatnonzero(parent[:n_observed] >= 0)
        for t in range(2):
            evidence[:, t] = np.bincount(parent[placed], message[placed, t], parent.size)
        for nodes in latents:
            joint = log_cpt[nodes] + evidence[nodes, None, :]
            message[nodes] = np.logaddexp(joint[:, :, 0], joint[:, :, 1])
            given[nodes] = np.exp(joint[:, :, 1] - message[nodes])
            linked = nodes[parent[nodes] >= 0]
            np.add.at(evidence, parent[linked], message[linked])
        total = float(message[parent < 0, 0].sum())
        own = np.array(parent, np.int32)
        return cls(PreparedTree(own, log_cpt, order, evidence, message, given, total))

    @property
    def n_latents(self) -> int:
        """Number of latents L."""
        return int(self.tree.order.size)

    def log_likelihood(self, rows: BinaryRows, workers: Workers) -> NDArray[np.float64]:
        """Exact ln P(x) of every row: (N,)."""
        return self._of_rows(rows, workers, np.empty((0, 0)))

    def posterior(self, rows: BinaryRows, workers: Workers) -> NDArray[np.float64]:
        """P(z=1|x) of every latent in every row: (N, L)."""
        out = np.empty((rows.n_rows, self.n_latents))
        self._of_rows(rows, workers, out)
        return out

    def _of_rows(
        self, rows: BinaryRows, workers: Workers, posterior: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Fill the posteriors (N, L), unless they are (0, 0); return ln P(x)."""
        loglik = np.empty(rows.n_rows)
        items, no_counts = Csr(rows.indptr, rows.indices), (np.empty((0, 0, 0)), np.empty((0, 0)))

        def serve(part: tuple[int, int]) -> None:
            here, numbers = slice(*part), np.arange(*part)
            infer_rows(numbers, items, self.tree, loglik[here], posterior[here], *no_counts)

        for _ in workers.map(serve, chunks(rows.n_rows, ROWS_PER_CHUNK)):
            pass
        return loglik

    def likelier_states(self, rows: BinaryRows, workers: Workers) -> BinaryRows:
        """Rows of L latents, each on where P(z=1|x) > ½; only one block of posteriors is in memory at a time."""
        blocks = chunks(rows.n_rows, max(64, BLOCK_CELLS // max(1, self.n_latents)))
        parts = [
            BinaryRows.of_dense(self.posterior(rows.take(slice(a, b)), workers) > 0.5)
            for a, b in blocks
        ]
        return BinaryRows.concatenate(parts)

    def expected_counts(
        self, rows: BinaryRows, numbers: NDArray[np.int64], workers: Workers
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """E-step over the rows ``numbers``: counts (L, 2, 2) and (V, 2), as the kernel names them, and log-likelihood.

        Partial sums are added in chunk order, so the result does not depend on the number of threads.
        """
        shapes = (self.n_latents, 2, 2), (rows.n_columns, 2)
        pairs, on = map(np.zeros, shapes)
        loglik, items = 0.0, Csr(rows.indptr, rows.indices)

        def serve(part: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
            here, counts = numbers[slice(*part)], [np.zeros(shape) for shape in shapes]
            part_loglik = np.empty(here.size)
            infer_rows(here, items, self.tree, part_loglik, np.empty((0, 0)), *counts)
            return counts[0], counts[1], float(part_loglik.sum())

        for counts in workers.map(serve, chunks(numbers.size, ROWS_PER_STATISTIC)):
            pairs += counts[0]
            on += counts[1]
            loglik += counts[2]
        return pairs, on, loglik


def tables_from_counts(
    pairs: NDArray[np.float64],
    on: NDArray[np.float64],
    parent: NDArray[np.int32],
    pseudo: float,
    cpt: NDArray[np.float64],
    positive: bool = False,
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
    positive : bool
        Whether no latent may be less likely when its parent is on. The likeliest such table has the latent's marginal
        in both rows.
    """
    n_observed = on.shape[0]
    state = pairs.sum(axis=1)  # (L, 2): share of rows with z in each state
    has = parent[:n_observed] >= 0
    above = state[parent[:n_observed][has] - n_observed]  # (V', 2)
    marginal = on[has].sum(axis=1, keepdims=True)
    rate = (on[has] + pseudo * marginal) / (above + pseudo)
    _set_rates(cpt, np.flatnonzero(has), rate)
    marginal = state[:, None, 1]
    rate = (pairs[:, :, 1] + pseudo * marginal) / (pairs.sum(axis=2) + pseudo)
    alone = parent[n_observed:] < 0
    if positive:
        alone |= rate[:, 1] < rate[:, 0]
    rate = np.where(alone[:, None], marginal, rate)
    _set_rates(cpt, np.arange(n_observed, parent.size), rate)


def _set_rates(
    cpt: NDArray[np.float64], nodes: NDArray[np.intp], rate: NDArray[np.float64]
) -> None:
    rate = np.clip(rate, SMALLEST, 1.0 - SMALLEST)
    cpt[nodes, :, 1] = rate
    cpt[nodes, :, 0] = 1.0 - rate


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
    positive: bool = False,
) -> NDArray[np.float64]:
    """Improve all tables by ``steps`` of stepwise EM: counts ← (1−η)·counts + η·counts of a batch, η = (u+2)^−¾.

    Parameters
    ----------
    pieces : Blocks
        All rows, binary; only those of the batches are read into memory.
    positive : bool
        Whether no latent may be less likely when its parent is on.

    Returns
    -------
    float64 (M, 2, 2)
        The new ``cpt``.
    """
    parent, cpt, n_observed = tree.parent, tree.cpt.copy(), tree.n_observed
    by_depth = nodes_by_depth(parent)
    pairs, on = counts_from_tables(parent, cpt, tree.marginals(), n_observed)
    size = min(BATCH_ROWS, pieces.n_rows)
    batches = list(batch_numbers(pieces.n_rows, steps, rng))
    read = np.unique(np.concatenate(batches))
    rows = pieces.take(read, stage="rows of stepwise EM", progress=progress)
    progress.start("refine", steps)
    for u, batch in enumerate(batches):
        inference = Inference.of(parent, cpt, n_observed, by_depth)
        numbers = np.searchsorted(read, batch).astype(np.int64)
        batch_pairs, batch_on, loglik = inference.expected_counts(rows, numbers, workers)
        eta = (u + 2.0) ** -STEP_EXPONENT
        pairs += eta * (batch_pairs / size - pairs)
        on += eta * (batch_on / size - on)
        tables_from_counts(pairs, on, parent, PSEUDO_ROWS / pieces.n_rows, cpt, positive)
        progress.advance(1, f"log-likelihood {loglik / size:.2f} per row")
    progress.finish()
    return cpt
