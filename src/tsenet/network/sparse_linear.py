"""``SparseLinear``: a linear layer that has only the links of a wiring (paper §5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.autograd.function import once_differentiable

from tsenet.expansion.wiring import WiringLayer
from tsenet.network.batches import Batch, SparseBatch
from tsenet.network.kernels import sparse_kernels as kernels
from tsenet.network.links import Links

DENSE_ABOVE = 0.2  # share of links from which a dense product is faster (benchmarks/network)


class SparseLinear(nn.Module):
    """y = W x + b, where W has weights for the E links of a wiring only.

    The weights are one flat vector (E,) in the order of `Links`; the optimiser's state and model files have the same
    size. On a CPU the products are numba kernels; on other devices, and when the module is traced for export, plain
    torch. Weights are 0 until `tsenet.network.initial_weights` sets them.

    Parameters
    ----------
    layer : WiringLayer
        The links between D inputs and U units.
    """

    def __init__(self, layer: WiringLayer) -> None:
        super().__init__()
        self.links = Links.of(layer)
        self.weight = nn.Parameter(torch.zeros(self.links.n_links))
        self.bias = nn.Parameter(torch.zeros(self.links.n_units))
        self.register_buffer("link_input", torch.from_numpy(self.links.input_of_link()), False)
        self.register_buffer(
            "link_unit", torch.from_numpy(self.links.in_unit.astype(np.int64)), False
        )
        self.link_input: torch.Tensor
        self.link_unit: torch.Tensor
        self.portable = False  # use plain torch everywhere

    def set_links(self, weight: NDArray[np.float64]) -> None:
        """Set the weights (E,), given by unit as in a wiring."""
        with torch.no_grad():
            self.weight[torch.from_numpy(self.links.unit_link.astype(np.int64))] = torch.from_numpy(
                weight
            ).to(self.weight)

    def forward(self, x: Batch) -> torch.Tensor:
        """Return (B, U) for a dense (B, D) tensor or a sparse batch."""
        self._check(x)
        if self._by_kernel(x):
            if isinstance(x, SparseBatch):
                product = _sparse_rows(self.weight, x.values, x.row_start, x.columns, self.links)
            else:
                product = _dense_rows(self.weight, x, self.links)
        else:
            product = self._portable_product(x)
        return product + self.bias

    def _check(self, x: Batch) -> None:
        """Refuse rows of another width, which a kernel would read past their end, or of another type."""
        width, values = (x.n_columns, x.values) if isinstance(x, SparseBatch) else (x.shape[-1], x)
        if width != self.links.n_inputs:
            raise ValueError(f"rows of {width} columns for a layer of {self.links.n_inputs} inputs")
        if values.dtype != self.weight.dtype:
            raise TypeError(f"values are {values.dtype}, weights {self.weight.dtype}")

    def _by_kernel(self, x: Batch) -> bool:
        if self.portable or torch.compiler.is_compiling() or x.device.type != "cpu":
            return False
        return isinstance(x, SparseBatch) or self.links.density < DENSE_ABOVE

    def _portable_product(self, x: Batch) -> torch.Tensor:
        """The same product in plain torch, for other devices, export, and dense patterns."""
        if isinstance(x, SparseBatch):
            # Each non-zero of a row is multiplied by all links of its column: list these pairs, then sum by unit.
            start = torch.from_numpy(self.links.in_start.astype(np.int64)).to(x.device)
            n_links = start[x.columns + 1] - start[x.columns]  # (nnz,)
            pair = torch.repeat_interleave(
                torch.arange(x.columns.numel(), device=x.device), n_links
            )
            first = n_links.cumsum(0) - n_links
            link = (
                torch.arange(pair.numel(), device=x.device) - first[pair] + start[x.columns][pair]
            )
            row = x.row_numbers()[pair]
            out = x.values.new_zeros(x.n_rows * self.links.n_units)
            place = row * self.links.n_units + self.link_unit[link]
            return out.index_add(0, place, x.values[pair] * self.weight[link]).view(
                x.n_rows, self.links.n_units
            )
        return x @ self.dense_weight().t()

    def dense_weight(self) -> torch.Tensor:
        """W as a dense (U, D) tensor, through which gradients flow to the links."""
        flat = self.weight.new_zeros(self.links.n_units * self.links.n_inputs)
        place = self.link_unit * self.links.n_inputs + self.link_input
        return flat.index_put((place,), self.weight).view(self.links.n_units, self.links.n_inputs)

    def extra_repr(self) -> str:
        """Sizes, for torch's repr."""
        return f"{self.links.n_inputs}, {self.links.n_units}, links={self.links.n_links}"


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    return tensor.detach().contiguous().numpy()


class _SparseRows(torch.autograd.Function):
    """Sparse batch × sparse weights by kernels; gradients of the weights and of the batch's values."""

    @staticmethod
    def forward(
        ctx: Any,
        weight: torch.Tensor,
        values: torch.Tensor,
        row_start: torch.Tensor,
        columns: torch.Tensor,
        links: Links,
    ) -> torch.Tensor:
        ctx.save_for_backward(weight, values, row_start, columns)
        ctx.links = links
        n_rows = row_start.numel() - 1
        out = np.zeros((n_rows, links.n_units), _array(weight).dtype)
        kernels.rows_forward(
            0,
            n_rows,
            _array(row_start),
            _array(columns).astype(np.uint32),  # the type for which training compiles the kernel
            _array(values),
            links.in_start,
            links.in_unit,
            _array(weight),
            out,
        )
        return torch.from_numpy(out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        weight, values, row_start, columns = (_array(saved) for saved in ctx.saved_tensors)
        links: Links = ctx.links
        delta = _array(grad)
        n_rows = row_start.size - 1
        weight_gradient = value_gradient = None
        if ctx.needs_input_grad[0]:
            row_of = np.repeat(np.arange(n_rows), np.diff(row_start))
            order = np.argsort(columns, kind="stable")
            column_start = np.searchsorted(columns[order], np.arange(links.n_inputs + 1))
            gradient = np.empty_like(weight)
            kernels.rows_weight_gradient(
                0,
                links.n_inputs,
                column_start.astype(np.uint32),
                row_of[order].astype(np.uint32),
                values[order],
                links.in_start,
                links.in_unit,
                delta,
                gradient,
            )
            weight_gradient = torch.from_numpy(gradient)
        if ctx.needs_input_grad[1]:
            gradient = np.zeros_like(values)
            kernels.rows_value_gradient(
                0,
                n_rows,
                row_start,
                columns.astype(np.uint32),
                links.in_start,
                links.in_unit,
                weight,
                delta,
                gradient,
            )
            value_gradient = torch.from_numpy(gradient)
        return weight_gradient, value_gradient, None, None, None


class _DenseRows(torch.autograd.Function):
    """Dense batch × sparse weights by kernels; gradients of the weights and of the batch."""

    @staticmethod
    def forward(ctx: Any, weight: torch.Tensor, x: torch.Tensor, links: Links) -> torch.Tensor:
        ctx.save_for_backward(weight, x)
        ctx.links = links
        below = _array(x.t())  # (D, B): rows side by side
        out = np.zeros((links.n_units, x.shape[0]), below.dtype)
        kernels.units_forward(
            0,
            links.n_units,
            links.unit_start,
            links.unit_input,
            links.unit_link,
            _array(weight),
            below,
            out,
        )
        return torch.from_numpy(out).t()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        weight, x = ctx.saved_tensors
        links: Links = ctx.links
        delta = _array(grad.t())  # (U, B)
        weight_gradient = x_gradient = None
        if ctx.needs_input_grad[0]:
            gradient = np.empty(links.n_links, delta.dtype)
            kernels.units_weight_gradient(
                0, links.n_inputs, links.in_start, links.in_unit, _array(x.t()), delta, gradient
            )
            weight_gradient = torch.from_numpy(gradient)
        if ctx.needs_input_grad[1]:
            gradient = np.zeros((links.n_inputs, delta.shape[1]), delta.dtype)
            kernels.units_input_gradient(
                0, links.n_inputs, links.in_start, links.in_unit, _array(weight), delta, gradient
            )
            x_gradient = torch.from_numpy(gradient).t()
        return weight_gradient, x_gradient, None


_sparse_rows: Callable[..., torch.Tensor] = _SparseRows.apply
_dense_rows: Callable[..., torch.Tensor] = _DenseRows.apply
