"""What an estimator trains on: the user's rows, and a training that is to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.data.table import Table

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.training.labelled import Labelled
    from tsenet.training.loop import Validation
    from tsenet.training.losses import Loss
    from tsenet.training.options import TrainingOptions

__all__ = ["Job", "Rows"]


class Rows(NamedTuple):
    """What training sees, in an order that does not depend on the one given."""

    table: Table
    targets: NDArray[Any]  # (N,) or (N, C), as the loss wants them
    weights: NDArray[np.float64] | None  # (N,)

    def labelled(self) -> NDArray[np.int64]:
        """Numbers of the rows whose target, or a part of it, is known: class −1 and NaN are not."""
        if self.targets.ndim == 2:
            return np.flatnonzero(~np.isnan(self.targets).all(axis=1))
        whole = self.targets.dtype.kind in "iu"
        return np.flatnonzero(self.targets >= 0 if whole else ~np.isnan(self.targets))


class Job(NamedTuple):
    """A training that is to be done."""

    inputs: Inputs
    labelled: Labelled
    kept: Labelled  # those that are trained on
    validation: Validation | None  # the others
    loss: Loss
    few: bool  # too few labels for more than a start
    new: bool  # a network without weights
    options: TrainingOptions
    dropout_seed: int
    order_seed: int
    start_seed: int
