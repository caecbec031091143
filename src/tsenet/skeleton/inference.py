"""Inference on a latent tree: log-likelihoods, posteriors and expected counts of binary rows (ALGORITHM §5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks
from tsenet.data.rows import BinaryRows
from tsenet.skeleton.kernels import inference_kernels
from tsenet.skeleton.kernels.inference_kernels import AllOff, TreeArrays
from tsenet.skeleton.kernels.pair_kernels import Csr

ROWS_PER_CHUNK = 1024
BLOCK_CELLS = 1 << 23  # posteriors in memory at a time: 64 MB
NEVER = (
    1e-300  # replaces probability 0: messages subtract logarithms again, and −inf − (−inf) is NaN
)


def children_first(parent: NDArray[np.int32], first: int) -> NDArray[np.int32]:
    """Nodes ``first..M`` (the top level, a tree of its own) in an order with children before parents."""
    order: list[int] = []
    children: dict[int, list[int]] = {}
    for node in range(first, parent.size):
        children.setdefault(int(parent[node]), []).append(node)
    stack = list(children.get(-1, []))
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(children.get(node, []))
    return np.array(order[::-1], np.int32)


@dataclass(frozen=True)
class Inference:
    """A tree prepared for the kernels.

    Attributes
    ----------
    model : TreeArrays
        The tree's arrays.
    base : AllOff
        Messages of the row in which every observed variable is off.
    """

    model: TreeArrays
    base: AllOff

    @classmethod
    def of(
        cls,
        parent: NDArray[np.int32],
        cpt: NDArray[np.float64],
        top_order: NDArray[np.int32],
        n_observed: int,
    ) -> Inference:
        """Prepare a tree given by its arrays (``cpt`` is (M, 2, 2), ``cpt[v, t, s] = P(v=s | parent=t)``)."""
        # Copies are writable: read-only arrays are another type to numba and would compile the kernels again.
        model = TreeArrays(
            np.array(parent, np.int32),
            np.log(np.maximum(cpt, NEVER)),
            np.array(top_order, np.int32),
            n_observed,
        )
        evidence, message, given = (np.zeros((parent.size, 2)) for _ in range(3))
        total = inference_kernels.base_messages(model, evidence, message, given)
        return cls(model, AllOff(evidence, message, given, total))

    @property
    def n_observed(self) -> int:
        """Number of observed variables V."""
        return self.model.n_observed

    @property
    def n_latents(self) -> int:
        """Number of latents L."""
        return int(self.model.parent.size) - self.n_observed

    def log_likelihood(self, rows: BinaryRows, workers: Workers) -> NDArray[np.float64]:
        """Exact ln P(x) of every row: (N,)."""
        out = np.empty(rows.n_rows)
        by_row = Csr(rows.indptr, rows.indices)

        def serve(part: tuple[int, int]) -> None:
            inference_kernels.log_likelihood_rows(*part, by_row, self.model, self.base, out)

        for _ in workers.map(serve, chunks(rows.n_rows, ROWS_PER_CHUNK)):
            pass
        return out

    def posterior(self, rows: BinaryRows, workers: Workers) -> NDArray[np.float64]:
        """P(z=1|x) of every latent in every row: (N, L)."""
        out = np.empty((rows.n_rows, self.n_latents))
        numbers = np.arange(rows.n_rows, dtype=np.int64)
        no_pairs, no_on = np.empty((0, 0, 0)), np.empty((0, 0))
        if rows.n_rows == 0 or self.n_latents == 0:
            return out

        def serve(part: tuple[int, int]) -> None:
            self._infer(part, rows, numbers, out, no_pairs, no_on)

        for _ in workers.map(serve, chunks(rows.n_rows, ROWS_PER_CHUNK)):
            pass
        return out

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
        no_posterior = np.empty((0, 0))

        def serve(part: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
            pairs = np.zeros((self.n_latents, 2, 2))
            on = np.zeros((self.n_observed, 2))
            return pairs, on, self._infer(part, rows, numbers, no_posterior, pairs, on)

        pairs = np.zeros((self.n_latents, 2, 2))
        on = np.zeros((self.n_observed, 2))
        loglik = 0.0
        for part_pairs, part_on, part_loglik in workers.map(
            serve, chunks(numbers.size, ROWS_PER_CHUNK // 4)
        ):
            pairs += part_pairs
            on += part_on
            loglik += part_loglik
        return pairs, on, loglik

    def _infer(
        self,
        part: tuple[int, int],
        rows: BinaryRows,
        numbers: NDArray[np.int64],
        posterior: NDArray[np.float64],
        pairs: NDArray[np.float64],
        on: NDArray[np.float64],
    ) -> float:
        by_row = Csr(rows.indptr, rows.indices)
        return inference_kernels.infer_rows(
            *part, by_row, numbers, self.model, self.base, posterior, pairs, on
        )
