"""The methods of the scoreboard: tsenet's own, its controls with random links, and the rivals for each kind of data."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce.runs import canonical
from reproduce.suite import Fold, Kind
from tsenet.errors import DataError

__all__ = [
    "SCOREBOARD_METHODS",
    "Problem",
    "Shared",
    "SuiteMethod",
    "count_parameters",
    "method_of",
]

_EVERY: tuple[Kind, ...] = ("text", "table", "image")
_DENSE: tuple[Kind, ...] = ("table", "image")
_TEXT: tuple[Kind, ...] = ("text",)
_BACKBONE = {"skip_units": 0, "linear_skip": False}
#: Parameters of the estimators that do not touch the structure; others, also new ones, may.
_TRAINING_ONLY = (
    "skip_units", "feature_units", "units_per_latent", "dropout",
    "linear_skip", "init",
    "learning_rate", "batch_size", "max_epochs",
)  # fmt: skip


class Shared(NamedTuple):
    """Something that the runs of a fold share, and the CPU seconds it cost."""

    value: Any
    seconds: float


@dataclass(eq=False)
class Problem:
    """What a method is given: the rows of a fold, some of them with labels.

    Attributes
    ----------
    fold : Fold
    rows : ndarray of int
        Rows with labels, ascending.
    seed : int
    shared : dict
        What the runs of a fold share.
    n_jobs : int or None
        Threads of tsenet's own methods; rivals have one.
    charged : float
        CPU seconds of shared things that were made for an earlier run.
    notes : dict
        Plain values to store with the result.
    """

    fold: Fold
    rows: NDArray[np.int64]
    seed: int
    shared: dict[str, Shared]
    n_jobs: int | None = None
    charged: float = 0.0
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def y(self) -> NDArray[Any]:
        """Targets of the rows with labels."""
        return self.fold.y[self.rows]

    def labelled(self, view: str = "tfidf") -> Any:
        """Features of the rows with labels."""
        return self.fold.view(view)[0][self.rows]

    def every_row(self, view: str = "tfidf") -> tuple[Any, NDArray[Any]]:
        """Features of all rows, and targets with −1 where there is no label."""
        X = self.fold.view(view)[0]
        if self.rows.size == self.fold.y.size:
            return X, self.fold.y
        y = np.full_like(self.fold.y, -1)
        y[self.rows] = self.y
        return X, y

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What ``make`` gives, made once for all runs of the fold; each run is charged for it."""
        if name in self.shared:
            self.charged += self.shared[name].seconds
        else:
            began = time.process_time()
            made = make()
            self.shared[name] = Shared(made, time.process_time() - began)
        return self.shared[name].value


@dataclass(frozen=True)
class SuiteMethod:
    """A column of the scoreboard.

    Attributes
    ----------
    name, title : str
    kinds : tuple of {"text", "table", "image"}
    fit : function of a Problem and settings
        Returns a fitted model.
    view : str
        The features it is scored on; see :class:`reproduce.suite.Fold`.
    settings : mapping
    own : bool
        Of tsenet.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    fit: Callable[[Problem, Mapping[str, Any]], Any]
    view: str = "tfidf"
    settings: Mapping[str, Any] = field(default_factory=dict)
    own: bool = False


def method_of(name: str) -> SuiteMethod:
    """The method of a name; ``default:density=0.02:dropout=0.1`` is tsenet's method with other parameters.

    Raises
    ------
    DataError
        If there is no such method, or a rival is given parameters.
    """
    base, *changes = name.split(":")
    if base not in SCOREBOARD_METHODS:
        known = ", ".join(SCOREBOARD_METHODS)
        raise DataError(f"there is no method {base}: there are {known}")
    method = SCOREBOARD_METHODS[base]
    if not changes:
        return method
    if not method.own:
        raise DataError(f"{name}: only tsenet's own methods take parameters")
    settings = dict(method.settings)
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise DataError(f"{name}: a parameter is given as name=value, not {change!r}")
        settings[key] = _value(text)
    return SuiteMethod(name, name, method.kinds, method.fit, method.view, settings, own=True)


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a word


# ---- tsenet


def _estimator(problem: Problem, settings: Mapping[str, Any]) -> Any:
    from tsenet import TSENetClassifier, TSENetRegressor

    own = {**settings, "random_state": problem.seed, "n_jobs": problem.n_jobs}
    if problem.fold.entry.regression:
        return TSENetRegressor(**own)
    return TSENetClassifier(**own, unlabeled=-1)


def _structure_key(settings: Mapping[str, Any]) -> str:
    own = {k: v for k, v in settings.items() if k not in _TRAINING_ONLY}
    return f"wiring {canonical(own)}"


def _learned(problem: Problem, settings: Mapping[str, Any]) -> Any:
    """The estimator as it is. Its wiring is kept for later runs of the fold: it depends on no label."""
    estimator, key = _estimator(problem, settings), _structure_key(settings)
    known = problem.shared.get(key)
    problem.notes["structure"] = "own" if known is None else "shared"
    if known is not None:
        return estimator.set_params(wiring=known.value).fit(*problem.every_row("counts"))
    model = estimator.fit(*problem.every_row("counts"))
    problem.shared[key] = Shared(model.learned_wiring_, 0.0)
    return model


def _random(problem: Problem, settings: Mapping[str, Any]) -> Any:
    """The same estimator over random links, as many for each unit as in the learned wiring."""
    from tsenet.baselines import random_wiring

    key = _structure_key(settings)
    if key not in problem.shared:
        _learned(problem, settings)
    problem.notes["structure"] = "shared"
    wiring = random_wiring(problem.shared[key].value, random_state=problem.seed)
    estimator = _estimator(problem, settings).set_params(wiring=wiring)
    return estimator.fit(*problem.every_row("counts"))


# ---- rivals for text


def _logistic(problem: Problem, settings: Mapping[str, Any]) -> Any:
    from reproduce.rivals import logistic_regression

    return logistic_regression(problem.seed).fit(problem.labelled(), problem.y)


def _svc(problem: Problem, settings: Mapping[str, Any]) -> Any:
    from sklearn.svm import LinearSVC

    from reproduce.rivals.folds import tuned

    grid = {"C": [0.01, 0.1, 0.3, 1.0, 10.0]}
    return tuned(LinearSVC(), grid, problem.labelled(), problem.y, problem.seed)


def _complement(problem: Problem, settings: Mapping[str, Any]) -> Any:
    from sklearn.naive_bayes import ComplementNB

    from reproduce.rivals.folds import tuned

    grid = {"alpha": [1.0, 0.01, 0.1, 0.3, 3.0]}
    return tuned(ComplementNB(), grid, problem.labelled(), problem.y, problem.seed)


def _em_bayes(problem: Problem, settings: Mapping[str, Any]) -> Any:
    from reproduce.rivals import EMNaiveBayes

    model = EMNaiveBayes(random_state=problem.seed).fit(*problem.every_row("counts"))
    problem.notes |= {"weight": model.weight_, "alpha": model.alpha_}
    return model


def _two_stage(problem: Problem, settings: Mapping[str, Any], kind: str) -> Any:
    """Logistic regression on an SVD of all rows, or on PPMI vectors from all rows; the features are shared."""
    from sklearn.pipeline import make_pipeline

    from reproduce import rivals

    make = {"svd": rivals.svd_logistic_regression, "ppmi": rivals.ppmi_logistic_regression}[kind]
    X = problem.fold.view("tfidf")[0]
    size = min(settings["n_components"], X.shape[1] - 1, X.shape[0] - 1)
    model = make(size, random_state=problem.seed)
    features = problem.once(f"{kind}-{size}", lambda: model.transformer.fit(X))
    return make_pipeline(
        features, model.classifier.fit(features.transform(problem.labelled()), problem.y)
    )


def _self_training(problem: Problem, settings: Mapping[str, Any]) -> Any:
    """Logistic regression that labels the other rows in five rounds, of each class the surest, in the labels' shares.

    Without shares one class takes all; with C below 1 all probabilities are near the shares and nothing is sure.
    """
    from scipy.sparse import vstack
    from sklearn.linear_model import LogisticRegression

    first = _logistic(problem, settings).model_
    X, y = problem.every_row()
    unlabelled = X[np.flatnonzero(y == -1)]
    n_left = unlabelled.shape[0]
    if n_left == 0:
        return first
    shares = np.bincount(problem.y) / problem.y.size
    model = LogisticRegression(C=max(1.0, first.C), max_iter=1000)
    model.fit(problem.labelled(), problem.y)
    for step in range(1, 6):
        chance = model.predict_proba(unlabelled)
        guess, sure = chance.argmax(axis=1), chance.max(axis=1)
        taken = [
            own[np.argsort(-sure[own])[: round(share * n_left * step / 5)]]
            for k, share in enumerate(shares)
            for own in [np.flatnonzero(guess == k)]
        ]
        rows = np.concatenate(taken)
        both = vstack([problem.labelled(), unlabelled[rows]], format="csr")
        model.fit(both, np.concatenate([problem.y, guess[rows]]))
    return model


def _start(problem: Problem, settings: Mapping[str, Any]) -> Any:
    """The linear start of a default network, without the network."""
    from reproduce.rivals import StartAlone

    return StartAlone(random_state=problem.seed).fit(*problem.every_row("counts"))


# ---- rivals for tables and images


def _scaled(problem: Problem, model: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model).fit(problem.labelled(), problem.y)


def _linear(problem: Problem, settings: Mapping[str, Any]) -> Any:
    """Logistic regression, or ridge regression; the penalty by cross-validation."""
    if problem.fold.entry.regression:
        from sklearn.linear_model import RidgeCV

        return _scaled(problem, RidgeCV(np.logspace(-6, 6, 25)))
    from reproduce.rivals import scaled_logistic_regression

    X = problem.fold.view("values")[0]
    model = scaled_logistic_regression(random_state=problem.seed)
    return model.fit(problem.labelled(), problem.y, unlabelled=X)


def _mlp(problem: Problem, settings: Mapping[str, Any]) -> Any:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    make = MLPRegressor if problem.fold.entry.regression else MLPClassifier
    return _scaled(problem, make(max_iter=500, random_state=problem.seed))


def _boosting(problem: Problem, settings: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    regression = problem.fold.entry.regression
    make = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    return make(random_state=problem.seed).fit(problem.labelled(), problem.y)


def _forest(problem: Problem, settings: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    make = RandomForestRegressor if problem.fold.entry.regression else RandomForestClassifier
    model = make(n_estimators=300, n_jobs=1, random_state=problem.seed)
    return model.fit(problem.labelled(), problem.y)


def _fnn(problem: Problem, settings: Mapping[str, Any]) -> Any:
    from tsenet.baselines import DenseClassifier, DenseRegressor

    make = DenseRegressor if problem.fold.entry.regression else DenseClassifier
    model = make(hidden=(512,), random_state=problem.seed, n_jobs=1)
    return model.fit(problem.labelled(), problem.y)


def count_parameters(model: Any) -> int:
    """Learned numbers of a model of the scoreboard; a tree has a number for each node."""
    from sklearn.pipeline import Pipeline

    from reproduce.rivals import n_parameters

    if isinstance(model, Pipeline):
        return sum(count_parameters(step) for _, step in model.steps)
    if hasattr(model, "coefs_"):  # scikit-learn's MLP
        return int(sum(a.size for a in (*model.coefs_, *model.intercepts_)))
    if hasattr(model, "estimators_"):
        return int(sum(tree.tree_.node_count for tree in model.estimators_))
    if hasattr(model, "_predictors"):  # scikit-learn has no public way to its trees
        return sum(len(tree.nodes) for stage in model._predictors for tree in stage)
    if hasattr(model, "feature_log_prob_"):
        return int(model.feature_log_prob_.size)
    if hasattr(model, "coef_"):
        return int(np.size(model.coef_) + np.size(model.intercept_))
    return n_parameters(model)


_ALL = (
    SuiteMethod("default", "TSE-Net", _EVERY, _learned, "counts", own=True),
    SuiteMethod("default-random", "TSE-Net, random links", _EVERY, _random, "counts", own=True),
    SuiteMethod("backbone", "Backbone", _EVERY, _learned, "counts", _BACKBONE, own=True),
    SuiteMethod(
        "backbone-random", "Backbone, random links", _EVERY, _random, "counts", _BACKBONE, own=True
    ),
    SuiteMethod("start", "linear start", _TEXT, _start, "counts", own=True),
    SuiteMethod("lr", "LR", _TEXT, _logistic),
    SuiteMethod("svc", "LinearSVC", _TEXT, _svc),
    SuiteMethod("cnb", "ComplementNB", _TEXT, _complement),
    SuiteMethod("em-nb", "EM-NB", _TEXT, _em_bayes, "counts"),
    SuiteMethod(
        "svd-100", "SVD-100 + LR", _TEXT, partial(_two_stage, kind="svd"),
        settings={"n_components": 100},
    ),
    SuiteMethod(
        "svd-300", "SVD-300 + LR", _TEXT, partial(_two_stage, kind="svd"),
        settings={"n_components": 300},
    ),
    SuiteMethod(
        "ppmi", "PPMI + LR", _TEXT, partial(_two_stage, kind="ppmi"),
        settings={"n_components": 200},
    ),
    SuiteMethod("self-lr", "self-training LR", _TEXT, _self_training),
    SuiteMethod("linear", "LR / ridge", _DENSE, _linear),
    SuiteMethod("mlp", "MLP", _DENSE, _mlp),
    SuiteMethod("hgb", "boosting", _DENSE, _boosting),
    SuiteMethod("forest", "random forest", _DENSE, _forest),
    SuiteMethod("fnn-512", "FNN 512", _DENSE, _fnn),
)  # fmt: skip

#: All methods by name, in the order of the columns.
SCOREBOARD_METHODS: dict[str, SuiteMethod] = {method.name: method for method in _ALL}
