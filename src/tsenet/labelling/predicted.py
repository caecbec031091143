"""What a model says about every text, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Prediction", "decided", "uncertainty"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model says about each of N texts.

    Attributes
    ----------
    ids : list of str
        The classes that it knows.
    shares : float32 (N, C)
        Probability of each class.
    suggested : int64
        Texts about which it is unsure, and which stand for many others.
    several : bool, default=False
        Whether a text may have several classes.
    """

    ids: list[str]
    shares: NDArray[np.float32]
    suggested: Ints
    several: bool = False

    def answers(self, texts: Ints) -> list[tuple[str, ...]]:
        """The classes that the model decides for, text by text."""
        return decided(self.ids, self.shares[texts], self.several)

    def doubt(self, texts: Ints) -> NDArray[np.float64]:
        """How unsure the model is of each of these texts, from 0 to 1: (n,)."""
        return uncertainty(self.shares[texts], self.several)

    def confidence(self, text: int) -> float:
        """The probability of what the model decides: of the class, or of its least certain yes or no."""
        shares = self.shares[text]
        if self.several:
            return float(np.maximum(shares, 1 - shares).min())
        return float(shares.max())

    def counts(self, texts: Ints | None = None) -> Ints:
        """How many of these texts, or of all, the model puts into each class: (C,)."""
        shares = self.shares if texts is None else self.shares[texts]
        if self.several:
            return np.asarray((shares >= 0.5).sum(axis=0), np.int64)
        return np.bincount(shares.argmax(axis=1), minlength=len(self.ids))

    def chances(self, text: int) -> list[tuple[str, float]]:
        """Each class and its probability, the most probable first."""
        pairs = zip(self.ids, self.shares[text].tolist(), strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])


def decided(ids: Sequence[str], shares: NDArray[Any], several: bool) -> list[tuple[str, ...]]:
    """The classes that a model decides for: the most probable one, or all above one half (or else "none")."""
    if not several:
        return [(ids[k],) for k in shares.argmax(axis=1).tolist()]

    rows = [tuple(ids[k] for k in np.flatnonzero(row >= 0.5).tolist()) for row in shares]
    return [row or ("none",) for row in rows]


def uncertainty(shares: NDArray[Any], several: bool) -> NDArray[np.float64]:
    """How unsure a model is of each text, from 0 to 1: (N,).

    With one class a text, how close the second class comes to the first; with several, how close to one half the
    probability of any class is.
    """
    if several:
        return np.asarray(1.0 - np.abs(2.0 * shares - 1.0).min(axis=1), np.float64)

    second, first = np.sort(shares, axis=1)[:, -2:].T
    return np.asarray(1.0 - (first - second), np.float64)
