"""The pieces of the rows of a folder, fetched when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tsenet.data.rows import BinaryRows
from tsenet.scale.tasks import Cut
from tsenet.skeleton.passes import Pieces

if TYPE_CHECKING:
    from tsenet.scale.shards import Shards

__all__ = ["ShardPieces"]

# Steps of stepwise EM whose rows are fetched in one pass.
_STEPS_PER_FETCH = 200


class ShardPieces(Pieces):
    """Pieces of the rows of a folder: ``per_partition`` of them in each partition."""

    def __init__(self, shards: Shards, cut: Cut | None, per_partition: Sequence[int]) -> None:
        self._shards = shards
        self._cut = cut
        self._starts = np.concatenate([[0], np.cumsum(per_partition)]).astype(np.int64)
        self.n_rows, self.n_columns = int(self._starts[-1]), shards.n_columns

    def rows(self) -> BinaryRows:
        """All pieces in memory."""
        return self._shards.gather(self._cut, self._shards.chosen(None, self._shards.plan.spans()))

    def batches(
        self, numbers: Iterable[NDArray[np.int64]]
    ) -> Iterator[tuple[BinaryRows, NDArray[np.int64]]]:
        """For each list of pieces, rows that hold them; those of many lists are fetched at once."""
        rest = iter(numbers)
        while window := list(islice(rest, _STEPS_PER_FETCH)):
            every = np.unique(np.concatenate(window))
            rows = self._fetch(every)
            for batch in window:
                yield rows, np.searchsorted(every, batch).astype(np.int64)

    def _fetch(self, numbers: NDArray[np.int64]) -> BinaryRows:
        ends = np.searchsorted(numbers, self._starts)
        wanted = [
            (part, numbers[a:b] - self._starts[k])
            for k, (part, a, b) in enumerate(
                zip(self._shards.folder.partitions, ends[:-1], ends[1:], strict=True)
            )
            if a < b
        ]
        return self._shards.fetch(self._cut, wanted)
