"""Units of fitted estimators, and what tsenet's own say about themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.explain._affine import AffineNetwork
from tsenet.explain._unit_source import Block, Floats, UnitSource, checked_names

if TYPE_CHECKING:
    from tsenet.data.binary import BinaryRule


class FittedUnits(UnitSource):
    """Units of a fitted estimator: the columns of its ``transform``.

    Of any estimator the columns of ``transform`` are taken. Those of tsenet also say how the rows enter the network
    (``_inputs``), so that categories are seen one by one, and have a network (``net_``) of known wiring.
    """

    def __init__(
        self, model: Any, X: Any, feature_names: Sequence[str] | None, batch_size: int
    ) -> None:
        super().__init__(batch_size)
        self.model = model
        self.table = Table.of(X)
        self.n_rows = self.table.n_rows
        self._rule: BinaryRule | None = rule_of(model)
        if self._rule is None and any(self.table.levels):
            raise DataError(
                f"how a {type(model).__name__} reads categories is unknown: give it numbers"
            )
        own = self.table.names if self._rule is None else input_names(self._rule)
        self.feature_names = checked_names(feature_names, own)
        net = getattr(model, "net_", None)
        self.network = None if net is None else AffineNetwork.of(net)
        self.unit_names = tuple(str(name) for name in model.get_feature_names_out())
        self.unit_levels = self._levels()
        if self.network is not None:
            self.rectified = self.network.activation == "relu"
            self.class_names = output_names(model)

    def _levels(self) -> tuple[int, ...]:
        if self.network is not None:
            sizes = self.network.layer_sizes
            return tuple(np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist())
        tree = getattr(self.model, "tree_", None)
        if tree is None:
            return (1,) * len(self.unit_names)
        level = dict(zip(tree.names, np.asarray(tree.level).tolist(), strict=True))
        return tuple(level.get(name, 1) for name in self.unit_names)

    def _read(self, rows: slice) -> Block:
        part = self.table.take(rows)
        if hasattr(self.model, "network_inputs"):
            activations = self.model.transform(part)
        elif self._rule is not None:
            activations = self.model.tree_.posterior(part)
        else:
            activations = np.asarray(self.model.transform(part.values))
        return self._features(part), activations.astype(np.float32, copy=False)

    def _features(self, part: Table) -> Any:
        if hasattr(self.model, "network_inputs"):
            blocks = [inputs.values for inputs in self.model.network_inputs(part)]
            return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        if self._rule is None:
            return part.values
        from tsenet.network.batches import Inputs

        return Inputs.of(part, self._rule).values

    def link_weights(self, unit: int, columns: Sequence[int]) -> list[float | None]:
        """Of the first level, and of units of the feature layer that read the input."""
        if self.network is None:
            return super().link_weights(unit, columns)
        layer = self.unit_levels[unit]
        first = sum(self.network.layer_sizes[: layer - 1])
        return self.network.link_weights(layer, unit - first, columns)

    def effects(self) -> Floats | None:
        """By the network's derivatives, written out; a regressor's in units of its target."""
        if self.network is None:
            return None
        rows = self._features(self.table.take(self._sample()))
        network = self.network
        found = network.forward(rows)
        slopes = network.slopes(found, "tangent")
        columns = []
        for seed in np.eye(
            found.outputs.shape[1]
        ):  # one output after another: (rows, units) at a time
            start = network.start(seed, len(found.outputs))
            gradients = network.backward(start, slopes)
            columns.append(
                np.concatenate(
                    [
                        gradients[k].mean(axis=0) if k in gradients else np.zeros(size)
                        for k, size in enumerate(network.layer_sizes, start=1)
                    ]
                )
            )
        scale, _ = output_scale(self.model, len(columns))
        return np.stack(columns, axis=1) * scale


def rule_of(model: Any) -> BinaryRule | None:
    """How an estimator of tsenet reads columns; None for others."""
    rule = getattr(model, "_rule", None)
    if rule is None and getattr(model, "tree_", None) is not None:
        rule = model.tree_.rule
    return rule


def input_names(rule: BinaryRule) -> tuple[str, ...]:
    """Names of the network's inputs: columns of numbers by their own name, categories as ``colour=red``."""
    return tuple(
        rule.names_in[source] if rule.levels[source] is None else name
        for name, source in zip(rule.names, rule.sources.tolist(), strict=True)
    )


def output_names(model: Any) -> tuple[str, ...] | None:
    """A name for each raw output: the classes, for two classes only the second; None for regression."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    names = tuple(str(name) for name in np.asarray(classes).tolist())
    return names[1:] if len(names) == 2 and not getattr(model, "_multilabel", False) else names


def output_scale(model: Any, n_outputs: int) -> tuple[Floats, Floats]:
    """Factor and shift that turn raw outputs into a regressor's answers: each (C,)."""
    scale = getattr(model, "_target_scale", np.ones(n_outputs))
    shift = getattr(model, "_target_shift", np.zeros(n_outputs))
    return np.asarray(scale, np.float64), np.asarray(shift, np.float64)
