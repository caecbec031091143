"""Data-parallel engines: each process computes the gradient of its rows of a batch, and all take the same step.

The gradient of a batch is the sum of what the processes found, so it is that of one process with the whole batch, up
to the rounding of a sum. All processes add the same bytes: their weights stay equal without being sent.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.network.batch_state import BatchState, Float
from tsenet.network.batches import Batch, Inputs
from tsenet.network.gradients import Block
from tsenet.training.engine import AutogradEngine, Engine
from tsenet.training.fused import FusedEngine
from tsenet.training.kernels.adam_kernels import adam_factors, adam_step
from tsenet.training.losses import Loss
from tsenet.training.peers import Peers

__all__ = ["ParallelAutogradEngine", "ParallelEngine", "ParallelFusedEngine"]


class ParallelEngine(Engine, Protocol):
    """An engine whose steps take the rows of several processes together.

    All processes call ``step`` with the same learning rate and number; its loss is that of the whole batch.
    """

    peers: Peers

    def take_rows_of(self, inputs: Inputs, first_row: int) -> None:
        """Let the next step read its rows from a table; the first of them is number ``first_row`` of the batch."""


class ParallelFusedEngine(FusedEngine):
    """`FusedEngine` over several processes, on CPUs.

    Parameters
    ----------
    net, inputs, loss, seed, n_jobs
        As for :class:`tsenet.training.fused.FusedEngine`. All processes begin with the same network.
    peers : Peers
    """

    def __init__(
        self,
        net: Any,
        inputs: Inputs,
        loss: Loss,
        peers: Peers,
        *,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(net, inputs, loss, seed=seed, n_jobs=n_jobs)
        self.peers = peers
        sizes = [parameter.size for parameter in self.parameters.values()]
        starts = np.cumsum([0, *sizes])
        self._start_of = dict(zip(self.parameters, starts.tolist(), strict=False))
        self._gradient = np.zeros(starts[-1], self.passes.dtype)

    def take_rows_of(self, inputs: Inputs, first_row: int) -> None:
        """Let the next step read its rows from a table; the first of them is number ``first_row`` of the batch."""
        self.inputs, self.first_row = inputs, first_row

    def step(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        learning_rate: float,
        step: int,
    ) -> float:
        """One Adam step on the rows of all processes; returns their mean loss before it."""
        if self.peers.size == 1:
            return super().step(rows, targets, weights, learning_rate, step)
        with self.passes.one_blas_thread():
            if rows.size:
                loss, state = self._run_passes(rows, targets, weights, step)
                self._run(partial(self._fill, state), self._tasks)
            else:
                loss = self._shared_loss(0.0, 0.0)[0]
                self._gradient[:] = 0
            self.peers.add_up(self._gradient)
            self.n_steps += 1
            factors = adam_factors(learning_rate, self.n_steps)
            self._run(partial(self._adam_of_all, factors), self._tasks)
        self.net.version += 1
        return loss

    def _loss_and_delta(
        self, outputs: Float, targets: NDArray[Any], weights: NDArray[Any] | None
    ) -> tuple[float, Float]:
        """Loss of the whole batch, and its derivative by this process's outputs."""
        own_loss, delta = super()._loss_and_delta(outputs, targets, weights)
        loss, share = self._shared_loss(own_loss, self.loss.total_weight(targets, weights))
        return loss, delta * delta.dtype.type(share)

    def _shared_loss(self, own_loss: float, own_weight: float) -> tuple[float, float]:
        return _mean_over(self.peers, own_loss, own_weight)

    def _fill(self, state: BatchState, blocks: list[Block]) -> None:
        """Gradient of some blocks, into this process's flat vector."""
        for block in blocks:
            block.fill(state, self._gradient_of(block))

    def _adam_of_all(self, factors: tuple[float, float], blocks: list[Block]) -> None:
        """Adam step of some blocks along the gradient of all processes."""
        for block in blocks:
            parameter, mean, square = self._views(block)
            adam_step(parameter, self._gradient_of(block), mean, square, *factors)

    def _gradient_of(self, block: Block) -> Float:
        start = self._start_of[block.name]
        return self._gradient[start + block.start : start + block.stop]


class ParallelAutogradEngine(AutogradEngine):
    """`AutogradEngine` over several processes, each on its own GPU or CPU.

    Parameters
    ----------
    net, inputs, loss, device, seed
        As for :class:`tsenet.training.engine.AutogradEngine`. All processes begin with the same network.
    peers : Peers
    """

    def __init__(
        self,
        net: Any,
        inputs: Inputs,
        loss: Loss,
        peers: Peers,
        *,
        device: str | torch.device = "cpu",
        seed: int = 0,
    ) -> None:
        if net.has_norm and peers.size > 1:
            raise DataError(
                'norm="batch" takes means over the rows of one process, not of the whole batch: '
                "train with norm=None, or in one process"
            )
        super().__init__(net, inputs, loss, device=device, seed=seed)
        self.peers, self.first_row = peers, 0

    def take_rows_of(self, inputs: Inputs, first_row: int) -> None:
        """Let the next step read its rows from a table; the first of them is number ``first_row`` of the batch."""
        self.inputs, self.first_row = inputs, first_row

    def _begin_step(self, step: int) -> None:
        """Choose the dropout masks of this process's rows of the batch."""
        cast(Any, self.net).begin_step(self.seed, step, self.first_row)

    def _gradients(
        self, batch: Batch, targets: NDArray[Any], weights: NDArray[Any] | None
    ) -> float:
        """Fill ``grad`` of every weight with that of the whole batch; return its mean loss."""
        if self.peers.size == 1:
            return super()._gradients(batch, targets, weights)
        parameters = list(self.net.parameters())
        if len(targets):
            loss = super()._gradients(batch, targets, weights)
            loss, share = _mean_over(self.peers, loss, self.loss.total_weight(targets, weights))
            found = [torch.as_tensor(parameter.grad).flatten() for parameter in parameters]
            flat = torch.cat(found) * share
        else:
            loss, _ = _mean_over(self.peers, 0.0, 0.0)
            flat = torch.cat([torch.zeros_like(parameter).flatten() for parameter in parameters])
        self.peers.add_up_tensor(flat)
        parts = torch.split(flat, [parameter.numel() for parameter in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        return loss


def _mean_over(peers: Peers, own_loss: float, own_weight: float) -> tuple[float, float]:
    """Mean loss over all processes, and this process's share of the weight of all."""
    sums = np.array([own_loss * own_weight, own_weight])
    peers.add_up(sums)
    loss, weight = sums.tolist()
    return (loss / weight, own_weight / weight) if weight > 0 else (0.0, 0.0)
