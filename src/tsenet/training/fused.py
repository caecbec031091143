"""`FusedEngine`: training steps in kernels on a CPU; same gradients as autograd, several times faster.

A step has three parallel phases: forward by chunks of rows, backward by chunks of rows, then gradient and Adam by
blocks of parameters. Chunks and blocks do not depend on the number of threads, and one task computes a whole block, so
a step gives the same bytes on any number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers
from tsenet.network.batch_state import BatchState, Float, SparseRows
from tsenet.network.batches import Inputs
from tsenet.network.dropout import mix
from tsenet.network.forward import pass_of
from tsenet.network.gradients import Block, blocks_of
from tsenet.network.passes import TrainingPasses
from tsenet.network.tsenet import TSENet
from tsenet.training.kernels.adam_kernels import adam_factors, adam_step
from tsenet.training.losses import Loss

SMALL = 4_096  # parameters: blocks up to this size share a task


class FusedEngine:
    """Adam steps on a `TSENet` without batch normalisation, on a CPU.

    Parameters
    ----------
    net : TSENet
        Trained in place: the engine works on the module's own memory.
    inputs : Inputs
        The training rows.
    loss : Loss
        What training makes small.
    seed : int, default=0
        Of the dropout masks.
    n_jobs : int or None, default=None
        Threads; None takes every core. Results do not depend on it.
    input_dropout : float, default=0.0
        Share of the values of each batch that are dropped.
    """

    def __init__(
        self,
        net: TSENet,
        inputs: Inputs,
        loss: Loss,
        *,
        seed: int = 0,
        n_jobs: int | None = None,
        input_dropout: float = 0.0,
    ) -> None:
        self.input_dropout = input_dropout
        self.net = net.eval()  # the engine applies dropout itself; calls of the module want none
        self.inputs = inputs
        self.loss = loss
        self.seed = seed
        self.workers = Workers(n_jobs)
        self.passes = TrainingPasses(net)
        self.parameters = {name: p.detach().numpy() for name, p in net.named_parameters()}
        self.means, self.squares = (
            {name: np.zeros_like(p) for name, p in self.parameters.items()} for _ in range(2)
        )
        self.n_steps = 0
        self._blocks = blocks_of(self.passes, inputs.is_sparse)
        self._tasks = _tasks(self._blocks)
        self._thread = threading.local()
        self._state_of_size = lru_cache(maxsize=2)(self._new_state)

    # ---- one step

    def step(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        learning_rate: float,
        step: int,
    ) -> float:
        """One Adam step on the given training rows; returns the batch's loss before it."""
        with self.passes.one_blas_thread():
            loss, state = self._run_passes(rows, targets, weights, step)
            self.n_steps += 1
            factors = adam_factors(learning_rate, self.n_steps)
            self._run(partial(self._adam, state, factors), self._tasks)
        self.net.version += 1
        return loss

    def compute_gradients(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        step: int,
    ) -> tuple[float, dict[str, Float]]:
        """Loss and gradients by name, without taking a step."""
        gradients = {name: np.empty_like(p) for name, p in self.parameters.items()}
        with self.passes.one_blas_thread():
            loss, state = self._run_passes(rows, targets, weights, step)
            for block in self._blocks:
                flat = gradients[block.name].reshape(-1)
                block.fill(state, flat[block.start : block.stop])
        return loss, gradients

    def _run_passes(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        step: int,
    ) -> tuple[float, BatchState]:
        """Run both passes; return the loss, and the activations and gradients of the batch."""
        self.net.begin_step(self.seed, step)
        batch = self.inputs.batch(rows, self.input_dropout, mix(self.seed, step))
        state = self._state_of_size(rows.size)  # one for most batches, one for the last
        self.passes.read(batch, state)
        self.passes.pack(isinstance(state.data, SparseRows))
        self._run(partial(self.passes.forward, state.data), state.chunks)
        loss, delta = self.loss.gradient(state.outputs(), targets, weights)
        state.set_output_gradient(delta)
        self._run(partial(self.passes.backward, state), state.chunks)
        return loss, state

    def _new_state(self, n_rows: int) -> BatchState:
        passes = self.passes
        return BatchState(passes.layout, n_rows, self.inputs.is_sparse, passes.dtype)

    def _run(self, function: Callable[[Any], None], tasks: list[Any]) -> None:
        """Do all tasks: each thread takes the next one left, which is cheaper than one submission per task."""
        left = iter(tasks)

        def take(_: int) -> None:
            for task in left:
                function(task)

        for _ in self.workers.map(take, range(self.workers.n_threads)):
            pass

    def _adam(self, state: BatchState, factors: tuple[float, float], blocks: list[Block]) -> None:
        """Gradient and Adam step of some blocks, one after another."""
        for block in blocks:
            gradient = self._scratch(block.stop - block.start)
            block.fill(state, gradient)
            parameter, mean, square = self._views(block)
            adam_step(parameter, gradient, mean, square, *factors)

    def _scratch(self, size: int) -> Float:
        """Memory for a block's gradient, one for each thread: small enough to stay in the cache."""
        if not hasattr(self._thread, "scratch"):
            largest = max(block.stop - block.start for block in self._blocks)
            self._thread.scratch = np.empty(largest, self.passes.dtype)
        scratch: Float = self._thread.scratch[:size]
        return scratch

    def _views(self, block: Block) -> list[Float]:
        """A block's parameters and their moments, flat."""
        arrays = (self.parameters, self.means, self.squares)
        return [array[block.name].reshape(-1)[block.start : block.stop] for array in arrays]

    # ---- outputs and state

    def outputs(self, inputs: Inputs, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Raw outputs (n, C) of some rows, without dropout; those of `tsenet.network.forward.network_outputs`."""
        return pass_of(self.net).outputs(inputs, rows, self.workers)

    def weights(self) -> dict[str, Float]:
        """A copy of all parameters."""
        return {name: p.copy() for name, p in self.parameters.items()}

    def load_weights(self, weights: Mapping[str, Float]) -> None:
        """Go back to some `weights`; raises ValueError if they are another network's."""
        _put(self.parameters, weights)
        self.net.version += 1

    def state(self) -> dict[str, NDArray[Any]]:
        """All that the next step depends on: parameters, Adam's moments, number of steps."""
        parts = {"parameter": self.parameters, "mean": self.means, "square": self.squares}
        arrays = {f"{kind}.{name}": a.copy() for kind, d in parts.items() for name, a in d.items()}
        return {**arrays, "n_steps": np.array([self.n_steps])}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to a `state`; raises ValueError if it is another network's."""
        parts = {"parameter": self.parameters, "mean": self.means, "square": self.squares}
        own = {f"{kind}.{name}": a for kind, arrays in parts.items() for name, a in arrays.items()}
        (n_steps,) = state["n_steps"].tolist()
        _put(own, {name: array for name, array in state.items() if name != "n_steps"})
        self.n_steps = int(n_steps)
        self.net.version += 1


def _tasks(blocks: list[Block]) -> list[list[Block]]:
    """One task for each large block, matrix products first since they take longest; one for all small blocks."""
    large = [block for block in blocks if block.stop - block.start > SMALL]
    small = [block for block in blocks if block.stop - block.start <= SMALL]
    return [*([block] for block in reversed(large)), small]


def _put(own: Mapping[str, Float], given: Mapping[str, Float]) -> None:
    """Overwrite arrays in place, all or none."""
    if own.keys() != given.keys():
        raise ValueError(
            f"not this network's state: {sorted(own.keys() ^ given.keys())[:5]} differ"
        )
    for name, array in own.items():
        if given[name].shape != array.shape:
            raise ValueError(f"{name} has shape {given[name].shape}, this network's {array.shape}")
    for name, array in own.items():
        array[...] = given[name]
