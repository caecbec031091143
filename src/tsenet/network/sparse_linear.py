"""``SparseLinear``: a linear layer that has only the links of a wiring (paper §5), and the batches it reads."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn
from torch.autograd.function import once_differentiable

from tsenet.network import kernels
from tsenet.network.topology import Activation, Links


class SparseBatch(NamedTuple):
    """B sparse rows: row i has ``values[k]`` at ``columns[k]``, k in ``row_start[i]:row_start[i + 1]``."""

    row_start: torch.Tensor  # int64 (B + 1,)
    columns: torch.Tensor  # int32 (nnz,)
    values: torch.Tensor  # float (nnz,)
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Number of rows B."""
        return int(self.row_start.numel()) - 1

    @property
    def device(self) -> torch.device:
        """Where the values live."""
        return self.values.device

    def to(self, device: Any) -> SparseBatch:
        """Return the batch on another device."""
        start, columns, values = (part.to(device) for part in self[:3])
        return SparseBatch(start, columns, values, self.n_columns)

    def times(self, weight: torch.Tensor) -> torch.Tensor:
        """The rows times a dense weight (D, S): (B, S)."""
        return nn.functional.embedding_bag(
            self.columns.long(),
            weight,
            self.row_start,
            mode="sum",
            per_sample_weights=self.values,
            include_last_offset=True,
        )


Batch: TypeAlias = torch.Tensor | SparseBatch


def batch_of(rows: NDArray[Any] | csr_array) -> Batch:
    """Rows (B, D), dense or CSR, as torch reads them."""
    if isinstance(rows, np.ndarray):
        return torch.from_numpy(rows)
    return SparseBatch(
        torch.from_numpy(rows.indptr.astype(np.int64)),
        torch.from_numpy(rows.indices.astype(np.int32, copy=False)),
        torch.from_numpy(rows.data),
        rows.shape[1],
    )


class _StepKey(ISeedSequence):
    """The first state of SFC64's three words, which then mixes them; hashing them first takes eight times as long."""

    def __init__(self, seed: int, step: int) -> None:
        self._words = np.array([seed % 2**64, step, 0], np.uint64)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        return self._words[:n_words].astype(dtype)


def step_generator(seed: int, step: int) -> np.random.Generator:
    """Random numbers of a training step."""
    key: Any = _StepKey(seed, step)  # NumPy's types know no other seeds than their own
    return np.random.Generator(np.random.SFC64(key))


class DropoutMask:
    """Random numbers for dropout, whose rate is rounded to 1/256.

    Bytes of whole words are by far the cheapest ones at hand: torch takes ten to thirty times as long on a CPU.
    """

    def __init__(self, rate: float, generator: np.random.Generator) -> None:
        self.threshold = min(round(256 * rate), 255)
        self.scale = 256 / (256 - self.threshold)
        self._generator = generator

    def draw(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """The next numbers; one under ``below`` means that the entry is dropped."""
        n = prod(shape)
        words = self._generator.bit_generator.random_raw(-(-n // 8))
        return words.view(np.uint8)[:n].reshape(shape)

    def factors(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """What to multiply the next entries with: 0, or the ``scale``."""
        return (self.draw(shape) >= self.threshold) * np.float32(self.scale)


class SparseLinear(nn.Module):
    """A non-linearity of W x + b, where W has weights for the links of a wiring only.

    The weights are one flat vector in the order of `links`; the optimiser's state and model files have the same
    size. On a CPU the products are numba kernels; on other devices, and when the module is traced for export, plain
    torch. Weights are 0 until `tsenet.network.initial_weights` sets them.

    Parameters
    ----------
    links : Links
        Which weights there are.
    activation : {"relu", "tanh", "sigmoid"}, default="relu"

    Attributes
    ----------
    portable : bool
        Whether to use plain torch on a CPU too.
    """

    def __init__(self, links: Links, activation: Activation = "relu") -> None:
        super().__init__()
        self.activation: Activation = activation
        self.links = links
        self.weight = nn.Parameter(torch.zeros(self.links.n_weights))
        self.bias = nn.Parameter(torch.zeros(self.links.n_units))
        self.portable = False

    def forward(self, x: Batch, drawn: DropoutMask | None = None) -> torch.Tensor:
        """Activations (U, B), one row for each unit.

        Parameters
        ----------
        x : SparseBatch or Tensor
            Sparse rows, or dense ones as (D, B).
        drawn : DropoutMask or None, default=None
            What decides which activations dropout sets to 0; None for no dropout.
        """
        self._check(x)

        # Plain torch.
        if self.portable or torch.compiler.is_compiling() or x.device.type != "cpu":
            weight = self.dense_weight()  # (U, D)
            product = x.times(weight.t()).t() if isinstance(x, SparseBatch) else weight @ x
            return activated(product + self.bias[:, None], self.activation, drawn)

        # The kernels.
        if isinstance(x, SparseBatch) and x.values.requires_grad:
            raise ValueError("no gradients by the values of sparse rows: make the rows dense")
        if self.activation == "relu":
            return _layer(self.weight, self.bias, x, self.links, drawn, True)
        sums = _layer(self.weight, self.bias, x, self.links, None, False)
        return activated(sums, self.activation, drawn)

    def _check(self, x: Batch) -> None:
        """Refuse rows of another width, which a kernel would read past their end, or of another type."""
        if isinstance(x, SparseBatch):
            width = x.n_columns
            values = x.values
        else:
            width = x.shape[0]
            values = x
        if width != self.links.n_inputs:
            raise ValueError(f"rows of {width} columns for a layer of {self.links.n_inputs} inputs")
        if values.dtype != self.weight.dtype:
            raise TypeError(f"values are {values.dtype}, weights {self.weight.dtype}")

    def dense_weight(self) -> torch.Tensor:
        """W as a dense (U, D) tensor, through which gradients flow to the links."""
        links = self.links
        place = links.unit_of_weight() * links.n_inputs + links.input_of_weight()
        index = torch.from_numpy(place).to(self.weight.device)
        flat = self.weight.new_zeros(links.n_units * links.n_inputs)
        full = flat.index_put((index,), self.weight)
        return full.view(links.n_units, links.n_inputs)

    def extra_repr(self) -> str:
        """Sizes, for torch's repr."""
        return f"{self.links.n_inputs}, {self.links.n_units}, weights={self.links.n_weights}"


def activated(z: torch.Tensor, activation: Activation, drawn: DropoutMask | None) -> torch.Tensor:
    """The non-linearity and dropout in plain torch."""
    found: torch.Tensor = getattr(torch, activation)(z)
    if drawn is None:
        return found
    factors = torch.from_numpy(drawn.factors(tuple(found.shape)))
    return found * factors.to(found.device, found.dtype)


class _Layer(torch.autograd.Function):
    """W x + b by kernels, for a batch of sparse rows, or dense ones (D, B); rectified, then dropout, if asked for."""

    @staticmethod
    def forward(
        ctx: Any,
        weight: torch.Tensor,
        bias: torch.Tensor,
        x: Batch,
        links: Links,
        drawn: DropoutMask | None,
        rectify: bool,
    ) -> torch.Tensor:
        weights = _array(weight).reshape(-1, links.k)
        biases = _array(bias)
        ctx.is_sparse = isinstance(x, SparseBatch)
        n_rows = x.n_rows if isinstance(x, SparseBatch) else x.shape[1]
        out = np.empty((links.n_units, n_rows), weights.dtype)
        if isinstance(x, SparseBatch):
            ctx.rows = tuple(_array(part) for part in x[:3])
            kernels.rows_forward(ctx.rows, links.by_input, weights, biases, out)
        else:
            ctx.rows = _array(x)
            kernels.units_forward(links.by_latent, weights, biases, ctx.rows, out)

        scale = 1.0 if drawn is None else drawn.scale
        if rectify:
            numbers = np.empty((0, 0), np.uint8) if drawn is None else drawn.draw(out.shape)
            threshold = 0 if drawn is None else drawn.threshold
            kernels.activate(numbers, threshold, scale, out)

        ctx.scale = scale
        ctx.links = links
        ctx.rectify = rectify
        found = torch.from_numpy(out)
        ctx.save_for_backward(weight, found)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        links: Links = ctx.links
        flat, active = (_array(saved) for saved in ctx.saved_tensors)
        weight = flat.reshape(-1, links.k)

        # The gradient by the sums.
        delta = _array(grad)  # (U, B)
        if ctx.rectify:
            delta = np.empty(active.shape, active.dtype)
            kernels.activate_backward(ctx.scale, active, _array(grad), delta)

        # By the weights, and by what the layer reads if it is dense.
        gradient = np.empty(weight.shape, weight.dtype)
        gradient.fill(0)
        moved = None
        if ctx.is_sparse:
            kernels.rows_backward(ctx.rows, links.by_input, delta, gradient)
        else:
            shape = ctx.rows.shape if ctx.needs_input_grad[2] else (0, 0)
            moved = np.empty(shape, weight.dtype)
            moved.fill(0)
            kernels.units_backward(links.by_latent, weight, ctx.rows, delta, gradient, moved)

        return (
            torch.from_numpy(gradient.reshape(-1)),
            torch.from_numpy(delta).sum(dim=1),
            torch.from_numpy(moved) if moved is not None and moved.size else None,
            *(None,) * 3,
        )


_layer: Callable[..., torch.Tensor] = _Layer.apply


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    return tensor.detach().contiguous().numpy()
