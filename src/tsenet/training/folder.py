"""The documents of a folder of shards as a source of batches: rows that need not fit into memory.

One pass over the folder finds what training has to know about all rows: in how many each word occurs, which rows are
held out for validation, and a sample to compute the initial weights from. Every epoch then reads the shards in
another random order, through a buffer in which the rows are shuffled.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.blocks import Blocks
from tsenet.data.order import canonical_order, row_draws
from tsenet.data.scaling import Scaling, Weighting
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.network.inputs import Inputs
from tsenet.progress import Progress
from tsenet.training.examples import Examples, batch_bounds
from tsenet.training.targets import is_known

logger = logging.getLogger("tsenet.training")

# Rows in memory, about. Labels, and which rows are held out, are in memory too: about 20 bytes a row.
_SAMPLE_ROWS = 50_000
_VALIDATION_ROWS, _VALIDATION_SHARE = 50_000, 0.1  # at most
_MIN_ROWS = 20  # with fewer labelled rows none are held out


class FolderRows:
    """The labelled rows of a folder, a source of batches for the training loop.

    Whether a row is held out or in the sample depends on its words and the seed alone: duplicates stay together, and
    the same rows are chosen however they are distributed over shards.

    Parameters
    ----------
    blocks : Blocks
        A folder of documents; its workers, if there are any, make the pass over all rows.
    targets : (N,) or (N, C)
        Encoded targets of all its rows; class −1 and NaN are unknown.
    weights : (N,) or (N, C), optional
    seed : int
    report : Progress
    weighting : {"tfidf", "log-counts"}, default="tfidf"
    buffer_rows : int, default=131072
        Shards are read until the buffer in which rows are shuffled has this many.

    Attributes
    ----------
    scaling : Scaling
        Of words, from all rows.
    sample : Table
        Word counts of some rows, labelled or not.
    inputs : Inputs
        The sample as the network reads it.
    validation : Examples or None
        The rows held out.

    Raises
    ------
    DataError
        If a shard cannot be read, or no row has a label.
    """

    def __init__(
        self,
        blocks: Blocks,
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        seed: int,
        report: Progress,
        weighting: Weighting = "tfidf",
        buffer_rows: int = 1 << 17,
    ) -> None:
        folder = blocks.folder
        assert folder is not None
        known = is_known(targets)
        if not known.any():
            raise DataError(f"no row of {folder.path} has a label to train on")

        self._folder = folder
        self._targets = targets
        self._weights = weights
        self._buffer_rows = buffer_rows
        n_rows = folder.n_rows
        split_seed, sample_seed = np.random.SeedSequence(seed).generate_state(2).tolist()
        share = min(_VALIDATION_SHARE, _VALIDATION_ROWS / n_rows)
        if known.sum() < _MIN_ROWS:
            share = 0.0

        held_out = np.zeros(n_rows, bool)
        n_with = np.zeros(folder.n_columns, np.int64)
        held = []
        sample = []
        draw = partial(_Drawn.of, (split_seed, share), (sample_seed, _SAMPLE_ROWS / n_rows))
        drawn = blocks.map(draw, stage="reading shards", progress=report)
        for part, of_shard in zip(folder.shards, drawn, strict=True):
            n_with += of_shard.n_with
            number = part.start + of_shard.numbers
            held_out[number] = known[number]
            held.append(of_shard.to_hold_out[np.flatnonzero(known[number])])
            sample.append(of_shard.sample)

        if not (known & ~held_out).any():  # all of them duplicates
            held_out[:] = False

        self._known = known & ~held_out
        self.n_rows = int(self._known.sum())
        logger.info("%d rows, %d to train on", n_rows, self.n_rows)
        self.scaling = Scaling.of_counts(n_rows, n_with, folder.names, weighting)
        found = sp.vstack(sample, format="csr")
        self.sample = self._table(found[canonical_order(found)])
        self.inputs = self._inputs_of(self.sample)
        self.validation = None

        if held_out.any():
            inputs = self._inputs_of(self._table(sp.vstack(held, format="csr")))
            own = None if weights is None else weights[held_out]
            self.validation = Examples(inputs, np.arange(len(inputs)), targets[held_out], own)

    def _inputs_of(self, table: Table) -> Inputs:
        """Word counts as the network reads them."""
        return Inputs(self.scaling.apply(table).values)

    def batches(self, seed: int, epoch: int, n_batches: int) -> Iterator[Examples]:
        """Read the folder in another order and yield batches of shuffled rows, of about the same size."""
        rng = np.random.default_rng([seed, epoch])
        waiting = [self._folder.shards[k] for k in rng.permutation(len(self._folder.shards))]
        # The buffer: rows, their numbers in the folder, and the order of those left.
        values: Any = None
        numbers = np.empty(0, np.int64)
        order = np.empty(0, np.int64)
        for start, stop in batch_bounds(self.n_rows, n_batches):
            if order.size < stop - start:
                rows = [] if values is None else [values[order]]
                read = [numbers[order]]
                n_read = order.size
                while waiting and n_read < max(self._buffer_rows, stop - start):
                    part = waiting.pop()
                    chosen = np.flatnonzero(self._known[part.start : part.start + part.n_rows])
                    if chosen.size:
                        counts = self._folder.read(part).values[chosen]
                        rows.append(self._inputs_of(self._table(counts)).values)
                        read.append(part.start + chosen)
                        n_read += chosen.size

                values = sp.vstack(rows, format="csr")
                numbers = np.concatenate(read)
                inputs = Inputs(values)
                order = rng.permutation(n_read)

            batch = order[: stop - start]
            order = order[stop - start :]
            own = numbers[batch]
            weights = None if self._weights is None else self._weights[own]
            yield Examples(inputs, batch, self._targets[own], weights)

    def _table(self, counts: sp.csr_array) -> Table:
        return self._folder.table(counts)


class _Drawn(NamedTuple):
    """What one shard contributes: words of its documents, and rows drawn by their words."""

    n_with: NDArray[np.int64]  # documents with each word
    numbers: NDArray[np.int64]  # rows to hold out if they have a label …
    to_hold_out: sp.csr_array  # … and their words
    sample: sp.csr_array

    @classmethod
    def of(cls, held: tuple[int, float], sampled: tuple[int, float], shard: Table) -> _Drawn:
        """Draw rows of a shard with a seed and a share each."""
        counts: sp.csr_array = shard.values
        numbers, sample = (
            np.flatnonzero(row_draws(counts, seed) < share) for seed, share in (held, sampled)
        )
        n_with = np.bincount(counts.indices, minlength=counts.shape[1])
        return cls(n_with, numbers, counts[numbers], counts[sample])
