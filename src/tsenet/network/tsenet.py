"""``TSENet``: backbone, skip-paths and feature layer over a wiring, as an ordinary torch module (paper §5)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any, Literal, get_args

import torch
from torch import nn
from torch.nn import functional

from tsenet.expansion.wiring import Wiring
from tsenet.network.batches import Batch, SparseBatch
from tsenet.network.dropout import CounterDropout
from tsenet.network.sparse_linear import SparseLinear
from tsenet.network.summary import LayerSummary, Summary

Activation = Literal["relu", "tanh", "sigmoid"]
Norm = Literal["batch"]
Init = Literal["fan-in", "tree"]


class DenseGroup(nn.Module):
    """A narrow fully connected group of S feature units over the D units of one layer: weight (D, S).

    Over sparse input it reads only the rows of its weight that the batch names.
    """

    def __init__(self, n_inputs: int, n_units: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_inputs, n_units))
        self.bias = nn.Parameter(torch.zeros(n_units))

    def reset_parameters(self, generator: torch.Generator) -> None:
        """He's rule, as for the sparse layers; biases 0."""
        bound = math.sqrt(6.0 / max(1, self.weight.shape[0]))
        with torch.no_grad():
            self.weight.copy_((torch.rand(self.weight.shape, generator=generator) * 2 - 1) * bound)
            self.bias.zero_()

    def forward(self, x: Batch) -> torch.Tensor:
        """Return (B, S)."""
        return _linear(x, self.weight) + self.bias


def _linear(x: Batch, weight: torch.Tensor) -> torch.Tensor:
    """Rows (B, D) times a weight (D, S)."""
    if not isinstance(x, SparseBatch):
        return x @ weight
    return functional.embedding_bag(
        x.columns,
        weight,
        x.row_start,
        mode="sum",
        per_sample_weights=x.values,
        include_last_offset=True,
    )


class TSENet(nn.Module):
    """Tree skeleton expansion network.

    Every latent of the wiring is a unit over its links (the *backbone*). The feature layer has one fully connected
    group on the top layer and, for each layer below it including the input, a narrow *skip* group; then the output.

    Parameters
    ----------
    wiring : Wiring
        Links of L layers over D inputs.
    n_outputs : int
        Number of outputs C: raw values, no softmax.
    skip_units, feature_units : int
        Width of each skip group, and of the group on the top layer. No skip units: the paper's Backbone.
    activation : {"relu", "tanh", "sigmoid"}
    dropout, input_dropout : float
        Rate after each non-linearity, and on the input.
    norm : {"batch"} or None
        Batch normalisation before each non-linearity of the backbone.
    linear_skip : bool
        Whether the outputs also read the input and every level directly, by linear paths that start at 0: logistic
        regression is then a special case of the network (wide and deep).
    init : {"fan-in", "tree"}
        Weights drawn at random, scaled to each unit's number of links; or, for the sparse layers, along the log-odds
        of the completed data, scaled alike.
    seed : int
        Of the initial weights.
    """

    def __init__(
        self,
        wiring: Wiring,
        n_outputs: int,
        *,
        skip_units: int = 100,
        feature_units: int = 100,
        activation: Activation = "relu",
        dropout: float = 0.5,
        input_dropout: float = 0.0,
        norm: Norm | None = None,
        linear_skip: bool = False,
        init: Init = "fan-in",
        seed: int = 0,
    ) -> None:
        super().__init__()
        _check(n_outputs, skip_units, feature_units, activation, norm, init)
        sizes = wiring.layer_sizes
        self.wiring = wiring
        self.activation = activation
        self.has_norm = norm is not None
        self.layers: Iterable[SparseLinear] = _list(map(SparseLinear, wiring.layers))
        self.norms: Iterable[nn.Module] = _list(
            nn.BatchNorm1d(size) if norm else nn.Identity() for size in sizes[1:]
        )
        self.skips: Iterable[DenseGroup] = _list(
            DenseGroup(size, skip_units) for size in sizes[:-1] if skip_units
        )
        self.top = DenseGroup(sizes[-1], feature_units)
        n_features = skip_units * (len(sizes) - 1) + feature_units
        self.output = DenseGroup(n_features, n_outputs)
        self.linear_skips: Iterable[nn.Parameter] = (
            nn.ParameterList(  # (D, C) for the input, (U, C) for each level
                torch.zeros(size, n_outputs) for size in sizes if linear_skip
            )
        )
        self.input_dropout = CounterDropout(input_dropout, place=0)
        self.dropouts: Iterable[CounterDropout] = _list(
            CounterDropout(dropout, place=1 + k) for k in range(len(sizes))
        )
        self.reset_parameters(init, seed)

    def reset_parameters(self, init: Init, seed: int) -> None:
        """Draw all weights anew from a seed."""
        generator = torch.Generator().manual_seed(seed)
        modules: list[SparseLinear | DenseGroup] = [
            *self.layers,
            *self.skips,
            self.top,
            self.output,
        ]
        for module in modules:
            module.reset_parameters(generator)
        if init == "tree":
            for layer, links in zip(self.layers, self.wiring.layers, strict=True):
                layer.follow(torch.from_numpy(links.log_odds.copy()))

    def begin_step(self, seed: int, step: int) -> None:
        """Choose all dropout masks of the next forward pass in training mode."""
        for module in (self.input_dropout, *self.dropouts):
            module.begin_step(seed, step)

    def forward(self, x: Batch) -> torch.Tensor:
        """Raw outputs (B, C) of a dense batch (B, D) or a sparse one."""
        x = self._drop_input(x)
        levels = self.levels(x)
        output: torch.Tensor = self.output(self._features(x, levels))
        for level, weight in zip([x, *levels], self.linear_skips, strict=False):
            output = output + _linear(level, weight)
        return output

    def hidden(self, x: Batch) -> dict[str, torch.Tensor]:
        """Activations of every hidden layer, by name: ``level 1`` …, then ``features``."""
        x = self._drop_input(x)
        levels = self.levels(x)
        named = {f"level {k}": level for k, level in enumerate(levels, start=1)}
        return {**named, "features": self._features(x, levels)}

    def levels(self, x: Batch, n_levels: int | None = None) -> list[torch.Tensor]:
        """Activations (B, units) of the levels 1, 2, … up to ``n_levels``, by default all."""
        *between, _ = self.dropouts
        levels: list[torch.Tensor] = []
        steps = zip(self.layers, self.norms, between, strict=True)
        for layer, norm, dropout in islice(steps, n_levels):
            below = levels[-1] if levels else x  # only the input may be sparse
            levels.append(dropout(self._bend(norm(layer(below)))))
        return levels

    def _features(self, x: Batch, levels: list[torch.Tensor]) -> torch.Tensor:
        """Activations of the feature layer: (B, L·S + F)."""
        *_, last = self.dropouts
        groups = [skip(level) for skip, level in zip(self.skips, [x, *levels], strict=False)]
        features: torch.Tensor = last(self._bend(torch.cat([*groups, self.top(levels[-1])], dim=1)))
        return features

    def _drop_input(self, x: Batch) -> Batch:
        if isinstance(x, SparseBatch):
            return x._replace(values=self.input_dropout(x.values[:, None])[:, 0])
        dropped: torch.Tensor = self.input_dropout(x)
        return dropped

    def _bend(self, z: torch.Tensor) -> torch.Tensor:
        bent: torch.Tensor = getattr(torch, self.activation)(z)
        return bent

    @property
    def n_parameters(self) -> int:
        """Number of trained numbers."""
        return sum(parameter.numel() for parameter in self.parameters())

    def summary(self) -> Summary:
        """Units, links, share of dense, parameters, bytes and FLOPs of each layer."""
        rows = []
        for k, layer in enumerate(self.layers, start=1):
            links = layer.links
            rows.append(LayerSummary.of(f"level {k}", links.n_units, links.n_links, links.n_inputs))
        groups = [*((f"skip {k}", skip) for k, skip in enumerate(self.skips)), ("top", self.top)]
        weights = [(name, group.weight) for name, group in [*groups, ("output", self.output)]]
        weights += [(f"linear skip {k}", weight) for k, weight in enumerate(self.linear_skips)]
        for name, weight in weights:
            n_inputs, n_units = weight.shape
            rows.append(LayerSummary.of(name, n_units, n_inputs * n_units, n_inputs))
        return Summary(tuple(rows), self.n_parameters)


def _list(modules: Iterable[Any]) -> Any:
    """A ModuleList; typed as what it holds by whoever asks, since torch's own type says only Module."""
    return nn.ModuleList(modules)


def _check(
    n_outputs: int,
    skip_units: int,
    feature_units: int,
    activation: str,
    norm: str | None,
    init: str,
) -> None:
    """Refuse options that mean nothing."""
    if n_outputs < 1 or feature_units < 1 or skip_units < 0:
        raise ValueError(
            "a network needs at least one output and one feature unit, and no negative skip units: "
            f"n_outputs={n_outputs}, feature_units={feature_units}, skip_units={skip_units}"
        )
    for name, value, allowed in (
        ("activation", activation, get_args(Activation)),
        ("norm", norm, (*get_args(Norm), None)),
        ("init", init, get_args(Init)),
    ):
        if value not in allowed:
            raise ValueError(
                f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}"
            )
