"""Estimators and rows outside memory: folders of shards and Dask collections, here or on a cluster.

The work is that of ``tsenet.scale``, which is imported when such rows are given and not before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator

from tsenet.data.places import Place
from tsenet.data.shards import ShardFolder
from tsenet.errors import DataError
from tsenet.skeleton.passes import RowsOutsideMemory

if TYPE_CHECKING:
    from tsenet.data.table import Table
    from tsenet.estimators.tsenet_estimator import TSENetEstimator
    from tsenet.progress import Progress

__all__ = ["UsesCluster", "fit_outside", "is_outside_memory", "opened", "tables_of"]


def is_outside_memory(X: Any) -> bool:
    """Whether ``X`` is a folder of shards (a path, a URL or an open one) or a Dask collection.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tsenet.estimators.outside_memory import is_outside_memory
    >>> is_outside_memory(Path("shards")), is_outside_memory("s3://bucket/shards")
    (True, True)
    >>> is_outside_memory([[0, 1]]), is_outside_memory("one text")
    (False, False)
    """
    if isinstance(X, str):
        return "://" in X.split(maxsplit=1)[0] if X.strip() and not os.path.isdir(X) else bool(X)
    known = (os.PathLike, Place, ShardFolder, RowsOutsideMemory)
    return isinstance(X, known) or hasattr(X, "__dask_graph__")


class UsesCluster(BaseEstimator):
    """An estimator with the parameter ``client``: copies share it, and pickles do not hold it."""

    client: Any

    def __sklearn_clone__(self) -> Self:
        from sklearn.base import clone

        others = {
            name: clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
            if name != "client"
        }
        return type(self)(**others, client=self.client)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        return {**state, "client": None}


@contextmanager
def opened(estimator: Any, X: Any) -> Iterator[Any]:
    """Rows outside memory as :class:`tsenet.scale.Shards`, on the estimator's cluster; what was opened is closed."""
    from tsenet.scale.for_estimators import open_rows

    with open_rows(X, estimator.client, estimator.n_jobs) as shards:
        yield shards


def tables_of(X: Any, names: tuple[str, ...]) -> Iterator[Table]:
    """The rows with the columns ``names``, a partition at a time; words are matched by name."""
    from tsenet.estimators.shards import tables_with
    from tsenet.scale.for_estimators import open_rows

    with open_rows(X, None, None) as shards:
        yield from tables_with(shards.folder, names)


def fit_outside(
    estimator: TSENetEstimator,
    X: Any,
    y: Any,
    report: Progress,
    checkpoint: str | os.PathLike[str] | None,
    **refused: Any,
) -> None:
    """Fit an estimator to rows outside memory: structure and expansion from all rows, then training in a stream."""
    from tsenet.estimators.shards import fit_to_folder
    from tsenet.scale.for_estimators import label_columns, learn_structure

    for name, value in refused.items():
        if value is not None:
            raise DataError(f"{name} is there for rows in memory only: leave it out for a folder")
    with opened(estimator, X) as shards:
        folder, targets = label_columns(shards.folder, y)

        def learn(**options: Any) -> Any:
            return learn_structure(shards, **options)

        fit_to_folder(estimator, folder, targets, report, checkpoint, None, learn)
