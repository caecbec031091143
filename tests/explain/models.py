"""Small fitted models of every kind, for the tests of explanations: three levels, all activations, all targets."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer

from tests.network.wirings import random_wiring
from tsenet import TSENetClassifier, TSENetRegressor
from tsenet.expansion.wiring import Wiring

N_ROWS, N_COLUMNS = 120, 12
Floats = NDArray[np.float64]


def wiring(n_inputs: int = N_COLUMNS, names: tuple[str, ...] | None = None) -> Wiring:
    """Three levels over the columns, with links left out here and there."""
    made = random_wiring(np.random.default_rng(3), (n_inputs, 7, 5, 3), 0.6)
    inputs = names or tuple(f"x{j}" for j in range(n_inputs))
    latents = tuple(
        tuple(f"Z{k}.{u}" for u in range(size)) for k, size in enumerate((7, 5, 3), start=1)
    )
    return Wiring(made.layers, (inputs, *latents), "random")


def counts_as_read(X: sp.csr_array, training: sp.csr_array) -> Floats:
    """Counts as a network that was fitted to others reads them, up to one factor: tf-idf."""
    weighted: Floats = TfidfTransformer(sublinear_tf=True).fit(training).transform(X).toarray()
    return weighted


def dense_rows(seed: int = 0) -> Floats:
    """Rows whose columns have means and scales of their own."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(N_ROWS, N_COLUMNS)) + (rng.random((N_ROWS, 1)) < 0.5)
    return plain * np.geomspace(0.01, 100, N_COLUMNS) + np.linspace(-50, 400, N_COLUMNS)


def sparse_rows(seed: int = 0) -> sp.csr_array:
    """Counts, three quarters of them 0; the first row is empty."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.4, size=(N_ROWS, N_COLUMNS)).astype(np.float64)
    counts[0] = 0
    return sp.csr_array(counts)


def mixed_rows() -> pd.DataFrame:
    """Eight columns of numbers and one of four colours: twelve inputs."""
    colours = np.random.default_rng(7).choice(["blue", "green", "red", "white"], N_ROWS)
    frame = pd.DataFrame(dense_rows()[:, :8], columns=[f"c{j}" for j in range(8)])
    return frame.assign(colour=colours)


def targets(kind: str, rows: Any) -> NDArray[Any]:
    """Targets that depend on the rows: ``binary``, ``classes``, ``labels``, ``value`` or ``values``."""
    values = rows.toarray() if sp.issparse(rows) else np.asarray(rows)[:, :8].astype(np.float64)
    z = (values - values.mean(0)) / (values.std(0) + 1e-9)
    scores = np.stack([z[:, :3].sum(1), z[:, 2:5].sum(1), z[:, 4:7].sum(1)], axis=1)
    if kind == "binary":
        return np.where(scores[:, 0] > 0, "yes", "no")
    if kind == "classes":
        return np.take(["red", "green", "blue"], scores.argmax(axis=1))
    if kind == "labels":
        return (scores > 0).astype(np.float64)
    return 1000 + 50 * scores if kind == "values" else 1000 + 50 * scores[:, 0]


_MODELS: dict[Any, Any] = {}  # fitted so far; tests do not change them


def fitted(kind: str = "classes", rows: Any = None, **options: Any) -> Any:
    """A classifier or regressor fitted for three epochs; its biases and linear skips are not near 0."""
    rows = dense_rows() if rows is None else rows
    key = kind, pickle.dumps(rows), repr(sorted(options.items()))
    if key in _MODELS:
        return _MODELS[key]
    made = TSENetRegressor if kind.startswith("value") else TSENetClassifier
    settings = {
        "wiring": wiring(),
        "skip_units": 4,
        "feature_units": 6,
        "units_per_latent": 1,
        "max_epochs": 3,
        "learning_rate": 0.01,
        "random_state": 0,
        "n_jobs": 1,
        **options,
    }
    model = _MODELS[key] = made(**settings).fit(rows, targets(kind, rows))
    shake(model.net_)
    return model


def shake(net: Any) -> None:
    """Training for a moment leaves biases and the linear skip at almost 0, where mistakes with them would not show."""
    import torch

    draw = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if name.endswith("bias") or name == "linear_skip":
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=draw))


def whole_pass(net: Any, x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Activations of the hidden layers, and outputs computed from these very tensors."""
    levels = [x]
    for layer in net.layers:
        levels.append(torch.relu(levels[-1] @ layer.dense_weight().t() + layer.bias))
    groups = [(group, levels[int(k)]) for k, group in net.skips.items()] + [(net.top, levels[-1])]
    features = torch.relu(torch.cat([read @ g.weight + g.bias for g, read in groups], dim=1))
    outputs = features @ net.output.weight + net.output.bias
    if net.linear_skip is not None:
        outputs = outputs + x @ net.linear_skip
    torch.testing.assert_close(outputs, net(x))
    return [*levels[1:], features], outputs
