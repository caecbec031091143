"""A folder of shards with labels that are not in its files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.columns import is_missing
from tsenet.data.shards import Block, Partition, ShardFolder
from tsenet.errors import DataError

__all__ = ["with_labels"]


@dataclass(frozen=True, eq=False, repr=False)
class LabelledFolder(ShardFolder):
    """A folder whose label columns are given: ``given`` holds the values (N,) of each by its name."""

    given: dict[str, NDArray[Any]] = field(default_factory=dict)

    def read(self, partition: Partition, labels: Sequence[str] = ()) -> Block:
        """Read the rows of one partition; its labels are those given."""
        block = super().read(partition)
        return replace(block, labels=self.read_labels(partition, labels))

    def read_labels(self, partition: Partition, labels: Sequence[str]) -> dict[str, Any]:
        """The given labels of one partition."""
        here = slice(partition.start, partition.start + partition.n_rows)
        return {name: self.given[name][here] for name in labels}


def with_labels(folder: ShardFolder, y: Any) -> tuple[ShardFolder, tuple[str, ...]]:
    """A folder with the labels ``y`` instead of its own, and the names of their columns.

    Parameters
    ----------
    folder : ShardFolder
    y : array-like (N,) or (N, C)
        A label of each row, or C of them; None and NaN are missing.

    Raises
    ------
    DataError
        If there is not one for each row.
    """
    values = np.asarray(y, dtype=object) if _are_texts(y) else np.asarray(y)
    if values.ndim not in (1, 2) or values.shape[0] != folder.n_rows:
        raise DataError(
            f"y must have one label for each of the {folder.n_rows:,} rows of {folder.place.url}, or "
            f"name a label column of it, but has the shape {values.shape}"
        )
    columns = values[:, None] if values.ndim == 1 else values
    given = {f"y{k}" if columns.shape[1] > 1 else "y": column for k, column in enumerate(columns.T)}
    digest = hashlib.sha256(folder.digest.encode())
    for column in given.values():
        digest.update(repr(column.tolist()).encode())
    own = {each.name: getattr(folder, each.name) for each in fields(ShardFolder)}
    own["classes"] = {name: _classes(column) for name, column in given.items()}
    own["digest"] = digest.hexdigest()[:32]
    return LabelledFolder(**own, given=given), tuple(given)


def _are_texts(y: Any) -> bool:
    return np.asarray(y).dtype.kind in "UO"


def _classes(values: NDArray[Any]) -> tuple[Any, ...] | None:
    """The distinct labels, sorted; None for fractions."""
    if values.dtype.kind == "f":
        known = values[~np.isnan(values)]
        if (known != np.round(known)).any():
            return None
    found = {value for value in values.tolist() if not is_missing(value)}
    return tuple(sorted(found, key=lambda value: (str(type(value)), value)))
