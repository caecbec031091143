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
    """How much each column's contribution to the outputs varies from row to row, as a share of all: (V,).

    Contributions are those of :func:`tsenet.explain.explain_prediction`, which add up to an output; those of a
    category's levels are summed. The measure is the mean distance of a contribution from its mean over the rows (of
    sparse rows, from 0, which most contributions are): what a column adds to every row alike makes no difference. Only
    differences between the outputs of several classes matter, so each is taken against the mean of all.
    """
    network = AffineNetwork.of(net)
    rows = network.forward(inputs.values)
    slopes = network.slopes(rows, "secant")
    n_rows, n_outputs = rows.outputs.shape
    seeds = np.eye(n_outputs)
    if n_outputs > 2:
        seeds -= 1 / n_outputs
    total = np.zeros(rule.n_columns_in)
    for seed in seeds:
        gradient = network.backward(network.start(seed, n_rows), slopes, lowest=0)[0]  # (n, D)
        values: Any = inputs.values
        if inputs.is_sparse:
            size = np.asarray(abs(values.multiply(gradient)).sum(axis=0)).ravel()
            total += np.bincount(rule.sources, size, rule.n_columns_in)
        else:
            part = np.zeros((n_rows, rule.n_columns_in))
            np.add.at(part.T, rule.sources, (values * gradient).T)
            total += np.abs(part - part.mean(axis=0)).sum(axis=0)
    return np.asarray(total / max(total.sum(), np.finfo(np.float64).tiny))
