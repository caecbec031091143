"""What the instructions of `lane_kernels` do, in NumPy: for ``NUMBA_DISABLE_JIT=1``, where kernels are plain Python.

Arguments are those of the instructions. Arrays are C-contiguous; places count entries from the beginning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tsenet._system.jit import Array, Int

Faces = tuple[Any, ...]


def add_scaled(out: Array, place: Int, value: Any, weight: Array, start: Int, faces: Faces) -> None:
    """``out[place:place + k] += value * weight[start:start + k]``."""
    k = len(faces)
    out.reshape(-1)[place : place + k] += (
        out.dtype.type(value) * weight.reshape(-1)[start : start + k]
    )


def add_two_scaled(
    out: Array,
    place: Int,
    one: Any,
    first: Array,
    other: Any,
    second: Array,
    start: Int,
    faces: Faces,
) -> None:
    """``out[place:…k] += one * first[start:…k] + other * second[start:…k]``."""
    add_scaled(out, place, one, first, start, faces)
    add_scaled(out, place, other, second, start, faces)


def _sum_blocks(
    downward: bool,
    out: Array,
    latent: Int,
    read: Array,
    row: Int,
    who: Array,
    start: Int,
    stop: Int,
    weight: Array,
    place: Int,
    apart: Int,
    step: Int,
    summed: Faces,
    faces: Faces,
    lanes: Faces,
    vectors: Faces,
) -> None:
    """Blocks of the links ``start..stop`` times the rows of what they read."""
    rows = slice(row, row + len(lanes) * len(vectors))
    own = out.reshape(-1, len(summed), out.shape[1])[int(latent)]
    others = read.reshape(-1, len(faces), read.shape[1])
    for m in range(int(start), int(stop)):
        here = int(place) + (m - int(start)) * int(apart)
        for b, values in enumerate(others[int(who[m]), :, rows]):
            for a in range(len(summed)):
                i, j = (a, b) if downward else (b, a)
                own[a, rows] += weight[here + int(step) * i + j] * values


def sum_blocks_up(*arguments: Any) -> None:
    """Forward pass: the units of a latent sum what they read in the layer below."""
    _sum_blocks(False, *arguments)


def sum_blocks_down(*arguments: Any) -> None:
    """Backward pass: the units of a latent sum the gradients of the layer above."""
    _sum_blocks(True, *arguments)


def tile_gradient(
    below: Array,
    lower: Array,
    delta: Array,
    unit: Int,
    gradient: Array,
    place: Array,
    first: Int,
    face: Int,
    tall: Faces,
    wide: Faces,
) -> None:
    """Sums over rows of ``below[:, lower[first + i]] * delta[:, unit + j]``, to ``gradient[place[first + i] + j]``."""
    own = slice(int(first), int(first) + len(tall))
    begin = int(unit) + int(face)
    sums = np.einsum("cir,cjr->ij", below[:, lower[own]], delta[:, begin : begin + len(wide)])
    for at, products in zip(place[own], sums, strict=True):
        gradient[int(at) + face : int(at) + face + len(wide)] = products


def transpose_tile(
    source: Array, place: Int, bias: Array | None, unit: Int, out: Array, out_place: Int
) -> None:
    """Transpose 8 × 8 entries of ``source`` from ``place`` on to ``out`` from ``out_place`` on."""
    eight = np.arange(8)
    rows = source.reshape(-1)[place + eight[:, None] * source.shape[1] + eight]
    if bias is not None:
        rows = rows + bias[unit : unit + 8]
    out.reshape(-1)[out_place + eight[:, None] * out.shape[1] + eight] = rows.T
