"""How much each column of a table matters to a network's predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.explain.affine import AffineNetwork
from tsenet.network.predictor import Inputs

__all__ = ["column_importances", "importance_rows"]

_ROWS = 200


def importance_rows(inputs: Inputs) -> Inputs:
    """At most 200 rows, spread evenly over all."""
    chosen = np.unique(np.linspace(0, len(inputs) - 1, _ROWS).astype(np.int64))
    return Inputs(inputs.values[chosen])


def column_importances(net: Any, inputs: Inputs, rule: BinaryRule) -> NDArray[np.float64]:
    """How much each column matters to the outputs, as a share of all: (V,).

    Of dense rows: the mean change of an output when a row takes the column's value of another row, the levels of a
    category together (permutation importance, without labels). Of sparse rows: the mean size of the column's
    contribution as :func:`tsenet.explain.explain_prediction` has it. Only differences between the outputs of several
    classes matter, so each is taken against the mean of all.
    """
    if inputs.is_sparse:
        sizes = _sizes_of_contributions(net, inputs)
        of_column = np.bincount(rule.sources, sizes, rule.n_columns_in).astype(np.float64)
    else:
        of_column = _changes(net, inputs, rule)
    return np.asarray(of_column / max(of_column.sum(), np.finfo(np.float64).tiny))


def _changes(net: Any, inputs: Inputs, rule: BinaryRule) -> NDArray[np.float64]:
    values = np.asarray(inputs.values)
    n_rows = len(values)
    usual = _against_mean(net.predictor().outputs(inputs))
    changes = np.zeros(rule.n_columns_in)
    for step in {max(1, n_rows // 3), max(1, n_rows // 2)}:
        other = np.roll(values, step, axis=0)
        for column in range(rule.n_columns_in):
            inputs_of = np.flatnonzero(rule.sources == column)
            if not (other[:, inputs_of] != values[:, inputs_of]).any():
                continue
            changed = values.copy()
            changed[:, inputs_of] = other[:, inputs_of]
            outputs = _against_mean(net.predictor().outputs(Inputs(changed)))
            changes[column] += np.abs(outputs - usual).sum()
    return changes


def _against_mean(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    return outputs - outputs.mean(axis=1, keepdims=True) if outputs.shape[1] > 2 else outputs


def _sizes_of_contributions(net: Any, inputs: Inputs) -> NDArray[np.float64]:
    network = AffineNetwork(net.predictor())
    values: Any = inputs.values
    layers = network.forward(values)
    total = np.zeros(inputs.n_columns)
    for direction in _against_mean(np.eye(layers[-1].shape[1])):
        start = np.tile(direction, (len(layers[-1]), 1))
        gradient = network.backward(network.n_layers, start, layers)[0]  # (n, D)
        total += np.asarray(abs(values.multiply(gradient)).sum(axis=0)).ravel()
    return total
