"""Checkpoints: all a training run needs to go on after a crash as if it had never stopped.

The arrays of a checkpoint file (:mod:`tsenet._system.checkpoint_file`) are the engine's state and the best weights; its
fields hold the rest.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.atomic import atomic_write, remove_leftovers
from tsenet._system.checkpoint_file import digest_of, read_checkpoint, write_checkpoint
from tsenet.errors import ModelFileError
from tsenet.network.batches import Inputs
from tsenet.training.history import History

__all__ = ["Checkpoint", "Position", "RunFolder", "parts_of"]

_FIELDS = {"run", "batch", "loss_sum", "seconds", "history", "has_best"}


@dataclass(eq=False)
class Position:
    """Where a run stands between two steps, besides what its engine holds.

    Attributes
    ----------
    history : History
        The whole epochs so far.
    batch : int
        The batch that comes next, in the epoch after those of the history.
    loss_sum : float
        Σ of loss · rows over that epoch's batches so far.
    seconds : float
        Time that epoch has taken so far.
    best : dict of str to ndarray or None
        Weights of the best epoch.
    """

    history: History = field(default_factory=History)
    batch: int = 0
    loss_sum: float = 0.0
    seconds: float = 0.0
    best: dict[str, NDArray[Any]] | None = None


@dataclass(frozen=True)
class Checkpoint:
    """Where, and how often, a run writes its state.

    Attributes
    ----------
    path : path
        The file. If it exists when training starts, training goes on from it.
    every_batches : int or None
        Write after so many batches of an epoch too, not only after each epoch.
    """

    path: str | os.PathLike[str]
    every_batches: int | None = None

    def __post_init__(self) -> None:
        if self.every_batches is not None and self.every_batches < 1:
            raise ValueError(f"every_batches must be at least 1, not {self.every_batches}")

    def is_due(self, batch: int) -> bool:
        """Whether to write within an epoch, when so many of its batches are done."""
        return self.every_batches is not None and batch % self.every_batches == 0

    def save(
        self, run: dict[str, Any], position: Position, state: Mapping[str, NDArray[Any]]
    ) -> None:
        """Write a run's position and its engine's state; a crash leaves the old file or the new one.

        ``run`` says, in JSON-able fields, which run it is: no other can go on from the file.
        """
        fields = {
            "run": run,
            "batch": position.batch,
            "loss_sum": position.loss_sum,
            "seconds": position.seconds,
            "history": position.history.to_dict(),
            "has_best": position.best is not None,
        }
        arrays = {f"state/{name}": array for name, array in state.items()}
        arrays |= {f"best/{name}": array for name, array in (position.best or {}).items()}
        write_checkpoint(self.path, fields, arrays)

    def load(self, run: dict[str, Any]) -> tuple[Position, dict[str, NDArray[Any]]] | None:
        """Read where a run was left, and its engine's state; None if there is no file.

        Raises
        ------
        ModelFileError
            If the file is damaged, or another run's.
        """
        path = Path(self.path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {path.parent} to write the checkpoint to")
        remove_leftovers(path)
        try:
            content = read_checkpoint(path)
            if content is None:
                return None
            its_run, position, state = _position(*content)
        except ModelFileError as error:
            raise ModelFileError(
                f"the checkpoint {path} cannot be used: {error}. Delete it to train from the start"
            ) from error
        differing = sorted(key for key in run | its_run if run.get(key) != its_run.get(key))
        if differing:
            raise ModelFileError(
                f"the checkpoint {path} is of another training run, with other "
                f"{', '.join(differing)}: give another path, or delete it"
            )
        return position, state


def _position(
    fields: dict[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Any], Position, dict[str, NDArray[Any]]]:
    """Run, position and engine state of a checkpoint's content."""
    try:
        if set(fields) != _FIELDS:
            raise ValueError(f"its fields are {sorted(fields)}")
        position = Position(
            history=History.from_dict(fields["history"]),
            batch=int(fields["batch"]),
            loss_sum=float(fields["loss_sum"]),
            seconds=float(fields["seconds"]),
            best=_below("best/", arrays) if fields["has_best"] else None,
        )
        if position.batch < 0 or not math.isfinite(position.loss_sum):
            raise ValueError(f"batch {position.batch}, loss {position.loss_sum}")
        return dict(fields["run"]), position, _below("state/", arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"it does not hold a training run ({error})") from error


def _below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def parts_of(inputs: Inputs) -> tuple[NDArray[Any], ...]:
    """The arrays that hold a table's values: one of a dense table, three of a sparse one."""
    values = inputs.values
    if isinstance(values, np.ndarray):
        return (values,)
    return values.data, values.indices, values.indptr


@dataclass(frozen=True)
class RunFolder:
    """The checkpoint folder of a whole ``fit``: structure learning and the training of each candidate network.

    ``run.json`` says which run it belongs to. A run with other data, parameters or seed is refused.

    Attributes
    ----------
    path : Path
    seed : SeedSequence
        That of the run's first start, also where ``random_state`` would draw another one now.
    """

    path: Path
    seed: np.random.SeedSequence

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        identity: dict[str, Any],
        data: Sequence[NDArray[Any] | None],
        seed: np.random.SeedSequence,
    ) -> RunFolder:
        """Make the folder, or check that it is this run's.

        Parameters
        ----------
        path : path
            Made if it does not exist.
        identity : dict
            JSON-able fields that must agree.
        data : sequence of ndarray or None
            Arrays whose digest must agree.
        seed : SeedSequence
            The seed to begin with; a folder that exists has its own.

        Raises
        ------
        ModelFileError
            If the folder is another run's, or its ``run.json`` is damaged.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "run.json"
        # What JSON makes of it, tuples as lists, is what is compared
        ours = json.loads(json.dumps({**identity, "data": digest_of(*data)}))
        if not file.exists():
            entropy = {"entropy": seed.entropy, "spawn_key": list(seed.spawn_key)}
            with atomic_write(file, "w") as stream:
                json.dump({"run": ours, "seed": entropy}, stream, sort_keys=True)
            return cls(folder, seed)
        try:
            stored = json.loads(file.read_text("utf-8"))
            theirs = dict(stored["run"])
            first = np.random.SeedSequence(
                stored["seed"]["entropy"], spawn_key=stored["seed"]["spawn_key"]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{file} is damaged ({error}): delete the folder {folder} to start again"
            ) from error
        differing = sorted(key for key in ours | theirs if ours.get(key) != theirs.get(key))
        if differing:
            raise ModelFileError(
                f"the checkpoint folder {folder} is of another run, with other {', '.join(differing)}: "
                "give another folder, or delete it"
            )
        return cls(folder, first)

    @property
    def structure(self) -> Path:
        """Where structure learning keeps its finished levels."""
        return self.path / "structure"

    def training(self, candidate: str) -> Checkpoint:
        """Where the training of a candidate network writes its state."""
        return Checkpoint(self.path / f"training-{candidate}.checkpoint")
