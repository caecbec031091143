"""`Source`: where the training loop's batches come from; `RowsInMemory`, the usual one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tsenet._system.checkpoint_file import digest_of
from tsenet.network.batches import Inputs
from tsenet.training.checkpoint import parts_of

__all__ = ["Part", "RowsInMemory", "Source"]


class Part(NamedTuple):
    """What one step of this process trains on: rows of the engine's table, their targets and weights."""

    rows: NDArray[np.int64]  # (B,)
    targets: NDArray[Any]  # (B,) or (B, C)
    weights: NDArray[Any] | None  # (B,)
    n_rows: int  # of the whole batch: other processes may have some


class Source(Protocol):
    """Rows to train on, in batches. Which rows a batch has depends on the epoch and its number alone."""

    @property
    def n_rows(self) -> int:
        """Rows of an epoch."""

    def batches(self, epoch: int, n_batches: int, first: int) -> Iterator[Part]:
        """Cut an epoch into ``n_batches`` batches of about the same size; yield those from number ``first`` on."""

    def digest(self) -> str:
        """Says which data these are: a checkpoint of other data is refused."""


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """Rows of a table, in another random order each epoch.

    Attributes
    ----------
    inputs : Inputs
    rows : int64 (N,)
        Rows of the table to train on.
    targets : (N,) or (N, C)
    weights : (N,) or None
    seed : int
        Each epoch's order depends on (seed, epoch) alone.
    held_out : tuple of ndarray or None
        Validation rows, which say which run it is too.
    """

    inputs: Inputs
    rows: NDArray[np.int64]
    targets: NDArray[Any]
    weights: NDArray[Any] | None
    seed: int
    held_out: tuple[NDArray[Any] | None, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows of an epoch."""
        return len(self.rows)

    def batches(self, epoch: int, n_batches: int, first: int) -> Iterator[Part]:
        """Yield the batches of an epoch from number ``first`` on."""
        n_rows = self.n_rows
        order = np.random.default_rng([self.seed, epoch]).permutation(n_rows)  # (N,)
        for batch in range(first, n_batches):
            # All batches are alike up to one row: a small last one would count its rows for more than they are.
            start, stop = (n_rows * (batch + k) // n_batches for k in (0, 1))
            part = order[start:stop]  # (B,)
            weights = None if self.weights is None else self.weights[part]
            yield Part(self.rows[part], self.targets[part], weights, part.size)

    def digest(self) -> str:
        """SHA-256 of the table, the rows, their targets and weights."""
        return digest_of(
            *parts_of(self.inputs), self.rows, self.targets, self.weights, *self.held_out
        )
