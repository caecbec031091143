"""The linear start: linear skips from the input and from every level to the outputs, before back-propagation.

Three linear models, each fitted to convergence: one on the input, one on the latents' units, and a class model that EM
extends over rows without labels. Cross-validation finds the weight of each in a blend, so a model that does not help
gets none. All are linear, so the blend is a set of weights for the network's linear skips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from tsenet.data.order import first_of_groups
from tsenet.network.batches import Inputs, is_bag
from tsenet.network.forward import levels_of
from tsenet.network.tsenet import TSENet
from tsenet.progress import Progress
from tsenet.training.class_model import ClassModel
from tsenet.training.comparison import losses_by_part, standard_error
from tsenet.training.linear_fit import Linear, Rows, blend_weights, fit_linear
from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss
from tsenet.training.rows import Labelled

__all__ = ["start_from_labels"]

_FOLDS = 5
_HELD_OUT = 2000  # labelled rows that choose penalties and blend
_FITTED = 30_000  # labelled rows that are fitted; with more, back-propagation does better
_PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)  # times the mean square length of a row
_ACTIVATIONS = (
    50_000_000  # of fitted rows that are held in memory, 200 MB; fewer rows of a larger network
)
_ROWS = 8192  # of activations at a time


def start_from_labels(
    net: TSENet, inputs: Inputs, labelled: Labelled, loss: Loss, seed: int, report: Progress
) -> None:
    """Set a network's linear skips so that its outputs are the blend; the weights of its feature layer become 0.

    Parameters
    ----------
    net : TSENet
        With linear skips, its units started by `tsenet.network.initial_weights.follow_model`.
    inputs : Inputs
        All rows (N, D), with and without labels.
    labelled : Labelled
    loss : Loss
    seed : int
        Of the folds.
    """
    with threadpool_limits(1, user_api="blas"):  # a product's sums must not depend on threads
        blend = _Blend(net, inputs, labelled, loss, np.random.default_rng(seed), report).find()
    sizes = net.wiring.layer_sizes
    weights = np.split(blend.weight, np.cumsum(sizes)[:-1])  # the input's, then each level's
    with torch.no_grad():
        for path, weight in zip(net.linear_skips, weights, strict=True):
            path.copy_(torch.from_numpy(weight))
        net.output.weight.zero_()
        net.output.bias.copy_(torch.from_numpy(blend.bias))


class _Part(NamedTuple):
    """Fits of one kind: a model of each fold's other rows and, last, one of all; and what they say of held-out rows."""

    models: list[Linear]
    held_out: NDArray[np.float64]  # (held out, C)


@dataclass
class _Blend:
    net: TSENet
    inputs: Inputs
    labelled: Labelled
    loss: Loss
    rng: np.random.Generator
    report: Progress

    def find(self) -> Linear:
        """The blend as one linear model of the input and all units: weight (D + units, C)."""
        n_units = max(1, sum(self.net.wiring.layer_sizes[1:]))
        n_fitted = min(_FITTED, max(_ACTIVATIONS // n_units, 2 * _HELD_OUT))
        few = self.labelled.take(self._spread(self.labelled, n_fitted))
        fold = self._folds(few)
        held = few.take(np.flatnonzero(fold >= 0))
        bag = self.has_classes and is_bag(self.inputs.values)
        self.report.start("first weights", 2 + bag)
        x, h = self._sources(few)
        on_input = self._cross_validated(x, few, fold)
        self.report.advance(1, "from the input")
        on_units = self._cross_validated(h, few, fold)
        self.report.advance(1, "from the units")
        parts = [on_input, on_units]
        share = self._shares(parts, held)
        if bag:
            parts.append(self._class_part(x, few, fold, parts, share))
            share = self._shares(parts, held)
            self.report.advance(1, "from rows without labels")
        self.report.finish("shares " + " ".join(f"{part:.2g}" for part in share))
        final = [part.models[-1].scaled(amount) for part, amount in zip(parts, share, strict=True)]
        of_input = sum((model.weight for model in final[2:]), final[0].weight)
        bias = sum((model.bias for model in final[1:]), final[0].bias)
        return Linear(np.concatenate([of_input, final[1].weight]), bias)

    # ---- labelled rows

    @property
    def has_classes(self) -> bool:
        """Whether a target is one of several classes."""
        return isinstance(self.loss, BinaryLoss | MulticlassLoss)

    def _classes(self, targets: NDArray[Any]) -> NDArray[np.int64]:
        """Class numbers, or zeros where targets are no classes: (n,)."""
        return targets.astype(np.int64) if self.has_classes else np.zeros(len(targets), np.int64)

    def _spread(self, labelled: Labelled, n_most: int) -> NDArray[np.int64]:
        """Numbers of at most ``n_most`` of some labelled rows, every class with its share."""
        by_class = self._classes(labelled.targets)
        if by_class.size <= n_most:
            return np.arange(by_class.size)
        place = np.empty(by_class.size)
        for k in np.unique(by_class):
            own = self.rng.permutation(np.flatnonzero(by_class == k))
            place[own] = (np.arange(own.size) + 0.5) / own.size
        return np.sort(np.argsort(place, kind="stable")[:n_most])

    def _folds(self, few: Labelled) -> NDArray[np.int64]:
        """Fold of each row, every class spread over all of them; −1: never held out. Many rows need one fold: (n,).

        Duplicate rows are in the same fold: one that was fitted says nothing about new rows.
        """
        first, group = first_of_groups(few.duplicate_groups)
        if first.size < _FOLDS:
            first = group = np.arange(few.rows.size)
        few = few.take(first)
        n_groups = first.size
        fold = np.full(n_groups, -1)
        if n_groups > 2 * _HELD_OUT:
            fold[self._spread(few, _HELD_OUT)] = 0
        else:
            shuffled = self.rng.permutation(n_groups)
            by_class = shuffled[np.argsort(self._classes(few.targets)[shuffled], kind="stable")]
            fold[by_class] = np.arange(n_groups) % min(_FOLDS, n_groups)
        return fold[group]

    def _sources(self, labelled: Labelled) -> tuple[Rows, Rows]:
        """Inputs and activations of some rows."""
        return self.inputs.values[labelled.rows], levels_of(self.net, self.inputs, labelled.rows)

    # ---- linear parts

    def _cross_validated(self, rows: Rows, few: Labelled, fold: NDArray[np.int64]) -> _Part:
        """Fits with the largest penalty that is as good on held-out rows as the best, up to a standard error.

        New rows are less like the labelled ones than these are like each other; and too large a penalty does little
        harm, as the blend rescales the outputs.
        """
        squares = rows.multiply(rows) if isinstance(rows, csr_array) else np.square(rows)
        length = max(float(squares.sum()) / rows.shape[0], 1e-12)
        held = few.take(np.flatnonzero(fold >= 0))
        folds = range(int(fold.max()) + 1)
        tried: list[tuple[float, _Part, NDArray[np.float64]]] = []
        models: list[Linear | None] = [None for _ in folds]
        for factor in _PENALTIES:
            fits = [self._fit(rows, few, fold != k, factor * length, models[k]) for k in folds]
            part = _Part(fits, self._held_out(fits, rows, fold))
            losses = losses_by_part(self.loss, part.held_out, held.targets, held.weights)
            tried.append((factor * length, part, losses))
            if len(tried) > 1 and tried[-1][2].mean() >= tried[-2][2].mean():
                break
            models = [*fits]
        best = min((losses for *_, losses in tried), key=np.mean)
        bound = best.mean() + standard_error(best)
        penalty, part, _ = next(one for one in tried if one[2].mean() <= bound)
        everything = np.ones(fold.size, bool)
        part.models.append(self._fit(rows, few, everything, penalty, part.models[0]))
        return part

    def _fit(
        self,
        rows: Rows,
        few: Labelled,
        which: NDArray[np.bool_],
        penalty: float,
        start: Linear | None,
    ) -> Linear:
        seen = few.take(np.flatnonzero(which))
        return fit_linear(rows[which], seen.targets, seen.weights, self.loss, penalty, start)

    def _held_out(
        self, models: list[Linear], rows: Rows, fold: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Outputs of each row that is held out once, by the model of the other rows: (held out, C)."""
        outputs = np.empty((fold.size, self.loss.n_outputs))
        for k in range(int(fold.max()) + 1):
            outputs[fold == k] = models[k](rows[fold == k])
        return outputs[fold >= 0]

    def _shares(self, parts: list[_Part], held: Labelled) -> NDArray[np.float64]:
        """How much of each part makes the best blend of held-out rows: (parts,)."""
        held_out = [part.held_out for part in parts]
        return blend_weights(held_out, held.targets, held.weights, self.loss)

    # ---- rows without labels

    def _class_part(
        self,
        x: Rows,
        few: Labelled,
        fold: NDArray[np.int64],
        parts: list[_Part],
        share: NDArray[np.float64],
    ) -> _Part:
        """Class models of all rows that begin with what the other parts guess."""
        values = self.inputs.values
        assert not isinstance(values, np.ndarray)
        model = ClassModel(values)
        classes = self._classes(few.targets)
        found = []
        guesses = self._guesses(parts, share)
        for k, guess in enumerate(guesses):
            seen = fold != k
            by_class = model.learn(self.loss.predict(guess), few.rows[seen], classes[seen])
            found.append(self._as_outputs(by_class))
        return _Part(found, self._held_out(found, x, fold))

    def _guesses(self, parts: list[_Part], share: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Outputs (N, C) for all rows of the blend of each fold, and of all: one pass over the activations."""
        (on_input, *_), (on_units, *_) = parts
        n_models, n_outputs = len(on_input), self.loss.n_outputs
        of_units = np.concatenate([model.weight for model in on_units], axis=1) * share[1]
        of_input = np.concatenate([model.weight for model in on_input], axis=1) * share[0]
        bias = np.concatenate(
            [a.bias * share[0] + b.bias * share[1] for a, b in zip(on_input, on_units, strict=True)]
        )
        outputs = Linear(of_input, bias)(self.inputs.values)
        for start in range(0, len(self.inputs), _ROWS):
            rows = np.arange(start, min(start + _ROWS, len(self.inputs)))
            h = levels_of(self.net, self.inputs, rows)
            outputs[rows] += h @ of_units.astype(h.dtype)
        return [outputs[:, k * n_outputs : (k + 1) * n_outputs] for k in range(n_models)]

    def _as_outputs(self, by_class: Linear) -> Linear:
        """Two classes have one output, the difference."""
        if self.loss.n_outputs > 1:
            return by_class
        weight = by_class.weight[:, 1:] - by_class.weight[:, :1]
        return Linear(weight, by_class.bias[1:] - by_class.bias[:1])
