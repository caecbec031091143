"""Estimators and folders of shards: fitting to one, and predicting another, a partition at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier

from tsenet._system.seeds import seed_sequence
from tsenet.data.shards import ShardFolder, open_shards
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators.columns import note_columns
from tsenet.expansion.structure import NetworkStructure, learn_structure, structure_of_wiring
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from tsenet.estimators.tsenet_estimator import TSENetEstimator
    from tsenet.training.checkpoint import RunFolder
    from tsenet.training.shard_recipe import ShardOptions

__all__ = ["fit_to_folder", "predict_shard", "tables_with"]

#: Parameters of which the result does not depend.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "callbacks", "warm_start", "device")


def fit_to_folder(
    estimator: TSENetEstimator,
    folder: str | os.PathLike[str] | ShardFolder,
    target_names: tuple[str, ...],
    report: Progress,
    checkpoint: str | os.PathLike[str] | None,
    options: ShardOptions | None,
    of_all_rows: Callable[..., NetworkStructure] | None = None,
) -> None:
    """Fit an estimator to a folder of shards, together with the other processes of ``torchrun``.

    ``of_all_rows`` learns the structure from all rows, with the options of
    :func:`tsenet.expansion.structure.learn_structure`; None: it is learned from a sample.
    """
    from tsenet.training.peers import join_peers
    from tsenet.training.settings import Recipe
    from tsenet.training.shard_recipe import ShardOptions, fit_to_shards, refuse_unsupported

    if not target_names:
        raise DataError("give at least one target: a label column of the folder")
    if estimator.warm_start and hasattr(estimator, "net_"):
        raise DataError("warm_start is not there for shards: fit_shards makes a new network")
    recipe = estimator._settings(Recipe)
    options = ShardOptions() if options is None else options
    classification = is_classifier(estimator)
    shards = folder if isinstance(folder, ShardFolder) else open_shards(folder)
    refuse_unsupported(recipe, shards, target_names, classification)
    with join_peers(recipe.torch_device()) as peers:
        # None would be another seed in every process
        seed = peers.from_first(lambda: seed_sequence(estimator.random_state))
        run_folder = None
        if checkpoint is not None:
            identity = _identity(estimator, shards, target_names, options)
            if of_all_rows is not None:
                identity["structure"] = "all rows"
            run_folder = peers.from_first(lambda: _open(checkpoint, identity, seed))
            seed = run_folder.seed

        def learn(table: Table, run: RunFolder | None) -> NetworkStructure:
            learned_by = of_all_rows or partial(learn_structure, table)
            return _structure(estimator, table, seed, report, learned_by)

        with as_progress(report if peers.is_first else None) as own_report:
            fitted = fit_to_shards(
                *(shards, target_names, classification, recipe, seed, peers, own_report, learn),
                options=options,
                unlabeled=getattr(estimator, "unlabeled", None),
                class_weight=getattr(estimator, "class_weight", None),
                run_folder=run_folder,
            )
    estimator._set_targets(fitted.targets)
    estimator._take_structure(fitted.structure)
    estimator.scaling_, estimator._n_runs, estimator._optimiser = fitted.scaling, 1, None
    note_columns(estimator, shards)
    estimator.vectorizer_ = shards.vectorizer()
    estimator._keep(fitted.trained, fitted.sample)


def _open(path: Any, identity: dict[str, Any], seed: np.random.SeedSequence) -> RunFolder:
    from tsenet.training.checkpoint import RunFolder

    return RunFolder.open(path, identity, [], seed)


def _identity(
    estimator: TSENetEstimator,
    shards: ShardFolder,
    target_names: tuple[str, ...],
    options: ShardOptions,
) -> dict[str, Any]:
    """What must not change between two starts of a run."""
    from tsenet.estimators.files import plain_parameters

    parameters = plain_parameters(estimator)
    return {
        "estimator": type(estimator).__name__,
        "parameters": {k: v for k, v in parameters.items() if k not in _WITHOUT_EFFECT},
        "shards": shards.digest,
        "target": list(target_names),
        "options": {k: v for k, v in vars(options).items() if k != "checkpoint_batches"},
    }


def _structure(
    estimator: TSENetEstimator,
    table: Table,
    seed: np.random.SeedSequence,
    report: Progress,
    learned_by: Callable[..., NetworkStructure],
) -> NetworkStructure:
    """The structure of all rows or of a sample of them, or that of a wiring that was given."""
    if estimator.wiring is not None:
        return structure_of_wiring(table, estimator.wiring)
    tree_seed, wiring_seed, _ = seed_sequence(seed).spawn(3)
    return learned_by(
        **estimator._structure_options(),
        tree_seed=tree_seed,
        wiring_seed=wiring_seed,
        progress=report,
    )


# ---- predictions

_KEY = b"tsenet.predictions"

#: Names of the columns of predictions, and their values.
Answers = tuple[list[str], list[list[Any]]]


def predict_shard(
    answers: Callable[[Table], Answers],
    words: Sequence[str],
    folder: ShardFolder,
    file: str,
    out: str | os.PathLike[str],
    run: dict[str, str],
    *,
    copied: tuple[str, ...] = (),
    force: bool = False,
) -> None:
    """Write predictions for the documents of one shard: a Parquet file of the same name with as many rows.

    A partition is in memory at a time. A file that the same run has finished before is left as it is, so a run that
    was stopped continues.

    Parameters
    ----------
    answers : callable
        Gives the columns of predictions for a table.
    words : sequence of str
        The model's columns. Words that only the folder has are left out, those that only the model has are in no row.
    folder : ShardFolder
        Of documents.
    file : str
        Name of the shard.
    out : path
        Folder to write to; made if it does not exist.
    run : dict
        Says which model it is. A file of another run is refused.
    copied : tuple of str
        Label columns to repeat beside the predictions.
    force : bool
        Replace a file of another run.

    Raises
    ------
    DataError
        If the folder has no word of the model, or ``out`` holds a file of another run.
    """
    import pyarrow
    import pyarrow.parquet

    from tsenet._system.atomic import atomic_write

    place_of = _places_of_words(folder, words)
    path = Path(out) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = json.dumps({**run, "shards": folder.digest, "copied": copied}, sort_keys=True).encode()
    if _is_done(path, mark, force):
        return
    with atomic_write(path) as stream:
        writer = None
        for partition in folder.partitions:
            if partition.file != file:
                continue
            block = folder.read(partition, copied)
            names, columns = answers(_with_words(block.table, words, place_of))
            found = dict(zip(names, columns, strict=True))
            table = pyarrow.table({**block.labels, **found})
            if writer is None:
                schema = table.schema.with_metadata({_KEY: mark})
                writer = pyarrow.parquet.ParquetWriter(stream, schema)
            writer.write_table(table.cast(schema))
        assert writer is not None  # a file has at least one partition
        writer.close()


def tables_with(folder: ShardFolder, words: Sequence[str]) -> Iterator[Table]:
    """The documents of a folder with the model's columns, a partition at a time."""
    place_of = _places_of_words(folder, words)
    for block in folder.blocks():
        yield _with_words(block.table, words, place_of)


def _is_done(path: Path, mark: bytes, force: bool) -> bool:
    """Whether the same run has written the file."""
    import pyarrow
    import pyarrow.parquet

    if not path.exists():
        return False
    try:
        own = (pyarrow.parquet.read_schema(path).metadata or {}).get(_KEY) == mark
    except (pyarrow.ArrowException, OSError):
        own = False
    if not own and not force:
        raise DataError(
            f"{path} exists and is not of this model and folder: give another folder, or --force"
        )
    return own


def _places_of_words(folder: ShardFolder, words: Sequence[str]) -> NDArray[np.int64] | None:
    """The model's column of each word of the folder, −1 for words it does not know; None if all are the same."""
    if not folder.is_sparse:
        raise DataError(f"{folder.place.url} holds dense rows: load them and use predict")
    if folder.names == tuple(words):
        return None
    place = {word: j for j, word in enumerate(words)}
    found = np.array([place.get(word, -1) for word in folder.names], np.int64)
    if (found < 0).all():
        raise DataError(f"{folder.place.url} has none of the {len(words)} words of the model")
    return found


def _with_words(table: Table, words: Sequence[str], place_of: NDArray[np.int64] | None) -> Table:
    """Documents with the model's columns."""
    if place_of is None:
        return table
    rows = table.values
    column = place_of[rows.indices]
    kept = column >= 0
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[kept]
    counts = sp.coo_array((rows.data[kept], (row, column[kept])), (rows.shape[0], len(words)))
    return Table.of(counts.tocsr(), words)
