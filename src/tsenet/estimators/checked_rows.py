"""What people give along with rows: targets, weights and embeddings, one for each row, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.data.table import Table
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data.shards import ShardFolder


class CheckedRows(NamedTuple):
    """A user's rows after all checks, in an order that depends on their content alone."""

    table: Table
    targets: NDArray[Any]  # (N,) or (N, C), as the loss wants them
    weights: NDArray[np.float64] | None  # (N,)
    embeddings: NDArray[np.float64] | None = None  # (N, d)


def check_length(name: str, values: Any, n_rows: int) -> None:
    """Refuse targets or weights that do not have one entry for each row."""
    if len(values) != n_rows:
        raise DataError(
            f"X has {n_rows:,} rows, but {name} has {len(values):,}: give one for each row, in the same order"
        )


def checked_weights(given: Any, n_rows: int) -> NDArray[np.float64]:
    """Weights of the rows: (N,)."""
    try:
        weights = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be an array of numbers: {error}") from error

    if np.asarray(given).dtype.kind in "mM":
        raise DataError("sample_weight must be an array of numbers, not of dates or durations")
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)

    if weights.ndim != 1:
        raise DataError(
            f"sample_weight must hold a number for each row, (N,), but has the shape {weights.shape}"
        )

    check_length("sample_weight", weights, n_rows)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must hold finite numbers that are not negative")
    if not weights.any():
        raise DataError("all of sample_weight is zero: no row has any weight")
    return weights


def checked_embeddings(given: Any, n_rows: int, dtype: type = np.float64) -> NDArray[Any]:
    """Vectors of the rows: (N, d)."""
    try:
        with np.errstate(over="ignore"):  # too large a number is not finite
            vectors: NDArray[Any] = np.asarray(given, dtype)
    except (TypeError, ValueError) as error:
        raise DataError(f"embeddings must be an array of numbers: {error}") from error
    if vectors.ndim != 2 or len(vectors) != n_rows or not np.isfinite(vectors).all():
        raise DataError(
            f"embeddings must have finite numbers, and one row for each of the {n_rows:,} rows; "
            f"these have the shape {vectors.shape}"
        )
    return vectors


def labels_of(folder: ShardFolder, y: Any) -> Any:
    """The labels of all rows: ``y`` itself, or the label columns that it names, or the only one there is."""
    if y is None:
        if len(folder.labels) != 1:
            known = ", ".join(map(repr, folder.labels))
            found = f"has the label columns {known}: name one as y" if known else "has no labels"
            raise DataError(f"requires y to be passed: {folder.path} {found}")
        y = next(iter(folder.labels))

    if hasattr(y, "__dask_graph__"):
        return y.compute()
    names = [y] if isinstance(y, str) else y
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return y
    if not names or len(names) == folder.n_rows > 1:
        return y
    parts = [folder.read_labels(shard, names) for shard in folder.shards]
    columns = [np.concatenate([part[name] for part in parts]) for name in names]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
