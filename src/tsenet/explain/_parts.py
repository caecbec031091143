"""What inputs and units add to an output of a network at one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.explain._affine import AffineNetwork

Floats = NDArray[np.float64]


class FeatureContribution(NamedTuple):
    """What a feature adds to an output.

    Attributes
    ----------
    name : str
        Name of the feature; a category is ``colour=red``.
    value : float
        Its value in the row, as the user gave it.
    contribution : float
        What it adds to the output.

    Examples
    --------
    >>> from tsenet.explain import FeatureContribution
    >>> FeatureContribution("petal width", 2.3, 0.8).contribution
    0.8
    """

    name: str
    value: float
    contribution: float


class UnitContribution(NamedTuple):
    """What a unit adds to an output.

    Attributes
    ----------
    name : str
        Name of the unit's column in ``transform``.
    activation : float
        The unit's activation in the row.
    weight : float
        Its effect on the output, along all paths above it.
    contribution : float
        ``activation`` times ``weight``.
    features : tuple of FeatureContribution
        The features behind the contribution, strongest first; they and ``bias`` sum to it. Computed for the first ``n``
        units, empty for the others.
    bias : float
        What the biases below the unit add.

    Examples
    --------
    >>> from tsenet.explain import UnitContribution
    >>> UnitContribution("Z1.0", activation=2.0, weight=0.5, contribution=1.0).features
    ()
    """

    name: str
    activation: float
    weight: float
    contribution: float
    features: tuple[FeatureContribution, ...] = ()
    bias: float = 0.0


@dataclass(frozen=True)
class Parts:
    """The network at one row: activations and slopes, each (1, units); its inputs, and how the user sees them."""

    network: AffineNetwork
    activations: list[Floats]
    slopes: list[Floats]
    inputs: Floats  # (1, D)
    values: Floats  # (D,)
    names: tuple[str, ...]

    def backward(
        self, start: dict[int, Floats], read_below: int | None = None
    ) -> dict[int, Floats]:
        found = self.network.backward(start, self.slopes, lowest=0, read_below=read_below)
        found.setdefault(0, np.zeros_like(self.inputs))  # no path from the input at all
        return found

    def by_feature(self, gradient: Floats) -> tuple[FeatureContribution, ...]:
        """What each feature adds to a quantity that changes with the inputs as ``gradient`` (D,) says."""
        added = gradient * self.inputs[0]
        strongest = np.argsort(-np.abs(added), kind="stable")[: np.count_nonzero(added)]
        return tuple(
            FeatureContribution(self.names[j], float(self.values[j]), float(added[j]))
            for j in strongest.tolist()
        )

    def by_unit(
        self, found: dict[int, Floats], level: int, n: int, names: Sequence[str]
    ) -> tuple[UnitContribution, ...]:
        """What each unit of a level adds; for the first n also what is behind it."""
        activation = self.activations[level - 1][0]
        weight = found[level][0] if level in found else np.zeros_like(activation)
        added = activation * weight
        strongest = np.argsort(-np.abs(added), kind="stable")[: np.count_nonzero(added)]
        shown = strongest[:n]
        start = np.zeros((shown.size, activation.size))
        start[np.arange(shown.size), shown] = weight[shown]
        below = self.backward({level: start})
        biases = self.network.bias_part(below, self.slopes)
        behind = [
            (self.by_feature(below[0][k]), float(biases[k])) if k < shown.size else ((), 0.0)
            for k in range(strongest.size)
        ]
        return tuple(
            UnitContribution(
                names[u], float(activation[u]), float(weight[u]), float(added[u]), *parts
            )
            for u, parts in zip(strongest.tolist(), behind, strict=True)
        )

    def past(
        self, start: dict[int, Floats], level: int
    ) -> tuple[float, tuple[FeatureContribution, ...]]:
        """What reaches the output from below the level and not through it, and the features behind it."""
        top = self.network.n_levels + 1
        ends = {k: gradient for k, gradient in start.items() if k < level or k == top > level}
        below = self.backward(ends, read_below=level)
        below.pop(top, None)  # biases of the feature layer lie above the level, whatever it reads
        gradient = below[0][0]
        biases = float(self.network.bias_part(below, self.slopes).sum())
        return float(gradient @ self.inputs[0]) + biases, self.by_feature(gradient)

    def above(self, found: dict[int, Floats], level: int) -> float:
        """What the biases of the layers above the level add."""
        higher = {k: gradient for k, gradient in found.items() if k > level}
        return float(self.network.bias_part(higher, self.slopes)[0])
