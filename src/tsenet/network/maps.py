"""Linear maps between layers as the forward pass reads them: blocks of weights, ready for vector instructions.

A map is made once from a layer or group of a network and holds a copy of its weights. Weights that are 0 are left out
where they are many, as they are after pruning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.network.kernels import block_kernels
from tsenet.network.kernels.lane_kernels import LANES, vectors_of
from tsenet.network.links import BlockLinks

__all__ = ["TILE", "InputMap", "UnitMap", "padded"]

Float = NDArray[Any]  # float32 or float64, as the network's parameters

TILE = 4  # units of a dense group that are summed together; layers are padded to a multiple
_MANY_ZEROS = 0.5  # share of zeros from which a map is faster without them


def padded(size: int) -> int:
    """Number of rows of a buffer for so many units."""
    return -(-size // TILE) * TILE


class UnitMap(NamedTuple):
    """z = W x + b for activations (units, rows): unit u sums the blocks ``start[u]:start[u + 1]``."""

    start: NDArray[np.int64]
    read: NDArray[np.uint32]  # which latent each block reads
    weight: Float  # one block after another
    bias: Float
    faces_in: tuple[int, ...]
    faces_out: tuple[int, ...]

    @classmethod
    def of_links(cls, blocks: BlockLinks, weight: Float, bias: Float) -> UnitMap:
        """Map of a sparse layer."""
        if not blocks.is_plain and np.count_nonzero(weight) < _MANY_ZEROS * weight.size:
            links = blocks.units
            return cls.of_non_zeros(
                links.input_of_link(), links.in_unit.astype(np.int64), weight, bias
            )
        links = blocks.latents
        faces = (0,) * blocks.k_in, (0,) * blocks.k_out
        packed = np.empty(blocks.n_weights, weight.dtype)
        block_kernels.pack_blocks(
            0, links.n_links, blocks.unit_weight, blocks.unit_step, *faces, weight, packed
        )
        return cls(links.unit_start, links.unit_input, packed, bias.copy(), *faces)

    @classmethod
    def of_group(cls, weight: Float, bias: Float) -> UnitMap:
        """Map of a dense group (D, S) to a multiple of `TILE` units; those that are added are 0."""
        n_inputs, n_units = weight.shape
        full_bias = np.zeros(padded(n_units), weight.dtype)
        full_bias[:n_units] = bias
        if np.count_nonzero(weight) < _MANY_ZEROS * weight.size:
            lower, upper = np.nonzero(weight)
            return cls.of_non_zeros(lower, upper, weight[lower, upper], full_bias)
        full = np.zeros((padded(n_inputs), padded(n_units)), weight.dtype)
        full[:n_inputs, :n_units] = weight
        n_below, n_above = full.shape[0] // TILE, full.shape[1] // TILE
        blocks = full.reshape(n_below, TILE, n_above, TILE).transpose(2, 0, 1, 3)
        return cls(
            np.arange(n_above + 1) * n_below,
            np.tile(np.arange(n_below, dtype=np.uint32), n_above),
            np.ascontiguousarray(blocks).reshape(-1),
            full_bias,
            (0,) * TILE,
            (0,) * TILE,
        )

    @classmethod
    def of_non_zeros(
        cls, lower: NDArray[np.int64], upper: NDArray[np.int64], weight: Float, bias: Float
    ) -> UnitMap:
        """Map of single weights, without those that are 0."""
        there = weight != 0
        lower, upper, weight = lower[there], upper[there], weight[there]
        order = np.lexsort((lower, upper))
        return cls(
            np.searchsorted(upper[order], np.arange(bias.size + 1)),
            lower[order].astype(np.uint32),
            weight[order],
            bias.copy(),
            (0,),
            (0,),
        )

    def into(self, below: Float, out: Float) -> None:
        """Fill ``out`` (units, B) from ``below`` (units, B)."""
        few = below.shape[1] % LANES > 0
        block_kernels.units_forward(
            self.start,
            self.read,
            self.weight,
            self.bias,
            self.faces_in,
            self.faces_out,
            (0,) if few else (0,) * LANES,
            (0,) if few else vectors_of(len(self.faces_out)),
            below,
            out,
        )


class InputMap(NamedTuple):
    """The same for sparse rows: the links of input d are ``start[d]:start[d + 1]``."""

    start: NDArray[np.uint32]
    unit: NDArray[np.uint32]
    weight: Float
    faces: tuple[int, ...]

    @classmethod
    def of_links(cls, blocks: BlockLinks, weight: Float) -> InputMap:
        """Map of the lowest layer; it shares the layer's weights."""
        links = blocks.latents
        if blocks.k_out == 1 or np.count_nonzero(weight) >= _MANY_ZEROS * weight.size:
            return cls(links.in_start, links.in_unit, weight, (0,) * blocks.k_out)
        links, there = blocks.units, weight != 0
        start = np.concatenate([[0], np.cumsum(there)])[links.in_start]
        return cls(start.astype(np.uint32), links.in_unit[there], weight[there], (0,))

    def into(self, batch: tuple[Any, Any, Any], bias: Float, rows: Float) -> None:
        """Fill ``rows`` (B, units) with the sums of B sparse rows and the bias (units,)."""
        block_kernels.rows_forward(
            0, len(rows), *batch, self.start, self.unit, self.weight, self.faces, bias, rows
        )
