"""Which training rows are held out for validation, and which test rows occur in training too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tsenet.data.text import words_of

__all__ = ["SEED", "hold_out", "occurs_in", "text_keys"]

# Of every draw: the parts of a data set are the same for everybody.
SEED = 1803_06120


def hold_out(targets: NDArray[np.generic], n_held: int, seed: int = SEED) -> NDArray[np.bool_]:
    """Choose rows at random, each class as often as its share, up to rounding.

    Parameters
    ----------
    targets : ndarray
        Class numbers, shape (N,); or labels, shape (N, C): then all rows are drawn alike.
    n_held : int
        How many of the N rows, from 0 to N.
    seed : int

    Returns
    -------
    ndarray of bool, shape (N,)
        True for exactly `n_held` rows.
    """
    held = np.zeros(len(targets), dtype=bool)
    if n_held == 0:
        return held
    order = np.random.default_rng(seed).permutation(len(targets))
    if targets.ndim == 1:
        order = order[np.argsort(targets[order], kind="stable")]
    # evenly spaced places in an order sorted by class give every class its share
    places = ((np.arange(n_held) + 0.5) * len(targets) / n_held).astype(np.int64)
    held[order[places]] = True
    return held


def text_keys(texts: Iterable[str]) -> list[bytes | None]:
    """What makes two documents the same: the same words in the same order; None for no words."""
    keys: list[bytes | None] = []
    for text in texts:
        # half a surrogate pair, which JSON can spell, is no reason to fail
        words = " ".join(words_of(text)).encode("utf-8", "surrogatepass")
        keys.append(hashlib.blake2b(words, digest_size=16).digest() if words else None)
    return keys


def occurs_in(test: Iterable[bytes | None], training: Iterable[bytes | None]) -> NDArray[np.bool_]:
    """Say for each key of the test rows whether a training row has it; None is never the same as another."""
    known = set(training)
    return np.array([key is not None and key in known for key in test], dtype=bool)
