"""The forward pass in numpy alone: slower than the kernels, but it starts at once and takes little memory.

Every sum is taken in the order of the kernels and rounded as they round, so a network of relu units gives the same
bits. (The kernels of dense and upper layers add products with one rounding, as processors since 2013 do.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks
from tsenet.network.array_net import ArrayNet
from tsenet.network.batches import Inputs

__all__ = ["PlainPass", "add_products"]

Float = NDArray[np.float32]
_ROWS = 256  # rows at a time

# A float64 with these last bits lies exactly between two numbers of float32.
_LAST_BITS, _MIDDLE = np.int64(0x1FFFFFFF), np.int64(0x10000000)


class PlainPass:
    """Outputs of a network of arrays; `tsenet.network.forward.ForwardPass` without compiled code.

    Parameters
    ----------
    net : ArrayNet
    """

    def __init__(self, net: ArrayNet) -> None:
        self.net = net
        self.sums = [_LinkSums.of_layer(layer) for layer in net.layers]

    def outputs(
        self, inputs: Inputs, rows: NDArray[np.int64] | None = None, workers: Workers | None = None
    ) -> NDArray[np.float64]:
        """Raw outputs (n, C) of some rows of a table, or of all; threads would gain nothing here."""
        if inputs.n_columns != self.net.layer_sizes[0]:
            raise ValueError(
                f"rows of {inputs.n_columns} columns for a network of {self.net.layer_sizes[0]} inputs"
            )
        values: Any = inputs.values if rows is None else inputs.values[rows]
        parts = [self._outputs(values[a:b]) for a, b in chunks(values.shape[0], _ROWS)]
        return np.concatenate([np.empty((0, self.net.output.bias.size)), *parts])

    def _outputs(self, values: Any) -> NDArray[np.float64]:
        """Raw outputs (n, C) of a few rows."""
        net = self.net
        start = self._dense_start if isinstance(values, np.ndarray) else self._sparse_start
        answer, level, groups = start(values)
        for depth, sums in enumerate(self.sums, start=1):
            if depth > 1:
                level = sums.of(level)
            level = _activated(net.activation, level)
            if depth < len(net.skips):
                groups.append(_group_sums(level, *net.skips[depth]))
        groups.append(_group_sums(level, *net.top))
        features = _activated(net.activation, np.concatenate(groups))
        zero = np.zeros_like(net.output.bias)
        answer += _group_sums(features, net.output.weight, zero).T
        return answer

    def _dense_start(self, values: Float) -> tuple[NDArray[np.float64], Float, list[Float]]:
        """Biases and linear skip (n, C), level 1 (units, n) and the skip group of an array of rows."""
        net, rows = self.net, np.ascontiguousarray(values.T)
        answer = np.tile(net.output.bias.astype(np.float64), (len(values), 1))
        if net.linear_skip is not None:
            answer += _group_sums(rows, net.linear_skip, np.zeros_like(net.output.bias)).T
        groups = [_group_sums(rows, *net.skips[0])] if net.skips else []
        return answer, self.sums[0].of(rows), groups

    def _sparse_start(self, values: Any) -> tuple[NDArray[np.float64], Float, list[Float]]:
        """The same of a CSR matrix."""
        net, n_rows = self.net, values.shape[0]
        answer = np.tile(net.output.bias.astype(np.float64), (n_rows, 1))
        lowest = net.layers[0]
        level = np.tile(lowest.bias, (n_rows, 1))  # (n, units)
        links, k = lowest.blocks.latents, lowest.blocks.k_out
        weight, first = lowest.weight.reshape(-1, k), links.in_start.astype(np.int64)
        for rows, columns, numbers in _turns(values):
            if net.linear_skip is not None:
                own = net.linear_skip[columns].astype(np.float64)
                answer[rows] += numbers.astype(np.float64)[:, None] * own
            n_links = first[columns + 1] - first[columns]
            begin = np.cumsum(n_links) - n_links
            link = np.arange(n_links.sum()) - np.repeat(begin - first[columns], n_links)
            units = links.in_unit[link].astype(np.int64)[:, None] * k + np.arange(k)
            products = np.repeat(numbers, n_links)[:, None] * weight[link]
            level[np.repeat(rows, n_links)[:, None], units] += products
        groups = [_sparse_group(values, *net.skips[0])] if net.skips else []
        return answer, np.ascontiguousarray(level.T), groups


class _LinkSums(NamedTuple):
    """Sums of a sparse layer, step by step: in step t each unit adds the t-th thing it reads.

    ``order``: units by how many they read, the most first; ``read[t]`` and ``weight[t]`` are of the first so many.
    """

    order: NDArray[np.int64]
    read: list[NDArray[np.int64]]
    weight: list[NDArray[np.float64]]
    bias: Float

    @classmethod
    def of_layer(cls, layer: Any) -> _LinkSums:
        """Lay out the links of a layer."""
        links = layer.links
        n_read = np.diff(links.unit_start)
        order = np.argsort(-n_read, kind="stable")
        start, weight = links.unit_start[order], layer.weight[links.unit_link].astype(np.float64)
        n_units = np.searchsorted(-n_read[order], -np.arange(int(n_read.max(initial=0))))
        places = [start[:n] + t for t, n in enumerate(n_units.tolist())]
        read = [links.unit_input[place].astype(np.int64) for place in places]
        return cls(order, read, [weight[place] for place in places], layer.bias[order])

    def of(self, below: Float) -> Float:
        """Sums (units, B) of activations ``below`` (units, B)."""
        wide = below.astype(np.float64)
        total = np.repeat(self.bias[:, None], below.shape[1], axis=1)
        for read, weight in zip(self.read, self.weight, strict=True):
            own = total[: read.size]
            own[:] = add_products(own, weight[:, None], wide[read])
        out = np.empty_like(total)
        out[self.order] = total
        return out


def add_products(total: Float, a: NDArray[np.float64], b: NDArray[np.float64]) -> Float:
    """total + a · b, rounded once; ``a`` and ``b`` hold numbers of float32.

    Their product is exact in float64. The sum is rounded to float64 and then to float32; that differs from one
    rounding only where the first one ends exactly between two numbers of float32.
    """
    product = a * b
    found = product + total
    middle = (found.view(np.int64) & _LAST_BITS) == _MIDDLE
    if middle.any():
        there = np.broadcast_to(total, found.shape)[middle].astype(np.float64)
        added, ended = product[middle], found[middle]
        second = ended - there  # what the first rounding left out, exactly (Knuth's two-sum)
        left = (there - (ended - second)) + (added - second)
        aside = np.where(left == 0, ended, np.nextafter(ended, np.copysign(np.inf, left)))
        found[middle] = aside
    return found.astype(np.float32)


def _group_sums(below: Float, weight: Float, bias: Float) -> Float:
    """Sums (S, B) of a dense group (D, S) of activations (D, B)."""
    total = np.repeat(bias[:, None], below.shape[1], axis=1)
    wide = below.astype(np.float64)
    for row, own in zip(wide, weight.astype(np.float64), strict=True):
        total = add_products(total, own[:, None], row)
    return total


def _sparse_group(values: Any, weight: Float, bias: Float) -> Float:
    """Sums (S, n) of a dense group of sparse rows: four products at a time, then the others one by one."""
    start, columns, numbers = values.indptr.astype(np.int64), values.indices, values.data
    n_fours = np.diff(start) // 4
    total = np.zeros((n_fours.size, bias.size), np.float32)

    def products(places: NDArray[np.int64]) -> Float:
        found: Float = numbers[places][:, None] * weight[columns[places]]
        return found

    for turn in range(int(n_fours.max(initial=0))):
        rows = np.flatnonzero(n_fours > turn)
        place = start[rows] + 4 * turn
        first, second = (products(place + i) + products(place + i + 1) for i in (0, 2))
        total[rows] += first + second
    for turn in range(3):
        rows = np.flatnonzero(np.diff(start) % 4 > turn)
        total[rows] += products(start[rows] + 4 * n_fours[rows] + turn)
    return np.ascontiguousarray(total.T + bias[:, None])


def _turns(values: Any) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Float]]:
    """The first non-zeros of all rows, then the second ones, …: rows, columns and numbers."""
    start = values.indptr.astype(np.int64)
    n_numbers = np.diff(start)
    for turn in range(int(n_numbers.max(initial=0))):
        rows = np.flatnonzero(n_numbers > turn)
        place = start[rows] + turn
        yield rows, values.indices[place].astype(np.int64), values.data[place]


def _activated(kind: str, z: Float) -> Float:
    """The non-linearity; NaN stays NaN."""
    one = np.float32(1)
    if kind == "relu":
        return np.where(z <= 0, np.float32(0), z)
    if kind == "tanh":
        return np.tanh(z)
    with np.errstate(over="ignore"):  # far below 0 the sigmoid is 0
        return one / (one + np.exp(-z))
