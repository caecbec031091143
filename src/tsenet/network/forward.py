"""The forward pass without dropout: outputs and hidden activations, for validation, prediction and explanation.

There is one such pass. A row's answer has the same bits alone and among other rows, and on any number of threads.
Networks with batch normalisation are run by torch instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks
from tsenet.network.kernels import forward_kernels as kernels
from tsenet.network.kernels import group_kernels as groups
from tsenet.network.kernels.activation_kernels import KIND_OF_ACTIVATION
from tsenet.network.maps import InputMap, UnitMap, padded
from tsenet.network.options import NetworkOptions

if TYPE_CHECKING:
    import torch

    from tsenet.network.batches import Inputs
    from tsenet.network.tsenet import TSENet

__all__ = ["ForwardPass", "hidden_activations", "levels_of", "network_outputs", "pass_of"]

Float = NDArray[Any]  # float32 or float64, as the network's parameters

_CHUNK_ROWS = 64  # one task of a thread
FEW_ROWS = 4  # up to so many rows run as they are; more are filled up to a chunk


class Activations(NamedTuple):
    """What B rows make of a network: ``levels`` (B, units) each, ``features`` (B, F), ``outputs`` (B, C) float64."""

    levels: list[Float]
    features: Float
    outputs: NDArray[np.float64]


class _Buffers(NamedTuple):
    """Memory of one thread for B rows: activations (units, B), and sums of sparse rows (B, units)."""

    levels: list[Float]
    features: Float
    outputs: Float
    level_rows: Float
    skip_rows: Float


class ForwardPass:
    """The forward pass of a network on the CPU, with the weights it has now.

    Parameters
    ----------
    net : TSENet
        Without batch normalisation.
    """

    def __init__(self, net: TSENet) -> None:
        if net.has_norm:
            raise ValueError("a network with batch normalisation has no forward pass in kernels")
        self.kind = KIND_OF_ACTIVATION[net.activation]
        self.sizes = net.layer_sizes
        lowest, *others = [(layer.blocks, *_arrays(layer)) for layer in net.layers]
        skips, top = [_arrays(group) for group in net.skips], _arrays(net.top)
        weight, self.output_bias = _arrays(net.output)
        self.dtype = weight.dtype
        skip = net.linear_skip
        self.linear_skip = None if skip is None else _array(skip)
        self.skip_of_input = skips[0] if skips else None
        self.lowest = lowest
        self.level_of_rows = InputMap.of_links(*lowest[:2])
        self.levels = [UnitMap.of_links(*layer) for layer in others]  # from level 2 on
        readers = {**dict(enumerate(skips)), len(self.sizes) - 1: top}
        self.groups = {k: UnitMap.of_group(*group) for k, group in readers.items() if k > 0}
        widths = [bias.size for _, bias in readers.values()]
        starts = np.cumsum([0, *(padded(width) for width in widths)]).tolist()
        self.group_start = dict(zip(readers, starts, strict=False))
        self.n_features = starts[-1]
        own = [start + np.arange(width) for start, width in zip(starts, widths, strict=False)]
        self.features = np.concatenate(own)  # places of the feature units, without padding
        full = np.zeros((self.n_features, self.output_bias.size), self.dtype)
        full[self.features] = weight
        self.output = UnitMap.of_group(full, np.zeros_like(self.output_bias))
        self._thread = threading.local()

    @cached_property
    def dense_input(self) -> tuple[UnitMap, UnitMap | None, UnitMap | None]:
        """What reads dense rows: level 1, skip group and linear skip; made when first needed."""
        group = linear = None
        if self.skip_of_input is not None:
            group = UnitMap.of_group(*self.skip_of_input)
        if self.linear_skip is not None:
            linear = UnitMap.of_group(self.linear_skip, np.zeros_like(self.output_bias))
        return UnitMap.of_links(*self.lowest), group, linear

    def outputs(
        self, inputs: Inputs, rows: NDArray[np.int64] | None = None, workers: Workers | None = None
    ) -> NDArray[np.float64]:
        """Raw outputs (n, C) of some rows of a table, or of all."""
        n_rows = len(inputs) if rows is None else rows.size
        answer = np.empty((n_rows, self.output_bias.size))

        def keep(part: tuple[int, int], buffers: _Buffers) -> None:
            first, last = part
            answer[first:last] += buffers.outputs[: answer.shape[1], : last - first].T

        for _ in self._run(inputs, rows, workers, keep, answer):
            pass
        return answer

    def run(
        self, inputs: Inputs, rows: NDArray[np.int64] | None, workers: Workers | None
    ) -> Iterator[tuple[slice, Activations]]:
        """Chunk by chunk, which of the chosen rows it holds and their activations."""
        n_rows = len(inputs) if rows is None else rows.size
        answer = np.empty((n_rows, self.output_bias.size))

        def keep(part: tuple[int, int], buffers: _Buffers) -> tuple[slice, Activations]:
            own, n = slice(*part), part[1] - part[0]
            answer[own] += buffers.outputs[: answer.shape[1], :n].T
            sizes = zip(buffers.levels[1:], self.sizes[1:], strict=True)
            levels = [np.array(level[:size, :n].T, order="C") for level, size in sizes]
            features = np.array(buffers.features[self.features, :n].T, order="C")
            return own, Activations(levels, features, answer[own])

        yield from self._run(inputs, rows, workers, keep, answer)

    def _run(
        self,
        inputs: Inputs,
        rows: NDArray[np.int64] | None,
        workers: Workers | None,
        keep: Callable[[tuple[int, int], _Buffers], Any],
        answer: NDArray[np.float64],
    ) -> Iterator[Any]:
        """Run all chunks; ``answer`` (n, C) gets biases and linear skip, ``keep`` adds what the feature layer says."""
        if inputs.n_columns != self.sizes[0]:
            raise ValueError(
                f"rows of {inputs.n_columns} columns for a network of {self.sizes[0]} inputs"
            )
        values: Any = inputs.values if rows is None else inputs.values[rows]
        answer[:] = self.output_bias
        start = (
            self._sparse_start(values, answer) if inputs.is_sparse else self._start(values, answer)
        )

        def run(part: tuple[int, int]) -> Any:
            n_rows = part[1] - part[0]
            buffers = self._buffers(n_rows if n_rows <= FEW_ROWS else _CHUNK_ROWS, inputs.is_sparse)
            start(part, buffers)
            self._go_on(buffers)
            return keep(part, buffers)

        run_all = map if workers is None else workers.map
        yield from run_all(run, chunks(values.shape[0], _CHUNK_ROWS))

    def _sparse_start(
        self, values: Any, answer: NDArray[np.float64]
    ) -> Callable[[tuple[int, int], _Buffers], None]:
        """A function that runs rows ``first..last`` of a CSR matrix into all that reads them."""
        row_start = values.indptr.astype(np.int64)
        columns = _writable(values.indices, np.int32).view(np.uint32)
        numbers = _writable(values.data, self.dtype)

        def start(part: tuple[int, int], buffers: _Buffers) -> None:
            first, last = part
            n = last - first
            batch = row_start[first : last + 1], columns, numbers
            if self.linear_skip is not None:
                kernels.add_linear_rows(*batch, self.linear_skip, answer[first:last])
            self.level_of_rows.into(batch, self.lowest[2], buffers.level_rows[:n])
            out = buffers.levels[1][: self.sizes[1]]
            groups.transpose_into(buffers.level_rows, 0, out)
            if self.skip_of_input is not None:
                weight, bias = self.skip_of_input
                buffers.skip_rows[:] = 0
                groups.group_forward(0, n, *batch, weight, buffers.skip_rows[:n])
                groups.transpose_add_bias(buffers.skip_rows, bias, buffers.features[: bias.size])

        return start

    def _start(
        self, values: Float, answer: NDArray[np.float64]
    ) -> Callable[[tuple[int, int], _Buffers], None]:
        """The same for an array."""
        level, group, linear = self.dense_input

        def start(part: tuple[int, int], buffers: _Buffers) -> None:
            first, last = part
            rows = buffers.levels[0]
            rows[: self.sizes[0], : last - first] = values[first:last].T
            if linear is not None:
                linear.into(rows, buffers.outputs)
                answer[first:last] += buffers.outputs[: answer.shape[1], : last - first].T
            level.into(rows, buffers.levels[1][: self.sizes[1]])
            if group is not None:
                group.into(rows, buffers.features[: group.bias.size])

        return start

    def _go_on(self, buffers: _Buffers) -> None:
        """Run the levels above the first, the feature layer and the outputs."""
        for k, level in enumerate(buffers.levels[1:], start=1):
            own = level[: self.sizes[k]]
            if k > 1:
                self.levels[k - 2].into(buffers.levels[k - 1], own)
            kernels.apply_activation(self.kind, own)
            group = self.groups.get(k)
            if group is not None:
                start = self.group_start[k]
                group.into(level, buffers.features[start : start + group.bias.size])
        kernels.apply_activation(self.kind, buffers.features)
        self.output.into(buffers.features, buffers.outputs)

    def _buffers(self, n_rows: int, sparse: bool) -> _Buffers:
        """Memory of the present thread for so many rows."""
        own: dict[Any, _Buffers] = self._thread.__dict__.setdefault("buffers", {})
        key = n_rows, sparse
        if key not in own:
            sizes = [0 if sparse else self.sizes[0], *self.sizes[1:]]
            skip = 0 if self.skip_of_input is None else self.skip_of_input[1].size
            own[key] = _Buffers(
                [np.zeros((padded(size), n_rows), self.dtype) for size in sizes],
                np.zeros((self.n_features, n_rows), self.dtype),
                np.zeros((padded(self.output_bias.size), n_rows), self.dtype),
                np.zeros((n_rows, self.sizes[1] if sparse else 0), self.dtype),
                np.zeros((n_rows, skip if sparse else 0), self.dtype),
            )
        return own[key]


class _Prepared(NamedTuple):
    """A forward pass, and what tells whether the weights have changed since."""

    made: ForwardPass
    parameters: list[torch.nn.Parameter]
    state: list[int]


def _state(net: TSENet, parameters: list[torch.nn.Parameter]) -> list[int]:
    """Where the weights lie, and how often torch and the kernels have changed them."""
    counts = [count for p in parameters for count in (p._version, p.data_ptr())]
    return [net.version, id(net.output.weight), *counts]


_prepared: WeakKeyDictionary[TSENet, _Prepared] = WeakKeyDictionary()


def pass_of(net: TSENet) -> ForwardPass:
    """The forward pass to a network's outputs; made anew after its weights have changed."""
    found = _prepared.get(net)
    if found is None or found.state != _state(net, found.parameters):
        parameters = list(net.parameters())
        found = _Prepared(ForwardPass(_read_part(net)), parameters, _state(net, parameters))
        _prepared[net] = found
    return found.made


def _read_part(net: TSENet) -> TSENet:
    """The network without what no output reads, if there are feature units that none reads."""
    if net.has_norm or bool(net.output.weight.any(dim=1).all()):
        return net
    from tsenet.network.compact import compacted

    options = NetworkOptions(activation=net.activation, units_per_latent=net.units_per_latent)
    return compacted(net, options)[0]


def network_outputs(net: TSENet, inputs: Inputs, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Raw outputs (N, C) of a network on the CPU, without dropout; summed in float64.

    Parameters
    ----------
    net : TSENet
        In evaluation mode.
    inputs : Inputs
        N rows.
    n_jobs : int or None, default=None
        Threads; None takes every core. The answers do not depend on it.

    Returns
    -------
    ndarray of float64, (N, C)
    """
    if net.has_norm:
        parts = _run_by_torch(net, inputs, np.arange(len(inputs)))
        return np.concatenate(
            [np.empty((0, net.output.bias.numel())), *(p.outputs for _, p in parts)]
        )
    with Workers(n_jobs if len(inputs) > _CHUNK_ROWS else 1) as workers:
        return pass_of(net).outputs(inputs, None, workers)


def hidden_activations(
    net: TSENet, inputs: Inputs, n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Activations of all hidden units, level by level, then the feature layer: (N, units); as `network_outputs`."""
    n_units = sum(net.layer_sizes[1:]) + net.output.weight.shape[0]
    answer = np.empty((len(inputs), n_units), np.float32)
    for rows, activations in _run(net, inputs, None, n_jobs):
        np.concatenate([*activations.levels, activations.features], axis=1, out=answer[rows])
    return answer


def levels_of(
    net: TSENet, inputs: Inputs, rows: NDArray[np.int64], n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Activations (n, units) of all latents on some rows, level by level; as `network_outputs`."""
    answer = np.empty((rows.size, sum(net.layer_sizes[1:])), np.float32)
    for part, activations in _run(net, inputs, rows, n_jobs):
        np.concatenate(activations.levels, axis=1, out=answer[part])
    return answer


def _run(
    net: TSENet, inputs: Inputs, rows: NDArray[np.int64] | None, n_jobs: int | None
) -> Iterator[tuple[slice, Activations]]:
    """Part by part, which rows it holds and their activations."""
    n_rows = len(inputs) if rows is None else rows.size
    if net.has_norm:
        yield from _run_by_torch(net, inputs, np.arange(n_rows) if rows is None else rows)
        return
    with Workers(n_jobs if n_rows > _CHUNK_ROWS else 1) as workers:
        yield from ForwardPass(net).run(inputs, rows, workers)


def _run_by_torch(
    net: TSENet, inputs: Inputs, rows: NDArray[np.int64]
) -> Iterator[tuple[slice, Activations]]:
    import torch

    for start, stop in chunks(rows.size, 16 * _CHUNK_ROWS):
        batch = inputs.batch(rows[start:stop])
        with torch.no_grad():
            levels, features, outputs = net.activations(batch)
        found = Activations(
            [level.numpy() for level in levels],
            features.numpy(),
            outputs.numpy().astype(np.float64),
        )
        yield slice(start, stop), found


def _writable(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """The array in this type, copied if it is read-only: a kernel would be compiled anew for it."""
    return np.require(array, dtype, ["C", "W"])


def _arrays(module: Any) -> tuple[Float, Float]:
    """Weight and bias of a layer or group: views of the module's memory."""
    return _array(module.weight), _array(module.bias)


def _array(parameter: Any) -> Float:
    """A tensor as a view of its memory; an array, which a network without torch has, as it is."""
    return parameter if isinstance(parameter, np.ndarray) else parameter.detach().numpy()
