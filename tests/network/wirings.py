"""Random wirings and batches, and the network they make written as ordinary dense layers with masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.network.sparse_linear import Batch, SparseBatch
from tsenet.network.tsenet import TSENet

Mask = NDArray[np.bool_]
SIZES = (40, 14, 6)
N_ROWS = 21


def layer_of(mask: Mask) -> WiringLayer:
    """The layer whose links are the true entries of ``mask`` (U, D)."""
    indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    indices = np.nonzero(mask)[1]
    return WiringLayer(indptr, indices, np.zeros(indices.size, bool), mask.shape[1])


def random_mask(rng: np.random.Generator, n_units: int, n_inputs: int, density: float) -> Mask:
    """Links (U, D) at random; one unit and one input may well have none."""
    return rng.random((n_units, n_inputs)) < density


def random_wiring(rng: np.random.Generator, sizes: Sequence[int], density: float) -> Wiring:
    """Random links between layers of the given sizes, input first."""
    masks = [random_mask(rng, up, low, density) for low, up in pairwise(sizes)]
    layers = [layer_of(mask) for mask in masks]
    names = tuple(tuple(f"{k}.{j}" for j in range(size)) for k, size in enumerate(sizes))
    return Wiring(tuple(layers), names, "random")


def mask_of(layer: WiringLayer) -> Mask:
    """Links as a mask (U, D)."""
    mask = np.zeros((layer.n_upper, layer.n_lower), bool)
    for unit in range(layer.n_upper):
        mask[unit, layer.indices[layer.indptr[unit] : layer.indptr[unit + 1]]] = True
    return mask


def random_rows(
    rng: np.random.Generator, n_rows: int, n_inputs: int, density: float = 0.3
) -> NDArray[np.float64]:
    """Rows of which a share is non-zero; the first row is empty if there are several."""
    rows = np.where(
        rng.random((n_rows, n_inputs)) < density, rng.normal(size=(n_rows, n_inputs)), 0
    )
    if n_rows > 1:
        rows[0] = 0
    return rows


def sparse_batch(rows: NDArray[Any], dtype: torch.dtype = torch.float64) -> SparseBatch:
    """The non-zeros of rows (B, D)."""
    start = np.concatenate([[0], np.cumsum((rows != 0).sum(axis=1))])
    return SparseBatch(
        torch.from_numpy(start),
        torch.from_numpy(np.nonzero(rows)[1].astype(np.int32)),
        torch.from_numpy(rows[rows != 0]).to(dtype),
        rows.shape[1],
    )


def batch_of(rows: NDArray[Any], is_sparse: bool, dtype: torch.dtype = torch.float64) -> Batch:
    """Rows as a sparse batch or a dense tensor."""
    return sparse_batch(rows, dtype) if is_sparse else torch.from_numpy(rows).to(dtype)


class MaskedReference:
    """A TSENet as dense matrices with masks, its weights copied from ``net``; each (U, D) or (D, S) is a leaf."""

    def __init__(self, net: TSENet) -> None:
        below = [1, *(net.units_per_latent for _ in net.wiring.layers)]
        self.masks = [
            torch.from_numpy(np.kron(mask_of(layer), np.ones((net.units_per_latent, k), bool)))
            for layer, k in zip(net.wiring.layers, below, strict=False)
        ]
        self.activation = getattr(torch, net.options.activation)
        self.leaves: dict[str, torch.Tensor] = {}
        given: Mapping[str, torch.Tensor] = dict(net.named_parameters())
        for name, parameter in given.items():
            leaf = parameter.detach().clone()
            if name.startswith("layers.") and name.endswith(".weight"):
                mask = self.masks[int(name.split(".")[1])]
                leaf = torch.zeros(mask.t().shape, dtype=leaf.dtype)
                leaf[mask.t()] = parameter.detach()  # by input, then by unit
            self.leaves[name] = leaf.requires_grad_()
        self.n_skips = sum(name.startswith("skips.") for name in given) // 2

    def hidden(
        self, x: torch.Tensor, factors: Sequence[torch.Tensor] | None = None
    ) -> list[torch.Tensor]:
        """Activations of all hidden layers for dense rows x (B, D).

        ``factors`` are those of dropout: for each level and the features.
        """
        one = torch.ones((), dtype=x.dtype)
        drop = factors or [one] * (len(self.masks) + 1)
        levels = [x]
        for k, mask in enumerate(self.masks):
            weight = self.leaves[f"layers.{k}.weight"] * mask.t()
            z = levels[-1] @ weight + self.leaves[f"layers.{k}.bias"]
            levels.append(self.activation(z) * drop[k])
        names = [*(f"skips.{k}" for k in range(self.n_skips)), "top"]
        sources = [*levels[: self.n_skips], levels[-1]]
        groups = [
            source @ self.leaves[f"{name}.weight"] + self.leaves[f"{name}.bias"]
            for name, source in zip(names, sources, strict=True)
        ]
        return [*levels[1:], self.activation(torch.cat(groups, dim=1)) * drop[-1]]

    def __call__(
        self, x: torch.Tensor, factors: Sequence[torch.Tensor] | None = None
    ) -> torch.Tensor:
        """Outputs (B, C) of dense rows."""
        return (
            self.hidden(x, factors)[-1] @ self.leaves["output.weight"] + self.leaves["output.bias"]
        )

    def gradients(self) -> dict[str, torch.Tensor]:
        """Gradient of each of the network's own parameters, after a backward pass."""
        found = {}
        for name, leaf in self.leaves.items():
            assert leaf.grad is not None
            if name.startswith("layers.") and name.endswith(".weight"):
                found[name] = leaf.grad[self.masks[int(name.split(".")[1])].t()]
            else:
                found[name] = leaf.grad
        return found


# ---- a small network for many tests


def wiring(density: float = 0.12, sizes: tuple[int, ...] = SIZES) -> Wiring:
    """Always the same random links."""
    return random_wiring(np.random.default_rng(1), sizes, density)


def network(**options: Any) -> TSENet:
    """A network over :func:`wiring` in float64 whose biases are not 0; options as for TSENet."""
    given: dict[str, Any] = {"skip_units": 5, "feature_units": 8, "seed": 4, **options}
    net = TSENet(given.pop("wiring", None) or wiring(), given.pop("n_outputs", 3), **given)
    for name, parameter in net.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, generator=torch.Generator().manual_seed(len(name)))
    return net.double()


def rows(n_rows: int = N_ROWS, seed: int = 2) -> NDArray[np.float64]:
    """Rows for it."""
    return random_rows(np.random.default_rng(seed), n_rows, SIZES[0])
