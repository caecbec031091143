"""The recipe for a folder of shards: how a network is fitted to rows that need not fit into memory, by many processes.

1. A *survey* reads every row once: word frequencies, classes, validation rows, and a sample of the rows.
2. The first process learns structure and initial weights from the sample and sends them to the others.
3. All processes train on the batches of :mod:`tsenet.training.streams` until the validation rows see no more progress,
   and the best weights are kept.

It is the recipe of :mod:`tsenet.training.recipe` for the network alone: there is no linear start and no blend, and
rows without a label take part in the structure only. Reasons and measurements: docs/adr/0019-several-processes.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet._system.seeds import seed_number, seed_sequence
from tsenet.data.scaling import Scaling
from tsenet.data.shards import ShardFolder
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.expansion.structure import NetworkStructure
from tsenet.network.batches import Inputs
from tsenet.network.initial_weights import set_initial_weights
from tsenet.network.tsenet import TSENet
from tsenet.progress import Progress
from tsenet.training.checkpoint import RunFolder
from tsenet.training.comparison import calibrated_score
from tsenet.training.engine import Engine
from tsenet.training.loop import score_outputs, train_on
from tsenet.training.parallel import ParallelEngine
from tsenet.training.peers import Peers
from tsenet.training.recipe import RunSeeds, TrainedNetwork
from tsenet.training.settings import Recipe
from tsenet.training.shard_rows import FolderRows, ShardOptions
from tsenet.training.shared_state import SameWeights, SharedCheckpoint
from tsenet.training.streams import LabelledRows, ShardStreams
from tsenet.training.targets import Targets

__all__ = ["FittedToShards", "ShardOptions", "fit_to_shards", "refuse_unsupported"]


class FittedToShards(NamedTuple):
    """What the recipe hands back; the same in every process."""

    targets: Targets
    structure: NetworkStructure
    scaling: Scaling
    trained: TrainedNetwork
    sample: Inputs


def refuse_unsupported(
    recipe: Recipe, folder: ShardFolder, target_names: tuple[str, ...], classification: bool
) -> None:
    """Refuse, before any work, what cannot be fitted to a folder of shards.

    Raises
    ------
    DataError
        Says what, and what to do instead.
    """
    if not folder.is_sparse:
        raise DataError(
            f"{folder.place.url} holds dense rows: training on shards is for documents of words. "
            "Load dense rows that fit into memory and use fit"
        )
    for name in target_names:
        if name not in folder.classes:
            known = ", ".join(map(repr, folder.classes)) or "none"
            raise DataError(f"{folder.place.url} has no label {name!r}; it has {known}")
        if classification and folder.classes[name] is None:
            raise DataError(f"the label {name!r} holds fractions, not classes: use a regressor")
    if recipe.linear_skip is True:
        raise DataError(
            "linear_skip=True needs all rows in one process: leave it at 'auto', which trains the "
            "network alone here, or use fit on rows in memory"
        )
    if recipe.input_dropout:
        raise DataError("input_dropout is not there for shards: set it to 0 or None")


def fit_to_shards(
    folder: ShardFolder,
    target_names: tuple[str, ...],
    classification: bool,
    recipe: Recipe,
    seed: np.random.SeedSequence,
    peers: Peers,
    report: Progress,
    learn: Callable[[Table, RunFolder | None], NetworkStructure],
    *,
    options: ShardOptions,
    unlabeled: Any = None,
    class_weight: Any = None,
    run_folder: RunFolder | None = None,
) -> FittedToShards:
    """Fit a network to the documents of a folder; every process calls it.

    Parameters
    ----------
    folder : ShardFolder
    target_names : tuple of str
        Label columns to predict.
    classification : bool
        Whether they are classes or labels, not values.
    recipe : Recipe
    seed : SeedSequence
        The same in all processes.
    peers : Peers
    report : Progress
    learn : callable
        ``learn(table, run_folder)`` learns the structure from a sample of rows; only the first process calls it.
    options : ShardOptions
    unlabeled, class_weight : optional
        As for :class:`tsenet.TSENetClassifier`.
    run_folder : RunFolder, optional
        Where structure learning and training keep finished work.
    """
    refuse_unsupported(recipe, folder, target_names, classification)
    net_seed = seed_number(seed_sequence(seed).spawn(3)[2])
    task = _Task(
        *(folder, target_names, classification, recipe, RunSeeds.of(seed, 0), peers, report),
        *(options, unlabeled, class_weight),
    )
    structure = task.learn_structure(learn, run_folder)
    trained = task.train(structure, net_seed, run_folder)
    return FittedToShards(task.targets, structure, task.scaling, trained, task.sample_inputs)


@dataclass(frozen=True, eq=False)
class _Task(FolderRows):
    """One fit: structure and first weights by one process, then training by all."""

    # ---- structure and first weights: one process

    def learn_structure(
        self, learn: Callable[[Table, RunFolder | None], NetworkStructure], folder: RunFolder | None
    ) -> NetworkStructure:
        """Structure, learned by the first process from the sample."""
        _ = self.targets, self.loss  # wrong targets are refused before the long work
        table = self.sample_table
        return self.peers.from_first(lambda: learn(table, folder))

    def _first_weights(self, net: TSENet, init: Any, seed: int) -> None:
        import torch

        def make() -> dict[str, NDArray[Any]]:
            set_initial_weights(net, init, seed, self.sample_inputs)
            return {name: tensor.numpy() for name, tensor in net.state_dict().items()}

        weights = self.peers.from_first(make)
        net.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})

    # ---- training: all processes

    def train(
        self, structure: NetworkStructure, net_seed: int, folder: RunFolder | None
    ) -> TrainedNetwork:
        """Train until the validation rows see no more progress."""
        recipe, peers = self.recipe, self.peers
        options = recipe.network(self.sample_inputs, structure.wiring, linear_skip=False)
        n_outputs = self.loss.n_outputs
        net = TSENet(structure.wiring, n_outputs, **{**options.to_dict(), "init": None})
        self._first_weights(net, options.init or "fan-in", net_seed)
        engine = self._engine(net)
        source = ShardStreams(
            engine,
            self.read,
            self.survey.n_training,
            self.bounds,
            peers,
            self.seeds.order,
            self.options.buffer_rows,
            self.identity,
        )
        checkpoint = None
        if folder is not None:
            path = folder.training("shards").path
            checkpoint = SharedCheckpoint(path, self.options.checkpoint_batches, peers)
        history = train_on(
            engine,
            source,
            self._validate(engine),
            options=self._training_options(source.n_rows),
            callbacks=(*(recipe.callbacks or ()), SameWeights(peers)),
            progress=self.report,
            seed=self.seeds.order,
            checkpoint=checkpoint,
            keep_on_interrupt=peers.size == 1,
        )
        return TrainedNetwork(net.to("cpu").eval(), options, history, engine)

    def _training_options(self, n_rows: int) -> Any:
        if self.recipe.init == "fan-in":
            return self.recipe.options(n_rows)
        falling = self.recipe.falling_rate(n_rows, sparse=True)
        return replace(falling, early_stopping=self.recipe.early_stopping)

    def _engine(self, net: TSENet) -> ParallelEngine:
        """What trains the network."""
        recipe = self.recipe
        return ParallelEngine(
            net,
            self.sample_inputs,
            self.loss,
            device=recipe.torch_device(),
            seed=self.seeds.dropout,
            n_jobs=recipe.n_jobs,
        )

    def _validate(self, engine: Engine) -> Callable[[], tuple[float, float]] | None:
        """Loss and score of the validation rows of all processes."""
        if self.survey.n_held_out == 0:
            return None
        parts = [self.labelled(*part) for part in self.survey.held_out]
        own = LabelledRows.join(parts) if parts else None
        found = self.peers.gather(None if own is None else own.targets)
        targets = np.concatenate([each for each in found if each is not None])
        score = None if self.recipe.init == "fan-in" else calibrated_score(self.loss)

        def validate() -> tuple[float, float]:
            outputs = np.empty((0, self.loss.n_outputs))
            if own is not None:
                inputs = Inputs(own.values)
                outputs = engine.outputs(inputs, np.arange(len(inputs))).astype(np.float64)
            # In the order of the processes, which is that of the rows: the same for any number of them
            everything = np.concatenate(self.peers.gather(outputs))
            return score_outputs(self.loss, everything, targets, None, score)

        return validate
