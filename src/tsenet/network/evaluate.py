"""What a trained network says about rows: outputs and hidden activations, without dropout."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tsenet.network.batches import Inputs
from tsenet.network.passes import Passes, SparseRows
from tsenet.network.tsenet import TSENet
from tsenet.threads import Workers, chunks

__all__ = ["hidden_activations", "network_outputs"]

_ROWS = 1024  # at a time: fixed, so that the answer does not depend on the number of threads


def network_outputs(net: TSENet, inputs: Inputs, n_jobs: int | None = None) -> NDArray[np.float32]:
    """Raw outputs (N, C) of a network on the CPU: by the written-out passes where there are any."""
    if net.has_norm:
        return np.concatenate([_run(net, inputs, rows) for rows in _row_blocks(inputs)])
    passes = Passes(net)
    answer = np.empty((len(inputs), net.output.bias.numel()), np.float32)
    with Workers(n_jobs) as workers, threadpool_limits(1, "blas"):
        for rows in _row_blocks(inputs):
            data = passes.read(inputs.batch(rows), training=False)
            parts = passes.chunks(rows.size, isinstance(data, SparseRows))
            for _ in workers.map(
                lambda task: task(), [partial(passes.forward, data, part, False) for part in parts]
            ):
                pass
            for part in parts:
                first = int(rows[0]) + part.first
                answer[first : first + part.output.shape[1]] = part.output.T
    return answer


def hidden_activations(net: TSENet, inputs: Inputs) -> NDArray[np.float32]:
    """Activations of all hidden units, level by level, then the feature layer: (N, units)."""
    return np.concatenate([_run(net.hidden, inputs, rows) for rows in _row_blocks(inputs)])


def _row_blocks(inputs: Inputs) -> list[NDArray[np.int64]]:
    return [np.arange(start, stop) for start, stop in chunks(len(inputs), _ROWS)]


@torch.no_grad()
def _run(forward: Any, inputs: Inputs, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    result = forward(inputs.batch(rows))
    if isinstance(result, dict):
        result = torch.cat(list(result.values()), dim=1)
    array: NDArray[np.float32] = result.numpy()
    return array
