"""Small networks and tables for the tests of training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.network.wirings import random_wiring
from tsenet.network.inputs import Inputs
from tsenet.network.tsenet import TSENet
from tsenet.training.examples import Examples
from tsenet.training.history import History
from tsenet.training.loop import Engine
from tsenet.training.losses import BinaryLoss, Loss

Arrays = dict[str, NDArray[Any]]


def small_net(n_inputs: int, n_outputs: int = 1, seed: int = 0, **options: Any) -> TSENet:
    """Two sparse layers and narrow skips."""
    wiring = random_wiring(np.random.default_rng(0), (n_inputs, 6, 3), 0.5)
    sizes = {"skip_units": 3, "feature_units": 4}
    return TSENet(wiring, n_outputs, seed=seed, **{**sizes, **options})


def table(n_rows: int, n_columns: int = 8, seed: int = 0) -> tuple[Inputs, NDArray[np.float64]]:
    """Random rows (N, D) and labels (N,) that a few columns decide."""
    rng = np.random.default_rng(seed)
    values = (rng.random((n_rows, n_columns)) < 0.4).astype(np.float32)
    labels = (values[:, 0] + values[:, 1] - values[:, 2] > 0.5).astype(np.float64)
    return Inputs(values), labels


def make_engine(
    inputs: Inputs, loss: Loss | None = None, *, seed: int = 5, **options: Any
) -> Engine:
    """An engine on a small network."""
    loss = BinaryLoss() if loss is None else loss
    return Engine(small_net(inputs.n_columns, loss.n_outputs, **options), loss, seed=seed, n_jobs=1)


def weights_of(engine: Engine) -> Arrays:
    """Copy of the network's weights, by name."""
    state = engine.net.state_dict()
    return {name: tensor.cpu().numpy().copy() for name, tensor in state.items()}


def held_out(
    inputs: Inputs, labels: NDArray[np.float64], n_train: int
) -> tuple[Examples, Examples]:
    """The first rows to train on, the others for validation."""
    everything = labelled(inputs, labels)
    return everything.take(np.arange(n_train)), everything.take(np.arange(n_train, len(inputs)))


def labelled(inputs: Inputs, targets: NDArray[Any], weights: Any = None) -> Examples:
    """All rows of a table."""
    return Examples(inputs, np.arange(len(inputs)), targets, weights)


def history_of(*scores: float) -> History:
    """A history whose epochs differ in their validation scores."""
    made = History()
    for score in scores:
        made = made.after_epoch(1.0, (0.5, score), 1e-3, 0.1)
    return made


def same_bytes(a: Arrays, b: Arrays) -> bool:
    """Whether two sets of arrays are equal to the last bit."""
    return a.keys() == b.keys() and all(
        a[name].dtype == b[name].dtype and a[name].tobytes() == b[name].tobytes() for name in a
    )
