"""`Engine`, which takes the training loop's steps, and `AutogradEngine`, whose gradients are torch's."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tsenet.network.batches import Batch, Inputs
from tsenet.network.dropout import mix
from tsenet.training.losses import Loss

__all__ = ["Arrays", "AutogradEngine", "Engine"]

Arrays = dict[str, NDArray[Any]]

# Rows per forward pass of `outputs`, which bounds its memory.
_EVALUATION_ROWS = 1024
_MOMENTS = {"mean": "exp_avg", "square": "exp_avg_sq"}  # names of Adam's moments: here, in torch


class Engine(Protocol):
    """A network, its training rows and an Adam optimiser, as the training loop uses them.

    `state` holds everything an engine remembers between steps: after `load_state` training continues exactly as before.
    """

    inputs: Inputs  # the table whose rows it trains on; another one of the same columns may take its place

    @property
    def loss(self) -> Loss:
        """What training makes small."""

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

    def outputs(self, inputs: Inputs, rows: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Outputs (n, C) of some rows of a table, without dropout."""

    def state(self) -> Arrays:
        """Copy of all that changes in training.

        ``parameter.NAME`` for each entry of the network's ``state_dict``, ``mean.NAME`` and ``square.NAME`` for
        Adam's moments of each weight, and ``n_steps`` (1,).
        """

    def load_state(self, state: Arrays) -> None:
        """Go back to a `state`; raises ValueError if it is another network's."""

    def weights(self) -> Arrays:
        """Copy of the network alone, by the names of its ``state_dict``."""

    def load_weights(self, weights: Arrays) -> None:
        """Go back to some `weights`; raises ValueError if they are another network's."""


class AutogradEngine:
    """Training by torch's autograd and Adam, on any device.

    Parameters
    ----------
    net : torch.nn.Module
        Maps a batch of inputs to outputs (B, C); ``net.begin_step(seed, step)`` chooses its dropout masks. Every
        weight takes part in every step. Between steps it is in evaluation mode.
    inputs : Inputs
        The table whose rows it trains on.
    loss : Loss
        What training makes small.
    device : str or torch.device, default="cpu"
        Where the network is moved and trained.
    seed : int, default=0
        Of the dropout masks.
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
        input_dropout: float = 0.0,
    ) -> None:
        self.input_dropout = input_dropout
        self.device = torch.device(device)
        self.net = net.to(self.device)
        self.inputs = inputs
        self.loss = loss
        self.seed = seed
        self._n_steps = 0
        self.net.eval()
        self._optimiser = torch.optim.Adam(
            net.parameters(),
            lr=1e-3,  # replaced at each step
            fused=self.device.type == "cpu" or None,  # one pass over memory; the default takes many
        )

    def step(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        learning_rate: float,
        step: int,
    ) -> float:
        """Take one Adam step on rows (B,) and return their mean loss before it."""
        self.net.train()  # only during a step; in between the network is ready to predict
        self._begin_step(step)
        batch = self.inputs.batch(rows, self.input_dropout, mix(self.seed, step))
        loss = self._gradients(batch.to(self.device), targets, weights)
        self._adam(learning_rate)
        self._n_steps += 1
        self.net.eval()
        return loss

    def _begin_step(self, step: int) -> None:
        """Choose the dropout masks."""
        cast(Any, self.net).begin_step(self.seed, step)

    def _gradients(
        self, batch: Batch, targets: NDArray[Any], weights: NDArray[Any] | None
    ) -> float:
        """Fill ``grad`` of every weight; return the batch's mean loss."""
        outputs: Tensor = self.net(batch)  # (B, C)
        target = torch.as_tensor(targets, device=self.device)  # (B,) or (B, C)
        weight = None if weights is None else torch.as_tensor(weights, device=self.device)  # (B,)
        loss = self.loss(outputs, target, weight)
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return loss.item()

    def _adam(self, learning_rate: float) -> None:
        """Take Adam's step along the gradients."""
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        self._optimiser.step()

    @torch.no_grad()
    def outputs(self, inputs: Inputs, rows: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Outputs (n, C) of some rows of a table, without dropout."""
        parts = [np.empty((0, self.loss.n_outputs), np.float32)]
        for first in range(0, len(rows), _EVALUATION_ROWS):
            batch = inputs.batch(rows[first : first + _EVALUATION_ROWS]).to(self.device)
            parts.append(self.net(batch).cpu().numpy())
        return np.concatenate(parts)

    def state(self) -> Arrays:
        """Copy of all that changes in training: network, Adam's moments, number of steps."""
        state = {f"parameter.{name}": array for name, array in self.weights().items()}
        for name, parameter in self.net.named_parameters():
            moments, zeros = self._optimiser.state.get(parameter), torch.zeros_like(parameter)
            for kind, key in _MOMENTS.items():  # torch has none before the first step
                state[f"{kind}.{name}"] = _array(moments[key] if moments else zeros)
        return {**state, "n_steps": np.array([self._n_steps])}

    def load_state(self, state: Arrays) -> None:
        """Go back to a `state`; raises ValueError if it is another network's."""
        (n_steps,) = state["n_steps"].tolist()
        moments = {
            parameter: {
                key: _like(parameter, state[f"{kind}.{name}"], name)
                for kind, key in _MOMENTS.items()
            }
            for name, parameter in self.net.named_parameters()
        }
        prefix = "parameter."
        self.load_weights(
            {key.removeprefix(prefix): a for key, a in state.items() if key.startswith(prefix)}
        )
        self._n_steps = int(n_steps)
        self._optimiser.state.clear()
        for parameter, pair in moments.items():
            step = torch.tensor(float(n_steps))
            self._optimiser.state[parameter] = {"step": step, **pair}

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
