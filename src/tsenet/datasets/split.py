"""Hold out validation rows, and find test rows that are duplicates of training rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tsenet.data.text import words_of

__all__ = ["SEED", "hold_out", "occurs_in", "text_keys"]

# A fixed seed, so that everybody gets the same rows.
SEED = 1803_06120


def hold_out(targets: NDArray[np.generic], n_held: int, seed: int = SEED) -> NDArray[np.bool_]:
    """Draw rows at random, stratified by class.

    Parameters
    ----------
    targets : ndarray
        Class numbers, shape (N,); or labels, shape (N, C), for which the draw is not stratified.
    n_held : int
        How many of the N rows to draw, from 0 to N.
    seed : int, default=SEED
        Seed of the draw.

    Returns
    -------
    ndarray of bool, shape (N,)
        True for exactly `n_held` rows.

    Notes
    -----
    The published results use these rows. scikit-learn's ``train_test_split`` would draw others, and fails for a class
    with a single row.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.datasets.split import hold_out
    >>> y = np.repeat([0, 1], [80, 20])
    >>> np.bincount(y[hold_out(y, 10)]).tolist()
    [8, 2]
    """
    held = np.zeros(len(targets), dtype=bool)
    if n_held == 0:
        return held
    order = np.random.default_rng(seed).permutation(len(targets))
    if targets.ndim == 1:
        order = order[np.argsort(targets[order], kind="stable")]
    # evenly spaced positions in an order sorted by class give each class its share
    places = ((np.arange(n_held) + 0.5) * len(targets) / n_held).astype(np.int64)
    held[order[places]] = True
    return held


def text_keys(texts: Iterable[str]) -> list[bytes | None]:
    """Return a hash of the words of each text, in order; None for a text without words."""
    keys: list[bytes | None] = []
    for text in texts:
        # JSON may contain single surrogates, which strict UTF-8 cannot encode
        words = " ".join(words_of(text)).encode("utf-8", "surrogatepass")
        keys.append(hashlib.blake2b(words, digest_size=16).digest() if words else None)
    return keys


def occurs_in(test: Iterable[bytes | None], training: Iterable[bytes | None]) -> NDArray[np.bool_]:
    """Say for each test row whether a training row has the same key; None equals nothing."""
    known = set(training)
    return np.array([key is not None and key in known for key in test], dtype=bool)
