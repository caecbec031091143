"""Estimators and rows outside memory: folders of shards and Dask collections, here or on a cluster.

The structure is learned by the same functions as in memory, from :class:`tsenet.scale.Blocks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tsenet._system.seeds import seed_sequence
from tsenet.data.shards import ShardFolder
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators.base import note_columns
from tsenet.scale.blocks import Blocks, in_blocks, is_outside_memory

if TYPE_CHECKING:
    from tsenet.estimators.network import TSENetEstimator
    from tsenet.progress import Progress
    from tsenet.training.recipe import Recipe

# Documents from which topics are described: sizes, coherence, typical documents.
_DESCRIBED = 20_000

__all__ = [
    "WithoutDisplay",
    "columns_of_words",
    "drawn_documents",
    "fit_outside",
    "folder_of",
    "is_outside_memory",
    "tables_of",
    "with_words",
]


_DISPLAYS = ("progress", "verbose")


class WithoutDisplay(BaseEstimator):
    """An estimator whose pickles hold no progress display: workers of a cluster get copies of it."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        return {**state, **{k: None for k in _DISPLAYS if not _is_plain(state.get(k))}}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int)


def tables_of(X: Any, names: Sequence[str]) -> Iterator[Table]:
    """The rows with the columns ``names``, a partition at a time; words are matched by name."""
    with in_blocks(X) as blocks:
        folder = folder_of(blocks)
        columns = columns_of_words(folder, names)
        for partition in folder.partitions:
            yield with_words(folder.read(partition), names, columns)


def folder_of(blocks: Blocks) -> ShardFolder:
    """The folder that holds rows outside memory."""
    assert blocks.folder is not None
    return blocks.folder


def drawn_documents(blocks: Blocks, seed: Any, progress: Progress) -> Table:
    """The documents of a folder from which topics are described: at most 20,000, drawn at random.

    Raises
    ------
    DataError
        If the rows are no documents.
    """
    if not blocks.is_sparse:
        raise DataError(f"{folder_of(blocks).path} holds a table of numbers, not documents")
    table: Table = blocks.sample(_DESCRIBED, seed_sequence(seed), progress)
    return table


def columns_of_words(folder: ShardFolder, words: Sequence[str]) -> NDArray[np.int64] | None:
    """The model's column of each word of the folder, −1 for words it does not know; None if all are the same.

    Raises
    ------
    DataError
        If the folder holds dense rows, or none of the model's words.
    """
    if not folder.is_sparse:
        raise DataError(f"{folder.path} holds dense rows: load them and use predict")
    if folder.names == tuple(words):
        return None
    column_of = {word: j for j, word in enumerate(words)}
    found = np.array([column_of.get(word, -1) for word in folder.names], np.int64)
    if (found < 0).all():
        raise DataError(f"{folder.path} has none of the {len(words)} words of the model")
    return found


def with_words(table: Table, words: Sequence[str], columns: NDArray[np.int64] | None) -> Table:
    """Documents with the model's columns, as :func:`columns_of_words` found them."""
    if columns is None:
        return table
    rows = table.values
    column = columns[rows.indices]
    kept = column >= 0
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[kept]
    counts = sp.coo_array((rows.data[kept], (row, column[kept])), (rows.shape[0], len(words)))
    return Table.of(counts.tocsr(), words)


# ---- fitting a network


def fit_outside(
    estimator: TSENetEstimator, X: Any, y: Any, recipe: Recipe, report: Progress, **in_memory: Any
) -> None:
    """Fit an estimator to rows outside memory: the structure to all rows, the network to a stream of them.

    Raises
    ------
    DataError
        If the folder, its labels, a parameter, or an argument that is for rows in memory does not suit.
    """
    from tsenet.training.folder import FolderRows
    from tsenet.training.recipe import RunSeeds, Trainer
    from tsenet.training.targets import is_known

    for name, value in in_memory.items():
        if value is not None:
            raise DataError(f"{name} is not supported for a folder: load the rows, or leave it out")
    if estimator.weighting != "tfidf":
        raise DataError("counts of a folder are weighted by tf-idf: leave weighting='tfidf'")
    if estimator.linear_skip is True:
        raise DataError(
            "linear_skip=True needs all rows in memory: leave it at 'auto', which trains the "
            "network alone on a folder"
        )
    with in_blocks(X) as blocks:
        folder = folder_of(blocks)
        if not folder.is_sparse:
            raise DataError(
                f"{folder.path} holds dense rows: only documents are read from a folder. "
                "Load dense rows and fit to them"
            )
        given = estimator._read_targets(_labels_of(folder, y))
        if len(given.values) != folder.n_rows:
            raise DataError(
                f"y must have one label for each of the {folder.n_rows:,} rows of "
                f"{folder.path}, or name a label column of it, but has the shape {np.shape(y)}"
            )
        targets = estimator._learn_targets(given)
        known = is_known(targets)
        weights = None
        if (
            of_class := estimator.targets_.class_weights(targets[known], estimator.class_weight)
        ) is not None:
            weights = np.ones((len(targets), *of_class.shape[1:]))
            weights[known] = of_class
        seed = seed_sequence(estimator.random_state)
        rows = FolderRows(folder, targets, weights, RunSeeds.of(seed, 0).split, report)
        estimator._take_structure(estimator._structure_of(blocks, rows.sample, seed, report))
        trainer = Trainer(estimator.targets_.loss, recipe, estimator._next_seeds(seed), report)
        trained = trainer.fit_folder(rows, estimator.wiring_)
        estimator.scaling_, estimator.vectorizer_ = rows.scaling, folder.vectorizer()
        note_columns(estimator, folder)
        estimator._keep(trained, rows.inputs)


def _labels_of(folder: ShardFolder, y: Any) -> Any:
    """The labels of all rows: ``y`` itself, or the label columns that it names, or the only one there is."""
    if y is None:
        if len(folder.labels) != 1:
            known = ", ".join(map(repr, folder.labels))
            found = f"has the label columns {known}: name one as y" if known else "has no labels"
            raise DataError(f"requires y to be passed: {folder.path} {found}")
        y = next(iter(folder.labels))
    names = [y] if isinstance(y, str) else y
    if not isinstance(names, Sequence) or not all(isinstance(each, str) for each in names):
        return y.compute() if hasattr(y, "__dask_graph__") else y
    if len(names) == folder.n_rows and names is y:
        return y
    if not names:
        raise DataError("y names no label column of the folder: give at least one")
    parts = [folder.read_labels(partition, names) for partition in folder.partitions]
    seen: dict[Any, Any] = {}  # equal texts are kept once
    columns = []
    for name in names:
        column = np.concatenate([part[name] for part in parts])
        if column.dtype == object:
            column[:] = [seen.setdefault(value, value) for value in column]
        columns.append(column)
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
