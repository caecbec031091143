"""Units of fitted estimators: the columns of ``transform``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.explain._affine import AffineNetwork
from tsenet.explain._unit_source import Floats, RowBlock, UnitSource, checked_names
from tsenet.explain.fitted import FittedNetwork, input_names, output_scale, rule_of
from tsenet.skeleton.tree import LatentTree


class FittedUnits(UnitSource):
    """Units of a fitted estimator: the columns of its ``transform``.

    A ``FittedNetwork`` also says how its network reads the rows, so that categories are seen one by one, and gives
    the weights from which links and effects are read.
    """

    def __init__(
        self, model: Any, X: Any, feature_names: Sequence[str] | None, batch_size: int
    ) -> None:
        super().__init__(batch_size)
        self.model = model
        self._rule = rule_of(model)
        columns = None if self._rule is None else self._rule.names_in
        self.table = Table.of(X, missing=self._rule is not None, columns=columns)
        self.n_rows = self.table.n_rows
        if self._rule is None and any(self.table.levels):
            raise DataError(
                f"how a {type(model).__name__} reads categories is unknown: give it numbers"
            )
        own = self.table.names if self._rule is None else input_names(self._rule)
        self.feature_names = checked_names(feature_names, own)
        fitted = model if isinstance(model, FittedNetwork) else None
        self.fitted = fitted
        self.network = None if fitted is None else AffineNetwork.of(fitted.net_)
        self.unit_names = tuple(str(name) for name in model.get_feature_names_out())
        self.unit_levels = self._levels()
        if fitted is not None and self.network is not None:
            self.rectified = self.network.activation == "relu"
            self.class_names = fitted.output_names_

    def _levels(self) -> tuple[int, ...]:
        if self.network is not None:
            sizes = self.network.layer_sizes
            return tuple(np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist())
        tree = getattr(self.model, "tree_", None)
        if not isinstance(tree, LatentTree):
            return (1,) * len(self.unit_names)
        level = dict(zip(tree.names, np.asarray(tree.level).tolist(), strict=True))
        return tuple(level.get(name, 1) for name in self.unit_names)

    def _read(self, rows: slice) -> RowBlock:
        part = self.table.take(rows)
        if self.fitted is not None:
            activations = self.fitted.transform(part)
        elif self._rule is not None:
            activations = self.model.tree_.posterior(part)
        else:
            activations = np.asarray(self.model.transform(part.values))
        return self._features(part), activations.astype(np.float32, copy=False)

    def _features(self, part: Table) -> Any:
        if self.fitted is not None:
            blocks = [inputs.values for inputs in self.fitted.network_inputs(part)]
            return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        if self._rule is None:
            return part.values
        from tsenet.network.batches import Inputs

        return Inputs.of(part, self._rule).values

    def link_weights(self, unit: int, columns: Sequence[int]) -> list[float | None]:
        """Weights of the units of the first level, and of units of the feature layer that read the input."""
        if self.network is None:
            return super().link_weights(unit, columns)
        layer = self.unit_levels[unit]
        first = sum(self.network.layer_sizes[: layer - 1])
        return self.network.link_weights(layer, unit - first, columns)

    def effects(self) -> Floats | None:
        """Mean derivatives of the outputs; a regressor's are in units of its target."""
        if self.network is None:
            return None
        rows = self._features(self.table.take(self._sample()))
        network = self.network
        found = network.forward(rows)
        slopes = network.slopes(found, "tangent")
        columns = []
        # One output after another, so that only (rows, units) numbers are in memory.
        for seed in np.eye(found.outputs.shape[1]):
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
