"""The links of a sparse layer, indexed by input and by unit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.expansion.wiring import WiringLayer


@dataclass(frozen=True)
class Links:
    """E links between D inputs and U units; the flat weight vector is in the order of the inputs.

    Attributes
    ----------
    in_start : uint32 (D + 1,), in_unit : uint32 (E,)
        The units each input is linked to; place e of ``in_unit`` is place e of the weight vector.
    unit_start : int64 (U + 1,), unit_input : uint32 (E,), unit_link : uint32 (E,)
        The inputs of each unit, and where in the weight vector each of its links stands.

    Indices are unsigned: numba then need not check for negative ones, which makes scattered sums a third faster.
    """

    in_start: NDArray[np.uint32]
    in_unit: NDArray[np.uint32]
    unit_start: NDArray[np.int64]
    unit_input: NDArray[np.uint32]
    unit_link: NDArray[np.uint32]

    @classmethod
    def of(cls, layer: WiringLayer) -> Links:
        """Index a layer of a wiring."""
        order = np.argsort(layer.indices, kind="stable")  # by input, then by unit
        in_start = np.searchsorted(layer.indices[order], np.arange(layer.n_lower + 1))
        place = np.empty(layer.n_edges, np.uint32)
        place[order] = np.arange(layer.n_edges, dtype=np.uint32)
        return cls(
            in_start.astype(np.uint32),
            layer.upper_ends()[order].astype(np.uint32),
            np.array(layer.indptr),
            layer.indices.astype(np.uint32),
            place,
        )

    @property
    def n_inputs(self) -> int:
        """Number of inputs D."""
        return int(self.in_start.size) - 1

    @property
    def n_units(self) -> int:
        """Number of units U."""
        return int(self.unit_start.size) - 1

    @property
    def n_links(self) -> int:
        """Number of links E."""
        return int(self.in_unit.size)

    @property
    def density(self) -> float:
        """Share of all possible links that are there."""
        return self.n_links / max(1, self.n_inputs * self.n_units)

    def upper_ends(self) -> NDArray[np.int64]:
        """Unit of each link, unit by unit: (E,)."""
        return np.repeat(np.arange(self.n_units), np.diff(self.unit_start))

    def input_of_link(self) -> NDArray[np.int64]:
        """Input of each link, in the order of the weight vector: (E,)."""
        return np.repeat(np.arange(self.n_inputs), np.diff(self.in_start))

    def expanded(self, k_in: int, k_out: int) -> Links:
        """The links of units if each input is ``k_in`` units and each unit ``k_out``: unit j of latent u is u·k + j."""
        if k_in == k_out == 1:
            return self
        degree = np.repeat(np.diff(self.in_start).astype(np.int64), k_in)  # of each input unit
        in_start = np.concatenate([[0], np.cumsum(degree * k_out)])
        first = np.repeat(self.in_start[:-1].astype(np.int64), k_in)
        of_latent = _ranges(first, degree)  # the links of every input unit, one after another
        in_unit = _faces(self.in_unit[of_latent], k_out)
        order = np.argsort(in_unit, kind="stable")  # by unit, then by input
        unit_start = np.searchsorted(in_unit[order], np.arange(self.n_units * k_out + 1))
        of_input = np.repeat(np.arange(degree.size, dtype=np.uint32), degree * k_out)
        return Links(
            in_start.astype(np.uint32),
            in_unit.astype(np.uint32),
            unit_start.astype(np.int64),
            of_input[order],
            order.astype(np.uint32),
        )


class GatheredLinks(NamedTuple):
    """Some weights of a layer by upper latent: latent u reads the lower units ``lower[start[u]:start[u + 1]]``.

    The weights of each lower unit, one for every unit of the upper latent, stand side by side from ``place`` on.
    """

    start: NDArray[np.int64]
    lower: NDArray[np.uint32]
    place: NDArray[np.int64]


@dataclass(frozen=True)
class BlockLinks:
    """E links between latents of which each is several units: a link is a block of ``k_in`` × ``k_out`` weights.

    Unit j of latent u is number u·k + j of its layer, so the units of a latent lie side by side. The flat weight vector
    (E · ``k_in`` · ``k_out``,) is in the order of the input units, then of the upper units: that of `units`, the links
    between units. The block of link e of latent d is ``weight[start + i * step + j]`` for its units i and the upper
    latent's units j, with ``start`` and ``step`` as below.

    Attributes
    ----------
    latents : Links
        The links between latents.
    k_in, k_out : int
        Units of each latent below (1 for inputs) and above.
    in_weight : int64 (E,), unit_weight : int64 (E,)
        Where the block of each link begins, in the order by input and by unit.
    in_step : int64 (E,), unit_step : int64 (E,)
        Distance between the block's rows, in both orders.
    """

    latents: Links
    k_in: int
    k_out: int

    @property
    def n_inputs(self) -> int:
        """Number of units below."""
        return self.latents.n_inputs * self.k_in

    @property
    def n_units(self) -> int:
        """Number of units above."""
        return self.latents.n_units * self.k_out

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return self.latents.n_links * self.k_in * self.k_out

    @property
    def is_plain(self) -> bool:
        """Whether every link is one weight."""
        return self.k_in == self.k_out == 1

    @property
    def density(self) -> float:
        """Share of all possible links that are there."""
        return self.latents.density

    @cached_property
    def units(self) -> Links:
        """The links between units; made when first asked for."""
        return self.latents.expanded(self.k_in, self.k_out)

    @cached_property
    def in_step(self) -> NDArray[np.int64]:
        """Distance between the rows of each link's block, by input: (E,)."""
        degree = np.diff(self.latents.in_start).astype(np.int64)
        return np.repeat(degree * self.k_out, degree)

    @cached_property
    def in_weight(self) -> NDArray[np.int64]:
        """Where each link's block begins, by input: (E,)."""
        first = self.latents.in_start[self.latents.input_of_link()].astype(np.int64)
        within = np.arange(self.latents.n_links) - first
        return first * self.k_in * self.k_out + within * self.k_out

    @cached_property
    def unit_step(self) -> NDArray[np.int64]:
        """As `in_step`, by unit."""
        return self.in_step[self.latents.unit_link]

    @cached_property
    def unit_weight(self) -> NDArray[np.int64]:
        """As `in_weight`, by unit."""
        return self.in_weight[self.latents.unit_link]

    def gathered(self, first: int, last: int) -> GatheredLinks:
        """The weights of input latents ``first..last``, latent by latent of the upper layer."""
        links = self.latents
        start, stop = int(links.in_start[first]), int(links.in_start[last])
        order = start + np.argsort(links.in_unit[start:stop], kind="stable")
        degree = np.bincount(links.in_unit[start:stop], minlength=links.n_units)
        face = np.arange(self.k_in)
        lower = links.input_of_link()[order][:, None] * self.k_in + face
        place = self.in_weight[order][:, None] + self.in_step[order][:, None] * face
        return GatheredLinks(
            np.concatenate([[0], np.cumsum(degree)]) * self.k_in,
            lower.reshape(-1).astype(np.uint32),
            (place - self.first_weight(first)).reshape(-1),
        )

    def latent_of_weight(self) -> NDArray[np.int64]:
        """Upper latent of each weight: (E · k_in · k_out,)."""
        links = self.latents.expanded(self.k_in, 1)
        return np.repeat(links.in_unit.astype(np.int64), self.k_out)

    def unit_of_weight(self) -> NDArray[np.int64]:
        """Upper unit of each weight: (E · k_in · k_out,)."""
        links = self.latents.expanded(self.k_in, 1)
        return _faces(links.in_unit, self.k_out)

    def first_weight(self, latent: int) -> int:
        """Where the weights of an input latent begin."""
        return int(self.latents.in_start[latent]) * self.k_in * self.k_out


def _ranges(first: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """``first[i], first[i] + 1, …`` of each size, one after another."""
    begin = np.cumsum(size) - size
    return np.arange(int(size.sum())) - np.repeat(begin - first, size)


def _faces(latents: NDArray[np.uint32], k: int) -> NDArray[np.int64]:
    """The units of each latent, one after another."""
    return (latents.astype(np.int64)[:, None] * k + np.arange(k)).reshape(-1)
