"""Kernels of the search for principal directions: all latents at once, each over its own links."""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, kernel


@kernel
def orthonormalise(unit_start: Array, unit_link: Array, weight: Array) -> None:
    """Make the K columns of ``weight`` (E, K) orthonormal within the links of each unit, in place.

    Gram–Schmidt, twice, which is exact enough; a column that the earlier ones span becomes 0.
    """
    n_faces = weight.shape[1]
    for u in range(unit_start.size - 1):
        start, stop = unit_start[u], unit_start[u + 1]
        for j in range(n_faces):
            before = 0.0
            for k in range(start, stop):
                before += np.float64(weight[unit_link[k], j]) ** 2
            for _ in range(2):
                for i in range(j):
                    dot = 0.0
                    for k in range(start, stop):
                        e = unit_link[k]
                        dot += np.float64(weight[e, i]) * weight[e, j]
                    for k in range(start, stop):
                        e = unit_link[k]
                        weight[e, j] -= dot * weight[e, i]
            square = 0.0
            for k in range(start, stop):
                square += np.float64(weight[unit_link[k], j]) ** 2
            factor = 1.0 / np.sqrt(square) if square > 1e-10 * before and square > 0.0 else 0.0
            for k in range(start, stop):
                weight[unit_link[k], j] *= factor


@kernel
def inner_products(
    unit_start: Array, unit_link: Array, first: Array, second: Array, out: Array
) -> None:
    """Fill ``out`` (U, K, K) with the products of the columns of two (E, K) arrays over the links of each unit."""
    n_faces = first.shape[1]
    for u in range(unit_start.size - 1):
        for i in range(n_faces):
            for j in range(n_faces):
                out[u, i, j] = 0.0
        for k in range(unit_start[u], unit_start[u + 1]):
            e = unit_link[k]
            for i in range(n_faces):
                for j in range(n_faces):
                    out[u, i, j] += np.float64(first[e, i]) * second[e, j]


@kernel
def rotate(unit_start: Array, unit_link: Array, rotation: Array, weight: Array, out: Array) -> None:
    """Fill ``out`` (E, k) with ``weight`` (E, K) times each unit's ``rotation`` (U, K, k)."""
    for u in range(unit_start.size - 1):
        for k in range(unit_start[u], unit_start[u + 1]):
            e = unit_link[k]
            for j in range(out.shape[1]):
                total = 0.0
                for i in range(weight.shape[1]):
                    total += np.float64(weight[e, i]) * rotation[u, i, j]
                out[e, j] = total
