"""Options of a network, checked before any work is done."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

__all__ = ["Activation", "NetworkOptions"]

Activation = Literal["relu", "tanh", "sigmoid"]


@dataclass(frozen=True)
class NetworkOptions:
    """Options of :class:`tsenet.TSENet`, which documents them."""

    skip_units: int = 100
    feature_units: int = 100
    activation: Activation = "relu"
    dropout: float = 0.5
    linear_skip: bool = False
    units_per_latent: int = 1

    def __post_init__(self) -> None:
        if self.feature_units < 1 or self.skip_units < 0:
            raise ValueError(
                "a network needs at least one feature unit and no negative skip units: "
                f"feature_units={self.feature_units}, skip_units={self.skip_units}"
            )
        if self.units_per_latent < 1:
            raise ValueError(
                f"units_per_latent: a latent needs at least one unit, not {self.units_per_latent}"
            )
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(
                f"dropout: the rate must be at least 0 and below 1, not {self.dropout}"
            )
        if self.activation not in get_args(Activation):
            allowed = ", ".join(map(repr, get_args(Activation)))
            raise ValueError(f"activation must be one of {allowed}, not {self.activation!r}")

    def to_dict(self) -> dict[str, Any]:
        """The options by name."""
        return asdict(self)
