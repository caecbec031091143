"""How much each column of a table matters to a network's answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.explain._affine import AffineNetwork
from tsenet.network.batches import Inputs

__all__ = ["column_importances", "importance_rows"]

_ROWS = 200


def importance_rows(inputs: Inputs) -> Inputs:
    """Some rows, spread evenly over all."""
    chosen = np.unique(np.linspace(0, len(inputs) - 1, _ROWS).astype(np.int64))
    return Inputs(inputs.values[chosen])


def column_importances(net: Any, inputs: Inputs, rule: BinaryRule) -> NDArray[np.float64]:
    """Mean size of each column's contribution to the outputs, as a share of all: (V,).

    Contributions are those of :func:`tsenet.explain.explain_prediction`, which add up to an output. Only differences
    between the outputs of several classes matter, so each is taken against the mean of all. The levels of a
    category are summed.
    """
    network = AffineNetwork.of(net)
    rows = network.forward(inputs.values)
    slopes = network.slopes(rows, "secant")
    n_rows, n_outputs = rows.outputs.shape
    seeds = np.eye(n_outputs)
    if n_outputs > 2:
        seeds -= 1 / n_outputs
    total = np.zeros(inputs.n_columns)
    for seed in seeds:
        gradient = network.backward(network.start(seed, n_rows), slopes, lowest=0)[0]  # (n, D)
        values: Any = inputs.values
        part = values.multiply(gradient) if inputs.is_sparse else values * gradient
        total += np.asarray(abs(part).sum(axis=0)).ravel()
    of_column = np.bincount(rule.sources, total, rule.n_columns_in).astype(np.float64)
    return np.asarray(of_column / max(of_column.sum(), np.finfo(np.float64).tiny))
