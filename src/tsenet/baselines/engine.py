"""``DenseEngine``: the dense network's training steps on a CPU, as fast as we can make them.

Between two layers the gradients are plain products, which torch computes as fast as anyone. The first layer is another
matter: a batch of documents names only some of its words, but autograd makes a gradient of all of it, 40 MB for
10,000 words and 1,024 units, and Adam then reads it. Here its gradient and its Adam step are one pass over its
weights. Same results as autograd and torch's Adam up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet._system.threads import Workers, chunks, thread_count
from tsenet.baselines._dense_kernels import step_columns
from tsenet.baselines.fnn import FNN
from tsenet.network.batches import Batch, Inputs, SparseBatch
from tsenet.training.engine import AutogradEngine
from tsenet.training.kernels.adam_kernels import adam_factors
from tsenet.training.losses import Loss

__all__ = ["DenseEngine", "torch_threads"]

COLUMNS_PER_CHUNK = 256


class DenseEngine(AutogradEngine):
    """Adam steps on an :class:`FNN`, on a CPU.

    Parameters
    ----------
    net : FNN
    inputs : Inputs
        The training rows.
    loss : Loss
    seed : int
        Of the dropout masks.
    n_jobs : int or None
        Threads of the first layer's steps; torch's own are those of :func:`torch_threads`.
    """

    def __init__(
        self, net: FNN, inputs: Inputs, loss: Loss, *, seed: int = 0, n_jobs: int | None = None
    ) -> None:
        super().__init__(net, inputs, loss, device="cpu", seed=seed)
        self._workers = Workers(n_jobs)
        self._first = net.layers[0].weight
        self._batch: _Columns | None = None  # what the first layer's step needs
        if inputs.is_sparse:
            (group,) = self._optimiser.param_groups
            group["params"] = [p for p in group["params"] if p is not self._first]

    @torch.no_grad()
    def _gradients(
        self, batch: Batch, targets: NDArray[Any], weights: NDArray[Any] | None
    ) -> float:
        net = cast(FNN, self.net)
        *hidden, output = net.layers
        below: list[Batch] = [batch]  # what each layer reads
        for k, layer in enumerate(hidden):
            level = layer(below[-1]).relu_()  # (B, U)
            if (factors := net.dropout_factors(k, level)) is not None:
                level.mul_(factors)
            below.append(level)
        loss, slope = self.loss.gradient(output(below[-1]).numpy(), targets, weights)
        delta = torch.from_numpy(slope)  # (B, C): derivative by what a layer gives
        for k in reversed(range(len(net.layers))):
            self._fill(k, below[k], delta)
            if k > 0:
                # A unit that was dropped or silent is 0, and so is its derivative; the others were scaled.
                alive = cast(torch.Tensor, below[k]) > 0
                delta = (delta @ net.layers[k].weight.t()).mul_(alive).mul_(net.dropout_scale)
        return loss

    def _fill(self, k: int, x: Batch, delta: torch.Tensor) -> None:
        """Gradients of layer k's weight and bias from its input (B, D) and delta (B, S)."""
        net = cast(FNN, self.net)
        layer, mask = net.layers[k], net.mask(k)
        layer.bias.grad = delta.sum(dim=0)
        if isinstance(x, SparseBatch):
            parts = (x.values.numpy(), x.columns.numpy(), x.row_start.numpy())
            columns = csr_array(parts, (x.n_rows, x.n_columns)).tocsc()
            self._batch = _Columns(columns.indptr, columns.indices, columns.data, delta.numpy())
            return
        if layer.weight.grad is None:
            layer.weight.grad = torch.empty_like(layer.weight)
        torch.mm(x.t(), delta, out=layer.weight.grad)
        if mask is not None:
            layer.weight.grad.mul_(mask)

    def _adam(self, learning_rate: float) -> None:
        super()._adam(learning_rate)
        if self._batch is None:
            return
        batch, first = self._batch, self._first
        state = self._optimiser.state[first]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(first), torch.zeros_like(first)
        state["step"] += 1
        mask = cast(FNN, self.net).mask(0)

        def serve(part: tuple[int, int]) -> None:
            step_columns(
                *part,
                *batch,
                np.empty((0, 0), bool) if mask is None else mask.numpy(),
                first.detach().numpy(),
                state["exp_avg"].numpy(),
                state["exp_avg_sq"].numpy(),
                *adam_factors(learning_rate, int(state["step"])),
            )

        for _ in self._workers.map(serve, chunks(first.shape[0], COLUMNS_PER_CHUNK)):
            pass


class _Columns(NamedTuple):
    """A sparse batch by column, and the derivative of the loss by the first layer's sums."""

    column_start: NDArray[np.int32]  # (D + 1,)
    rows: NDArray[np.int32]  # (nnz,)
    values: NDArray[np.float32]  # (nnz,)
    delta: NDArray[np.float32]  # (B, S)


@contextmanager
def torch_threads(n_jobs: int | None) -> Iterator[None]:
    """Let torch use this many threads in a block of code; ``n_jobs`` as everywhere in tsenet."""
    before = torch.get_num_threads()
    torch.set_num_threads(thread_count(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)
