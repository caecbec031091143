"""What the inputs tell the outputs directly, by the linear skip."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.table import Table
from tsenet.explain.fitted import FittedNetwork

__all__ = ["direct_effects", "linear_skip_weights"]

Floats = NDArray[np.float64]

_BATCH = 1024


def linear_skip_weights(net: Any) -> Floats | None:
    """Weights (D, C) of a network's linear skip from the inputs; None if it has none."""
    weight = net.linear_skip
    return None if weight is None else weight.detach().cpu().to_dense().numpy().astype(np.float64)


def direct_effects(model: FittedNetwork, table: Table) -> Floats | None:
    """How far each output moves by the linear skip when an input rises by one standard deviation: (D, C).

    None without a linear skip. The deviation is that of the input as the network reads it, over the rows given.
    """
    weight = linear_skip_weights(model.net_)
    if weight is None:
        return None
    deviation = _deviation(model, table)
    return weight * deviation[:, None] * model.output_scale_


def _deviation(model: FittedNetwork, table: Table) -> Floats:
    """Standard deviation of each input of the network: (D,)."""
    total: Any = 0.0
    square: Any = 0.0
    for start in range(0, table.n_rows, _BATCH):
        part = table.take(slice(start, min(start + _BATCH, table.n_rows)))
        for read in model.network_inputs(part):
            values: Any = read.values
            exact = values.astype(np.float64)
            squared = exact.multiply(exact) if sp.issparse(exact) else exact**2
            total = total + np.asarray(exact.sum(axis=0)).ravel()
            square = square + np.asarray(squared.sum(axis=0)).ravel()
    mean = total / table.n_rows
    deviation: Floats = np.sqrt(np.maximum(0.0, square / table.n_rows - mean**2))
    return deviation
