"""``DynamicSparseClassifier``: dynamic sparse training, where links are dropped and grown while weights are learned.

The network has the size that is asked for from the first step on. After each epoch, for a number of epochs, a share of
the links nearest to zero is dropped and as many others are grown: at random (SET, Mocanu et al. 2018), or where the
loss's gradient is largest (RigL, Evci et al. 2020). The share falls to 0 along a cosine, as in RigL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tsenet.baselines.dense import DenseClassifier

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.training.engine import Engine
    from tsenet.training.history import History
    from tsenet.training.losses import Loss

__all__ = ["DynamicSparseClassifier", "rewired", "spread_links"]

Growth = Literal["random", "gradient"]


class DynamicSparseClassifier(DenseClassifier):
    """Classifier whose sparse network finds its links while it is trained: SET or RigL.

    Everything else is that of :class:`DenseClassifier`: rows, scaling, loss, loop, early stopping. The validation rows
    choose among all epochs, and the links of the best one are kept. Layers share the links as an Erdős–Rényi graph
    does (a layer of D × S gets links in proportion to D + S); first weights are scaled to each unit's links. On a
    CPU only.

    Parameters
    ----------
    n_parameters : int, default=100_000
        Trained numbers, biases included: as many throughout the training.
    growth : {"random", "gradient"}, default="gradient"
        Where links are grown: at random (SET), or where the gradient of the loss on a batch is largest (RigL).
    drop_share : float, default=0.3
        Share of a layer's links that the first rewiring replaces.
    rewirings : int, default=20
        Epochs after which links are replaced; then they stay.
    hidden : sequence of int, default=(512,)
        Units of each hidden layer.
    dropout, weighting, learning_rate, batch_size, max_epochs, early_stopping, validation_fraction, patience, \
class_weight, device, n_jobs, random_state, verbose
        As for :class:`DenseClassifier`. ``patience`` is 10: each rewiring costs some progress.

    Attributes
    ----------
    net_ : FNN
        Its ``mask(k)`` says which weights of layer k are there.
    classes_, history_, n_parameters_, n_features_in_, feature_names_in_
        As for :class:`DenseClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet.baselines import DynamicSparseClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DynamicSparseClassifier(n_parameters=4_000, hidden=(128,), max_epochs=20, random_state=0)
    >>> model.fit(X[:1500], y[:1500]).n_parameters_
    4000
    """

    def __init__(
        self,
        *,
        n_parameters: int = 100_000,
        growth: Growth = "gradient",
        drop_share: float = 0.3,
        rewirings: int = 20,
        hidden: Sequence[int] = (512,),
        dropout: float = 0.5,
        weighting: Literal["tfidf", "counts"] = "tfidf",
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        max_epochs: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int = 10,
        class_weight: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        super().__init__(
            hidden=hidden,
            dropout=dropout,
            weighting=weighting,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=max_epochs,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            patience=patience,
            class_weight=class_weight,
            device=device,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.n_parameters = n_parameters
        self.growth = growth
        self.drop_share = drop_share
        self.rewirings = rewirings

    def _prepare(self, seed: int) -> None:
        """Draw the first links, and scale the weights to them."""
        import torch

        if self.growth not in ("random", "gradient"):
            raise ValueError(f"growth must be 'random' or 'gradient', not {self.growth!r}")
        if not 0.0 <= self.drop_share <= 1.0:
            raise ValueError(f"drop_share must be from 0 to 1, not {self.drop_share}")
        if self.device not in ("cpu", "auto"):
            raise ValueError(f"dynamic sparse training runs on a CPU, not on {self.device!r}")
        layers = self.net_.layers
        n_biases = sum(layer.bias.numel() for layer in layers)
        sizes = [(layer.weight.shape[0], layer.weight.shape[1]) for layer in layers]
        rng = np.random.default_rng([seed, 1])
        masks = []
        for (lower, upper), n_links in zip(
            sizes, spread_links(sizes, self.n_parameters - n_biases), strict=True
        ):
            drawn = np.zeros(lower * upper, bool)
            drawn[rng.choice(lower * upper, n_links, replace=False)] = True
            masks.append(torch.from_numpy(drawn.reshape(lower, upper)))
        with torch.no_grad():
            for layer, mask in zip(layers, masks, strict=True):
                links = mask.sum(dim=0).clamp(min=1)  # (S,)
                layer.weight.mul_(torch.sqrt(layer.weight.shape[0] / links))
        self.net_.keep(masks, part_of_state=True)

    def _engine(
        self, inputs: Inputs, loss: Loss, seed: int
    ) -> tuple[Engine, Callable[[History], None]]:
        from tsenet.baselines.dynamic_engine import DynamicEngine

        engine = DynamicEngine(self.net_, inputs, loss, seed=seed, n_threads=self._threads())
        return engine, engine.rewiring(self.growth, self.drop_share, self.rewirings)


def spread_links(sizes: Sequence[tuple[int, int]], n_links: int) -> list[int]:
    """Links of each layer of (D, S) units: in proportion to D + S, at most all D · S, ``n_links`` in all.

    Raises
    ------
    ValueError
        If there are too few for one link a layer, or more than the dense network has.
    """
    most = np.array([lower * upper for lower, upper in sizes], np.float64)
    if not len(sizes) <= n_links <= most.sum():
        raise ValueError(
            f"{n_links} weights cannot be spread over layers with {[int(m) for m in most]} places: "
            "change n_parameters or hidden"
        )
    share = np.array([lower + upper for lower, upper in sizes], np.float64)
    given = np.zeros(len(sizes))
    free = np.ones(len(sizes), bool)
    while True:  # layers that are full leave the rest to the others
        left = n_links - most[~free].sum()
        given = np.where(free, left * share / share[free].sum(), most)
        over = free & (given > most)
        if not over.any():
            break
        free &= ~over
    whole = np.clip(np.floor(given), 1, most).astype(np.int64)
    order = np.argsort(-(given - whole), kind="stable")
    for k in range(int(n_links - whole.sum())):  # what rounding left over
        room = [place for place in order if whole[place] < most[place]]
        whole[room[k % len(room)]] += 1
    while whole.sum() > n_links:
        whole[int(np.argmax(whole))] -= 1
    return [int(n) for n in whole]


def rewired(
    weight: NDArray[np.float32],
    mask: NDArray[np.bool_],
    n_changed: int,
    gradient: NDArray[np.float32] | None,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """The links (D, S) after the ``n_changed`` weakest are dropped and as many are grown.

    Grown are the absent links with the largest gradient, or random ones if it is None. A link that is dropped may
    be grown at once, as in RigL, by its gradient; at random only links that were absent before.
    """
    kept = mask.ravel().copy()
    there = np.flatnonzero(kept)
    n_changed = min(n_changed, there.size, kept.size - there.size)
    if n_changed < 1:
        return mask.copy()
    absent = np.flatnonzero(~kept)
    weakest = np.argsort(np.abs(weight.ravel()[there]), kind="stable")[:n_changed]
    kept[there[weakest]] = False
    if gradient is None:
        grown = rng.choice(absent, n_changed, replace=False)
    else:
        absent = np.flatnonzero(~kept)
        strength = np.abs(gradient.ravel()[absent])
        grown = absent[np.argsort(-strength, kind="stable")[:n_changed]]
    kept[grown] = True
    return kept.reshape(mask.shape)


def cosine_share(first: float, done: int, total: int) -> float:
    """The share of links that rewiring number ``done`` of ``total`` replaces."""
    return first / 2 * (1 + math.cos(math.pi * done / total))
