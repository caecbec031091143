"""What a trained network says about rows: outputs and hidden activations, without dropout."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks
from tsenet.network.batches import Batch, Inputs, SparseBatch
from tsenet.network.passes import CHUNK_ROWS, DOCUMENT_ROWS, Passes, SparseRows
from tsenet.network.tsenet import TSENet

__all__ = ["hidden_activations", "network_outputs"]

_ROWS = 16 * CHUNK_ROWS  # at a time


def network_outputs(net: TSENet, inputs: Inputs, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Raw outputs (N, C) of a network on the CPU; the last layer is summed in float64."""
    weight = net.output.weight.detach().numpy().astype(np.float64)  # (F, C)
    if len(inputs) <= DOCUMENT_ROWS and not net.has_norm:
        return Passes(net).documents(inputs.batch())
    linear_skip = [
        path.detach().numpy().astype(np.float64) for path in net.linear_skips
    ]  # (D, C) each
    answer = np.empty((len(inputs), weight.shape[1]))
    for rows, layers in _hidden(net, inputs, n_jobs):
        *levels, features = (layer[: rows.stop - rows.start] for layer in layers)
        answer[rows] = features @ weight
        for level, path in zip([inputs.values[rows], *levels], linear_skip, strict=False):
            answer[rows] += level @ path
    answer += net.output.bias.detach().numpy()
    return answer


def hidden_activations(
    net: TSENet, inputs: Inputs, n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Activations of all hidden units, level by level, then the feature layer: (N, units)."""
    n_units = sum(net.wiring.layer_sizes[1:]) + net.output.weight.shape[0]
    answer = np.empty((len(inputs), n_units), np.float32)
    for rows, layers in _hidden(net, inputs, n_jobs):
        answer[rows] = np.concatenate(layers, axis=1)[: rows.stop - rows.start]
    return answer


def _hidden(
    net: TSENet, inputs: Inputs, n_jobs: int | None
) -> Iterator[tuple[slice, list[NDArray[np.float32]]]]:
    """Block by block, which rows they are and the activations (rows, units) of each hidden layer.

    A block is filled up to whole chunks by repeating its last row: narrow products round otherwise than wide ones, and
    a row's answer should hardly depend on how many come with it.
    """
    run = (
        _by_torch(net)
        if net.has_norm
        else _by_passes(net, n_jobs if len(inputs) > CHUNK_ROWS else 1)
    )
    for start, stop in chunks(len(inputs), _ROWS):
        n_filled = -(-(stop - start) // CHUNK_ROWS) * CHUNK_ROWS
        rows = np.minimum(np.arange(start, start + n_filled), stop - 1)
        yield slice(start, stop), run(inputs.batch(rows))


Run = Callable[[Batch], list[NDArray[np.float32]]]


def _by_passes(net: TSENet, n_jobs: int | None) -> Run:
    passes = Passes(net)
    workers = Workers(n_jobs)

    def run(batch: Batch) -> list[NDArray[np.float32]]:
        with passes.one_blas_thread():
            data = passes.read(batch, training=False)
            n_rows = batch.n_rows if isinstance(batch, SparseBatch) else len(batch)
            parts = passes.chunks(n_rows, isinstance(data, SparseRows))
            list(workers.map(lambda part: passes.forward(data, part, False), parts))
        layers = zip(*([*part.level[1:], part.features] for part in parts), strict=True)
        return [np.concatenate(layer, axis=1).T for layer in layers]

    return run


def _by_torch(net: TSENet) -> Run:
    def run(batch: Batch) -> list[NDArray[np.float32]]:
        with torch.no_grad():
            return [layer.numpy() for layer in net.hidden(batch).values()]

    return run
