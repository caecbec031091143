"""Kernels for conditional mutual information between two neighbouring layers (paper §4; ALGORITHM §6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.skeleton.kernels.pair_kernels import Csr


class TwoLayers(NamedTuple):
    """Completed data of U upper and D lower units over N rows.

    Fields
    ------
    upper, upper_columns : the upper units on in each row, and the rows in which each upper unit is on.
    lower : the lower units on in each row.
    with_parent : bool (entries of ``lower``), whether the unit's tree parent is on in that row too.
    """

    upper: Csr
    upper_columns: Csr
    lower: Csr
    with_parent: Array


class UnitCounts(NamedTuple):
    """Rows in which B upper units are on, together with others; int32 each.

    Fields
    ------
    both : (B, D), with each lower unit.
    with_both : (B, D), with each lower unit and the tree parent of that.
    with_upper : (B, U), with each upper unit.
    """

    both: Array
    with_both: Array
    with_upper: Array


class Margins(NamedTuple):
    """What else the information between two layers depends on.

    Fields
    ------
    parent : int32 (D,), the parent of each lower unit among the upper ones, or −1.
    n_upper, n_lower : int64 (U,) and (D,), in how many rows each unit is on.
    n_lower_parent : int64 (D,), in how many rows a lower unit and its parent are both on.
    xlogx : float64 (N + 1,), ``xlogx[n] = n·ln n``.
    """

    parent: Array
    n_upper: Array
    n_lower: Array
    n_lower_parent: Array
    xlogx: Array


@kernel
def conditional_information(
    n_hxz: Int,
    n_hx: Int,
    n_hz: Int,
    n_xz: Int,
    n_h: Int,
    n_x: Int,
    n_z: Int,
    xlogx: Array,
) -> float:
    """N · I(h; x | z) in nats from the counts of rows in which the named variables are all on."""
    n_rows = xlogx.size - 1
    with_z = (xlogx[n_hxz] + xlogx[n_z - n_hz - n_xz + n_hxz]) + (
        xlogx[n_hz - n_hxz] + xlogx[n_xz - n_hxz]
    )
    n_hx0 = n_hx - n_hxz
    n_h0 = n_h - n_hz
    n_x0 = n_x - n_xz
    n_0 = n_rows - n_z
    without_z = (xlogx[n_hx0] + xlogx[n_0 - n_h0 - n_x0 + n_hx0]) + (
        xlogx[n_h0 - n_hx0] + xlogx[n_x0 - n_hx0]
    )
    given_z = xlogx[n_z] - (xlogx[n_hz] + xlogx[n_z - n_hz]) - (xlogx[n_xz] + xlogx[n_z - n_xz])
    given_not = xlogx[n_0] - (xlogx[n_h0] + xlogx[n_0 - n_h0]) - (xlogx[n_x0] + xlogx[n_0 - n_x0])
    value: float = (with_z + given_z) + (without_z + given_not)
    return max(0.0, value)


@kernel
def count_units(first: Int, data: TwoLayers, counts: UnitCounts) -> None:
    """Add the rows of ``data`` to the counts of upper units ``first..first + B``."""
    upper_start, upper_items = data.upper.start, data.upper.items
    upper_col_start, upper_col_items = data.upper_columns.start, data.upper_columns.items
    lower_start, lower_items = data.lower.start, data.lower.items
    with_parent = data.with_parent
    for b in range(counts.both.shape[0]):
        both, with_both, with_upper = counts.both[b], counts.with_both[b], counts.with_upper[b]
        for k in range(upper_col_start[first + b], upper_col_start[first + b + 1]):
            row = upper_col_items[k]
            for t in range(upper_start[row], upper_start[row + 1]):
                with_upper[upper_items[t]] += 1
            for t in range(lower_start[row], lower_start[row + 1]):
                both[lower_items[t]] += 1
                with_both[lower_items[t]] += with_parent[t]


@kernel
def score_units(first: Int, counts: UnitCounts, margins: Margins, score: Array) -> None:
    """For upper units ``first..first + B``: N·I(unit; x | parent of x) with every lower unit x.

    ``score`` (B, D) is filled; −1 marks a unit's own tree children.
    """
    parent, n_upper, n_lower, n_lower_parent, xlogx = margins
    zero = np.int64(0)
    for b in range(score.shape[0]):
        h = first + b
        both, with_both, with_upper = counts.both[b], counts.with_both[b], counts.with_upper[b]
        out = score[b]
        for x in range(n_lower.size):
            z = parent[x]
            if z == h:
                out[x] = -1.0
            elif z < 0:  # a constant variable has no parent: plain mutual information
                out[x] = conditional_information(
                    zero, np.int64(both[x]), zero, zero, n_upper[h], n_lower[x], zero, xlogx
                )
            else:
                out[x] = conditional_information(
                    np.int64(with_both[x]),
                    np.int64(both[x]),
                    np.int64(with_upper[z]),
                    n_lower_parent[x],
                    n_upper[h],
                    n_lower[x],
                    n_upper[z],
                    xlogx,
                )


@kernel
def count_links(
    first: Int,
    last: Int,
    upper_columns: Csr,
    lower: Csr,
    links: Csr,
    n_below: Int,
    joint: Array,
) -> None:
    """Rows in which both ends of each link of units ``first..last`` are on, into ``joint`` (E,).

    ``links`` lists the lower ends of each upper unit's links.
    """
    upper_col_start, upper_col_items = upper_columns.start, upper_columns.items
    lower_start, lower_items = lower.start, lower.items
    link_start, link_items = links.start, links.items
    both = np.zeros(n_below, np.int64)
    for h in range(first, last):
        for x in range(n_below):
            both[x] = 0
        for k in range(upper_col_start[h], upper_col_start[h + 1]):
            row = upper_col_items[k]
            for t in range(lower_start[row], lower_start[row + 1]):
                both[lower_items[t]] += 1
        for e in range(link_start[h], link_start[h + 1]):
            joint[e] = both[link_items[e]]
