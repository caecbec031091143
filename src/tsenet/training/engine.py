"""`Engine`: a network, its training rows and Adam, as the training loop uses them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.adam import adam

from tsenet.network.batches import Inputs
from tsenet.network.sparse_linear import StepMemory
from tsenet.network.tsenet import TSENet
from tsenet.training.losses import Loss

__all__ = ["Arrays", "Engine"]

Arrays = dict[str, NDArray[Any]]

# Rows per forward pass of `outputs`, which bounds its memory.
_EVALUATION_ROWS = 1024


class Engine:
    """Training steps by torch's autograd and Adam.

    On a CPU a step runs on one thread: sums then do not depend on the number of cores, and most networks are too small
    for more. `state` holds everything an engine remembers between steps: after `load_state` training continues exactly
    as before.

    Parameters
    ----------
    net : torch.nn.Module
        Maps a batch of inputs to outputs (B, C); ``net.begin_step(seed, step)`` chooses its dropout masks. Every
        weight takes part in every step. Steps leave it in training mode.
    inputs : Inputs
        The table whose rows it trains on.
    loss : Loss
        What training makes small.
    device : str or torch.device, default="cpu"
        Where the network is moved and trained.
    seed : int, default=0
        Of the dropout masks.
    n_jobs : int or None, default=None
        Threads of `outputs`; None takes every core. Results do not depend on it.
    n_threads : int, default=1
        Threads of a step; on it the last bits of the weights depend.
    input_dropout : float, default=0.0
        Share of the values of each batch that are dropped.
    """

    def __init__(
        self,
        net: nn.Module,
        inputs: Inputs,
        loss: Loss,
        *,
        device: str | torch.device = "cpu",
        seed: int = 0,
        n_jobs: int | None = None,
        n_threads: int = 1,
        input_dropout: float = 0.0,
    ) -> None:
        self.n_threads = n_threads
        self.input_dropout = input_dropout
        self.device = torch.device(device)
        self.net = net.to(self.device)
        self.inputs = inputs
        self.loss = loss
        self.seed = seed
        self.n_jobs = n_jobs
        self._parameters = dict(self.net.named_parameters())
        zeros = [[torch.zeros_like(p) for p in self._parameters.values()] for _ in range(2)]
        self._means, self._squares = zeros
        self._step_counts = [torch.tensor(0.0) for _ in self._parameters]  # Adam's own
        self._memory = StepMemory()

    def step(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        learning_rate: float,
        step: int,
    ) -> float:
        """Take one Adam step on rows (B,) and return their mean loss before it.

        ``step`` counts the steps of a run and chooses the dropout masks.
        """
        with self._memory:
            if not self.net.training:
                self.net.train()
            loss = self._backward(rows, targets, weights, step)
            self._adam(learning_rate)
            return loss

    def _backward(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        step: int,
    ) -> float:
        """Fill ``grad`` of every weight; return the batch's mean loss."""
        cast(Any, self.net).begin_step(self.seed, step)
        key = (self.seed << 32) + step
        batch = self.inputs.batch(rows, self.input_dropout, key).to(self.device)
        outputs: Tensor = self.net(batch)  # (B, C)
        target = torch.as_tensor(targets, device=self.device)  # (B,) or (B, C)
        weight = None if weights is None else torch.as_tensor(weights, device=self.device)  # (B,)
        loss = self.loss(outputs, target, weight)
        for parameter in self._parameters.values():
            parameter.grad = None
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return loss.item()

    @torch.no_grad()
    def _adam(self, learning_rate: float) -> None:
        """Take Adam's step along the gradients; the class `torch.optim.Adam` takes two seconds to import."""
        parameters: list[Tensor] = list(self._parameters.values())
        adam(
            parameters,
            [cast(Tensor, parameter.grad) for parameter in parameters],
            self._means,
            self._squares,
            [],
            self._step_counts,
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

    def state(self) -> Arrays:
        """Copy of all that changes in training.

        ``parameter.NAME`` for each entry of the network's ``state_dict``, ``mean.NAME`` and ``square.NAME`` for
        Adam's moments of each weight, and ``n_steps`` (1,).
        """
        state = {f"parameter.{name}": array for name, array in self.weights().items()}
        for kind, moments in (("mean", self._means), ("square", self._squares)):
            for name, moment in zip(self._parameters, moments, strict=True):
                state[f"{kind}.{name}"] = _array(moment)
        return {**state, "n_steps": np.array([int(count) for count in self._step_counts[:1]])}

    def load_state(self, state: Arrays) -> None:
        """Go back to a `state`; raises ValueError if it is another network's."""
        (n_steps,) = state["n_steps"].tolist()
        means, squares = (
            [_like(p, state[f"{kind}.{name}"], name) for name, p in self._parameters.items()]
            for kind in ("mean", "square")
        )
        prefix = "parameter."
        self.load_weights(
            {key.removeprefix(prefix): a for key, a in state.items() if key.startswith(prefix)}
        )
        self._means, self._squares = means, squares
        self._step_counts = [torch.tensor(float(n_steps)) for _ in self._parameters]

    def weights(self) -> Arrays:
        """Copy of the network alone, by the names of its ``state_dict``."""
        return {name: _array(tensor) for name, tensor in self.net.state_dict().items()}

    @torch.no_grad()
    def load_weights(self, weights: Arrays) -> None:
        """Go back to some `weights`; raises ValueError if they are another network's."""
        own = self.net.state_dict()
        if own.keys() != weights.keys():
            raise ValueError(
                f"not the weights of this network: {sorted(own.keys() ^ weights.keys())} differ"
            )
        new = {name: _like(tensor, weights[name], name) for name, tensor in own.items()}
        for name, tensor in own.items():  # all fit: only now change anything
            tensor.copy_(new[name])


def _array(tensor: Tensor) -> NDArray[Any]:
    """A copy of a tensor in the computer's own memory."""
    return tensor.detach().cpu().numpy().copy()


def _like(tensor: Tensor, array: NDArray[Any], name: str) -> Tensor:
    """A copy of an array, on the tensor's device; it must have its shape and type."""
    made = torch.from_numpy(np.array(array)).to(tensor.device)
    if made.shape != tensor.shape or made.dtype != tensor.dtype:
        raise ValueError(
            f"{name} is {made.dtype} {tuple(made.shape)} there, "
            f"but {tensor.dtype} {tuple(tensor.shape)} in this network"
        )
    return made
