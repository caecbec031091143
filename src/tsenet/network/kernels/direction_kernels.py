"""Kernels of the search for principal directions: all latents at once, each over its own links."""

from __future__ import annotations

from typing import Any

import numpy as np

from tsenet._system.jit import Array, kernel, sum_kernel


@sum_kernel
def dot(a: Array, b: Array) -> Any:
    """Inner product of two vectors."""
    total = a.dtype.type(0)
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@kernel
def orthonormalise(unit_start: Array, unit_link: Array, weight: Array) -> None:
    """Make the K columns of ``weight`` (E, K) orthonormal within the links of each unit, in place.

    Gram–Schmidt, twice, which is exact enough; a column that the earlier ones span becomes 0.
    """
    n_faces = weight.shape[1]
    for u in range(unit_start.size - 1):
        link = unit_link[unit_start[u] : unit_start[u + 1]]
        own = np.empty((n_faces, link.size), np.float64)
        for k in range(link.size):
            for j in range(n_faces):
                own[j, k] = weight[link[k], j]
        for j in range(n_faces):
            before = dot(own[j], own[j])
            for _ in range(2):
                for i in range(j):
                    along = dot(own[i], own[j])
                    for k in range(link.size):
                        own[j, k] -= along * own[i, k]
            square = dot(own[j], own[j])
            factor = 1.0 / np.sqrt(square) if square > 1e-10 * before and square > 0.0 else 0.0
            for k in range(link.size):
                own[j, k] *= factor
        for k in range(link.size):
            for j in range(n_faces):
                weight[link[k], j] = own[j, k]


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
