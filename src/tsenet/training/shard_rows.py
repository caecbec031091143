"""The rows of a folder of shards as training reads them: targets, scale, a sample, and partitions on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet._system.checkpoint_file import digest_of
from tsenet.data.scaling import Scaling
from tsenet.data.shards import ShardFolder
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.network.batches import Inputs
from tsenet.progress import Progress
from tsenet.training.given_targets import GivenTargets
from tsenet.training.losses import Loss
from tsenet.training.peers import Peers
from tsenet.training.recipe import RunSeeds
from tsenet.training.settings import Recipe
from tsenet.training.streams import LabelledRows, cut_into_streams
from tsenet.training.survey import Asked, Survey, row_keys, survey
from tsenet.training.targets import ClassTargets, LabelTargets, Targets, ValueTargets

__all__ = ["FolderRows", "ShardOptions"]


@dataclass(frozen=True)
class ShardOptions:
    """How a folder is read.

    Attributes
    ----------
    n_streams : int, default=16
        Parts of the folder that each batch draws from; as many processes can share them at most. The batches depend
        on it, so a run has to keep it.
    buffer_rows : int, default=16384
        Rows of a stream in memory: partitions are read until there are so many, at least one.
    sample_rows : int, default=50000
        About so many rows are sampled, for structure and initial weights.
    validation_rows : int, default=50000
        Most validation rows, about; all processes together keep them in memory.
    checkpoint_batches : int, default=1000
        A checkpoint is written after so many batches of an epoch too.
    """

    n_streams: int = 16
    buffer_rows: int = 16_384
    sample_rows: int = 50_000
    validation_rows: int = 50_000
    checkpoint_batches: int = 1000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")


@dataclass(frozen=True, eq=False)
class FolderRows:
    """The rows of a folder as one fit sees them; the same in every process, but for its own part of the rows.

    Attributes are those of :func:`tsenet.training.shard_recipe.fit_to_shards`.
    """

    folder: ShardFolder
    target_names: tuple[str, ...]
    classification: bool
    recipe: Recipe
    seeds: RunSeeds
    peers: Peers
    report: Progress
    options: ShardOptions
    unlabeled: Any
    class_weight: Any

    @cached_property
    def asked(self) -> Asked:
        """What the survey looks for."""
        recipe, n_rows = self.recipe, self.folder.n_rows
        share = min(recipe.validation_fraction, self.options.validation_rows / n_rows)
        return Asked(
            self.target_names,
            self.classification,
            self.unlabeled,
            int(self.seeds.split.generate_state(1)[0]),
            share if recipe.early_stopping else 0.0,
            self.options.sample_rows / n_rows,
        )

    @cached_property
    def bounds(self) -> NDArray[np.int64]:
        """Partitions of the streams."""
        n_rows = np.array([part.n_rows for part in self.folder.partitions], np.int64)
        return cut_into_streams(n_rows, self.options.n_streams)

    @cached_property
    def survey(self) -> Survey:
        """What one pass over all rows finds."""
        streams = self.peers.share_of(self.bounds.size - 1)
        first, last = self.bounds[streams.start], self.bounds[streams.stop]
        own = self.folder.partitions[first:last]
        self.report.start("surveying shards", None)
        made = survey(self.folder, self.asked, own, self.peers)
        self.report.finish(
            f"{self.folder.n_rows:,} rows, {int(made.n_training.sum()):,} to train on"
        )
        return made

    @cached_property
    def targets(self) -> Targets:
        """What is predicted."""
        if not self.classification:
            moments = self.survey.moments
            assert moments is not None
            if not moments.known.all():
                raise DataError("a column of values holds no known value")
            deviation = np.sqrt(moments.squares / moments.known)
            varies = deviation > np.maximum(1e-12 * np.abs(moments.mean), 1e-300)
            one = len(self.target_names) == 1
            return ValueTargets(one, moments.mean, np.where(varies, deviation, 1.0))
        if len(self.target_names) > 1:
            return LabelTargets(len(self.target_names))
        values = sorted(self.survey.class_counts)
        texts = isinstance(values[0], str)
        return ClassTargets.learn(np.array(values, object if texts else None))

    @cached_property
    def loss(self) -> Loss:
        """What training makes small."""
        weight = self.class_weight
        if not isinstance(self.targets, ClassTargets):
            if isinstance(weight, str):
                raise DataError(
                    'class_weight="balanced" is there for one column of classes only: give a dict'
                )
            return self.targets.loss(np.empty((0, 0)), weight)
        counts = np.array([self.survey.class_counts[value] for value in self.targets.classes])
        if weight == "balanced":
            values = counts.sum() / (counts.size * counts)
            weight = dict(zip(self.targets.classes.tolist(), values.tolist(), strict=True))
        return self.targets.loss(np.arange(counts.size), weight)

    @cached_property
    def scaling(self) -> Scaling:
        """tf-idf, from the words of all rows."""
        return Scaling.of_counts(self.folder.n_rows, self.survey.n_with, self.folder.names)

    @cached_property
    def sample_table(self) -> Table:
        """Some rows, in an order that depends on their content alone."""
        from tsenet.data.order import canonical_order

        rows = self.survey.sample
        if rows.shape[0] < 2:
            raise DataError(
                f"a sample of {rows.shape[0]} rows is too few to learn from: raise sample_rows"
            )
        order = canonical_order(rows, np.zeros(rows.shape[0]))
        return Table(rows[order], self.folder.names, self.folder.levels, self.folder.named)

    @cached_property
    def sample_inputs(self) -> Inputs:
        """The sample as the network reads it."""
        return Inputs(self.scaling.apply(self.sample_table).values)

    def read(self, partition: int) -> LabelledRows:
        """The training rows of a partition as the network reads them."""
        block = self.folder.read(self.folder.partitions[partition], self.target_names)
        given = self.asked.read(block.labels)
        chosen = np.flatnonzero(given.known & ~self.asked.held_out(row_keys(block.table.values)))
        return self.labelled(block.table.values[chosen], given.take(chosen))

    def labelled(self, counts: sp.csr_array, given: GivenTargets) -> LabelledRows:
        """Word counts and targets as the network reads them."""
        table = Table(counts, self.folder.names, self.folder.levels, self.folder.named)
        return LabelledRows(self.scaling.apply(table).values, self.targets.encode(given))

    @property
    def identity(self) -> str:
        """Says which rows and targets these are."""
        asked = self.asked
        draws = digest_of(np.array([asked.seed, asked.validation_share, asked.sample_share]))
        return f"{self.folder.digest} {self.target_names} {self.unlabeled} {draws}"
