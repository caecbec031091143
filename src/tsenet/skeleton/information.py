"""Mutual information between binary variables, and each variable's best partners (paper §3.1)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks_of_equal_work
from tsenet.data.binary import BinaryRows
from tsenet.data.blocks import Blocks
from tsenet.progress import Progress
from tsenet.skeleton.chow_liu import n_log_n
from tsenet.skeleton.kernels.csr import Csr
from tsenet.skeleton.kernels.pair_kernels import PairData, best_partners

JOINT_BYTES = 1 << 30  # dense data are counted by a matrix product where it fits here
PRODUCT_COST = 0.02  # one multiplication, in units of one count by row lists (measured)
CHUNK_WORK = 2_000_000  # counts in one task: some milliseconds
# Entries of rows that are sent to the workers of a cluster: a worker holds 24 bytes of each, here 0.8 GB.
MAX_SENT_ENTRIES = 1 << 25


class PairCounter:
    """Binary rows, held by row and by variable, ready to count any pair.

    Parameters
    ----------
    rows : BinaryRows
    positive : bool
        Whether only positive ties count: pairs that are on together more often than by chance.

    Attributes
    ----------
    rows, columns : BinaryRows
        The data (N rows of V variables) and its transpose.
    n_on : int64 (V,)
        In how many rows each variable is on.
    varies : bool (V,)
        Whether a variable takes both values; a constant one carries no information and joins no group.
    data : PairData
        The same for the kernel.
    """

    def __init__(self, rows: BinaryRows, positive: bool = False) -> None:
        self.rows = rows
        self.positive = positive
        self.columns = rows.transpose()
        self.n_on = np.diff(self.columns.indptr)
        self.varies = (self.n_on > 0) & (self.n_on < rows.n_rows)

        # Work to count variable i against all others by row lists: the non-zeros of the rows where it is on.
        length = np.diff(rows.indptr)
        total = np.concatenate([[0], np.cumsum(length[self.columns.indices])])
        self.work = total[self.columns.indptr[1:]] - total[self.columns.indptr[:-1]]  # (V,)

        self.data = PairData(
            columns=Csr(self.columns.indptr, self.columns.indices),
            rows=Csr(rows.indptr, rows.indices),
            joint=self._joint_counts(),
            n_on=self.n_on,
            xlogx=n_log_n(rows.n_rows),
            alive=self.varies,
            own=np.arange(rows.n_columns, dtype=np.int32),
            frequent_first=np.empty(0, np.int32),
            positive=positive,
        )

    def _joint_counts(self) -> NDArray[np.int32]:
        """Joint counts of all pairs (V, V) if a matrix product is faster, as for dense data, else empty."""
        n_rows, n_variables = self.rows.shape
        n_bytes = 4 * n_rows * n_variables + 8 * n_variables**2
        if self.work.sum() <= PRODUCT_COST * n_rows * n_variables**2 or n_bytes > JOINT_BYTES:
            return np.empty((0, 0), np.int32)
        dense = self.rows.to_dense().astype(np.float32)  # exact up to 2²⁴ rows
        return np.asarray(dense.T @ dense, np.int32)

    def best_partners(
        self,
        variables: NDArray[np.int32],
        alive: NDArray[np.bool_],
        n_partners: int,
        workers: Workers,
        progress: Progress | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Best ``n_partners`` available partners of each variable, by mutual information, best first.

        ``alive`` (V,) marks the variables that may be a partner; constant ones never are.

        Returns
        -------
        partners : int32 (B, m)
            −1 where there are fewer than m partners.
        gain : float64 (B, m)
            N · MI in nats.
        """
        may_join = alive & self.varies
        # Variables that are never on together may be partners too, unless only positive ties count.
        candidates = np.flatnonzero(may_join & (not self.positive)).astype(np.int32)
        by_frequency = candidates[np.argsort(-self.n_on[candidates], kind="stable")]
        data = self.data._replace(alive=may_join, frequent_first=by_frequency)
        return self._search(variables, data, n_partners, workers, progress)[:2]

    def best_latents(
        self,
        variables: NDArray[np.int32],
        completed: BinaryRows,
        own_latent: NDArray[np.int32],
        workers: Workers,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
        """Each variable's best latent other than its ``own`` by mutual information, N · MI, and their joint count.

        −1, 0 and 0 for a variable that is on together with no such latent or, if only positive ties count, has none.
        """
        data = self.data._replace(
            rows=Csr(completed.indptr, completed.indices),
            joint=np.empty((0, 0), np.int32),
            n_on=completed.counts(),
            alive=np.ones(completed.n_columns, np.bool_),
            own=own_latent,
        )
        latent, gain, joint = self._search(variables, data, 1, workers)
        return latent[:, 0], gain[:, 0], joint

    def _search(
        self,
        variables: NDArray[np.int32],
        data: PairData,
        n_partners: int,
        workers: Workers,
        progress: Progress | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
        partners = np.empty((variables.size, n_partners), np.int32)
        gain = np.empty((variables.size, n_partners), np.float64)
        joint = np.empty(variables.size, np.int64)

        def serve(span: tuple[int, int]) -> int:
            chunk = slice(*span)
            best_partners(variables[chunk], data, partners[chunk], gain[chunk], joint[chunk])
            return span[1] - span[0]

        # Counting costs the entries of the rows, and choosing about a sixteenth of a count for each candidate.
        work = self.work[variables] + self.rows.n_columns // 16 + 1
        for n_served in workers.map(serve, chunks_of_equal_work(work, CHUNK_WORK)):
            if progress is not None:
                progress.advance(n_served)

        return partners, gain, joint

    def __reduce__(self) -> tuple[Any, ...]:
        """Only the rows go to a worker; it makes the rest of them."""
        return PairCounter, (self.rows, self.positive)


def _partners_of_span(
    counter: PairCounter, n_partners: int, span: tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The best partners of a range of variables: what a worker of a cluster does."""
    variables = np.arange(*span, dtype=np.int32)
    with Workers(1) as workers:
        return counter.best_partners(variables, counter.varies, n_partners, workers)


def pair_information(
    counter: PairCounter,
    n_partners: int,
    workers: Workers,
    progress: Progress,
    blocks: Blocks | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Best partners of every variable that varies, found by the blocks' workers if they can.

    Returns
    -------
    partners : int32 (V, m)
        Best first; −1 where there are fewer. m is at most V.
    gain : float64 (V, m)
        N · MI in nats, so ``2 · gain`` is the likelihood-ratio statistic.
    """
    n_variables = counter.rows.n_columns
    n_partners = min(n_partners, n_variables)
    progress.start("pairs", n_variables)
    cluster = None if blocks is None else blocks.cluster
    if cluster is None or counter.rows.nnz > MAX_SENT_ENTRIES:
        partners, gain = counter.best_partners(
            np.arange(n_variables, dtype=np.int32), counter.varies, n_partners, workers, progress
        )
    else:
        work = counter.work + 1
        spans = chunks_of_equal_work(work, int(work.sum()) // (4 * cluster.n_slots) + 1)
        found = cluster.map(partial(_partners_of_span, counter, n_partners), spans)
        partners, gain = (np.concatenate(arrays) for arrays in zip(*found, strict=True))

    partners[~counter.varies] = -1
    gain[~counter.varies] = 0.0
    progress.finish()
    return partners, gain
