"""Training steps of :class:`tsenet.baselines.DynamicSparseClassifier`: some change links instead of weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet.baselines.dynamic import Growth, cosine_share, rewired
from tsenet.baselines.fnn import FNN
from tsenet.training.engine import Engine
from tsenet.training.history import History

__all__ = ["DynamicEngine"]


class DynamicEngine(Engine):
    """Steps of :class:`Engine`; after :meth:`rewire_next`, the next one changes links and no weight."""

    _next: tuple[float, Growth, np.random.Generator] | None = None

    def rewire_next(self, share: float, growth: Growth, rng: np.random.Generator) -> None:
        """Let the next step replace a share of each layer's links."""
        self._next = (share, growth, rng)

    def rewiring(self, growth: Growth, share: float, n_times: int) -> Callable[[History], None]:
        """A function that asks for a rewiring; to be called after each epoch, it does so after the first ones."""
        rng = np.random.default_rng([self.seed, 2])

        def rewire(history: History) -> None:
            done = history.n_epochs - 1
            if done < n_times:
                self.rewire_next(cosine_share(share, done, n_times), growth, rng)

        return rewire

    def step(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        learning_rate: float,
        step: int,
    ) -> float:
        """Take one Adam step on rows (B,), or rewire by their gradient; return their mean loss."""
        if self._next is None:
            return super().step(rows, targets, weights, learning_rate, step)
        share, growth, rng = self._next
        self._next = None
        loss, gradients = self.dense_gradients(rows, targets, weights, step)
        self._rewire(share, gradients if growth == "gradient" else None, rng)
        return loss

    def dense_gradients(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        weights: NDArray[Any] | None,
        step: int,
    ) -> tuple[float, list[NDArray[np.float32]]]:
        """The mean loss of rows (B,), and its gradient by every weight (D, S) of each layer, absent ones too."""
        net = cast(FNN, self.net)
        net.train()
        net.reads_removed = True
        loss = self._backward(rows, targets, weights, step)
        net.reads_removed = False
        return loss, [cast(torch.Tensor, layer.weight.grad).numpy() for layer in net.layers]

    @torch.no_grad()
    def _rewire(
        self, share: float, gradients: list[NDArray[np.float32]] | None, rng: np.random.Generator
    ) -> None:
        net = cast(FNN, self.net)
        for k, layer in enumerate(net.layers):
            mask = cast(torch.Tensor, net.mask(k))
            before = mask.numpy().copy()
            weight = layer.weight.detach().numpy()
            n_changed = int(share * before.sum())
            gradient = None if gradients is None else gradients[k]
            after = rewired(weight, before, n_changed, gradient, rng)
            grown = after & ~before
            if (
                gradients is None
            ):  # SET draws new weights as the first ones were drawn, RigL begins with 0
                spread = np.sqrt(2.0 / np.maximum(1, after.sum(axis=0)))  # (S,)
                drawn = rng.standard_normal(weight.shape, np.float32) * spread
                weight[grown] = drawn[grown]
            else:
                weight[grown] = 0.0
            weight[~after] = 0.0
            mask.copy_(torch.from_numpy(after))
            place = list(self._parameters).index(f"layers.{k}.weight")
            for moments in (self._means, self._squares):  # new links have no past
                moments[place].mul_(torch.from_numpy(after & before))
