"""Units of any torch module, caught by hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.explain._unit_source import Floats, RowBlock, UnitSource, checked_names

if TYPE_CHECKING:
    import torch


class ModuleUnits(UnitSource):
    """Units of any torch module: the outputs of some of its submodules, caught by hooks.

    The module gets float32 rows (B, …), in evaluation mode, on its own device; only a batch of a sparse table is made
    dense at a time. Outputs with more than two dimensions (channels of a convolution) are averaged over the others.
    """

    def __init__(
        self,
        module: Any,
        X: Any,
        layers: Mapping[str, Any],
        feature_names: Sequence[str] | None,
        batch_size: int,
    ) -> None:
        super().__init__(batch_size)
        if not layers:
            raise DataError("layers is empty: name the submodules whose outputs are the units")
        self.module, self.layers = module, dict(layers)
        # Images and other arrays with more dimensions go in as they are; their numbers are the features.
        self._shape = np.shape(X)[1:] if getattr(X, "ndim", 2) > 2 else None
        table = Table.of(X if self._shape is None else np.asarray(X).reshape(len(X), -1))
        self._values = table.values
        self.n_rows = table.n_rows
        self.feature_names = checked_names(feature_names, table.names)
        caught, _ = self._run(slice(0, 1))
        names_out, levels = [], []
        for level, (name, output) in enumerate(caught.items(), start=1):
            names_out += [f"{name}.{k}" for k in range(output.shape[1])]
            levels += [level] * int(output.shape[1])
        self.unit_names, self.unit_levels = tuple(names_out), tuple(levels)

    def _read(self, rows: slice) -> RowBlock:
        caught, _ = self._run(rows)
        activations = [_per_unit(output).detach().cpu().numpy() for output in caught.values()]
        joined = np.concatenate(activations, axis=1)
        return self._values[rows], joined.astype(np.float32, copy=False)

    def effects(self) -> Floats | None:
        """By autograd; None if the module's output is not (B, C) or does not depend on the units."""
        import torch

        caught, output = self._run(self._sample(), gradients=True)
        if not isinstance(output, torch.Tensor) or not output.requires_grad:
            return None
        outputs = output[:, None] if output.ndim == 1 else output
        if outputs.ndim != 2:
            return None
        columns = []
        for k in range(outputs.shape[1]):
            found = torch.autograd.grad(
                outputs[:, k].sum(), list(caught.values()), retain_graph=True, allow_unused=True
            )
            parts = [
                torch.zeros(one.shape[1]) if gradient is None else _over_places(gradient).mean(0)
                for one, gradient in zip(caught.values(), found, strict=True)
            ]
            columns.append(torch.cat([part.cpu() for part in parts]).numpy().astype(np.float64))
        return np.stack(columns, axis=1)

    def _run(
        self, rows: slice | NDArray[np.int64], gradients: bool = False
    ) -> tuple[dict[str, torch.Tensor], Any]:
        """Send rows through the module; return what the layers gave, and the output."""
        import torch

        values = self._values[rows]
        dense = values.toarray() if sp.issparse(values) else values
        if self._shape is not None:
            dense = dense.reshape(-1, *self._shape)
        first = next(iter(self.module.parameters()), torch.empty(0))
        x = torch.from_numpy(np.ascontiguousarray(dense)).to(first.device, first.dtype)
        with _caught(self.module, self.layers) as caught, torch.set_grad_enabled(gradients):
            output = self.module(x)
        for name in self.layers:
            if name not in caught:
                raise DataError(f"layer {name!r} gave no output: is it a part of the module?")
            if caught[name].ndim < 2:
                raise DataError(
                    f"layer {name!r} gives {caught[name].ndim}-D output, not (B, units)"
                )
        return {name: caught[name] for name in self.layers}, output


@contextmanager
def _caught(module: Any, layers: Mapping[str, Any]) -> Iterator[dict[str, torch.Tensor]]:
    """Catch the layers' outputs while the module runs in evaluation mode; leave it as it was."""
    outputs: dict[str, torch.Tensor] = {}

    def hook_of(name: str) -> Callable[[Any, Any, torch.Tensor], torch.Tensor]:
        def hook(_module: Any, _inputs: Any, output: torch.Tensor) -> torch.Tensor:
            outputs[name] = output
            return output.clone()  # what follows may work in place

        return hook

    handles = [layer.register_forward_hook(hook_of(name)) for name, layer in layers.items()]
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()
        for part, training in modes:
            part.training = training


def _per_unit(output: torch.Tensor) -> torch.Tensor:
    """Mean over positions: (B, U) of (B, U, …)."""
    return output.flatten(2).mean(dim=2) if output.ndim > 2 else output


def _over_places(gradient: torch.Tensor) -> torch.Tensor:
    """Sum over positions, the effect of raising a unit everywhere: (B, U)."""
    return gradient.flatten(2).sum(dim=2) if gradient.ndim > 2 else gradient
