"""Which rows are kept from training to tell when to stop it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["split_rows"]

#: Below so many rows a validation part would be too small to tell anything.
FEWEST_ROWS = 20


def split_rows(
    n_rows: int, fraction: float, seed: Any, classes: NDArray[np.int64] | None = None
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
    """
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"validation_fraction must lie between 0 and 1, not at {fraction}")
    everything = np.arange(n_rows, dtype=np.int64)
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
