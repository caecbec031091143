"""The registry of rivals: scikit-learn estimators whose ``fit(X, y)`` takes word counts or a table, NaN = no label.

A name may be followed by a shape, parameters and a size: ``fnn:2048x3:weighting=counts``, ``tsenet:density=0.02``,
``fnn-sized@tsenet-paper`` (a dense network with as many parameters as another rival has on the same rows),
``tsenet@20000`` (pruned).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import NMF, TruncatedSVD
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import ComplementNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler, normalize
from sklearn.svm import LinearSVC
from sklearn.utils.extmath import randomized_svd

from reproduce.data import Fold
from reproduce.networks import (
    DenseNetwork,
    DynamicNetwork,
    PrunedNetwork,
    ValidatedNetwork,
    shape_of,
)
from reproduce.wirings import CONTROLS
from tsenet import Table, TSENetClassifier, TSENetRegressor
from tsenet._system.seeds import seed_sequence
from tsenet.data.words import stop_words_of
from tsenet.errors import DataError
from tsenet.estimators.structure import NetworkStructure, learn_structure
from tsenet.network.initial_weights import set_log_odds
from tsenet.progress import Progress

__all__ = ["RIVALS", "Rival", "make_rival", "n_parameters", "title_of"]

Floats = NDArray[np.float64]
N_COMPONENTS = 200
SEARCHED = (
    5_000  # from this many rows on, one held-out tenth chooses a setting instead of five folds
)


# ---- features, and labels that are missing


class Features(TransformerMixin, BaseEstimator):
    """The features of all rivals, learned from all rows, labelled or not.

    Word counts become (1 + ln count)·idf with rows of length 1, where English stop words have half their weight, as in
    a default TSE-Net: they tell subjects less than other words, but some classes more. With ``weighting="weighted"``
    counts only get these weights, with ``"counts"`` they stay as they are. Dense columns have mean 0 and deviation 1.
    """

    def __init__(self, names: Sequence[str] = (), weighting: str = "tfidf") -> None:
        self.names = names
        self.weighting = weighting

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn frequencies or scales."""
        if not sp.issparse(X):
            self.model_: Any = StandardScaler().fit(X)
            return self
        self.model_ = TfidfTransformer(sublinear_tf=True, norm=None).fit(X)
        stops = stop_words_of("english")
        self.weights_ = np.array([0.5 if name in stops else 1.0 for name in self.names] or 1.0)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features."""
        if not sp.issparse(X):
            return self.model_.transform(X)
        if self.weighting == "counts":
            return X
        values = self.model_.transform(X) if self.weighting == "tfidf" else X
        weighted = sp.csr_array(values.multiply(self.weights_))
        return normalize(weighted) if self.weighting == "tfidf" else weighted


class OnLabelled(BaseEstimator):
    """An estimator fitted to the rows that have a label; with several labels (N, C), one copy for each of them."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit on the rows with labels."""
        columns = [y] if y.ndim == 1 else list(y.T)
        self.models_ = []
        for column in columns:
            known = np.flatnonzero(~np.isnan(column))
            self.models_.append(clone(self.model).fit(X[known], column[known]))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the first target."""
        answer: NDArray[Any] = self.models_[0].predict(X)
        return answer

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, or of each label."""
        if len(self.models_) == 1:
            return np.asarray(self.models_[0].predict_proba(X))
        return np.column_stack([model.predict_proba(X)[:, -1] for model in self.models_])


class Tuned(BaseEstimator):
    """A classifier with the setting of best accuracy in cross-validation; its default where a class has one row."""

    def __init__(self, model: Any, grid: Mapping[str, Any], random_state: int = 0) -> None:
        self.model = model
        self.grid = grid
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Choose the setting and fit on all rows."""
        fewest = int(np.unique(y, return_counts=True)[1].min())
        if fewest < 2:
            self.model_ = clone(self.model).fit(X, y)
            return self
        split: Any = StratifiedShuffleSplit(1, test_size=0.1, random_state=self.random_state)
        if y.size < SEARCHED:
            split = StratifiedKFold(min(5, fewest), shuffle=True, random_state=self.random_state)
        search = GridSearchCV(self.model, dict(self.grid), cv=split, n_jobs=1)
        self.model_ = search.fit(X, y).best_estimator_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class."""
        answer: NDArray[Any] = self.model_.predict(X)
        return answer

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class."""
        return np.asarray(self.model_.predict_proba(X))


def logistic_regression(seed: int, weakest: float = 1e-2) -> Tuned:
    """Logistic regression; C from ``weakest`` to 100 by cross-validation."""
    strengths = [C for C in (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0) if weakest <= C]
    return Tuned(LogisticRegression(max_iter=1000), {"C": strengths}, seed)


# ---- classifiers that learn from rows without labels


class EMNaiveBayes(ClassifierMixin, BaseEstimator):
    """Multinomial naive Bayes fitted by EM to rows with and without labels (Nigam et al. 2000).

    An unlabelled row counts with a weight λ; λ and the smoothing α have the best accuracy in cross-validation on the
    labelled rows.
    """

    _WEIGHTS, _ALPHAS = (0.1, 0.3, 1.0, 0.01, 0.0), (0.1, 1.0)
    _ITERATIONS, _TOLERANCE = 20, 1e-3

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit to word counts; NaN marks rows without a label."""
        rows = sp.csr_array(X, dtype=np.float64)
        known, others = np.flatnonzero(~np.isnan(y)), np.flatnonzero(np.isnan(y))
        self.classes_, codes = np.unique(y[known], return_inverse=True)
        labelled, unlabelled = rows[known], rows[others]
        weights = self._WEIGHTS if others.size else (0.0,)
        settings = [(weight, alpha) for weight in weights for alpha in self._ALPHAS]
        best = settings[0]
        fewest = int(np.bincount(codes).min())
        if fewest > 1:
            folds = StratifiedKFold(min(5, fewest), shuffle=True, random_state=self.random_state)
            scores = np.zeros(len(settings))
            for fit, held in folds.split(codes, codes):
                for k, setting in enumerate(settings):
                    self._estimate(labelled[fit], codes[fit], unlabelled, *setting)
                    scores[k] += np.sum(self._joint(labelled[held]).argmax(axis=1) == codes[held])
            best = settings[int(scores.argmax())]
        self._estimate(labelled, codes, unlabelled, *best)
        return self

    def _estimate(
        self, rows: Any, codes: NDArray[Any], unlabelled: Any, weight: float, alpha: float
    ) -> None:
        one_hot = np.eye(self.classes_.size)[codes]
        words, sizes = (rows.T @ one_hot).T, one_hot.sum(axis=0)
        self._set(words, sizes, alpha)
        before = np.zeros((unlabelled.shape[0], sizes.size))
        for _ in range(self._ITERATIONS if weight and unlabelled.shape[0] else 0):
            posterior = softmax(self._joint(unlabelled), axis=1)
            added = weight * (unlabelled.T @ posterior).T
            self._set(words + added, sizes + weight * posterior.sum(axis=0), alpha)
            if np.abs(posterior - before).sum(axis=1).mean() < self._TOLERANCE:
                break
            before = posterior

    def _set(self, words: Floats, sizes: Floats, alpha: float) -> None:
        smooth = words + alpha
        self.feature_log_prob_ = np.log(smooth / smooth.sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            self.class_log_prior_ = np.log(sizes / sizes.sum())

    def _joint(self, rows: Any) -> Floats:
        joint: Floats = rows @ self.feature_log_prob_.T + self.class_log_prior_
        return joint

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class."""
        return np.asarray(softmax(self._joint(sp.csr_array(X, dtype=np.float64)), axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class."""
        answer: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return answer


class SelfTraining(ClassifierMixin, BaseEstimator):
    """Logistic regression that labels other rows in five rounds: the surest of each class, in the labels' shares."""

    _ROUNDS = 5

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit to features; NaN marks rows without a label."""
        known, others = np.flatnonzero(~np.isnan(y)), np.flatnonzero(np.isnan(y))
        first = logistic_regression(self.random_state).fit(X[known], y[known]).model_
        self.classes_, codes = np.unique(y[known], return_inverse=True)
        self.model_ = first
        if not others.size:
            return self
        shares = np.bincount(codes) / codes.size
        # with C below 1 all probabilities are near the shares and nothing is sure
        self.model_ = LogisticRegression(C=max(1.0, first.C), max_iter=1000).fit(X[known], y[known])
        for step in range(1, self._ROUNDS + 1):
            chances = self.model_.predict_proba(X[others])
            guess, sure = chances.argmax(axis=1), chances.max(axis=1)
            chosen = []
            for k, share in enumerate(shares):
                members = np.flatnonzero(guess == k)
                n_taken = round(share * others.size * step / self._ROUNDS)
                chosen.append(members[np.argsort(-sure[members], kind="stable")[:n_taken]])
            taken = np.concatenate(chosen)
            rows = np.concatenate([known, others[taken]])
            self.model_.fit(X[rows], np.concatenate([y[known], self.classes_[guess[taken]]]))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class."""
        answer: NDArray[Any] = self.model_.predict(X)
        return answer


class LinearTeacher(ClassifierMixin, BaseEstimator):
    """The linear teacher of a default TSE-Net without the network: one linear model of the input."""

    def __init__(self, names: Sequence[str] = (), random_state: int = 0) -> None:
        self.names = names
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit to all rows; NaN marks rows without a label."""
        from tsenet.data import BinaryRule, Scaling
        from tsenet.data.order import duplicate_groups
        from tsenet.training.examples import Examples
        from tsenet.training.linear_teacher import fit_linear_teacher
        from tsenet.training.losses import BinaryLoss, MulticlassLoss

        table = Table.of(X, self.names or None)
        known = ~np.isnan(y)
        self.classes_ = np.unique(y[known])
        targets = np.where(known, np.searchsorted(self.classes_, y), -1)
        self._rule, self._scaling = BinaryRule.learn(table), Scaling.learn(table)
        inputs = self.inputs(X)
        rows, groups = np.flatnonzero(known), duplicate_groups(table.values)
        labelled = Examples(inputs, rows, targets[rows], None, groups[rows])
        n_classes = self.classes_.size
        self._loss: Any = BinaryLoss() if n_classes == 2 else MulticlassLoss(n_classes)
        teacher = fit_linear_teacher(labelled, self._loss, self.random_state, Progress())
        self._linear = teacher.model
        self.n_parameters_ = int(self._linear.weight.size + np.size(self._linear.bias))
        return self

    def inputs(self, X: Any) -> Any:
        """Return rows as the teacher, and a TSE-Net, reads them."""
        from tsenet.network.inputs import Inputs

        return Inputs.of(self._scaling.apply(Table.of(X, self.names or None)), self._rule)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class."""
        return np.asarray(self._loss.predict(self._linear(self.inputs(X).values)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class."""
        answer: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return answer


class PPMIVectors(TransformerMixin, BaseEstimator):
    """Documents as means of word vectors: an SVD of the words' positive pointwise mutual information."""

    def __init__(self, n_components: int = N_COMPONENTS, random_state: int = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vectors from all documents."""
        present = sp.csr_array(sp.csr_array(X) > 0, dtype=np.float32)
        count = np.asarray(present.sum(axis=0)).ravel()
        joint = (present.T @ present).tocoo()
        word, other = joint.coords
        value = np.log(joint.data * present.shape[0] / (count[word] * count[other]))
        keep = (value > 0) & (word != other)
        matrix = sp.csr_array((value[keep], (word[keep], other[keep])), shape=joint.shape)
        size = min(self.n_components, matrix.shape[0])
        left, values, _ = randomized_svd(matrix, size, n_iter=7, random_state=self.random_state)
        self.components_ = left * np.sqrt(values)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the mean vector of each document's words."""
        total = np.asarray(X.sum(axis=1)).ravel()
        means: Floats = (X @ self.components_) / np.where(total > 0, total, 1.0)[:, None]
        return means


# ---- the default recipe, with one of its mechanisms changed


def _structure_with_log_odds(rows: Any, **options: Any) -> NetworkStructure:
    return learn_structure(rows, **{**options, "log_odds": True})


#: What takes the place of names of tsenet, by the changed recipe.
RECIPES: dict[str, dict[str, Any]] = {
    # the network learns from the labelled rows alone
    "no-teacher": {
        "training.recipe.NetworkFit._pseudo_labelled": lambda fit, outputs, fresh: fit.labelled
    },
    # units start with random weights by He's rule
    "no-directions": {"training.recipe.set_principal_directions": lambda net, inputs, seed: None},
    # units start as the probability of their latents; needs units_per_latent=1
    "log-odds": {
        "training.recipe.set_principal_directions": lambda net, inputs, seed: set_log_odds(
            net, inputs
        ),
        "estimators.network.learn_structure": _structure_with_log_odds,
    },
}


@contextmanager
def changed_recipe(name: str | None) -> Iterator[None]:
    """Fits inside follow one of :data:`RECIPES`; None changes nothing."""
    if name is not None and name not in RECIPES:
        raise DataError(f"there is no recipe {name!r}: choose from {', '.join(RECIPES)}")
    with ExitStack() as stack:
        for path, stand_in in RECIPES.get(name or "", {}).items():
            stack.enter_context(patch(f"tsenet.{path}", stand_in))
        yield


# ---- networks over other wirings, and pruned ones


class Network(BaseEstimator):
    """A TSE-Net of named columns, over another wiring or pruned.

    Parameters
    ----------
    network : TSENetClassifier or TSENetRegressor
    names : sequence of str
        Of the columns.
    control : str or None
        Replace the learned wiring by one of :mod:`reproduce.wirings`.
    size : int or None
        Prune to this many parameters after training.
    recipe : str or None
        Fit by one of :data:`RECIPES` instead of the default recipe.
    """

    def __init__(
        self,
        network: Any,
        names: Sequence[str] = (),
        control: str | None = None,
        size: int | None = None,
        recipe: str | None = None,
    ) -> None:
        self.network = network
        self.names = names
        self.control = control
        self.size = size
        self.recipe = recipe

    def fit(self, X: Any, y: NDArray[Any], **options: Any) -> Self:
        """Learn the structure, change it, train and prune."""
        table = self._table(X)
        self.network_ = clone(self.network)
        if self.control is not None:
            self.network_.set_params(wiring=self._changed_wiring(table))
        with changed_recipe(self.recipe):
            self.network_.fit(table, y, **options)
        if self.size is not None and self.size < self.network_.n_parameters_:
            self.network_.prune(self.size, table)
        self.n_parameters_ = self.network_.n_parameters_
        return self

    def _table(self, X: Any) -> Table:
        return Table.of(X, self.names or None)

    def _changed_wiring(self, table: Table) -> Any:
        """Other links between the units of a structure learned with the network's own options.

        It is the network's own structure, but for the rows that ``structure_samples`` draws.
        """
        params = self.network.get_params()
        tree_seed, wiring_seed = seed_sequence(params["random_state"]).spawn(2)
        learned = learn_structure(
            table,
            **{name: params[name] for name in ("density", "link_rule", "max_top", "n_jobs")},
            tree_seed=tree_seed,
            wiring_seed=wiring_seed,
            progress=Progress(),
            **(params["tree_options"] or {}),
        ).wiring
        return CONTROLS[str(self.control)](learned, table.values, params["random_state"])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, or the number."""
        answer: NDArray[Any] = self.network_.predict(self._table(X))
        return answer

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class or label."""
        return np.asarray(self.network_.predict_proba(self._table(X)))

    def transform(self, X: Any) -> Any:
        """Return the activations of the units."""
        return self.network_.transform(self._table(X))

    @property
    def net_(self) -> Any:
        """The network itself."""
        return self.network_.net_

    @property
    def wiring_(self) -> Any:
        """Its links."""
        return self.network_.wiring_


# ---- the registry


@dataclass(frozen=True)
class Rival:
    """A way to make an estimator for the rows of a fold.

    Attributes
    ----------
    title : str
    make : function of a fold, a seed, a number of parameters or None, and further parameters
    vectors : {"no", "inputs", "teacher"}
        What it does with the vectors of a pretrained encoder: nothing, read them instead of words, or learn from them
        (``fit(X, y, embeddings=...)``) to predict from words.
    shaped : bool
        Whether a name may have a shape, such as ``fnn:2048x3``.
    """

    title: str
    make: Callable[..., Any]
    vectors: Literal["no", "inputs", "teacher"] = "no"
    shaped: bool = False


def make_rival(name: str, fold: Fold, seed: int, size: int | None = None) -> Any:
    """Make the unfitted estimator of a name; ``size`` is the number of parameters that ``@`` asks for."""
    base, settings, _ = split_name(name)
    return RIVALS[base].make(fold, seed, size, **settings)


def rows_for(name: str, fold: Fold) -> tuple[Fold, dict[str, Any]]:
    """Return the fold as a rival reads it, and what else its ``fit`` takes: the vectors of an encoder."""
    reads = RIVALS[split_name(name)[0]].vectors
    if reads == "no":
        return fold, {}
    if fold.vectors is None:
        raise DataError(f"{name} needs texts, and {fold.name} has none")
    vectors, held = fold.vectors()
    if reads == "teacher":
        return fold, {"embeddings": vectors}
    return replace(fold, X=vectors, X_held=held, names=()), {}


def split_name(name: str) -> tuple[str, dict[str, Any], str | None]:
    """Split ``rival:parameter=value@size`` into its parts."""
    whole, _, size = name.partition("@")
    base, *changes = whole.split(":")
    if base not in RIVALS:
        raise DataError(f"there is no rival {base!r}: choose from {', '.join(RIVALS)}")
    settings = {}
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals and RIVALS[base].shaped:
            key, text = "shape", change
        elif not equals:
            raise DataError(f"{name}: write parameters as name=value, not {change!r}")
        try:
            settings[key] = text if key == "shape" else ast.literal_eval(text)
        except (ValueError, SyntaxError):
            settings[key] = text
    return base, settings, size or None


def title_of(name: str) -> str:
    """Return the name to show: the rival's title, its parameters and its size."""
    base, settings, size = split_name(name)
    shape = f" {settings.pop('shape')}" if "shape" in settings else ""
    if base == "fnn" and not shape:
        shape = " (best of four)"
    changes = shape + "".join(f", {key} {value}" for key, value in settings.items())
    if size is None:
        return RIVALS[base].title + changes
    wanted = f"{int(size):,}" if size.isdigit() else f"size of {title_of(size)}"
    return f"{RIVALS[base].title}{changes}, {wanted}"


def n_parameters(model: Any) -> int:
    """Count the learned numbers of a fitted model: weights, biases, components, splits and leaves."""
    if isinstance(model, Pipeline):
        return sum(n_parameters(step) for _, step in model.steps)
    if hasattr(model, "n_parameters_"):
        return int(model.n_parameters_)
    if isinstance(model, OnLabelled):
        return sum(n_parameters(part) for part in model.models_)
    if isinstance(model, Tuned | SelfTraining):
        return n_parameters(model.model_)
    if isinstance(model, TransformedTargetRegressor):
        return n_parameters(model.regressor_)
    if hasattr(model, "_predictors"):  # gradient boosting has no public way to its trees
        return sum(len(tree.nodes) for stage in model._predictors for tree in stage)
    if hasattr(model, "estimators_"):
        return sum(tree.tree_.node_count for tree in model.estimators_)
    arrays = ("coef_", "intercept_", "feature_log_prob_", "components_")
    found = [getattr(model, name) for name in arrays if hasattr(model, name)]
    layers = getattr(model, "coefs_", []) + getattr(model, "intercepts_", [])
    return int(sum(np.size(array) for array in [*found, *layers]))


def _tsenet(
    fold: Fold,
    seed: int,
    size: int | None,
    *,
    preset: str | None = None,
    backbone: bool = False,
    control: str | None = None,
    recipe: str | None = None,
    **settings: Any,
) -> Any:
    if backbone:
        settings = {"skip_units": 0, "linear_skip": False, **settings}
    kind = TSENetRegressor if fold.task == "regression" else TSENetClassifier
    own = inspect.signature(kind).parameters
    if tree_options := {name: settings.pop(name) for name in [*settings] if name not in own}:
        settings["tree_options"] = tree_options
    make: Any = getattr(kind, preset) if preset else kind
    network = make(**settings, random_state=seed, n_jobs=1)
    return Network(network, fold.names, control, size, recipe)


def _linear(fold: Fold, seed: int, size: int | None, weighting: str = "tfidf") -> Any:
    if fold.task == "regression":
        return make_pipeline(Features(fold.names), RidgeCV(np.logspace(-6, 6, 25)))
    weakest = 1e-2 if fold.kind == "text" else 1e-4
    features = Features(fold.names, weighting)
    return make_pipeline(features, OnLabelled(logistic_regression(seed, weakest)))


def _tuned(model: Any, grid: Mapping[str, Any], fold: Fold, seed: int, size: int | None) -> Any:
    return make_pipeline(Features(fold.names), OnLabelled(Tuned(model, grid, seed)))


def _components(
    make: Callable[[int, int], list[Any]],
    fold: Fold,
    seed: int,
    size: int | None,
    n_components: int = N_COMPONENTS,
) -> Any:
    """Logistic regression on components of all rows, labelled or not."""
    steps = make(min(n_components, min(fold.X.shape) - 1), seed)
    return make_pipeline(Features(fold.names), *steps, OnLabelled(logistic_regression(seed)))


def _dense(
    fold: Fold, seed: int, size: int | None, weighting: str = "tfidf", **settings: Any
) -> Any:
    settings = _with_layers(fold, settings)
    regression = fold.task == "regression"
    network = DenseNetwork(**settings, n_parameters=size, regression=regression, random_state=seed)
    return make_pipeline(Features(fold.names, weighting), network)


def _with_layers(fold: Fold, settings: dict[str, Any]) -> dict[str, Any]:
    """Replace a shape by the layers that it means for the rows of a fold."""
    if "shape" not in settings:
        return settings
    n_outputs = {"classes": fold.n_classes, "labels": fold.y.shape[-1], "regression": 1}[fold.task]
    shape = settings.pop("shape")
    return {**settings, "hidden": shape_of(shape, n_outputs)}


def _dense_or_validated(fold: Fold, seed: int, size: int | None, **settings: Any) -> Any:
    """A dense network of a shape, or without one the best of four on held-out rows, then of three learning rates."""
    if "shape" in settings:
        return _dense(fold, seed, size, **settings)
    features = Features(fold.names, settings.pop("weighting", "tfidf"))
    return make_pipeline(features, ValidatedNetwork(seed, **settings))


def _sparse(
    make: Any, fold: Fold, seed: int, size: int | None, weighting: str = "tfidf", **settings: Any
) -> Any:
    if size is None:
        raise DataError("a sparse rival needs a size, such as set@tsenet-paper")
    network = make(**_with_layers(fold, settings), size=size, random_state=seed)
    return make_pipeline(Features(fold.names, weighting), network)


def _plain(classifier: Any, regressor: Any, fold: Fold, seed: int, size: int | None) -> Any:
    """Default settings of scikit-learn; a regression learns standardised targets."""
    if fold.task == "regression":
        model = TransformedTargetRegressor(
            clone(regressor).set_params(random_state=seed), transformer=StandardScaler()
        )
    else:
        model = clone(classifier).set_params(random_state=seed)
    return make_pipeline(Features(fold.names), OnLabelled(model))


def _teacher(fold: Fold, seed: int, size: int | None) -> Any:
    return LinearTeacher(fold.names, seed)


def _self_training(fold: Fold, seed: int, size: int | None) -> Any:
    return make_pipeline(Features(fold.names), SelfTraining(seed))


def _em_bayes(fold: Fold, seed: int, size: int | None) -> Any:
    return make_pipeline(Features(fold.names, "weighted"), EMNaiveBayes(seed))


def _svd(size: int, seed: int) -> list[Any]:
    return [TruncatedSVD(size, random_state=seed), Normalizer()]


def _ppmi(size: int, seed: int) -> list[Any]:
    return [PPMIVectors(size, seed), StandardScaler(with_std=False), Normalizer()]


def _nmf(size: int, seed: int) -> list[Any]:
    return [NMF(size, init="nndsvda", tol=1e-3, max_iter=200, random_state=seed)]


def _family() -> dict[str, Rival]:
    """TSE-Net and Backbone, default and presets, over learned and other wirings."""
    rivals = {}
    for network, backbone in (("tsenet", False), ("backbone", True)):
        for preset in (None, "paper", "informed"):
            name = f"{network}-{preset}" if preset else network
            title = ("Backbone" if backbone else "TSE-Net") + (f" ({preset})" if preset else "")
            make = partial(_tsenet, preset=preset, backbone=backbone)
            rivals[name] = Rival(title, make)
            for control in CONTROLS:
                changed = partial(make, control=control)
                rivals[f"{name}-{control}"] = Rival(f"{title}, {control} links", changed)
    return rivals


RIVALS: dict[str, Rival] = {
    **_family(),
    "tsenet-minilm": Rival("TSE-Net taught with MiniLM", _tsenet, "teacher"),
    "minilm": Rival("MiniLM + logistic regression", _linear, "inputs"),
    "teacher": Rival("Linear teacher alone", _teacher),
    "linear": Rival("Logistic or ridge regression", _linear),
    "logistic": Rival("Logistic regression", _linear),
    "linear-svc": Rival(
        "Linear SVM", partial(_tuned, LinearSVC(), {"C": [0.01, 0.1, 0.3, 1.0, 10.0]})
    ),
    "complement-nb": Rival(
        "Complement naive Bayes",
        partial(_tuned, ComplementNB(), {"alpha": [1.0, 0.01, 0.1, 0.3, 3.0]}),
    ),
    "em-bayes": Rival("EM naive Bayes", _em_bayes),
    "self-training": Rival("Self-training", _self_training),
    "svd": Rival("SVD + logistic regression", partial(_components, _svd)),
    "ppmi": Rival("PPMI vectors + logistic regression", partial(_components, _ppmi)),
    "nmf": Rival("NMF + logistic regression", partial(_components, _nmf)),
    "fnn": Rival("FNN", _dense_or_validated, shaped=True),
    "fnn-512": Rival("FNN, 512 units", partial(_dense, hidden=(512,))),
    "fnn-sized": Rival("FNN", _dense),
    "pruned": Rival("Pruned FNN", partial(_sparse, PrunedNetwork), shaped=True),
    "set": Rival("SET", partial(_sparse, DynamicNetwork, growth="random")),
    "rigl": Rival("RigL", partial(_sparse, DynamicNetwork, growth="gradient")),
    "mlp": Rival(
        "scikit-learn's MLP",
        partial(_plain, MLPClassifier(max_iter=500), MLPRegressor(max_iter=500)),
    ),
    "boosting": Rival(
        "Gradient boosting",
        partial(_plain, HistGradientBoostingClassifier(), HistGradientBoostingRegressor()),
    ),
    "forest": Rival(
        "Random forest",
        partial(_plain, RandomForestClassifier(300), RandomForestRegressor(300)),
    ),
}
