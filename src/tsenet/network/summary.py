"""Sizes of a network, layer by layer, compared with dense layers."""

from __future__ import annotations

from dataclasses import dataclass

from tsenet._system.notebook import Bar, Cell, table, titled


@dataclass(frozen=True)
class LayerSummary:
    """Sizes of one layer.

    Attributes
    ----------
    name : str
        ``level 1``, …, ``skip 0``, …, ``top``, ``output``, ``linear skip``.
    units : int
        Number of units.
    links : int
        Number of links to the layer below.
    share : float
        Links as a share of those of a dense layer.
    parameters : int
        Links and biases.
    bytes : int
        Size of the parameters in float32.
    flops : int
        Multiplications and additions for one row without zeros.
    """

    name: str
    units: int
    links: int
    share: float
    parameters: int
    bytes: int
    flops: int

    @classmethod
    def of(
        cls, name: str, units: int, links: int, n_inputs: int, biases: int | None = None
    ) -> LayerSummary:
        """Summarise a layer, usually with one bias per unit."""
        parameters = links + (units if biases is None else biases)
        share = links / max(1, units * n_inputs)
        return cls(name, units, links, share, parameters, 4 * parameters, 2 * links)


@dataclass(frozen=True)
class Summary:
    """Sizes of all layers of a network, from `TSENet.summary`; printing it gives a table.

    Attributes
    ----------
    layers : tuple of LayerSummary
        Levels, skip groups, top group, outputs and linear skip, in this order.
    n_parameters : int
        Number of trained numbers of the whole network.

    Examples
    --------
    >>> import numpy as np
    >>> import tsenet
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat(rng.random((300, 4)) < 0.4, 3, axis=1) & (rng.random((300, 12)) < 0.8)
    >>> tree = tsenet.learn_tree(rows, random_state=0)
    >>> net = tsenet.TSENet(tsenet.expand(tree, rows), n_outputs=2, skip_units=4, feature_units=8)
    >>> summary = net.summary()
    >>> summary.layers[0].name, summary.n_parameters == net.n_parameters
    ('level 1', True)
    """

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

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        rows: list[list[Cell]] = [
            [
                row.name,
                row.units,
                row.links,
                f"{100 * row.share:.3g} %",
                Bar(row.share, 1.0),
                row.parameters,
            ]
            for row in self.layers
        ]
        heads = ["layer", "units", "links", "of dense", "", "parameters"]
        size = f"{self.n_parameters:,} parameters, {4 * self.n_parameters / 1e3:,.1f} kB"
        return titled("Network", size, table(heads, rows))
