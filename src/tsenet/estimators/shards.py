"""Estimators and folders of shards: fitting to one, and predicting another, a partition at a time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from tsenet._system.seeds import seed_sequence
from tsenet.data.shards import ShardFolder, open_shards
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.expansion.structure import NetworkStructure, learn_structure, structure_of_wiring
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from tsenet.estimators.tsenet_estimator import TSENetEstimator
    from tsenet.training.checkpoint import RunFolder
    from tsenet.training.shard_recipe import ShardOptions

__all__ = ["fit_to_folder"]

#: Parameters of which the result does not depend.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "callbacks", "warm_start", "device")


def fit_to_folder(
    estimator: TSENetEstimator,
    folder: str | os.PathLike[str] | ShardFolder,
    target_names: tuple[str, ...],
    report: Progress,
    checkpoint: str | os.PathLike[str] | None,
    options: ShardOptions | None,
) -> None:
    """Fit an estimator to a folder of shards, together with the other processes of ``torchrun``."""
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
            run_folder = peers.from_first(lambda: _open(checkpoint, identity, seed))
            seed = run_folder.seed

        def learn(table: Table, run: RunFolder | None) -> NetworkStructure:
            return _structure(estimator, table, seed, report, run)

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
    estimator.n_features_in_ = shards.n_columns
    if shards.named:
        estimator.feature_names_in_ = np.array(shards.names, dtype=object)
    estimator.word_counter_ = _word_counter(shards)
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
    run: RunFolder | None,
) -> NetworkStructure:
    """The structure of a sample of the rows, or that of a wiring that was given."""
    if estimator.wiring is not None:
        return structure_of_wiring(table, estimator.wiring)
    tree_seed, wiring_seed, _ = seed_sequence(seed).spawn(3)
    return learn_structure(
        table,
        **estimator._structure_options(),
        tree_seed=tree_seed,
        wiring_seed=wiring_seed,
        progress=report,
        checkpoint=None if run is None else run.structure,
    )


def _word_counter(shards: ShardFolder) -> Any:
    """How the folder's texts were split, so that the model predicts texts too; None if they were not texts."""
    if shards.counter is None:
        return None
    from tsenet.data.text import WordCounter

    return WordCounter(shards.names, **shards.counter)
