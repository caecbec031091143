"""One pass over a folder of shards before training: what the network has to know about all rows.

Whether a row is a validation row, and whether it is in the sample that structure and first weights are learned from,
depends on its content and the seed alone, not on the shards: duplicates stay on one side, and a folder that was cut
differently gives the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.shards import Partition, ShardFolder
from tsenet.errors import DataError
from tsenet.training.given_targets import GivenTargets, any_known, read_targets
from tsenet.training.peers import Peers

__all__ = ["Asked", "Moments", "Survey", "row_keys", "survey"]

_VALIDATION, _SAMPLE = 1, 2  # two independent draws from a row's key


class Asked(NamedTuple):
    """What to look for."""

    targets: tuple[str, ...]  # label columns
    classification: bool
    unlabeled: Any
    seed: int
    validation_share: float
    sample_share: float

    def read(self, labels: dict[str, NDArray[Any]]) -> GivenTargets:
        """The targets of a partition, checked."""
        columns = [labels[name] for name in self.targets]
        y = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
        if not any_known(y, self.unlabeled):  # of these rows; others may have a label
            return GivenTargets(np.full(y.shape, np.nan), np.zeros(len(y), bool))
        return read_targets(y, self.classification, self.unlabeled)

    def held_out(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which rows are validation rows, if they have a label: (n,)."""
        return _uniform(keys, self.seed, _VALIDATION) < self.validation_share

    def sampled(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which rows are in the sample: (n,)."""
        return _uniform(keys, self.seed, _SAMPLE) < self.sample_share


class Moments(NamedTuple):
    """Number, mean and sum of squared deviations of the known values of each target: (C,) each."""

    known: NDArray[np.float64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(cls, y: NDArray[np.float64]) -> Moments:
        """Those of values (n, C), NaN where unknown."""
        is_known = ~np.isnan(y)
        known = is_known.sum(axis=0).astype(np.float64)
        mean = np.where(is_known, y, 0.0).sum(axis=0) / np.maximum(known, 1)
        return cls(known, mean, np.square(np.where(is_known, y - mean, 0.0)).sum(axis=0))

    def __add__(self, other: Any) -> Moments:
        known = self.known + other.known
        share = other.known / np.maximum(known, 1)
        gap = other.mean - self.mean
        squares = self.squares + other.squares + np.square(gap) * self.known * share
        return Moments(known, self.mean + gap * share, squares)


@dataclass
class Survey:
    """What the pass found.

    Attributes
    ----------
    n_training : int64 (P,)
        Labelled rows to train on, of every partition.
    n_with : int64 (V,)
        Rows of the folder that have each word.
    class_counts : dict
        How often each class is among the labelled rows.
    moments : Moments or None
        Of the values of a regression.
    sample : csr_array (n, V)
        Word counts of some rows of the folder, labelled or not.
    held_out : list of (csr_array, GivenTargets)
        Validation rows of this process's partitions, in their order.
    n_held_out : int
        Validation rows of all processes.
    """

    n_training: NDArray[np.int64]
    n_with: NDArray[np.int64]
    sample: sp.csr_array
    class_counts: dict[Any, int] = field(default_factory=dict)
    moments: Moments | None = None
    held_out: list[tuple[sp.csr_array, GivenTargets]] = field(default_factory=list)
    n_held_out: int = 0


class Found(NamedTuple):
    """What one partition holds, but for its validation rows; small enough to be sent to all processes."""

    n_training: int
    n_held_out: int
    counts: dict[Any, int]
    moments: Moments | None
    sample: sp.csr_array


class OwnPart(NamedTuple):
    """What one process found in its partitions."""

    n_with: NDArray[np.int64]  # (V,)
    found: list[Found]
    held_out: list[tuple[sp.csr_array, GivenTargets]]


def read_own_part(folder: ShardFolder, asked: Asked, own: Sequence[Partition]) -> OwnPart:
    """Read the partitions of this process.

    Parameters
    ----------
    folder : ShardFolder
        Of documents.
    asked : Asked
    own : sequence of Partition

    Raises
    ------
    DataError
        If a partition cannot be read, or its labels are wrong.
    """
    part = OwnPart(np.zeros(folder.n_columns, np.int64), [], [])
    for partition in own:
        block = folder.read(partition, asked.targets)
        rows: sp.csr_array = block.table.values
        part.n_with[:] += np.bincount(rows.indices, minlength=folder.n_columns)
        given = asked.read(block.labels)
        keys = row_keys(rows)
        aside = asked.held_out(keys) & given.known
        if aside.any():
            chosen = np.flatnonzero(aside)
            part.held_out.append((rows[chosen], given.take(chosen)))
        part.found.append(
            Found(
                int((given.known & ~aside).sum()),
                int(aside.sum()),
                _class_counts(given) if asked.classification else {},
                None if asked.classification else Moments.of(_columns(given.values)),
                rows[np.flatnonzero(asked.sampled(keys))],
            )
        )
    return part


def survey(folder: ShardFolder, asked: Asked, own: Sequence[Partition], peers: Peers) -> Survey:
    """Read the partitions of this process, and put together what all processes found.

    Parameters
    ----------
    folder : ShardFolder
        Of documents.
    asked : Asked
    own : sequence of Partition
        This process's; those of all processes, in their order, are all of the folder's.
    peers : Peers

    Raises
    ------
    DataError
        In every process, if a partition of any cannot be read, its labels are wrong, or no row has a label.
    """
    part = peers.together(lambda: read_own_part(folder, asked, own))
    peers.add_up(part.n_with)
    found = [each for of_process in peers.gather(part.found) for each in of_process]
    made = Survey(
        np.array([each.n_training for each in found], np.int64),
        part.n_with,
        sp.vstack([each.sample for each in found], format="csr"),
        held_out=part.held_out,
        n_held_out=sum(each.n_held_out for each in found),
    )
    for each in found:
        for value, count in each.counts.items():
            made.class_counts[value] = made.class_counts.get(value, 0) + count
        if each.moments is not None:
            made.moments = each.moments if made.moments is None else made.moments + each.moments
    if not made.n_training.any():
        names = " and ".join(map(repr, asked.targets))
        raise DataError(f"no row of {folder.place.url} has a label in {names} to train on")
    return made


def _class_counts(given: GivenTargets) -> dict[Any, int]:
    if given.values.ndim == 2:
        return {}
    values, counts = np.unique(given.values[given.known], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _columns(values: NDArray[Any]) -> NDArray[np.float64]:
    return values.reshape(len(values), -1).astype(np.float64)


# ---- keys of rows


def row_keys(rows: sp.csr_array) -> NDArray[np.uint64]:
    """A hash of the content of each row, words and counts: (n,). Equal rows have equal keys."""
    with np.errstate(over="ignore"):  # modulo 2⁶⁴, as hashes are
        entry = _mix(rows.indices.astype(np.uint64) << np.uint64(32) | rows.data.astype(np.uint64))
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entry, dtype=np.uint64)])
        return _mix(ends[rows.indptr[1:]] - ends[rows.indptr[:-1]])


def _uniform(keys: NDArray[np.uint64], seed: int, draw: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) that depend on key, seed and draw: (n,)."""
    with np.errstate(over="ignore"):
        salt = _mix(np.array([seed, draw], np.uint64))
        mixed = _mix(_mix(keys + salt[0]) + salt[1])
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """splitmix64's output for each number."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
