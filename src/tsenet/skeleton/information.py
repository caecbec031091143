"""Mutual information between binary variables, and each variable's best partners (paper §3.1)."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks_of_equal_work
from tsenet.data.rows import BinaryRows
from tsenet.progress import Progress
from tsenet.scale.cluster import Cluster
from tsenet.skeleton.kernels import pair_kernels
from tsenet.skeleton.kernels.pair_kernels import Csr, PairData

JOINT_BYTES = 1 << 30  # dense data are counted by a matrix product where it fits here
PRODUCT_COST = 0.02  # one multiplication, in units of one count by row lists (measured)
CHUNK_WORK = 2_000_000  # counts in one task: some milliseconds


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
    """

    def __init__(self, rows: BinaryRows, positive: bool = False) -> None:
        self.rows, self.positive = rows, positive
        self.columns = rows.transpose()
        self.n_on = np.diff(self.columns.indptr)
        self.varies = (self.n_on > 0) & (self.n_on < rows.n_rows)
        n = np.arange(rows.n_rows + 1, dtype=np.float64)
        self.xlogx = n * np.log(np.maximum(n, 1.0))
        # Work to count variable i against all others by row lists: the non-zeros of the rows where it is on.
        per_row = np.diff(rows.indptr)
        in_order = np.concatenate([[0], np.cumsum(per_row[self.columns.indices])])
        self.work = in_order[self.columns.indptr[1:]] - in_order[self.columns.indptr[:-1]]
        self.joint = self._joint_counts()

    def _joint_counts(self) -> NDArray[np.int32]:
        """Joint counts of all pairs (V, V) if a matrix product is faster, as for dense data, else empty."""
        n_rows, n_variables = self.rows.shape
        n_bytes = 4 * n_rows * n_variables + 8 * n_variables**2
        if self.work.sum() <= PRODUCT_COST * n_rows * n_variables**2 or n_bytes > JOINT_BYTES:
            return np.empty((0, 0), np.int32)
        dense = self.rows.to_dense().astype(np.float32)  # exact up to 2²⁴ rows
        return np.asarray(dense.T @ dense, np.int32)

    def gains(
        self, joint: NDArray[np.int64], n_i: NDArray[np.int64], n_j: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """N·MI in nats of pairs that are both on in ``joint`` rows and alone in ``n_i`` and ``n_j``."""
        n, f = self.rows.n_rows, self.xlogx
        only_i, only_j = n_i - joint, n_j - joint
        gain = f[joint] + f[only_i] + f[only_j] + f[n - only_i - n_j]
        entropy = f + f[::-1]
        gain -= entropy[n_i] + entropy[n_j] - f[n]
        if self.positive:
            gain[n * joint <= n_i * n_j] = 0.0
        return np.asarray(np.maximum(gain, 0.0))

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
        frequent_first = np.empty(0, np.int32)
        if not self.positive:
            living = np.flatnonzero(may_join).astype(np.int32)
            frequent_first = living[np.argsort(-self.n_on[living], kind="stable")]
        partners = np.empty((variables.size, n_partners), np.int32)
        gain = np.empty((variables.size, n_partners), np.float64)
        data = PairData(
            Csr(self.rows.indptr, self.rows.indices),
            Csr(self.columns.indptr, self.columns.indices),
            self.joint,
            self.n_on,
            self.xlogx,
            may_join,
            frequent_first,
        )

        def serve(part: tuple[int, int]) -> int:
            here = slice(*part)
            pair_kernels.best_partners(variables[here], data, partners[here], gain[here])
            return part[1] - part[0]

        for done in workers.map(serve, self.parts(variables)):
            if progress is not None:
                progress.advance(done)
        return partners, gain

    def parts(self, variables: NDArray[np.int32]) -> list[tuple[int, int]]:
        """Cut a list of variables into ``(start, stop)`` pieces of about equal work."""
        return chunks_of_equal_work(
            self.work[variables] + self.rows.n_columns // 16 + 1, CHUNK_WORK
        )


class PairInformation(NamedTuple):
    """Each variable's best partners by mutual information.

    Fields
    ------
    partners : int32 (V, m)
        Best first; −1 where there are fewer.
    gain : float64 (V, m)
        N · MI in nats, so ``2 · gain`` is the likelihood-ratio statistic.
    """

    partners: NDArray[np.int32]
    gain: NDArray[np.float64]


class _PartnersInRows:
    """Finds the best partners of a range of variables: what a worker of a cluster does."""

    def __init__(self, rows: BinaryRows, n_partners: int) -> None:
        self._rows, self._n_partners = rows, n_partners

    @cached_property
    def _counter(self) -> PairCounter:
        return PairCounter(self._rows)

    def __call__(self, span: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        variables = np.arange(*span, dtype=np.int32)
        with Workers(1) as workers:
            return self._counter.best_partners(
                variables, self._counter.varies, self._n_partners, workers
            )


def pair_information(
    counter: PairCounter,
    n_partners: int,
    workers: Workers,
    progress: Progress,
    cluster: Cluster | None = None,
) -> PairInformation:
    """Best partners of every variable that varies, V · m numbers in all; found by a cluster if there is one.

    A list that holds all possible partners ends with −1, so m is at most V.
    """
    n_variables = counter.rows.n_columns
    n_partners = min(n_partners, n_variables)
    progress.start("pairs", n_variables)
    if cluster is None:
        partners, gain = counter.best_partners(
            np.arange(n_variables, dtype=np.int32), counter.varies, n_partners, workers, progress
        )
    else:
        work = counter.work + 1
        spans = chunks_of_equal_work(work, int(work.sum()) // (4 * cluster.n_slots) + 1)
        found = list(cluster.map(_PartnersInRows(counter.rows, n_partners), spans))
        partners, gain = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    partners[~counter.varies] = -1
    gain[~counter.varies] = 0.0
    progress.finish()
    return PairInformation(partners, gain)
