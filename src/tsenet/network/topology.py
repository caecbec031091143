"""The topology of a network: which blocks of parameters it has, and which units each of them joins.

All that walks through a network - building it, its passes, pruning, files, ONNX, explanations - walks the `blocks` of
a `Topology`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet.expansion.wiring import Wiring, WiringLayer

#: The non-linearity of all hidden units.
Activation = Literal["relu", "tanh", "sigmoid"]


@dataclass(frozen=True)
class NetworkOptions:
    """Options of :class:`tsenet.TSENet`, which documents them; checked before any work is done."""

    skip_units: int = 100
    feature_units: int = 100
    dropout: float = 0.5
    linear_skip: bool = False
    units_per_latent: int = 1
    skip_dropout: float = 0.0
    activation: Activation = "relu"
    skip_input: bool = True

    def __post_init__(self) -> None:
        for name, least in {"skip_units": 0, "feature_units": 1, "units_per_latent": 1}.items():
            number = getattr(self, name)
            if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
                raise ValueError(f"{name} must be a whole number from {least} on, not {number!r}")
        if self.activation not in get_args(Activation):
            known = ", ".join(map(repr, get_args(Activation)))
            raise ValueError(f"activation must be one of {known}, not {self.activation!r}")
        for name in ("dropout", "skip_dropout"):
            rate = getattr(self, name)
            if not isinstance(rate, Real) or not 0.0 <= float(rate) < 1.0:
                raise ValueError(f"{name} must be at least 0 and below 1, not {rate!r}")
        for name in ("linear_skip", "skip_input"):
            choice = getattr(self, name)
            if not isinstance(choice, bool | np.bool_):
                raise ValueError(f"{name} must be True or False, not {choice!r}")

    def to_dict(self) -> dict[str, Any]:
        """The options by name."""
        return asdict(self)


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

        start = by_input.indptr.astype(np.int64)
        latent = by_input.indices.astype(np.int32)
        return cls(start, latent, layer.n_upper, k, by_input.data)

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
        first = self.latent.astype(np.int64) * self.k  # of each link's latent, (E,)
        return (first[:, None] + np.arange(self.k)).reshape(-1)

    def link_of_weight(self) -> NDArray[np.int64]:
        """Place in the wiring's layer of the link that each weight belongs to: (E · k,)."""
        return np.repeat(self.link, self.k)

    @property
    def by_input(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where the links of each input begin, and the latent of each."""
        return self.start, self.latent

    @cached_property
    def by_latent(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The same links latent by latent: where those of each latent begin, the input of each, and its number here."""
        place = np.argsort(self.latent, kind="stable")
        start = np.searchsorted(self.latent[place], np.arange(self.n_latents + 1))
        input_of_link = np.repeat(np.arange(self.n_inputs), np.diff(self.start))
        return start, input_of_link[place], place

    def matrix(self, weight: NDArray[Any]) -> csr_array:
        """The weights as a matrix (inputs, units)."""
        parts = weight.reshape(-1), self.unit_of_weight(), self.start * self.k
        return csr_array(parts, shape=(self.n_inputs, self.n_units))


@dataclass(frozen=True, eq=False)
class Block:
    """Weights that lead from all units of one layer to some units of a higher one.

    Layers are numbered: 0 inputs, 1 … L levels, L + 1 feature layer, L + 2 outputs.

    Attributes
    ----------
    name : str
        Of the module: ``"layers.0"``, ``"skips.0"``, ``"top"``, ``"output"``; or ``"linear_skip"``.
    below, above : int
        The layer that is read, and the one that is fed.
    units : slice
        The units of the layer above that are fed.
    n_inputs, n_units : int
        Units read, and units fed.
    sparse : WiringLayer or None
        The links of a sparse block, in which each latent is ``units_per_latent`` units; None if all weights exist.
    units_per_latent : tuple of int
        Units of each latent below and above.
    """

    name: str
    below: int
    above: int
    units: slice
    n_inputs: int
    n_units: int
    sparse: WiringLayer | None = None
    units_per_latent: tuple[int, int] = (1, 1)

    @cached_property
    def links(self) -> Links:
        """Which weights a sparse block has."""
        assert self.sparse is not None
        return Links.of(self.sparse, *self.units_per_latent)

    @property
    def weight(self) -> str:
        """Name of the weights among the parameters."""
        return self.name if self.name == "linear_skip" else f"{self.name}.weight"

    @property
    def bias(self) -> str | None:
        """Name of the biases; the linear skip has none, since the outputs have theirs."""
        return None if self.name == "linear_skip" else f"{self.name}.bias"

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weights: (E · k,) of a sparse block, else (inputs, units)."""
        if self.sparse is None:
            return (self.n_inputs, self.n_units)
        below, above = self.units_per_latent
        return (self.sparse.n_edges * below * above,)

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The unit of the layer below that each weight reads, and the unit of the layer above that it feeds."""
        if self.sparse is not None:
            reads = self.links.input_of_weight()
            feeds = self.links.unit_of_weight()
        else:
            reads, feeds = np.indices(self.weight_shape).reshape(2, -1)
        return reads, self.units.start + feeds

    def matrix(self, weight: NDArray[Any]) -> Any:
        """The weights as a matrix (inputs, units), sparse if the block is."""
        return weight if self.sparse is None else self.links.matrix(weight)


class Topology:
    """The layers and blocks of a network.

    Parameters
    ----------
    wiring : Wiring
    n_outputs : int
    options : NetworkOptions

    Attributes
    ----------
    layer_sizes : list of int
        Units of the inputs, of each level, of the feature layer, and the outputs.
    blocks : list of Block
        Levels, skips, top, output, linear skip: those that feed a layer come before those that read it.
    """

    def __init__(self, wiring: Wiring, n_outputs: int, options: NetworkOptions) -> None:
        if n_outputs < 1:
            raise ValueError(f"a network needs at least one output: n_outputs={n_outputs}")

        self.wiring = wiring
        self.options = options
        k = options.units_per_latent
        n_inputs, *n_latents = wiring.layer_sizes
        n_levels = len(n_latents)
        # The layers below the top that skip groups read.
        skipped = range(0 if options.skip_input else 1, n_levels if options.skip_units else 0)
        n_features = options.skip_units * len(skipped) + options.feature_units

        self.layer_sizes = [n_inputs, *(k * n for n in n_latents), n_features, n_outputs]
        self.blocks: list[Block] = []

        for level, layer in enumerate(wiring.layers):
            n_units = self.layer_sizes[level + 1]
            per_latent = (k if level else 1, k)
            self._add(f"layers.{level}", level, level + 1, n_units, 0, layer, per_latent)

        # The feature layer reads the top level and, by narrow groups, layers below it.
        features = n_levels + 1
        first = 0
        for level in skipped:
            self._add(f"skips.{level}", level, features, options.skip_units, first)
            first += options.skip_units

        self._add("top", n_levels, features, options.feature_units, first)

        self._add("output", features, features + 1, n_outputs)
        if options.linear_skip:
            self._add("linear_skip", 0, features + 1, n_outputs)

    def _add(
        self,
        name: str,
        below: int,
        above: int,
        n_units: int,
        first: int = 0,
        sparse: WiringLayer | None = None,
        per_latent: tuple[int, int] = (1, 1),
    ) -> None:
        """Add a block that feeds ``n_units`` units, from number ``first`` on."""
        units = slice(first, first + n_units)
        n_inputs = self.layer_sizes[below]
        block = Block(name, below, above, units, n_inputs, n_units, sparse, per_latent)
        self.blocks.append(block)

    @property
    def n_levels(self) -> int:
        """Number of levels of latents L."""
        return len(self.wiring.layers)

    @property
    def n_layers(self) -> int:
        """Number of layers above the inputs: the levels, the feature layer, and the outputs."""
        return len(self.layer_sizes) - 1

    @property
    def hidden_sizes(self) -> list[int]:
        """Units of each level and of the feature layer."""
        return self.layer_sizes[1:-1]

    @property
    def links(self) -> list[Links]:
        """The links of each level."""
        return [block.links for block in self.blocks if block.sparse is not None]

    @cached_property
    def _blocks_into(self) -> list[list[Block]]:
        return [
            [block for block in self.blocks if block.above == layer]
            for layer in range(len(self.layer_sizes))
        ]

    def blocks_into(self, layer: int) -> list[Block]:
        """The blocks that feed a layer, in the order of its units."""
        return self._blocks_into[layer]

    @property
    def layer_slices(self) -> list[slice]:
        """The units of each layer, if units are numbered through all layers."""
        ends = [0, *np.cumsum(self.layer_sizes).tolist()]
        return [slice(first, last) for first, last in pairwise(ends)]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each parameter, by name."""
        shapes: dict[str, tuple[int, ...]] = {}
        for block in self.blocks:
            shapes[block.weight] = block.weight_shape
            if block.bias is not None:
                shapes[block.bias] = (block.n_units,)
        return shapes

    def level_names(self) -> list[tuple[str, ...]]:
        """Names of the units of each level: "Z1.3", or "Z1.3/1", "Z1.3/2", … if a latent is several units."""
        _, *levels = self.wiring.names
        k = self.options.units_per_latent
        if k == 1:
            return levels
        return [
            tuple(f"{name}/{number}" for name in names for number in range(1, k + 1))
            for names in levels
        ]

    def hidden_names(self) -> list[str]:
        """Names of all hidden units: those of the levels, then "skip0.3" or "top.3" of the feature layer."""
        names = [name for level in self.level_names() for name in level]
        for block in self.blocks_into(self.n_levels + 1):
            group = block.name.replace("skips.", "skip")
            names += [f"{group}.{number}" for number in range(block.n_units)]
        return names
