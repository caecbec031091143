"""A source of activations: named units over rows that are read batch by batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.errors import DataError

Floats = NDArray[np.float64]
#: Features (B, D), dense or CSR, as the network reads them, and activations (B, U) of the same rows.
RowBlock = tuple[Any, NDArray[np.float32]]

# Blocks of so many numbers in all (256 MB) are kept between passes; if there are more, all are computed again.
_KEPT = 1 << 26
# Rows over which the mean effect on the outputs is taken, evenly spaced.
_EFFECT_ROWS = 1024


class UnitSource(ABC):
    """Units, their names and levels, and repeated passes over the rows.

    Attributes
    ----------
    feature_names : tuple of str, length D
    unit_names : tuple of str, length U
    unit_levels : tuple of int, length U
    class_names : tuple of str, or None
        One for each output.
    rectified : bool or None
        Whether an activation is 0 where its unit is off; None if the activations have to show it.
    n_rows : int
    """

    feature_names: tuple[str, ...]
    unit_names: tuple[str, ...]
    unit_levels: tuple[int, ...]
    class_names: tuple[str, ...] | None = None
    rectified: bool | None = None
    n_rows: int

    def __init__(self, batch_size: int) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        self.batch_size = batch_size
        self._kept: list[RowBlock] | None = None

    def blocks(self) -> Iterator[RowBlock]:
        """Go through all rows in order; what was read is kept for the next pass if it is not too large."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[RowBlock] = []
        n_kept = 0
        for start in range(0, self.n_rows, self.batch_size):
            block = self._read(slice(start, min(start + self.batch_size, self.n_rows)))
            n_kept += _numbers(block)
            if n_kept <= _KEPT:
                kept.append(block)
            else:
                kept.clear()
            yield block
        if n_kept <= _KEPT:
            self._kept = kept

    @abstractmethod
    def _read(self, rows: slice) -> RowBlock:
        """Features and activations of some rows."""

    def link_weights(self, unit: int, columns: Sequence[int]) -> list[float | None]:
        """Weights of the links from some features to a unit; None where there is none, or it is unknown."""
        return [None] * len(columns)

    def effects(self) -> Floats | None:
        """Mean over rows of d output / d activation, in the units of the answers: (U, C); None if unknown."""
        return None

    def _sample(self) -> NDArray[np.int64]:
        """Rows for the effects."""
        n_chosen = min(self.n_rows, _EFFECT_ROWS)
        return np.linspace(0, self.n_rows - 1, n_chosen).round().astype(np.int64)


def _numbers(block: RowBlock) -> int:
    """Numbers a block holds in memory beyond what the table holds already."""
    features, activations = block
    return int(activations.size) + int(features.nnz if sp.issparse(features) else features.size)


def checked_names(given: Sequence[str] | None, own: Sequence[str]) -> tuple[str, ...]:
    """The user's names for the features if given, else their own."""
    if given is None:
        return tuple(own)
    names = tuple(str(name) for name in given)
    if len(names) != len(own):
        raise DataError(f"{len(names)} feature_names were given for {len(own)} features")
    return names
