"""`Engine`: a network and Adam, as the training loop uses them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.adam import adam

from tsenet.network.predictor import Inputs
from tsenet.network.sparse_linear import StepMemory
from tsenet.network.tsenet import TSENet
from tsenet.training.loop import Labelled
from tsenet.training.losses import Loss

__all__ = ["AdamState", "Arrays", "Engine"]

Arrays = dict[str, NDArray[Any]]

# Rows per forward pass of `outputs`, which bounds its memory.
_EVALUATION_ROWS = 1024


class AdamState(NamedTuple):
    """Running means of the gradient and its square for each weight, and the number of steps taken."""

    means: list[Tensor]
    squares: list[Tensor]
    n_steps: list[Tensor]

    @classmethod
    def zeros(cls, weights: Iterable[Tensor]) -> AdamState:
        """The state before the first step."""
        kept = list(weights)
        means, squares = ([torch.zeros_like(weight) for weight in kept] for _ in range(2))
        return cls(means, squares, [torch.tensor(0.0) for _ in kept])


class Engine:
    """Training steps by torch's autograd and Adam.

    On a CPU a step runs on one thread: sums then do not depend on the number of cores, and most networks are too small
    for more. Besides the network's weights, ``adam`` is all that an engine remembers between steps.

    Parameters
    ----------
    net : torch.nn.Module
        Maps a batch of inputs to outputs (B, C); ``net.begin_step(seed, step)`` chooses its dropout masks. Every
        weight takes part in every step. Steps leave it in training mode.
    loss : Loss
        What training minimises.
    device : str or torch.device, default="cpu"
        Where the network is moved and trained.
    seed : int, default=0
        Of the dropout masks.
    n_jobs : int or None, default=None
        Threads of `outputs`; None takes every core. Results do not depend on it.
    input_dropout : float, default=0.0
        Share of the values of each batch that are dropped.
    adam : AdamState, optional
        Of an engine that trained the network before.
    """

    def __init__(
        self,
        net: nn.Module,
        loss: Loss,
        *,
        device: str | torch.device = "cpu",
        seed: int = 0,
        n_jobs: int | None = None,
        input_dropout: float = 0.0,
        adam: AdamState | None = None,
    ) -> None:
        self.device = torch.device(device)
        self.net, self.loss = net.to(self.device), loss
        self.seed, self.n_jobs, self.input_dropout = seed, n_jobs, input_dropout
        self._parameters = list(self.net.parameters())
        self.adam = AdamState.zeros(self._parameters) if adam is None else adam
        self._memory = StepMemory()

    def step(self, batch: Labelled, learning_rate: float, step: int) -> float:
        """Take one Adam step on a batch and return its mean loss before it.

        ``step`` counts the steps of a run and chooses the dropout masks.
        """
        with self._memory:
            if not self.net.training:
                self.net.train()
            loss = self._backward(batch, step)
            self._take_step(learning_rate)
            return loss

    def _backward(self, batch: Labelled, step: int) -> float:
        """Fill ``grad`` of every weight; return the batch's mean loss."""
        cast(Any, self.net).begin_step(self.seed, step)
        key = (self.seed << 32) + step
        values = batch.inputs.batch(batch.rows, self.input_dropout, key).to(self.device)
        outputs: Tensor = self.net(values)  # (B, C)
        found = outputs.detach().cpu().numpy()
        loss, slope = self.loss.gradient(found, batch.targets, batch.weights)
        for parameter in self._parameters:
            parameter.grad = None
        outputs.backward(torch.from_numpy(slope).to(self.device))  # type: ignore[no-untyped-call]  # torch's
        return loss

    @torch.no_grad()
    def _take_step(self, learning_rate: float) -> None:
        """Take Adam's step along the gradients; the class `torch.optim.Adam` takes two seconds to import."""
        parameters: list[Tensor] = [*self._parameters]
        adam(
            parameters,
            [cast(Tensor, parameter.grad) for parameter in parameters],
            self.adam.means,
            self.adam.squares,
            [],
            self.adam.n_steps,
            fused=self.device.type == "cpu" or None,  # one pass over memory; the default takes many
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=learning_rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )

    @torch.no_grad()
    def outputs(self, inputs: Inputs, rows: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Outputs (n, C) of some rows of a table, without dropout."""
        if isinstance(self.net, TSENet) and self.device.type == "cpu":
            return self.net.predictor().outputs(inputs, rows, self.n_jobs)
        self.net.eval()
        parts = [np.empty((0, self.loss.n_outputs), np.float32)]
        for first in range(0, len(rows), _EVALUATION_ROWS):
            batch = inputs.batch(rows[first : first + _EVALUATION_ROWS]).to(self.device)
            parts.append(self.net(batch).cpu().numpy())
        return np.concatenate(parts)

    def weights(self) -> Arrays:
        """Copy of the network's weights, by the names of its ``state_dict``."""
        state = self.net.state_dict()
        return {name: tensor.cpu().numpy().copy() for name, tensor in state.items()}

    def load_weights(self, weights: Arrays) -> None:
        """Go back to some `weights`."""
        self.net.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
