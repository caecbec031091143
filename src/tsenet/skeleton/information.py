"""Mutual information between binary variables, and each variable's best partners (paper §3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks_of_equal_work
from tsenet.data.rows import BinaryRows
from tsenet.progress import Progress
from tsenet.scale.cluster import Cluster
from tsenet.skeleton.kernels import pair_kernels
from tsenet.skeleton.kernels.pair_kernels import Csr, PairData

BITSET_BYTES = 1 << 30  # bitsets of all variables are made only where they fit here
BITSET_WORD_COST = (
    0.35  # one AND + popcount of 64 rows, in units of one count by row lists (measured)
)
CHUNK_WORK = 2_000_000  # counts in one task: some milliseconds


class PairCounter:
    """Binary rows, held by row and by variable, ready to count any pair.

    Attributes
    ----------
    rows, columns : BinaryRows
        The data (N rows of V variables) and its transpose.
    n_on : int64 (V,)
        In how many rows each variable is on.
    varies : bool (V,)
        Whether a variable takes both values; a constant one carries no information and joins no group.
    """

    def __init__(self, rows: BinaryRows) -> None:
        self.rows = rows
        self.columns = rows.transpose()
        self.n_on = np.diff(self.columns.indptr)
        self.varies = (self.n_on > 0) & (self.n_on < rows.n_rows)
        n = np.arange(rows.n_rows + 1, dtype=np.float64)
        self.xlogx = n * np.log(np.maximum(n, 1.0))
        # Work to count variable i against all others by row lists: the non-zeros of the rows where it is on.
        per_row = np.diff(rows.indptr)
        in_order = np.concatenate([[0], np.cumsum(per_row[self.columns.indices])])
        self.work = in_order[self.columns.indptr[1:]] - in_order[self.columns.indptr[:-1]]
        self.bits = self._bitsets()

    def _bitsets(self) -> NDArray[np.uint64]:
        """All variables as bitsets if the data are dense enough for bitsets to be faster, else empty."""
        n_variables = self.rows.n_columns
        n_words = -(-self.rows.n_rows // 64)
        by_bits = BITSET_WORD_COST * n_words * n_variables * n_variables
        if self.work.sum() <= by_bits or 8 * n_words * n_variables > BITSET_BYTES:
            return np.empty((0, 0), np.uint64)
        bits = np.zeros((n_variables, n_words), np.uint64)
        columns = Csr(self.columns.indptr, self.columns.indices)
        pair_kernels.pack_bits(columns, 0, n_variables, bits)
        return bits

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
        living = np.flatnonzero(alive & self.varies).astype(np.int32)
        frequent_first = living[np.argsort(-self.n_on[living], kind="stable")]
        may_join = alive & self.varies
        partners = np.empty((variables.size, n_partners), np.int32)
        gain = np.empty((variables.size, n_partners), np.float64)
        data = PairData(
            Csr(self.rows.indptr, self.rows.indices),
            Csr(self.columns.indptr, self.columns.indices),
            self.bits,
            self.n_on,
            self.xlogx,
        )

        def serve(part: tuple[int, int]) -> int:
            start, stop = part
            pair_kernels.best_partners(
                variables[start:stop],
                data,
                may_join,
                frequent_first,
                partners[start:stop],
                gain[start:stop],
            )
            return stop - start

        for done in workers.map(serve, self.parts(variables)):
            if progress is not None:
                progress.advance(done)
        return partners, gain

    def parts(self, variables: NDArray[np.int32]) -> list[tuple[int, int]]:
        """Cut a list of variables into ``(start, stop)`` pieces of about equal work."""
        return chunks_of_equal_work(
            self.work[variables] + self.rows.n_columns // 16 + 1, CHUNK_WORK
        )


@dataclass(frozen=True, eq=False)
class PairInformation:
    """Each variable's best partners by mutual information.

    Attributes
    ----------
    n_rows : int
    partners : int32 (V, m)
        Best first; −1 where there are fewer.
    gain : float64 (V, m)
        N · MI in nats, so ``gain / n_rows`` is the mutual information and ``2 · gain`` the likelihood-ratio statistic.
    """

    n_rows: int
    partners: NDArray[np.int32]
    gain: NDArray[np.float64]

    def __repr__(self) -> str:
        n_variables, m = self.partners.shape
        return f"PairInformation({n_variables} variables, {m} partners each, {self.n_rows} rows)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairInformation):
            return NotImplemented
        return (
            self.n_rows == other.n_rows
            and np.array_equal(self.partners, other.partners)
            and np.array_equal(self.gain, other.gain)
        )


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
    return PairInformation(counter.rows.n_rows, partners, gain)
