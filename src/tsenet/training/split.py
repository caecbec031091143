"""Which rows are kept from training to tell when to stop it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.order import first_of_groups

__all__ = ["check_fraction", "split_rows"]

#: Below so many rows a validation part would be too small to tell anything.
FEWEST_ROWS = 20


def check_fraction(fraction: float) -> None:
    """Refuse what is no share of the rows."""
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"validation_fraction must lie between 0 and 1, not at {fraction}")


def split_rows(
    n_rows: int,
    fraction: float,
    seed: Any,
    classes: NDArray[np.int64] | None = None,
    duplicate_groups: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split row numbers into those for training and those for validation, both ascending.

    Parameters
    ----------
    n_rows : int
    fraction : float
        Share of the rows for validation, above 0 and below 1.
    seed
        Of NumPy's generator.
    classes : int64 (n_rows,), optional
        Class number of each row: each class gets its share of the validation rows, up to rounding. Training
        always keeps a row of every class.
    duplicate_groups : int64 (n_rows,), optional
        Rows of one group go to the same side: a duplicate of a training row tells nothing about new rows.
    """
    check_fraction(fraction)
    everything = np.arange(n_rows, dtype=np.int64)
    if duplicate_groups is not None:
        held_out_rows = _split_groups(duplicate_groups, fraction, seed, classes)
        if held_out_rows is not None:
            return everything[~held_out_rows], everything[held_out_rows]
    if n_rows < FEWEST_ROWS:
        return everything, everything[:0]
    order = np.random.default_rng(seed).permutation(n_rows)
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    n_chosen = min(n_rows - 1, max(1, round(fraction * n_rows)))
    chosen = order[((np.arange(n_chosen) + 0.5) * n_rows / n_chosen).astype(np.int64)]
    held_out = np.zeros(n_rows, bool)
    held_out[chosen] = True
    if classes is not None:  # give back a row of each class that would be left without one
        first = np.unique(classes[order], return_index=True)[1]
        lost = np.bincount(classes[~held_out], minlength=classes.max() + 1) == 0
        keep = order[first]
        held_out[keep[lost[classes[keep]]]] = False
    return everything[~held_out], everything[held_out]


def _split_groups(
    groups: NDArray[np.int64], fraction: float, seed: Any, classes: NDArray[np.int64] | None
) -> NDArray[np.bool_] | None:
    """Which rows are held out if groups of duplicates are split: (n_rows,); None if no row has a duplicate."""
    first, group = first_of_groups(groups)
    if first.size == groups.size:
        return None
    of_first = None if classes is None else classes[first]
    _, chosen = split_rows(first.size, fraction, seed, of_first)
    held_out = np.isin(group, chosen)
    if classes is not None:  # duplicate rows may be of several classes
        for lost in np.setdiff1d(classes, classes[~held_out]):
            held_out &= group != group[np.argmax(classes == lost)]
    return held_out
