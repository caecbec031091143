"""The links of a sparse layer, indexed by input and by unit."""

from __future__ import annotations

from dataclasses import dataclass

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

    def input_of_link(self) -> NDArray[np.int64]:
        """Input of each link, in the order of the weight vector: (E,)."""
        return np.repeat(np.arange(self.n_inputs), np.diff(self.in_start))
