"""The linear teacher: a linear model of the input that teaches the network about rows without labels.

With few labels it does most of the work. It is a blend of up to five linear models, each cross-validated on the
labelled rows:

1. penalised regression on the input;
2. on bags of words, the same on the leading singular directions of all rows, labelled or not;
3. on bags of words, naive Bayes refined by EM over the rows without labels (Nigam et al., 2000), which starts from
   what the others predict;
4. if there are embeddings from a pretrained encoder, penalised regression on these;
5. and the means of the classes among them, refined by EM as naive Bayes is.

Embeddings count in so far as the blend with them clearly errs less on held-out rows than the one without. The only
labelled row of a class is never held out; with one label for each class, nothing is cross-validated.

A sum of linear models is one linear model, so without embeddings it can also become the network's linear skip.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.utils.extmath import randomized_svd

from tsenet._system.threads import blas_threads
from tsenet.data.scaling import unit_rows
from tsenet.network.inputs import is_bag
from tsenet.progress import Progress
from tsenet.training.examples import Examples
from tsenet.training.losses import Loss, RegressionLoss
from tsenet.training.scores import Score

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.floating[Any]] | csr_array


@dataclass(frozen=True)
class TeacherSettings:
    """The numbers of the linear teacher, each with what it rests on: a measurement, or the reason for its size."""

    # ---- folds
    folds: int = 5  # as is usual
    # Labelled rows that choose penalties and blend: a standard error of a point.
    max_held_out: int = 2000
    max_fitted: int = 30_000  # labelled rows; with more, back-propagation does better
    n_parts: int = 10  # of held-out rows, whose losses show how uncertain a mean is

    # ---- linear models
    # Times the mean square length of a row; tried from the largest on, until one is worse than the last.
    penalties: tuple[float, ...] = (
        30.0,
        10.0,
        3.0,
        1.0,
        0.3,
        0.1,
        0.03,
        0.01,
        3e-3,
        1e-3,
        3e-4,
        1e-4,
        3e-5,
        1e-5,
    )
    # Of a fit to soft targets of every row, where the teacher read embeddings.
    soft_penalty: float = 0.3
    # As latent semantic analysis usually takes. On validation rows of eight text sets, 100 and 400 labels, two to four
    # draws, 50 of them gained the teacher .4 points in the mean, but the network that it teaches −.1; 200 cost .1.
    n_directions: int = 100
    # Up to so many sparse rows are fitted in the space that they span: a matter of time alone.
    max_spanned: int = 1_000
    many_labels: int = 10_000  # from here on, singular directions and EM add nothing
    # With a memory of 10 L-BFGS takes as many steps, each at twice the cost; with a lower tolerance it took twice as
    # long and changed no accuracy by more than .1 points.
    lbfgs_steps: int = 100
    lbfgs_tolerance: float = 1e-5
    lbfgs_memory: int = 5

    # ---- the blend
    max_factor: float = 5.0  # by which confidence is matched: a guard
    # Where every class has one label, no row can be held out: penalty, and the last part's share of the blend.
    unchecked_penalty: float = 0.1
    unchecked_share: float = 0.7
    # Standard errors by which embeddings must lower the loss to count in full.
    clear_gain: float = 2.0
    blend_penalty: float = 1e-3  # keeps the weights of a blend finite where its parts never err

    # ---- naive Bayes and class means, by EM
    # On the same rows: one step −.4, six +.1; half the sharpness +.2, twice −.1; .1 as pseudo-count −.2, .6 +.1. With
    # half the sharpness the network gained nothing.
    em_steps: int = 3
    # A row counts as so many words, however long it is: its words are not independent, and a model that is sure of
    # every row learns nothing from them.
    em_sharpness: float = 3.0
    em_spread: float = 1.3  # deviation of the outputs of class means, before the sharpness
    em_pseudo_count: float = 0.25  # of a word in every class, in units of a typical entry


SETTINGS = TeacherSettings()
_INPUT, _EMBEDDINGS = 0, 1  # what a part of the teacher reads
_LBFGS = {
    "maxiter": SETTINGS.lbfgs_steps,
    "ftol": SETTINGS.lbfgs_tolerance,
    "maxcor": SETTINGS.lbfgs_memory,
}


# ---- linear models


class Linear(NamedTuple):
    """Outputs (n, C) of rows (n, D): ``rows @ weight + bias``."""

    weight: Floats  # (D, C)
    bias: Floats  # (C,)

    def __call__(self, rows: Rows) -> Floats:
        """Outputs of some rows."""
        return np.asarray(rows @ self.weight.astype(rows.dtype), np.float64) + self.bias

    def scaled(self, factor: float) -> Linear:
        """All outputs times a factor."""
        return Linear(self.weight * factor, self.bias * factor)


def fit_linear(
    rows: Rows,
    targets: NDArray[Any],
    weights: Floats | None,
    loss: Loss,
    penalty: float,
    start: Linear | None = None,
    free_bias: bool = True,
) -> Linear:
    """Minimise n · loss + penalty/2 · |weight|² by L-BFGS; squared error on dense rows in closed form.

    Parameters
    ----------
    rows : (n, D), dense or CSR
    targets, weights
        As the loss takes them.
    penalty : float
        Of the weights; biases have none.
    start : Linear, optional
        Initial weights, such as those of a fit with another penalty.
    free_bias : bool
        Whether to fit biases; otherwise they are 0.
    """
    if isinstance(loss, RegressionLoss) and isinstance(rows, np.ndarray):
        return _ridge(rows, targets.reshape(len(targets), -1), weights, penalty)

    n_rows, n_inputs = rows.shape
    shape = (n_inputs, loss.n_outputs)
    cut = n_inputs * loss.n_outputs
    decay = penalty / n_rows

    def value(parameters: Floats) -> tuple[float, Floats]:
        """The objective divided by n, and its gradient."""
        weight = parameters[:cut].reshape(shape)  # (D, C)
        bias = parameters[cut:]
        mean, slope = loss.gradient(Linear(weight, bias)(rows), targets, weights)

        of_weight = rows.T @ slope.astype(rows.dtype) + decay * weight
        of_bias = slope.sum(axis=0) * free_bias
        gradient = np.concatenate([of_weight.ravel(), of_bias])
        return mean + 0.5 * decay * float(np.vdot(weight, weight)), gradient

    first = np.zeros(cut + loss.n_outputs)
    if start is not None:
        first = np.concatenate([start.weight.ravel(), start.bias])

    found = minimize(value, first, jac=True, method="L-BFGS-B", options=_LBFGS)
    return Linear(found.x[:cut].reshape(shape), found.x[cut:])


def _ridge(
    rows: NDArray[np.floating[Any]],
    targets: Floats,
    weights: Floats | None,
    penalty: float,
) -> Linear:
    """The same minimum for squared error on dense rows, exactly; unknown targets (NaN) are left out.

    L-BFGS would need thousands of steps where columns are nearly collinear, as in spectra.
    """
    from sklearn.linear_model import Ridge  # takes half a second, for those who need it

    weight = np.zeros((rows.shape[1], targets.shape[1]))
    bias = np.zeros(targets.shape[1])
    for c in range(targets.shape[1]):
        known = ~np.isnan(targets[:, c])
        if known.sum() < 2:
            continue

        of_row = None
        if weights is not None:
            of_row = weights[known] * (known.sum() / weights[known].sum())

        # The loss is a mean over all known entries, so a column's errors count by 1 / n_outputs.
        model = Ridge(alpha=0.5 * penalty * targets.shape[1])
        model.fit(rows[known].astype(np.float64), targets[known, c], sample_weight=of_row)
        weight[:, c] = model.coef_
        bias[c] = model.intercept_
    return Linear(weight, bias)


def fit_student(taught: Examples, loss: Loss) -> Linear:
    """Fit a linear model to soft targets of all rows, or nearly all.

    Parameters
    ----------
    taught : Examples
        Rows with probabilities as targets: (n,) for two classes, else (n, C).
    loss : Loss
    """
    values = taught.inputs.values[taught.rows]
    with blas_threads(1):
        penalty = SETTINGS.soft_penalty * _mean_square_length(values)
        return fit_linear(values, taught.targets, None, loss, penalty, free_bias=not is_bag(values))


# ---- classes of rows without labels


class NaiveBayesEM:
    """Multinomial naive Bayes: outputs are log P(word | class), for rows of length 1.

    Parameters
    ----------
    rows : CSR (N, D)
        All rows, not negative; each is brought to length 1.
    """

    def __init__(self, rows: csr_array) -> None:
        self.rows: csr_array = unit_rows(rows.astype(np.float64))
        self.words: Any = self.rows.T.tocsr()
        typical = float(self.rows.data.mean()) if self.rows.nnz else 1.0
        self.pseudo = SETTINGS.em_pseudo_count * typical

    def fit(self, share: Floats) -> Linear:
        """The best model given P(class | row): (N, K)."""
        counts = np.asarray(self.words @ share) + self.pseudo  # (D, K)
        logarithm = np.log(counts) - np.log(counts.sum(axis=0))
        prior = np.log(share.sum(axis=0) + 1.0)

        # Only differences between classes matter: centred, the weights of common words are near 0.
        weight = logarithm - logarithm.mean(axis=1, keepdims=True)
        return Linear(weight, (prior - prior.mean()) / SETTINGS.em_sharpness)


class ClassMeansEM:
    """Classes as means of dense vectors (N, d): outputs grow with the closeness to the mean."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows

    def fit(self, share: Floats) -> Linear:
        """The best model given P(class | row): (N, K)."""
        mean = self.rows.T @ (share / np.maximum(share.sum(axis=0), 1e-12))  # (d, K)

        # −½ |x − mean|² is mean · x − ½ |mean|², but for what all classes have alike.
        weight = mean - mean.mean(axis=1, keepdims=True)
        bias = -0.5 * np.square(mean).sum(axis=0)
        found = Linear(weight, bias - bias.mean())
        return found.scaled(SETTINGS.em_spread / max(float(found(self.rows).std()), 1e-12))


def refine_by_em(
    model: NaiveBayesEM | ClassMeansEM,
    guess: Floats,
    known: Ints,
    classes: Ints,
    ignored: Ints,
) -> Linear:
    """Refine a guess of P(class | row), (N, K), given the classes of the ``known`` rows, by a model of each class.

    Rows that are ``ignored`` do not take part.
    """
    share = guess.copy()
    for _ in range(SETTINGS.em_steps):
        share[ignored] = 0.0
        share[known] = 0.0
        share[known, classes] = 1.0
        found = model.fit(share)
        share = softmax(SETTINGS.em_sharpness * found(model.rows), axis=1)
    return found


# ---- the teacher


def stratified_folds(
    labelled: Examples, loss: Loss, n_folds: int, rng: np.random.Generator
) -> Ints:
    """Fold of each row, (n,): every class has its share of each fold, and duplicates are in the same fold.

    A duplicate of a row that was fitted says nothing about new rows. Where there are fewer different rows than folds,
    there are fewer folds, and duplicates may be divided.
    """
    classes = labelled.targets if loss.has_classes else np.zeros(labelled.n_rows, np.int64)
    groups = labelled.duplicate_groups
    if groups is None:
        groups = np.arange(classes.size)
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    if first.size < SETTINGS.folds:
        first = group = np.arange(classes.size)

    # The groups are shuffled, sorted by class, and dealt out to the folds in turn.
    shuffled = rng.permutation(first.size)
    by_class = shuffled[np.argsort(classes[first][shuffled], kind="stable")]
    fold = np.empty(first.size, np.int64)
    fold[by_class] = np.arange(first.size) % min(n_folds, first.size)
    return fold[group]


class LinearTeacher(NamedTuple):
    """A fitted teacher, and what its folds predicted for rows that they had not seen.

    Attributes
    ----------
    model : Linear
        Of all labelled rows; without the parts that read embeddings.
    of_embeddings : Linear or None
        The sum of the parts that read embeddings.
    outputs : float64 (N, C)
        For all rows, by all parts.
    fold : int64 (n,)
        Fold of each labelled row; −1 for rows that were never held out.
    held_out : float64 (held out, C)
        For the rows with a fold, in their order, by a model fitted without that fold.
    without : callable
        ``without(k)``: outputs for all rows, (N, C), of the teacher fitted without fold k.
    """

    model: Linear
    of_embeddings: Linear | None
    outputs: Floats
    fold: Ints
    held_out: Floats
    without: Callable[[int], Floats]


def fit_linear_teacher(
    labelled: Examples,
    loss: Loss,
    seed: int,
    report: Progress,
    ignored: Ints | None = None,
    embeddings: Floats | None = None,
) -> LinearTeacher:
    """Fit the linear teacher.

    Parameters
    ----------
    labelled : Examples
        Rows with labels; its table has all rows (N, D).
    loss : Loss
    seed : int
        Of the folds and of the singular directions.
    report : Progress
    ignored : int64 array, optional
        Rows without labels that EM does not learn from.
    embeddings : (N, d), optional
        Other vectors of all rows, from a pretrained encoder.
    """
    ignored = np.empty(0, np.int64) if ignored is None else ignored
    with blas_threads(1):  # a product's sums must not depend on threads
        report.start("linear teacher", None)
        teacher = _Fit(labelled, loss, seed, ignored, embeddings).run()
        report.finish()
        return teacher


class _Part(NamedTuple):
    """One linear model: fitted without each fold in turn and, last, to all rows; and its held-out outputs."""

    models: list[Linear]
    held_out: Floats  # (held out, C)
    source: int = _INPUT  # what it reads

    def along(self, directions: Floats) -> _Part:
        """The same models of rows (n, D), if they were fitted to the rows' coordinates along directions (D, r)."""
        models = [Linear(directions @ model.weight, model.bias) for model in self.models]
        return self._replace(models=models)


class _Fit:
    """The labelled rows that are fitted, their folds, and the steps of the fit."""

    def __init__(
        self, labelled: Examples, loss: Loss, seed: int, ignored: Ints, embeddings: Floats | None
    ) -> None:
        self.loss = loss
        self.seed = seed
        self.ignored = ignored
        self.sources: list[Any] = [labelled.inputs.values]  # all rows, as the parts read them
        if embeddings is not None:  # their mean says nothing about classes
            self.mean = embeddings.mean(axis=0)
            self.sources.append(embeddings - self.mean)

        self.bag = self.loss.has_classes and is_bag(labelled.inputs.values)

        # Which labelled rows are fitted, and the fold of each.
        rng = np.random.default_rng(seed)
        chosen = np.arange(labelled.n_rows)
        if chosen.size > SETTINGS.max_fitted:
            folds = stratified_folds(labelled, loss, -(-chosen.size // SETTINGS.max_fitted), rng)
            chosen = chosen[folds == 0]

        self.fitted = labelled.take(chosen)
        n_folds = max(SETTINGS.folds, -(-chosen.size // SETTINGS.max_held_out))
        self.fold = stratified_folds(self.fitted, loss, n_folds, rng)
        if chosen.size > 2 * SETTINGS.max_held_out:  # with many rows one fold is enough
            self.fold[self.fold > 0] = -1

        # A class without training rows cannot be predicted: its rows are never held out.
        classes = self.fitted.targets
        for k in range(int(self.fold.max()) + 1 if self.loss.has_classes else 0):
            is_held = self.fold == k
            is_lost = is_held & ~np.isin(classes, classes[~is_held])
            self.fold[is_lost] = -1

        self.held = self.fitted.take(np.flatnonzero(self.fold >= 0))
        self.fold_of_all = np.full(labelled.n_rows, -1)
        self.fold_of_all[chosen] = self.fold

    def run(self) -> LinearTeacher:
        """Fit the parts one after another, and blend them."""
        values, *embeddings = self.sources
        x = values[self.fitted.rows]  # (n, D)
        parts = [self._of_input(x)]

        # Of few labelled bags of words also a model along the leading directions of all rows.
        unsupervised = self.bag and self.fitted.n_rows < SETTINGS.many_labels
        if unsupervised and min(values.shape) > 2 * SETTINGS.n_directions:
            *_, found = randomized_svd(
                values, SETTINGS.n_directions, n_iter=4, random_state=self.seed
            )
            directions = found.T.astype(np.float64)  # (D, 100)
            parts.append(self._cross_validated(x @ directions).along(directions))

        # The parts so far, and those that read embeddings.
        more = [*parts]
        for vectors in embeddings:
            part = self._cross_validated(vectors[self.fitted.rows])
            more.append(part._replace(source=_EMBEDDINGS))
            if unsupervised:
                more.append(self._refined(ClassMeansEM(vectors), _EMBEDDINGS, more))

        # Last a model of each class over all rows, which begins with what the others predict.
        if unsupervised:
            bayes = NaiveBayesEM(values)
            parts.append(self._refined(bayes, _INPUT, parts))
            if embeddings:
                more.append(self._refined(bayes, _INPUT, more))

        share = self._blend(parts)
        if embeddings:
            parts, share = self._with_embeddings(parts, share, more)

        model, *others = self._sums(parts, share, -1)
        of_embeddings = None
        for weight, bias in others:  # of embeddings as they are given, not centred
            of_embeddings = Linear(weight, bias - self.mean @ weight)
        return LinearTeacher(
            model=model,
            of_embeddings=of_embeddings,
            outputs=self._outputs(parts, share, -1),
            fold=self.fold_of_all,
            held_out=_blended(parts, share),
            without=lambda fold: self._outputs(parts, share, fold),
        )

    def _with_embeddings(
        self, parts: list[_Part], share: Floats, more: list[_Part]
    ) -> tuple[list[_Part], Floats]:
        """A blend, and one of parts on embeddings too, which counts in so far as it clearly errs less."""
        of_more = self._blend(more)
        trust = 1.0
        if self.held.n_rows:
            gain = self._losses(parts, share) - self._losses(more, of_more)
            clear = max(SETTINGS.clear_gain * standard_error(gain), 1e-12)
            trust = np.clip(gain.mean() / clear, 0, 1)
        return parts + more, np.concatenate([(1 - trust) * share, trust * of_more])

    def _sums(self, parts: list[_Part], share: Floats, k: int) -> list[Linear]:
        """The blend of the parts' models number ``k``: one model for each source that they read."""
        scaled = [part.models[k].scaled(amount) for part, amount in zip(parts, share, strict=True)]
        sums = []
        for source in range(1 + max(part.source for part in parts)):
            chosen = [one for one, part in zip(scaled, parts, strict=True) if part.source == source]
            weights, biases = zip(*chosen, strict=True)
            sums.append(Linear(np.sum(weights, axis=0), np.sum(biases, axis=0)))
        return sums

    def _outputs(self, parts: list[_Part], share: Floats, k: int) -> Floats:
        """Outputs of all rows by the blend of the parts' models number ``k``: (N, C)."""
        models = self._sums(parts, share, k)
        outputs = [model(rows) for model, rows in zip(models, self.sources, strict=False)]
        return np.sum(outputs, axis=0)  # type: ignore[no-any-return]

    def _of_input(self, rows: Rows) -> _Part:
        """The model of the input; of few sparse rows, by their coordinates in the space that they span.

        The best weights are sums of rows, and a rotation changes neither outputs nor penalty: the fits are the same
        up to the tolerance at which they stop, in n dimensions instead of D.
        """
        n_rows, n_columns = rows.shape
        few = n_rows <= min(SETTINGS.max_spanned, n_columns // 2)
        if isinstance(rows, np.ndarray) or not few or isinstance(self.loss, RegressionLoss):
            return self._cross_validated(rows)

        coordinates, directions = _spanned(rows)
        return self._cross_validated(coordinates).along(directions)

    def _cross_validated(self, rows: Rows) -> _Part:
        """Fits with the largest penalty that is as good on held-out rows as the best, up to a standard error.

        New rows are less like the labelled ones than these are like each other; and too large a penalty does little
        harm, as the blend rescales the outputs. Squared error takes the best penalty: where columns are nearly
        collinear, as in spectra, a larger one costs much. On bags of words there is no bias: with few labels it would
        only repeat how many rows of each class happened to be labelled.
        """
        length = _mean_square_length(rows)
        fold = self.fold
        held = self.held
        folds = range(int(fold.max()) + 1)
        tried: list[tuple[float, _Part, Floats]] = []
        models: list[Linear | None] = [None for _ in folds]

        def fit(which: NDArray[np.bool_], penalty: float, start: Linear | None) -> Linear:
            seen = self.fitted.take(which)
            return fit_linear(
                rows[which],
                seen.targets,
                seen.weights,
                self.loss,
                penalty,
                start,
                free_bias=not self.bag,
            )

        everything = np.ones(fold.size, bool)
        if not held.n_rows:
            model = fit(everything, SETTINGS.unchecked_penalty * length, None)
            return _Part([model], np.empty((0, self.loss.n_outputs)))

        for factor in SETTINGS.penalties:
            fits = [fit(fold != k, factor * length, models[k]) for k in folds]
            part = _Part(fits, self._held_out(fits, rows))
            losses = losses_by_part(self.loss, held, part.held_out)
            tried.append((factor * length, part, losses))
            if len(tried) > 1 and tried[-1][2].mean() >= tried[-2][2].mean():
                break
            models = [*fits]

        best = min((losses for *_, losses in tried), key=np.mean)
        bound = best.mean()
        if not isinstance(self.loss, RegressionLoss):
            bound += standard_error(best)
        good = (one for one in tried if one[2].mean() <= bound)
        penalty, part, _ = next(good, tried[0])  # the largest penalty if no loss is finite

        part.models.append(fit(everything, penalty, part.models[0]))
        return part

    def _held_out(self, models: list[Linear], rows: Rows) -> Floats:
        """Outputs of each row that is held out once, by the model fitted without it: (held out, C)."""
        outputs = np.empty((self.fold.size, self.loss.n_outputs))
        for k in range(int(self.fold.max()) + 1):
            outputs[self.fold == k] = models[k](rows[self.fold == k])
        return outputs[self.fold >= 0]

    def _blend(self, parts: list[_Part]) -> Floats:
        """Weights with which the parts make the best blend of held-out rows: (parts,)."""
        if not self.held.n_rows:  # the last part has learned from all others and all rows
            share = np.full(len(parts), (1 - SETTINGS.unchecked_share) / max(len(parts) - 1, 1))
            share[-1] = SETTINGS.unchecked_share
            outputs = [part.models[-1](self.sources[part.source]) for part in parts]
            return share / [max(float(each.std()), 1e-12) for each in outputs]

        return blend_weights(self.loss, self.held, [part.held_out for part in parts])

    def _losses(self, parts: list[_Part], share: Floats) -> Floats:
        return losses_by_part(self.loss, self.held, _blended(parts, share))

    def _refined(
        self, model: NaiveBayesEM | ClassMeansEM, source: int, parts: list[_Part]
    ) -> _Part:
        """Models refined by EM over all rows, which begin with what the other parts predict."""
        fitted = self.fitted
        share = self._blend(parts)
        classes = fitted.targets.astype(np.int64)
        found = []
        for k in range(len(parts[0].models)):  # without each fold, and with all
            guess = self.loss.predict(self._outputs(parts, share, k))
            seen = self.fold != k
            ignored = np.concatenate([fitted.rows[~seen], self.ignored])
            by_class = refine_by_em(model, guess, fitted.rows[seen], classes[seen], ignored)
            if self.loss.n_outputs == 1:  # two classes have one output, the difference
                weight, bias = by_class
                by_class = Linear(weight[:, 1:] - weight[:, :1], bias[1:] - bias[:1])
            found.append(by_class)

        held_out = self._held_out(found, self.sources[source][fitted.rows])
        return _Part(found, held_out, source)


def _blended(parts: list[_Part], share: Floats) -> Floats:
    """Outputs of the held-out rows: (held out, C)."""
    return np.tensordot(share, np.stack([part.held_out for part in parts]), axes=1)


def _mean_square_length(rows: Rows) -> float:
    squares = rows.multiply(rows) if isinstance(rows, csr_array) else np.square(rows)
    mean = float(squares.sum()) / int(rows.shape[0])
    return max(mean, 1e-12)


def _spanned(rows: csr_array) -> tuple[Floats, Floats]:
    """Coordinates (n, r) of rows (n, D) in the space that they span, and its orthonormal directions (D, r)."""
    exact = rows.astype(np.float64)
    squares, vectors = np.linalg.eigh((exact @ exact.T).toarray())  # of the inner products (n, n)
    is_spanned = squares > 1e-10 * max(float(squares[-1]), 1e-300)
    length = np.sqrt(squares[is_spanned])
    vectors = vectors[:, is_spanned]
    return vectors * length, np.asarray(exact.T @ (vectors / length))


# ---- outputs of models on rows they have not seen


def blend_weights(loss: Loss, held: Examples, parts: list[Floats]) -> Floats:
    """Non-negative weights for outputs (n, C) of several models such that their sum has the smallest loss: (parts,)."""
    size = np.array([max(float(part.std()), 1e-12) for part in parts])
    unit = np.stack(parts) / size[:, None, None]  # (parts, n, C), each of deviation 1

    def value(amount: Floats) -> tuple[float, Floats]:
        """Mean loss with a small penalty, and its gradient."""
        outputs = np.tensordot(amount, unit, axes=1)  # (n, C)
        mean, slope = loss.gradient(outputs, held.targets, held.weights)
        gradient = np.tensordot(unit, slope, axes=2) + 2 * SETTINGS.blend_penalty * amount
        return mean + SETTINGS.blend_penalty * float(amount @ amount), gradient

    first = np.full(len(parts), 0.5)
    bounds = [(0, None)] * len(parts)
    found = minimize(value, first, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x / size)


def losses_by_part(loss: Loss, held: Examples, outputs: Floats) -> Floats:
    """Mean losses of outputs (n, C) over every tenth row: (10,), or one for each row if there are fewer."""
    losses = []
    for first in range(min(SETTINGS.n_parts, held.n_rows)):
        every_tenth = np.arange(first, held.n_rows, SETTINGS.n_parts)
        part = held.take(every_tenth)
        losses.append(loss.gradient(outputs[every_tenth], part.targets, part.weights)[0])
    return np.array(losses)


def standard_error(values: Floats) -> float:
    """Standard error of the mean; 0 of a single value."""
    return float(values.std() / np.sqrt(max(values.size - 1, 1)))


def calibrated_score(loss: Loss) -> Score | None:
    """A score for validation: minus the loss that is left when the outputs are multiplied by the best factor.

    A network grows overconfident long before it errs more often. The recipe rescales it in the end, so this must not
    end the training. None for squared error, whose loss is the score.
    """
    if isinstance(loss, RegressionLoss):
        return None

    def score(held: Examples, outputs: Floats) -> float:
        (factor,) = blend_weights(loss, held, [outputs])
        return -loss.gradient(factor * outputs, held.targets, held.weights)[0]

    return score


def match_confidence(wanted: Floats, outputs: Floats, loss: Loss) -> float:
    """Factor for outputs (n, C) that gives their largest probabilities the mean of those of ``wanted`` (n, C)."""
    mean = loss.predict(wanted).max(axis=1).mean()

    def excess(logarithm: float) -> float:
        return float(loss.predict(np.exp(logarithm) * outputs).max(axis=1).mean() - mean)

    low = -np.log(SETTINGS.max_factor)
    high = np.log(SETTINGS.max_factor)
    if excess(low) >= 0 or excess(high) <= 0:  # outputs that are nearly constant
        return 1.0
    return float(np.exp(brentq(excess, low, high, xtol=1e-6)))
