"""What a network consists of, layer by layer, beside a dense one of the same sizes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerSummary:
    """One layer: ``units``, ``links`` between them and the layer below, ``parameters`` (links and biases).

    ``share`` is links as a share of a dense layer's, ``bytes`` the parameters' size in float32, ``flops`` the
    multiplications and additions for one row with all inputs non-zero.
    """

    name: str
    units: int
    links: int
    share: float
    parameters: int
    bytes: int
    flops: int

    @classmethod
    def of(cls, name: str, units: int, links: int, n_inputs: int) -> LayerSummary:
        """Summarise a layer with one bias per unit."""
        parameters = links + units
        share = links / max(1, units * n_inputs)
        return cls(name, units, links, share, parameters, 4 * parameters, 2 * links)


@dataclass(frozen=True)
class Summary:
    """All layers of a network; printing it gives a table."""

    layers: tuple[LayerSummary, ...]
    n_parameters: int

    def __str__(self) -> str:
        head = f"{'layer':<10}{'units':>8}{'links':>12}{'of dense':>10}{'parameters':>12}{'kB':>10}{'kFLOP':>10}"
        lines = [head, "-" * len(head)]
        for row in self.layers:
            lines.append(
                f"{row.name:<10}{row.units:>8,}{row.links:>12,}{100 * row.share:>9.3g}%"
                f"{row.parameters:>12,}{row.bytes / 1e3:>10,.1f}{row.flops / 1e3:>10,.1f}"
            )
        flops = sum(row.flops for row in self.layers)
        lines.append(
            f"{'all':<10}{'':>8}{sum(row.links for row in self.layers):>12,}{'':>10}"
            f"{self.n_parameters:>12,}{4 * self.n_parameters / 1e3:>10,.1f}{flops / 1e3:>10,.1f}"
        )
        return "\n".join(lines)
