"""Kernel that counts the rows in which units of two neighbouring layers are on together (paper §4)."""

from __future__ import annotations

from typing import NamedTuple

from tsenet._system.jit import Array, Int, kernel
from tsenet.skeleton.kernels.pair_kernels import Csr


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


@kernel
def count_units(
    first: Int, upper: Csr, upper_columns: Csr, lower: Csr, with_parent: Array, counts: UnitCounts
) -> None:
    """Add rows to the counts of upper units ``first..first + B``.

    ``upper`` and ``lower`` are the units on in each row, ``upper_columns`` the rows in which each upper unit is on;
    ``with_parent`` says for each entry of ``lower`` whether the unit's tree parent is on in that row too.
    """
    upper_start, upper_items = upper.start, upper.items
    column_start, column_items = upper_columns.start, upper_columns.items
    lower_start, lower_items = lower.start, lower.items
    for b in range(counts.both.shape[0]):
        both, with_both, with_upper = counts.both[b], counts.with_both[b], counts.with_upper[b]
        for k in range(column_start[first + b], column_start[first + b + 1]):
            row = column_items[k]
            for t in range(upper_start[row], upper_start[row + 1]):
                with_upper[upper_items[t]] += 1
            for t in range(lower_start[row], lower_start[row + 1]):
                both[lower_items[t]] += 1
                with_both[lower_items[t]] += with_parent[t]
