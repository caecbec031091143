"""Where activations come from: a fitted estimator, any torch module with hooks, or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.explain._estimator_units import FittedUnits
from tsenet.explain._hooks import ModuleUnits
from tsenet.explain._unit_source import RowBlock, UnitSource, checked_names


def unit_source(
    model: Any,
    X: Any,
    *,
    layers: Mapping[str, Any] | None = None,
    feature_names: Sequence[str] | None = None,
    batch_size: int = 1024,
) -> UnitSource:
    """Find out what the model is and how to read its units."""
    if layers is not None:
        if not hasattr(model, "register_forward_hook"):
            raise DataError(f"layers is for torch modules: a {type(model).__name__} is none")
        return ModuleUnits(model, X, layers, feature_names, batch_size)
    if hasattr(model, "transform"):
        return FittedUnits(model, X, feature_names, batch_size)
    if hasattr(model, "register_forward_hook"):
        raise DataError(
            "for a torch module say which units to look at: "
            'layers={"name": submodule, …}; the output of each submodule is taken as activations'
        )
    if callable(model):
        return FunctionUnits(model, X, feature_names, batch_size)
    raise TypeError(
        f"a {type(model).__name__} has no units: give a fitted estimator, "
        "a torch module with layers=…, or a function from rows to activations"
    )


class FunctionUnits(UnitSource):
    """Units of any function from rows (B, V) to activations (B, U)."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        X: Any,
        feature_names: Sequence[str] | None,
        batch_size: int,
    ) -> None:
        super().__init__(batch_size)
        self.function = function
        self.table = Table.of(X)
        self.n_rows = self.table.n_rows
        self.feature_names = checked_names(feature_names, self.table.names)
        n_units = self._read(slice(0, 1))[1].shape[1]
        self.unit_names = tuple(f"unit.{k}" for k in range(n_units))
        self.unit_levels = (1,) * n_units

    def _read(self, rows: slice) -> RowBlock:
        values = self.table.values[rows]
        activations = np.asarray(self.function(values), np.float32)
        if activations.ndim != 2 or len(activations) != values.shape[0]:
            raise DataError(
                f"the function must give one line of activations for each of {values.shape[0]} rows, "
                f"not the shape {activations.shape}"
            )
        return values, activations
