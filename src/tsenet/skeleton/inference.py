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

ROWS_PER_CHUNK = 1024  # of one task
ROWS_PER_STATISTIC = 256  # rows whose expected counts are summed by one thread
BLOCK_CELLS = 1 << 23  # posteriors in memory at a time: 64 MB
NEVER = 1e-300  # replaces probability 0: messages subtract logarithms, and −inf − (−inf) is NaN
BATCH_ROWS = 1000  # of a step of stepwise EM, as in the paper
STEP_EXPONENT = 0.75  # η = (u+2)^−¾; exponents above ½ and up to 1 converge (Liang and Klein 2009)
PSEUDO_ROWS = 1.0  # strength, in rows, of the prior that a child does not depend on its parent
MIN_RATE = 1e-9  # no probability becomes 0 or 1


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
        latents = [nodes[nodes >= n_observed] for nodes in reversed(by_depth)]  # deepest first
        # Copies are writable: read-only arrays are another type to numba and would compile the kernel again.
        cpt = np.maximum(cpt, NEVER)
        log_cpt = np.log(cpt)

        # The upward pass of a row in which all observed variables are off; other rows differ from it along few paths.
        # message[v, t] = ln P(all below v | parent of v in state t), and evidence[z, s] the sum over z's children.
        message = log_cpt[:, :, 0].copy()  # right for the observed variables
        evidence = np.zeros((parent.size, 2))
        placed = np.flatnonzero(parent[:n_observed] >= 0)
        for t in range(2):
            evidence[:, t] = np.bincount(parent[placed], message[placed, t], parent.size)

        conditional = np.zeros((parent.size, 2))  # P(z=1 | parent in state t, all below z off)
        for nodes in latents:
            joint = log_cpt[nodes] + evidence[nodes, None, :]
            message[nodes] = np.logaddexp(joint[:, :, 0], joint[:, :, 1])
            conditional[nodes] = np.exp(joint[:, :, 1] - message[nodes])
            linked = nodes[parent[nodes] >= 0]
            np.add.at(evidence, parent[linked], message[linked])

        prepared = PreparedTree(
            np.array(parent, np.int32),
            cpt,
            log_cpt,
            np.concatenate(latents).astype(np.int32),
            evidence,
            message,
            conditional,
            float(message[parent < 0, 0].sum()),
        )
        return cls(prepared)

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
        items = Csr(rows.indptr, rows.indices)
        no_pairs = np.empty((0, 0, 0))
        no_on = np.empty((0, 0))

        def serve(span: tuple[int, int]) -> None:
            chunk = slice(*span)
            numbers = np.arange(*span)
            infer_rows(numbers, items, self.tree, loglik[chunk], posterior[chunk], no_pairs, no_on)

        for _ in workers.map(serve, chunks(rows.n_rows, ROWS_PER_CHUNK)):
            pass
        return loglik

    def likelier_states(self, rows: BinaryRows, workers: Workers) -> BinaryRows:
        """Rows of L latents, each on where P(z=1|x) > ½; only one block of posteriors is in memory at a time."""
        n_rows = max(64, BLOCK_CELLS // max(1, self.n_latents))
        blocks = []
        for start, stop in chunks(rows.n_rows, n_rows):
            posterior = self.posterior(rows.take(slice(start, stop)), workers)  # (n_rows, L)
            blocks.append(BinaryRows.of_dense(posterior > 0.5))
        return BinaryRows.concatenate(blocks)

    def expected_counts(
        self, rows: BinaryRows, numbers: NDArray[np.int64], workers: Workers
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """E-step over the rows ``numbers``: counts (L, 2, 2) and (V, 2), as the kernel names them, and log-likelihood.

        Partial sums are added in chunk order, so the result does not depend on the number of threads.
        """
        items = Csr(rows.indptr, rows.indices)
        no_posterior = np.empty((0, 0))

        def serve(span: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
            chunk = numbers[slice(*span)]
            pairs = np.zeros((self.n_latents, 2, 2))
            on = np.zeros((rows.n_columns, 2))
            loglik = np.empty(chunk.size)
            infer_rows(chunk, items, self.tree, loglik, no_posterior, pairs, on)
            return pairs, on, float(loglik.sum())

        total_pairs = np.zeros((self.n_latents, 2, 2))
        total_on = np.zeros((rows.n_columns, 2))
        total_loglik = 0.0
        for pairs, on, loglik in workers.map(serve, chunks(numbers.size, ROWS_PER_STATISTIC)):
            total_pairs += pairs
            total_on += on
            total_loglik += loglik

        return total_pairs, total_on, total_loglik


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

    # Observed variables: P(v=1 | t) = (share with v on, parent in t, + pseudo · P(v)) / (share in t + pseudo)
    has_parent = parent[:n_observed] >= 0
    parent_state = state[parent[:n_observed][has_parent] - n_observed]  # (V', 2)
    marginal = on[has_parent].sum(axis=1, keepdims=True)
    rate = (on[has_parent] + pseudo * marginal) / (parent_state + pseudo)
    _set_rates(cpt, np.flatnonzero(has_parent), rate)

    # Latents: the same; roots, and those of which the rate would fall, get their marginal in both rows.
    marginal = state[:, None, 1]
    rate = (pairs[:, :, 1] + pseudo * marginal) / (pairs.sum(axis=2) + pseudo)
    is_independent = parent[n_observed:] < 0
    if positive:
        is_independent |= rate[:, 1] < rate[:, 0]

    rate = np.where(is_independent[:, None], marginal, rate)
    _set_rates(cpt, np.arange(n_observed, parent.size), rate)


def _set_rates(
    cpt: NDArray[np.float64], nodes: NDArray[np.intp], rate: NDArray[np.float64]
) -> None:
    rate = np.clip(rate, MIN_RATE, 1.0 - MIN_RATE)
    cpt[nodes, :, 1] = rate
    cpt[nodes, :, 0] = 1.0 - rate


def counts_from_tables(
    parent: NDArray[np.int32], cpt: NDArray[np.float64], on: NDArray[np.float64], n_observed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of rows implied by the tables: the starting point of stepwise EM.

    ``on`` (M,) are the marginals P(v=1). Returns ``pairs`` and ``on`` of :func:`tables_from_counts`.
    """
    parent_on = np.where(parent >= 0, on[parent], 0.0)  # for a root, t is 0
    weight = np.stack([1.0 - parent_on, parent_on], axis=1)  # (M, 2)
    joint = weight[:, :, None] * cpt  # (M, 2, 2): P(parent = t, v = s)
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
    parent = tree.parent
    cpt = tree.cpt.copy()
    by_depth = nodes_by_depth(parent)
    pairs, on = counts_from_tables(parent, cpt, tree.marginals(), tree.n_observed)

    # Only the rows of the batches are read.
    size = min(BATCH_ROWS, pieces.n_rows)
    batches = list(batch_numbers(pieces.n_rows, steps, rng))
    needed = np.unique(np.concatenate(batches))
    rows = pieces.take(needed, stage="rows of stepwise EM", progress=progress)

    progress.start("refine", steps)
    for u, batch in enumerate(batches):
        # E-step: expected counts of the batch under the present tables.
        inference = Inference.of(parent, cpt, tree.n_observed, by_depth)
        numbers = np.searchsorted(needed, batch).astype(np.int64)
        batch_pairs, batch_on, loglik = inference.expected_counts(rows, numbers, workers)

        # M-step: from the running mean of all batches so far.
        eta = (u + 2.0) ** -STEP_EXPONENT
        pairs += eta * (batch_pairs / size - pairs)
        on += eta * (batch_on / size - on)
        tables_from_counts(pairs, on, parent, PSEUDO_ROWS / pieces.n_rows, cpt, positive)
        progress.advance(1, f"log-likelihood {loglik / size:.2f} per row")

    progress.finish()
    return cpt
