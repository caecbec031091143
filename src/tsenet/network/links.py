"""`Links`: the weights of a sparse layer as a matrix in CSR form, one row for each unit below."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet.expansion.wiring import Wiring, WiringLayer

__all__ = ["Links"]


@dataclass(frozen=True)
class Links:
    """Which weights a sparse layer has, where each latent is several units.

    Unit j of latent u is number u·k + j of its layer. Input unit i is linked to the latents
    ``latent[start[i]:start[i + 1]]``; each such link has ``k`` weights, one for every unit of the latent, side by side.
    The flat weight vector (E · k,) is in this order.

    Attributes
    ----------
    start : int64 (inputs + 1,)
    latent : int32 (E,)
    n_latents : int
        Latents above.
    k : int
        Units of each latent above.
    link : int64 (E,)
        Which link of the wiring's layer each one belongs to.
    """

    start: NDArray[np.int64]
    latent: NDArray[np.int32]
    n_latents: int
    k: int
    link: NDArray[np.int64]

    @classmethod
    def of(cls, layer: WiringLayer, k_in: int = 1, k: int = 1) -> Links:
        """The weights of a layer whose latents are ``k_in`` units below and ``k`` above."""
        place = np.arange(layer.n_edges, dtype=np.int64)
        shape = (layer.n_upper, layer.n_lower)
        by_unit = csr_array((place, layer.indices, layer.indptr), shape=shape)
        by_input = by_unit.T.tocsr()
        if k_in > 1:
            by_input = by_input[np.repeat(np.arange(layer.n_lower), k_in)]
        start, latent = by_input.indptr.astype(np.int64), by_input.indices.astype(np.int32)
        return cls(start, latent, layer.n_upper, k, by_input.data)

    @classmethod
    def of_wiring(cls, wiring: Wiring, k: int) -> list[Links]:
        """The weights of every layer, where a latent is ``k`` units and an input is one."""
        layers = enumerate(wiring.layers)
        return [cls.of(layer, k if depth else 1, k) for depth, layer in layers]

    @property
    def n_inputs(self) -> int:
        """Number of units below."""
        return int(self.start.size) - 1

    @property
    def n_units(self) -> int:
        """Number of units above."""
        return self.n_latents * self.k

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return int(self.latent.size) * self.k

    def input_of_weight(self) -> NDArray[np.int64]:
        """Input unit of each weight: (E · k,)."""
        return np.repeat(np.arange(self.n_inputs), np.diff(self.start) * self.k)

    def unit_of_weight(self) -> NDArray[np.int64]:
        """Upper unit of each weight: (E · k,)."""
        return (self.latent.astype(np.int64)[:, None] * self.k + np.arange(self.k)).reshape(-1)

    def link_of_weight(self) -> NDArray[np.int64]:
        """Place in the wiring's layer of the link that each weight belongs to: (E · k,)."""
        return np.repeat(self.link, self.k)

    @cached_property
    def by_latent(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The same links latent by latent: where those of each latent begin, the input of each, and its number here."""
        place = np.argsort(self.latent, kind="stable")
        start = np.searchsorted(self.latent[place], np.arange(self.n_latents + 1))
        return start, np.repeat(np.arange(self.n_inputs), np.diff(self.start))[place], place

    def matrix(self, weight: NDArray[Any]) -> csr_array:
        """The weights as a matrix (inputs, units)."""
        parts = weight.reshape(-1), self.unit_of_weight(), self.start * self.k
        return csr_array(parts, shape=(self.n_inputs, self.n_units))

    def sums_of_rows(self, weight: NDArray[Any], rows: csr_array) -> NDArray[Any]:
        """A few sparse rows times the weights: (rows, units). SciPy takes three times as long for one row."""
        first = self.start[rows.indices]
        n_links = self.start[rows.indices + 1] - first
        end = n_links.cumsum()
        link = np.arange(end[-1] if end.size else 0) + (first - end + n_links).repeat(n_links)
        row = np.arange(rows.shape[0]).repeat(np.diff(rows.indptr)).repeat(n_links)
        values = weight.reshape(-1, self.k)[link] * rows.data.repeat(n_links)[:, None]
        sums = np.zeros((rows.shape[0], self.n_latents, self.k), weight.dtype)
        np.add.at(sums, (row, self.latent[link]), values)
        return sums.reshape(-1, self.n_units)
