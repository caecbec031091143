"""Dense and dynamically sparse networks to compare with: FNN, pruned FNN, SET and RigL, in plain torch."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

from tsenet.errors import DataError

__all__ = [
    "GRID",
    "DenseNetwork",
    "DynamicNetwork",
    "PrunedNetwork",
    "ValidatedNetwork",
    "shape_of",
]

PRUNING_ROUNDS, EPOCHS_BETWEEN = 6, 2
ROWS_AT_ONCE = 4096


class Layers(nn.Module):
    """Fully connected layers with ReLU and dropout; masks, where present, say which weights exist.

    Weights that do not are 0, without gradient, and set to 0 again after each step: no pass has to ask the masks.
    """

    def __init__(self, sizes: Sequence[int], dropout: float, seed: int) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        shapes = list(pairwise(sizes))
        self.weights = nn.ParameterList(
            torch.randn(shape, generator=draw) * (2.0 / shape[0]) ** 0.5 for shape in shapes
        )
        self.biases = nn.ParameterList(torch.zeros(upper) for _, upper in shapes)
        self.dropout = dropout
        self.sparse = False
        for k, shape in enumerate(shapes):
            self.register_buffer(f"mask{k}", torch.ones(shape))

    def mask(self, k: int) -> torch.Tensor:
        """Return 1 where a weight of layer k exists, else 0: as floats, by which weights are multiplied at once."""
        found: torch.Tensor = getattr(self, f"mask{k}")
        return found

    def set_mask(self, k: int, mask: NDArray[np.bool_]) -> None:
        """Remove all weights of layer k but these."""
        self.mask(k).copy_(torch.from_numpy(mask))
        self.sparse = True
        self.clear_removed()

    @torch.no_grad()
    def clear_removed(self) -> None:
        """Set removed weights to 0: the optimiser's momentum moves them even without a gradient."""
        for k, weight in enumerate(self.weights):
            weight.mul_(self.mask(k))

    def clear_gradients(self) -> None:
        """Set the gradients of removed weights to 0: a link that grows later starts without their momentum."""
        for k, weight in enumerate(self.weights):
            if weight.grad is not None:
                weight.grad.mul_(self.mask(k))

    def forward(self, x: Any) -> torch.Tensor:
        """Return raw outputs (B, C)."""
        return self._layer(len(self.weights) - 1, self.hidden(x))

    def hidden(self, x: Any) -> Any:
        """Return the activations of the last hidden layer."""
        for k in range(len(self.weights) - 1):
            level = torch.relu(self._layer(k, x))
            x = functional.dropout(level, self.dropout, self.training)
        return x

    def _layer(self, k: int, x: Any) -> torch.Tensor:
        weight = self.weights[k]
        if isinstance(x, torch.Tensor):
            dense: torch.Tensor = x @ weight
            return dense + self.biases[k]
        product: torch.Tensor = functional.embedding_bag(
            torch.from_numpy(x.indices.astype(np.int64)),
            weight,
            torch.from_numpy(x.indptr.astype(np.int64)),
            mode="sum",
            per_sample_weights=torch.from_numpy(x.data),
            include_last_offset=True,
        )
        return product + self.biases[k]

    @property
    def n_parameters(self) -> int:
        """Number of weights that exist, and biases."""
        kept = sum(int(self.mask(k).count_nonzero()) for k in range(len(self.weights)))
        return kept + sum(bias.numel() for bias in self.biases)


class DenseNetwork(BaseEstimator):
    """A fully connected network with early stopping on held-out labelled rows.

    Parameters
    ----------
    hidden : sequence of int
        Units of each hidden layer.
    n_parameters : int or None
        One hidden layer, as wide as this number of parameters allows, instead of ``hidden``.
    dropout, learning_rate, batch_size, max_epochs, patience
        Of the training with Adam.
    held_out : float
        Share of the labelled rows that tells when to stop. A tenth of 100 rows says little: with a fifth, and more
        patience, a network of StackOverflow's titles is right about 64 % instead of 8 %.
    regression : bool
        Predict numbers, with the squared error, instead of classes or labels.
    random_state : int

    Attributes
    ----------
    net_ : Layers
    n_parameters_ : int
    validation_loss_ : float
        Loss of the held-out rows at the best epoch.
    """

    def __init__(
        self,
        *,
        hidden: Sequence[int] = (512,),
        n_parameters: int | None = None,
        dropout: float = 0.5,
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        max_epochs: int = 100,
        patience: int = 5,
        held_out: float = 0.1,
        regression: bool = False,
        random_state: int = 0,
    ) -> None:
        self.hidden = hidden
        self.n_parameters = n_parameters
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.held_out = held_out
        self.regression = regression
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit to rows (N, V); rows whose label is NaN are left out."""
        self._begin(X, y)
        self._train(self.learning_rate, self.max_epochs)
        self.n_parameters_ = self.net_.n_parameters
        return self

    def _begin(self, X: Any, y: NDArray[Any]) -> None:
        """Choose the labelled rows, hold some out and make the network."""
        known = np.flatnonzero(~np.isnan(y) if y.ndim == 1 else ~np.isnan(y).all(axis=1))
        targets = y[known].astype(np.float32)
        if self.regression:
            self._centre, self._scale = float(targets.mean()), float(targets.std()) or 1.0
            targets = (targets - self._centre) / self._scale
        if y.ndim == 2 or self.regression:
            self._targets = torch.from_numpy(targets if y.ndim == 2 else targets[:, None])
            n_outputs = self._targets.shape[1]
            self.classes_ = np.arange(n_outputs)
        else:
            self.classes_, codes = np.unique(targets, return_inverse=True)
            self._targets = torch.from_numpy(codes)
            n_outputs = self.classes_.size
        self._rows = _rows_of(X)[known]
        self._fitted, self._held = self._split(codes if self._targets.ndim == 1 else None)
        n_inputs = X.shape[1]
        hidden = tuple(self.hidden)
        if self.n_parameters is not None:
            hidden = (max(1, (self.n_parameters - n_outputs) // (n_inputs + n_outputs + 1)),)
        self.net_ = Layers((n_inputs, *hidden, n_outputs), self.dropout, self.random_state)

    def _split(self, codes: NDArray[Any] | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = np.arange(self._targets.shape[0])
        n_held = max(1, round(self.held_out * rows.size))
        several = codes is not None and np.bincount(codes).min() > 1 and n_held >= codes.max() + 1
        fitted, held = train_test_split(
            *(rows,),
            test_size=n_held,
            stratify=codes if several else None,
            random_state=self.random_state,
        )
        return fitted, held

    def _train(
        self, rate: float, n_epochs: int, after_epoch: Callable[[int], None] | None = None
    ) -> None:
        """Train until the held-out loss stops falling, and keep the best epoch's weights and links."""
        net = self.net_
        optimiser = torch.optim.Adam(net.parameters(), lr=rate, fused=True)
        torch.manual_seed(self.random_state)
        rng = np.random.default_rng(self.random_state)
        best_loss, best_epoch, best = np.inf, 0, copy.deepcopy(net.state_dict())
        # few rows would otherwise give one step per epoch, and stop before anything is learned
        size = min(self.batch_size, max(16, self._fitted.size // 10))
        for epoch in range(n_epochs):
            order = rng.permutation(self._fitted)
            net.train()
            for start in range(0, order.size, size):
                optimiser.zero_grad()
                self._loss(order[start : start + size]).backward()
                if net.sparse:
                    net.clear_gradients()
                optimiser.step()
                # where links stay as they are, a removed weight has no momentum either
                if net.sparse and after_epoch is not None:
                    net.clear_removed()
            net.eval()
            with torch.no_grad():
                loss = float(self._loss(self._held))
            if loss < best_loss:
                best_loss, best_epoch = loss, epoch
                best = copy.deepcopy(net.state_dict())
            elif epoch - best_epoch >= self.patience:
                break
            if after_epoch is not None:
                after_epoch(epoch)
        net.load_state_dict(best)
        net.eval()
        self.validation_loss_ = best_loss

    def _loss(self, rows: NDArray[np.int64]) -> torch.Tensor:
        output = self.net_(_batch(self._rows, rows))
        targets = self._targets[torch.from_numpy(rows)]
        if targets.ndim == 1:
            return functional.cross_entropy(output, targets)
        known = ~torch.isnan(targets)
        if self.regression:
            return functional.mse_loss(output[known], targets[known])
        return functional.binary_cross_entropy_with_logits(output[known], targets[known])

    # ---- predictions

    def _outputs(self, X: Any, layer: Callable[[Any], torch.Tensor]) -> NDArray[np.float32]:
        rows = _rows_of(X)
        blocks = [
            np.arange(start, min(start + ROWS_AT_ONCE, rows.shape[0]))
            for start in range(0, rows.shape[0], ROWS_AT_ONCE)
        ]
        with torch.no_grad():
            return np.concatenate([layer(_batch(rows, block)).numpy() for block in blocks])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class or label: (N, C)."""
        output = torch.from_numpy(self._outputs(X, self.net_))
        several = self._targets.ndim == 2
        chances = torch.sigmoid(output) if several else torch.softmax(output, dim=1)
        return chances.numpy().astype(np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, or the number: (N,)."""
        output = self._outputs(X, self.net_)
        if self.regression:
            return self._centre + self._scale * output[:, 0]
        answer: NDArray[Any] = self.classes_[output.argmax(axis=1)]
        return answer

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the activations of the last hidden layer."""
        return self._outputs(X, self.net_.hidden)


class PrunedNetwork(DenseNetwork):
    """A trained dense network whose weakest weights go, in rounds (Zhu and Gupta 2017) or at once (Han et al. 2015).

    ``size`` parameters are left. In one round, as in the paper, the smallest weights of all layers go and the others
    are trained again; in several, weights are compared after division by the root mean square of their layer.
    """

    def __init__(
        self,
        *,
        size: int = 100_000,
        rounds: int = PRUNING_ROUNDS,
        hidden: Sequence[int] = (512,),
        dropout: float = 0.5,
        learning_rate: float = 1e-3,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            hidden=hidden, dropout=dropout, learning_rate=learning_rate, random_state=random_state
        )
        self.size = size
        self.rounds = rounds

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Train, prune in rounds with two epochs between them, and train again."""
        super().fit(X, y)
        dense = self.n_parameters_
        target = max(min(self.size, dense), sum(bias.numel() for bias in self.net_.biases))
        for step in range(1, self.rounds + 1):
            left = (1 - step / self.rounds) ** 3
            self._keep_largest(round(target + (dense - target) * left))
            if step < self.rounds:
                self._train(0.1 * self.learning_rate, EPOCHS_BETWEEN)
        self._train(0.1 * self.learning_rate, self.max_epochs)
        self.n_parameters_ = self.net_.n_parameters
        return self

    def _keep_largest(self, n_parameters: int) -> None:
        sizes = [np.abs(weight.detach().numpy()) for weight in self.net_.weights]
        scaled = sizes
        if self.rounds > 1:
            scaled = [size / (np.sqrt(np.square(size).mean()) or 1.0) for size in sizes]
        n_kept = max(1, n_parameters - sum(bias.numel() for bias in self.net_.biases))
        together = np.concatenate([size.ravel() for size in scaled])
        chosen = np.zeros(together.size, bool)
        chosen[np.argpartition(-together, n_kept - 1)[:n_kept]] = True
        ends = np.cumsum([size.size for size in scaled])
        for k, (kept, size) in enumerate(zip(np.split(chosen, ends[:-1]), scaled, strict=True)):
            self.net_.set_mask(k, kept.reshape(size.shape))


class DynamicNetwork(DenseNetwork):
    """A sparse network whose links are replaced while it is trained: SET (Mocanu 2018) or RigL (Evci 2020).

    After each of the first 20 epochs a share of the weakest links is dropped, from 0.3 down along a cosine, and as
    many are grown at random (``"random"``: SET) or where the gradient is largest (``"gradient"``: RigL). Layers share
    the ``size`` parameters as an Erdős–Rényi graph does, in proportion to the sum of their units.
    """

    _DROP_SHARE, _REWIRINGS = 0.3, 20

    def __init__(
        self,
        *,
        size: int = 100_000,
        growth: Literal["random", "gradient"] = "gradient",
        hidden: Sequence[int] = (512,),
        dropout: float = 0.5,
        learning_rate: float = 1e-3,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            hidden=hidden,
            dropout=dropout,
            learning_rate=learning_rate,
            patience=self._REWIRINGS + 10,  # each rewiring costs some progress
            random_state=random_state,
        )
        self.size = size
        self.growth = growth

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Draw the first links and train."""
        self._begin(X, y)
        net = self.net_
        rng = np.random.default_rng([self.random_state, 1])
        units = np.array([sum(weight.shape) for weight in net.weights])
        n_links = self.size - sum(bias.numel() for bias in net.biases)
        for k, weight in enumerate(net.weights):
            wanted = round(n_links * units[k] / units.sum())
            links = np.zeros(weight.numel(), bool)
            links[rng.permutation(weight.numel())[: max(1, wanted)]] = True
            net.set_mask(k, links.reshape(weight.shape))
            readers = net.mask(k).sum(dim=0).clamp(min=1)
            with torch.no_grad():
                weight.mul_(torch.sqrt(weight.shape[0] / readers))
        self._train(self.learning_rate, self.max_epochs, lambda epoch: self._rewire(epoch, rng))
        self.n_parameters_ = net.n_parameters
        return self

    def _rewire(self, epoch: int, rng: np.random.Generator) -> None:
        if epoch >= self._REWIRINGS:
            return
        share = self._DROP_SHARE * (1 + np.cos(np.pi * epoch / self._REWIRINGS)) / 2
        net = self.net_
        net.zero_grad()
        self._loss(
            rng.choice(self._fitted, min(self.batch_size, self._fitted.size), False)
        ).backward()
        for k, weight in enumerate(net.weights):
            links = net.mask(k).numpy().astype(bool)
            n_changed = int(share * links.sum())
            strength = np.where(links, np.abs(weight.detach().numpy()), np.inf)
            dropped = np.argpartition(strength.ravel(), n_changed)[:n_changed]
            gradient = np.abs(weight.grad.numpy()) if weight.grad is not None else strength
            score = gradient if self.growth == "gradient" else rng.random(links.shape)
            candidates = np.where(links, -1.0, score)
            grown = np.argpartition(-candidates.ravel(), n_changed)[:n_changed]
            links.ravel()[dropped] = False
            links.ravel()[grown] = True
            net.set_mask(k, links)
            if self.growth == "random":
                spread = (2.0 / max(1.0, links.sum() / links.shape[1])) ** 0.5
                new = torch.from_numpy(rng.standard_normal(grown.size).astype(np.float32))
                with torch.no_grad():
                    weight.view(-1)[torch.from_numpy(grown)] = spread * new


def shape_of(text: str, n_outputs: int) -> tuple[int, ...]:
    """Return the hidden layers that a name means.

    ``2048x3`` is three layers of 2,048 units; ``2048x3-conic`` three layers that shrink by equal factors from 2,048
    units towards the number of outputs; ``1024-120`` gives the layers themselves.
    """
    rectangle = re.fullmatch(r"(\d+)x(\d+)(-conic)?", text)
    if rectangle is None:
        if not re.fullmatch(r"\d+(-\d+)*", text):
            raise DataError(f"{text!r} is no shape: write 2048x3, 2048x3-conic or 1024-120")
        return tuple(map(int, text.split("-")))
    width, depth = int(rectangle[1]), int(rectangle[2])
    if rectangle[3] is None:
        return (width,) * depth
    return tuple(round(width * (n_outputs / width) ** (k / depth)) for k in range(depth))


#: The 21 shapes of the paper's grid.
GRID = tuple(
    f"{width}x{depth}{form}"
    for width in (512, 1024, 2048)
    for depth in (1, 2, 3, 4)
    for form in ("", "-conic")
    if depth > 1 or not form
)


class ValidatedNetwork(BaseEstimator):
    """A dense network with the lowest loss on its held-out rows: the best of four shapes, then of three rates."""

    _SHAPES = (
        (512,),
        (1024,),
        (512, 512),
        (1024, 1024),
    )  # four of the paper's 21
    _RATES = (1e-3, 3e-3, 3e-4)

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit the candidates and keep the best."""

        def fitted(hidden: Sequence[int], rate: float) -> DenseNetwork:
            network = DenseNetwork(
                hidden=hidden, learning_rate=rate, random_state=self.random_state
            )
            return network.fit(X, y)

        def loss(network: DenseNetwork) -> float:
            return network.validation_loss_

        first = min((fitted(hidden, self._RATES[0]) for hidden in self._SHAPES), key=loss)
        others = (fitted(first.hidden, rate) for rate in self._RATES[1:])
        self.best_ = min((first, *others), key=loss)
        self.classes_ = self.best_.classes_
        self.n_parameters_ = self.best_.n_parameters_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the best network's prediction."""
        return self.best_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the best network's probabilities."""
        return self.best_.predict_proba(X)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the best network's last hidden layer."""
        return self.best_.transform(X)


def _rows_of(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_array(X, dtype=np.float32)
    return np.ascontiguousarray(X, np.float32)


def _batch(rows: Any, chosen: NDArray[np.int64]) -> Any:
    part = rows[chosen]
    return part if sp.issparse(part) else torch.from_numpy(part)
