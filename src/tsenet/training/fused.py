"""``FusedEngine``: training steps in kernels on a CPU; same gradients as autograd, several times faster.

A step has three parallel phases: forward by chunks of rows, backward by chunks of rows, then gradient and Adam by
blocks of parameters. Chunks and blocks do not depend on the number of threads and each block of parameters is owned by
one task, so a step gives the same bytes on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.network import _group_kernels as groups
from tsenet.network import _sparse_kernels as sparse
from tsenet.network.batches import Inputs
from tsenet.network.passes import Chunk, Float, Passes, SparseRows
from tsenet.network.sparse_linear import DENSE_ABOVE
from tsenet.network.tsenet import TSENet
from tsenet.threads import Workers, chunks, chunks_of_equal_work
from tsenet.training._adam_kernels import adam_step
from tsenet.training.losses import Loss

BLOCK_PARAMETERS = 200_000
OUTPUT_ROWS = 1024

Task = Callable[[], None]


class FusedEngine:
    """Adam steps on a :class:`TSENet` without batch normalisation, on a CPU.

    Parameters
    ----------
    net : TSENet
        Trained in place: the engine works on the module's own memory.
    inputs : Inputs
        The training rows.
    loss : Loss
    betas, eps, weight_decay
        As for ``torch.optim.Adam``.
    seed : int
        Of the dropout masks.
    n_jobs : int or None
        Threads.
    """

    def __init__(
        self,
        net: TSENet,
        inputs: Inputs,
        loss: Loss,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.net = net.eval()  # whoever calls the module meanwhile wants no dropout
        self.inputs = inputs
        self.loss = loss
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay
        self.seed = seed
        self.workers = Workers(n_jobs)
        self.passes = Passes(net)
        self.parameters = {name: p.detach().numpy() for name, p in net.named_parameters()}
        self.gradients, self.means, self.squares = (
            {name: np.zeros_like(p) for name, p in self.parameters.items()} for _ in range(3)
        )
        self.n_steps = 0
        # Levels 1 and the input's skip group keep the deltas of the whole batch, by row, for sparse input.
        self._row_deltas: dict[str, Float] = {}

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
            loss, tasks = self._gradient_tasks(rows, targets, weights, step)
            self.n_steps += 1
            rate = learning_rate / (1.0 - self.betas[0] ** self.n_steps)
            correction = float(np.sqrt(1.0 - self.betas[1] ** self.n_steps))
            self._run([self._with_adam(*task, rate, correction) for task in tasks])
        return loss

    def compute_gradients(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        step: int,
    ) -> float:
        """Fill ``gradients`` without taking a step; returns the loss."""
        loss, tasks = self._gradient_tasks(rows, targets, weights, step)
        self._run([task for task, _, _ in tasks])
        return loss

    def _gradient_tasks(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        step: int,
    ) -> tuple[float, list[tuple[Task, str, slice]]]:
        """Run both passes; return the loss and the tasks that fill the gradient of each block of parameters."""
        self.net.begin_step(self.seed, step)
        data = self.passes.read(self.inputs.batch(rows), training=True)
        parts = self.passes.chunks(rows.size, isinstance(data, SparseRows))
        self._run([partial(self.passes.forward, data, part, True) for part in parts])
        outputs = np.concatenate([part.output.T for part in parts])  # (B, C)
        loss, delta = self.loss.gradient(outputs, targets, weights)
        delta = np.ascontiguousarray(delta.T, self.passes.dtype)  # (C, B)
        for part in parts:  # the outputs have served: their buffers now hold their gradient
            part.output[:] = delta[:, part.first : part.first + part.output.shape[1]]
        self._prepare_row_deltas(rows.size, data)
        self._row_deltas["outputs"] = np.ascontiguousarray(delta.T)
        self._run([partial(self._backward, part, data) for part in parts])
        return loss, self._tasks(parts, data)

    def _prepare_row_deltas(self, n_rows: int, data: SparseRows | Float) -> None:
        if not isinstance(data, SparseRows):
            return
        sizes = {"level": self.passes.sizes[1]}
        if self.passes.skips:
            sizes["skip"] = self.passes.skips[0][1].size
        for name, size in sizes.items():
            if name not in self._row_deltas or self._row_deltas[name].shape[0] != n_rows:
                self._row_deltas[name] = np.empty((n_rows, size), self.passes.dtype)

    def _backward(self, part: Chunk, data: SparseRows | Float) -> None:
        self.passes.backward(part, part.output)
        if isinstance(data, SparseRows):
            groups.turn_back(part.delta[1], part.first, self._row_deltas["level"])
            if self.passes.skips:
                skip = self._row_deltas["skip"]
                groups.turn_back(part.features_delta[: skip.shape[1]], part.first, skip)

    def _run(self, tasks: list[Task]) -> None:
        for _ in self.workers.map(lambda task: task(), tasks):
            pass

    def _with_adam(
        self, task: Task, name: str, block: slice, rate: float, correction: float
    ) -> Task:
        def both() -> None:
            task()
            adam_step(
                self.parameters[name].reshape(-1)[block],
                self.gradients[name].reshape(-1)[block],
                self.means[name].reshape(-1)[block],
                self.squares[name].reshape(-1)[block],
                rate,
                correction,
                *self.betas,
                self.eps,
                self.weight_decay,
            )

        return both

    # ---- gradients by block of parameters: (task, parameter, its block of the flat array)

    def _tasks(self, parts: list[Chunk], data: SparseRows | Float) -> list[tuple[Task, str, slice]]:
        tasks: list[tuple[Task, str, slice]] = []
        for k in range(1, self.passes.n_levels + 1):
            tasks += self._level_tasks(k, parts, data)
        n_groups = len(self.passes.skips)
        for level, place in self.passes.group_rows():
            name = f"skips.{level}" if level < n_groups else "top"
            tasks += self._group_tasks(name, level, place, parts, data)
        for level in range(len(self.passes.direct)):
            deltas = [part.output for part in parts]
            tasks += self._dense_tasks(f"direct.{level}", level, deltas, "outputs", parts, data)

        def output() -> None:
            gradient = self.gradients["output.weight"]
            gradient[:] = sum(part.features @ part.output.T for part in parts)

        tasks.append((output, "output.weight", slice(None)))
        tasks.append(self._bias_task("output.bias", [part.output for part in parts]))
        return tasks

    def _level_tasks(
        self, k: int, parts: list[Chunk], data: SparseRows | Float
    ) -> list[tuple[Task, str, slice]]:
        """Links of a sparse layer, in blocks of inputs; inputs own their links."""
        links = self.passes.links[k - 1]
        name = f"layers.{k - 1}.weight"
        gradient = self.gradients[name]
        work = np.diff(links.in_start) + 1

        def block_task(first: int, last: int) -> Task:
            def task() -> None:
                if k == 1 and isinstance(data, SparseRows):
                    sparse.rows_weight_gradient(
                        first,
                        last,
                        data.column_start,
                        data.column_rows,
                        data.column_values,
                        links.in_start,
                        links.in_unit,
                        self._row_deltas["level"],
                        gradient,
                    )
                    return
                gradient[links.in_start[first] : links.in_start[last]] = 0
                for part in parts:
                    below, delta = part.level[k - 1], part.delta[k]
                    if links.density < DENSE_ABOVE:
                        sparse.units_weight_gradient(
                            first, last, links.in_start, links.in_unit, below, delta, gradient
                        )
                    else:
                        full = below[first:last] @ delta.T
                        own = slice(links.in_start[first], links.in_start[last])
                        gradient[own] += full[
                            links.input_of_link()[own] - first, links.in_unit[own]
                        ]

            return task

        blocks = chunks_of_equal_work(work, BLOCK_PARAMETERS // 2)
        tasks = [
            (block_task(a, b), name, slice(int(links.in_start[a]), int(links.in_start[b])))
            for a, b in blocks
        ]
        bias = self._bias_task(f"layers.{k - 1}.bias", [part.delta[k] for part in parts])
        return [*tasks, bias]

    def _group_tasks(
        self, name: str, level: int, place: slice, parts: list[Chunk], data: SparseRows | Float
    ) -> list[tuple[Task, str, slice]]:
        """A feature group (D, S) with its bias."""
        deltas = [part.features_delta[place] for part in parts]
        tasks = self._dense_tasks(f"{name}.weight", level, deltas, "skip", parts, data)
        return [*tasks, self._bias_task(f"{name}.bias", deltas)]

    def _dense_tasks(
        self,
        name: str,
        level: int,
        deltas: list[Float],
        by_row: str,
        parts: list[Chunk],
        data: SparseRows | Float,
    ) -> list[tuple[Task, str, slice]]:
        """A dense weight (D, S) that reads a level, in blocks of its inputs, from the deltas (S, b) of each chunk."""
        gradient = self.gradients[name]
        n_inputs, n_units = gradient.shape

        def block_task(first: int, last: int) -> Task:
            def task() -> None:
                if level == 0 and isinstance(data, SparseRows):
                    groups.group_weight_gradient(
                        first,
                        last,
                        data.column_start,
                        data.column_rows,
                        data.column_values,
                        self._row_deltas[by_row],
                        gradient,
                    )
                else:
                    gradient[first:last] = sum(
                        part.level[level][first:last] @ delta.T
                        for part, delta in zip(parts, deltas, strict=True)
                    )

            return task

        blocks = chunks(n_inputs, max(1, BLOCK_PARAMETERS // n_units))
        return [(block_task(a, b), name, slice(a * n_units, b * n_units)) for a, b in blocks]

    def _bias_task(self, name: str, deltas: list[Float]) -> tuple[Task, str, slice]:
        def task() -> None:
            gradient = self.gradients[name]
            gradient[:] = 0
            for delta in deltas:
                groups.add_row_sums(delta, gradient)

        return task, name, slice(None)

    # ---- outputs and state

    def outputs(self, inputs: Inputs, rows: NDArray[np.int64] | None = None) -> Float:
        """Raw outputs (n, C) of some rows, without dropout."""
        chosen = np.arange(len(inputs)) if rows is None else rows
        answer = np.empty((chosen.size, self.passes.output[1].size), self.passes.dtype)
        for start, stop in chunks(chosen.size, OUTPUT_ROWS):
            batch = inputs.batch(chosen[start:stop])
            answer[start:stop] = self.passes.outputs(batch, self.workers)
        return answer

    def weights(self) -> dict[str, Float]:
        """A copy of all parameters."""
        return {name: p.copy() for name, p in self.parameters.items()}

    def load_weights(self, weights: Mapping[str, Float]) -> None:
        """Go back to some :meth:`weights`; raises ValueError if they are another network's."""
        _put(self.parameters, weights)

    def state(self) -> dict[str, NDArray[Any]]:
        """All that the next step depends on: parameters, Adam's moments, number of steps."""
        parts = {"parameter": self.parameters, "mean": self.means, "square": self.squares}
        arrays = {f"{kind}.{name}": a.copy() for kind, d in parts.items() for name, a in d.items()}
        return {**arrays, "n_steps": np.array([self.n_steps])}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to a :meth:`state`; raises ValueError if it is another network's."""
        parts = {"parameter": self.parameters, "mean": self.means, "square": self.squares}
        own = {f"{kind}.{name}": a for kind, arrays in parts.items() for name, a in arrays.items()}
        (n_steps,) = state["n_steps"].tolist()
        _put(own, {name: array for name, array in state.items() if name != "n_steps"})
        self.n_steps = int(n_steps)


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
