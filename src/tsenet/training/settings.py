"""What the user may choose about training, and what is chosen where the user left it open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch

from tsenet.expansion.wiring import Wiring
from tsenet.network.batches import Inputs
from tsenet.network.predictor import NetworkOptions
from tsenet.training.loop import TrainingOptions

__all__ = ["Recipe", "TrainingSettings"]

_RATE = 1e-3
_RATE_DENSE = 3e-3  # where it falls to 0 in the end
_BATCH_SPARSE, _BATCH_DENSE = 512, 128
# A training takes at least 1,600 steps or sees 300,000 rows, and takes at least 15 or 20 epochs.
_STEPS, _ROWS_SEEN = 1600, 300_000
_EPOCHS_SPARSE, _EPOCHS_DENSE = 15, 20
_MOST_EPOCHS = 150
_PATIENT_STEPS = 40  # an epoch of fewer steps counts for less patience
_ROWS_IN_ALL = 4_000_000  # rows that a training passes at most, in at least five epochs
_STEPS_DROPPED = 3200  # with dropout of dense inputs: no row is ever the same
_INPUT_DROPOUT = 0.2
_MANY_LATENTS = 100  # of dense rows; with this many or more their units need more dropout
_UNITS_SPARSE, _UNITS_DENSE = 2, 8  # of each latent …
_LEAST_WIDTH, _MOST_WIDTH = 128, 2048  # … but this many of the first level, of dense rows


@dataclass(frozen=True)
class TrainingSettings:
    """How any network is trained; the fields are the estimators' parameters of the same names."""

    learning_rate: float | None = None
    batch_size: int | None = None
    max_epochs: int | None = None
    early_stopping: bool = True
    validation_fraction: float = 0.1
    patience: int = 5
    device: str = "auto"
    n_jobs: int | None = None

    def options(self, n_rows: int) -> TrainingOptions:
        """Options of a training that early stopping ends; small tables get at least 20 steps an epoch."""
        batch_size = 256 if self.batch_size is None else self.batch_size
        return TrainingOptions(
            learning_rate=_RATE if self.learning_rate is None else self.learning_rate,
            batch_size=min(batch_size, max(32, n_rows // 20)),
            max_epochs=100 if self.max_epochs is None else self.max_epochs,
            early_stopping=self.early_stopping,
            patience=self.patience,
        )

    def falling_rate(self, n_rows: int, sparse: bool, dropped: bool = False) -> TrainingOptions:
        """Options of a training whose learning rate falls to 0; it stops early if it is given validation rows.

        Parameters
        ----------
        n_rows : int
        sparse : bool
            Whether the rows are sparse.
        dropped : bool, default=False
            Whether values of the input are dropped.
        """
        rate = _RATE if sparse else _RATE_DENSE
        usual = min(_BATCH_SPARSE if sparse else _BATCH_DENSE, max(16, n_rows // 16))
        batch_size = min(usual, n_rows) if self.batch_size is None else self.batch_size
        n_batches = -(-n_rows // batch_size)
        steps = min(_STEPS, _ROWS_SEEN // batch_size)
        if dropped and not sparse:
            steps = _STEPS_DROPPED
        enough = max(_EPOCHS_SPARSE if sparse else _EPOCHS_DENSE, -(-steps // n_batches))
        epochs = min(enough, _MOST_EPOCHS, max(5, _ROWS_IN_ALL // n_rows))
        return TrainingOptions(
            learning_rate=rate if self.learning_rate is None else self.learning_rate,
            batch_size=batch_size,
            max_epochs=epochs if self.max_epochs is None else self.max_epochs,
            patience=max(self.patience, -(-self.patience * _PATIENT_STEPS // n_batches)),
            cosine=True,
        )

    def torch_device(self) -> str:
        """Where to train."""
        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Recipe(TrainingSettings):
    """How a TSE-Net is built and trained; the fields are the estimators' parameters of the same names."""

    skip_units: int | None = None
    feature_units: int = 100
    dropout: float | None = None
    input_dropout: float | None = None
    linear_skip: bool | Literal["auto"] = "auto"
    init: Literal["random", "principal"] = "principal"
    units_per_latent: int | None = None

    def network(self, inputs: Inputs, wiring: Wiring, linear_skip: bool) -> NetworkOptions:
        """Options of a network; what the user left open depends on the rows and the sizes of the layers."""
        if self.init == "random":  # the paper's
            skip_units, dropout, units = 100, 0.5, 1
        elif inputs.is_sparse:
            skip_units, dropout, units = 0, 0.3, _UNITS_SPARSE
        else:
            skip_units, dropout = 0, 0.2 if _has_many_latents(wiring) else 0.1
            units = _units_of_dense(wiring)
        return NetworkOptions(
            skip_units=skip_units if self.skip_units is None else self.skip_units,
            feature_units=self.feature_units,
            dropout=dropout if self.dropout is None else self.dropout,
            linear_skip=linear_skip,
            units_per_latent=units if self.units_per_latent is None else self.units_per_latent,
        )

    def input_dropout_of(self, inputs: Inputs, wiring: Wiring) -> float:
        """Share of a batch's values to drop: of dense rows with many latents, as images are, a fifth."""
        if self.input_dropout is not None:
            return self.input_dropout
        many = not inputs.is_sparse and _has_many_latents(wiring)
        return _INPUT_DROPOUT if many and self.init == "principal" else 0.0


def _has_many_latents(wiring: Wiring) -> bool:
    return sum(wiring.layer_sizes[1:]) >= _MANY_LATENTS


def _units_of_dense(wiring: Wiring) -> int:
    """Units of each latent such that the first level is neither too narrow to learn nor needlessly wide."""
    n_latents = wiring.layer_sizes[1]
    wide_enough = max(_UNITS_DENSE, -(-_LEAST_WIDTH // n_latents))
    wanted = min(wide_enough, _MOST_WIDTH // n_latents)
    return min(
        (2, 4, 8, 16, 32), key=lambda units: abs(math.log2(units) - math.log2(max(wanted, 1)))
    )
