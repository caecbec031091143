"""The linear start: a linear model of the input, fitted to the labels and, for bags of words, to all rows.

On bags of words it is a blend of three linear models: one of the words, one of the leading singular directions of all
rows, and a class model that EM extends over rows without labels. On other rows it is the first alone. Cross-validation
finds the penalty of each and its weight in the blend, so a model that does not help gets none. All are linear in the
input, so the blend is one matrix: the teacher of a network, or its linear skip from the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from tsenet.data.order import first_of_groups
from tsenet.network.batches import Inputs, is_bag
from tsenet.progress import Progress
from tsenet.training.class_model import ClassModel
from tsenet.training.comparison import losses_by_part, standard_error
from tsenet.training.linear_fit import Linear, Rows, blend_weights, fit_linear
from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss, RegressionLoss
from tsenet.training.rows import Labelled

__all__ = ["LinearStart", "fit_linear_start", "fit_to_all_rows"]

_FOLDS = 5
_HELD_OUT = 2000  # labelled rows that choose penalties and blend
_FITTED = 30_000  # labelled rows that are fitted; with more, back-propagation does better
# Times the mean square length of a row; tried from the largest on, until one is worse than the last.
_PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
_SOFT_PENALTY = 0.3  # where every row has a target, but a soft one
_DIRECTIONS = 100  # leading singular directions of a bag of words
_SPANNED = 1_000  # so few sparse rows are fitted in the space that they span
_MANY_LABELS = 10_000  # from so many on, singular directions and EM add nothing


class LinearStart(NamedTuple):
    """A fitted linear start and what it says about rows it has not seen.

    Attributes
    ----------
    model : Linear
        Fitted to all labelled rows: weight (D, C).
    fold : int64 (n,)
        Fold of each labelled row; −1: never held out.
    outputs : float64 (h, C)
        Outputs of the rows held out once, by a model fitted without their fold.
    """

    model: Linear
    fold: NDArray[np.int64]
    outputs: NDArray[np.float64]


def fit_linear_start(
    inputs: Inputs,
    labelled: Labelled,
    loss: Loss,
    seed: int,
    report: Progress,
    left_out: NDArray[np.int64] | None = None,
) -> LinearStart:
    """Fit the linear start.

    Parameters
    ----------
    inputs : Inputs
        All rows (N, D), with and without labels.
    labelled : Labelled
    loss : Loss
    seed : int
        Of the folds and of the singular directions.
    report : Progress
    left_out : int64 array, optional
        Rows without labels that the class model does not learn from.
    """
    left_out = np.empty(0, np.int64) if left_out is None else left_out
    with threadpool_limits(1, user_api="blas"):  # a product's sums must not depend on threads
        return _Fit(inputs, labelled, loss, seed, report, left_out).run()


def fit_to_all_rows(inputs: Inputs, taught: Labelled, loss: Loss) -> Linear:
    """Fit a linear model to soft targets of all rows, or nearly all.

    Parameters
    ----------
    inputs : Inputs
    taught : Labelled
        Rows with probabilities as targets: (n,) for two classes, else (n, C).
    loss : Loss
    """
    values = inputs.values[taught.rows]
    with threadpool_limits(1, user_api="blas"):
        penalty = _SOFT_PENALTY * _mean_square_length(values)
        return fit_linear(values, taught.targets, None, loss, penalty, free_bias=False)


def _mean_square_length(rows: Rows) -> float:
    squares = rows.multiply(rows) if isinstance(rows, csr_array) else np.square(rows)
    mean = float(squares.sum()) / int(rows.shape[0])
    return max(mean, 1e-12)


def _spanned(rows: csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Orthonormal directions (D, r) of the space that rows (n, D) span, and the rows' coordinates (n, r)."""
    exact = rows.astype(np.float64)
    square, turned = np.linalg.eigh((exact @ exact.T).toarray())
    there = square > 1e-10 * max(float(square[-1]), 1e-300)
    length, turned = np.sqrt(square[there]), turned[:, there]
    return turned * length, np.asarray(exact.T @ (turned / length))


class _Part(NamedTuple):
    """One linear model: fitted to each fold's other rows and, last, to all; and its outputs for held-out rows."""

    models: list[Linear]
    held_out: NDArray[np.float64]  # (held out, C)

    def along(self, directions: NDArray[np.float64]) -> _Part:
        """The same models of rows (n, D), if they were fitted to the rows' coordinates along directions (D, r)."""
        models = [Linear(directions @ model.weight, model.bias) for model in self.models]
        return _Part(models, self.held_out)


@dataclass
class _Fit:
    inputs: Inputs
    labelled: Labelled
    loss: Loss
    seed: int
    report: Progress
    left_out: NDArray[np.int64]

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def run(self) -> LinearStart:
        places = self._spread(self.labelled, _FITTED)
        few = self.labelled.take(places)
        fold = self._folds(few)
        held = few.take(np.flatnonzero(fold >= 0))
        bag = self.has_classes and is_bag(self.inputs.values)
        whole = bag and few.rows.size < _MANY_LABELS
        self.report.start("linear start", 1 + 2 * whole)
        x = self.inputs.values[few.rows]
        parts = [self._of_input(x, few, fold, free_bias=not bag)]
        self.report.advance(1, "input")
        if whole:
            directions = self._directions()
            if directions is not None:
                found = self._cross_validated(x @ directions, few, fold, free_bias=False)
                parts.append(found.along(directions))
            self.report.advance(1, "singular directions")
            share = self._shares(parts, held)
            parts.append(self._class_part(x, few, fold, parts, share))
            self.report.advance(1, "rows without labels")
        share = self._shares(parts, held)
        self.report.finish()
        final = [part.models[-1].scaled(amount) for part, amount in zip(parts, share, strict=True)]
        model = Linear(
            sum((one.weight for one in final[1:]), final[0].weight),
            sum((one.bias for one in final[1:]), final[0].bias),
        )
        outputs = sum(
            (amount * part.held_out for part, amount in zip(parts[1:], share[1:], strict=True)),
            share[0] * parts[0].held_out,
        )
        of_all = np.full(self.labelled.rows.size, -1)
        of_all[places] = fold
        return LinearStart(model, of_all, outputs)

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

    # ---- linear parts

    def _of_input(
        self, rows: Rows, few: Labelled, fold: NDArray[np.int64], free_bias: bool
    ) -> _Part:
        """The model of the input; of few sparse rows, by their coordinates in the space that they span.

        The best weights are sums of rows, and a rotation changes neither outputs nor penalty: the fits are the same
        up to the tolerance at which they stop, in n dimensions instead of D.
        """
        n_rows, n_columns = rows.shape
        if isinstance(rows, np.ndarray) or n_rows > min(_SPANNED, n_columns // 2):
            return self._cross_validated(rows, few, fold, free_bias)
        if isinstance(self.loss, RegressionLoss):
            return self._cross_validated(rows, few, fold, free_bias)
        coordinates, directions = _spanned(rows)
        return self._cross_validated(coordinates, few, fold, free_bias).along(directions)

    def _cross_validated(
        self, rows: Rows, few: Labelled, fold: NDArray[np.int64], free_bias: bool
    ) -> _Part:
        """Fits with the largest penalty that is as good on held-out rows as the best, up to a standard error.

        Squared error takes the best one: where columns are almost the same, as in spectra, a larger one costs much.

        New rows are less like the labelled ones than these are like each other; and too large a penalty does little
        harm, as the blend rescales the outputs. On bags of words there is no bias: with few labels it would only
        repeat how many rows of each class happened to be labelled.
        """
        length = _mean_square_length(rows)
        held = few.take(np.flatnonzero(fold >= 0))
        folds = range(int(fold.max()) + 1)
        tried: list[tuple[float, _Part, NDArray[np.float64]]] = []
        models: list[Linear | None] = [None for _ in folds]

        def fit(which: NDArray[np.bool_], penalty: float, start: Linear | None) -> Linear:
            seen = few.take(np.flatnonzero(which))
            return fit_linear(
                rows[which],
                seen.targets,
                seen.weights,
                self.loss,
                penalty,
                start,
                free_bias=free_bias,
            )

        for factor in _PENALTIES:
            fits = [fit(fold != k, factor * length, models[k]) for k in folds]
            part = _Part(fits, self._held_out(fits, rows, fold))
            losses = losses_by_part(self.loss, part.held_out, held.targets, held.weights)
            tried.append((factor * length, part, losses))
            if len(tried) > 1 and tried[-1][2].mean() >= tried[-2][2].mean():
                break
            models = [*fits]
        best = min((losses for *_, losses in tried), key=np.mean)
        exact = isinstance(self.loss, RegressionLoss)
        bound = best.mean() + (0.0 if exact else standard_error(best))
        good = (one for one in tried if one[2].mean() <= bound)
        penalty, part, _ = next(good, tried[0])  # the largest penalty if no loss is finite
        part.models.append(fit(np.ones(fold.size, bool), penalty, part.models[0]))
        return part

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

    def _directions(self) -> NDArray[np.float64] | None:
        """Leading singular directions of all rows: (D, 100); None where there are hardly as many."""
        from sklearn.utils.extmath import randomized_svd

        values = self.inputs.values
        if min(values.shape) <= 2 * _DIRECTIONS:
            return None
        *_, directions = randomized_svd(values, _DIRECTIONS, n_iter=4, random_state=self.seed)
        found: NDArray[np.float64] = directions.T.astype(np.float64)
        return found

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
        for k in range(len(parts[0].models)):
            guess = sum(
                amount * part.models[k](values) for part, amount in zip(parts, share, strict=True)
            )
            seen = fold != k
            left_out = np.concatenate([few.rows[~seen], self.left_out])
            by_class = model.learn(
                self.loss.predict(guess), few.rows[seen], classes[seen], left_out
            )
            found.append(self._as_outputs(by_class))
        return _Part(found, self._held_out(found, x, fold))

    def _as_outputs(self, by_class: Linear) -> Linear:
        """Two classes have one output, the difference."""
        if self.loss.n_outputs > 1:
            return by_class
        weight = by_class.weight[:, 1:] - by_class.weight[:, :1]
        return Linear(weight, by_class.bias[1:] - by_class.bias[:1])
