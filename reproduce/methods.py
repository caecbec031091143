"""The methods that are compared: each takes a :class:`Work`, that is rows, settings and a seed, and returns a model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reproduce.runs import Run, Settings, canonical

if TYPE_CHECKING:
    from reproduce.bench import Bench
    from tsenet.estimators import TSENetClassifier
    from tsenet.expansion.wiring import Wiring

__all__ = ["METHODS", "PAPER_SHAPES", "PRUNING", "Work"]

#: Names of the paper's dense networks, in the order of :func:`tsenet.baselines.paper_grid`.
PAPER_SHAPES = tuple(
    f"{shape} {units}×{layers}"
    for shape, depths in (("rectangle", (1, 2, 3, 4)), ("conic", (2, 3, 4)))
    for units in (512, 1024, 2048)
    for layers in depths
)
#: What a pruned dense network chooses from: a threshold for all layers, or one for each.
PRUNING: tuple[Settings, ...] = ({"per_layer": False}, {"per_layer": True})
_STRUCTURE = ("max_top", "max_island", "correlation_test", "structure_samples")
#: Settings of the structure that :func:`tsenet.learn_tree` has and the estimator has not.
_TREE_ONLY = ("ud_threshold", "refine_steps", "em_restarts")


class Work:
    """A run at work: what its method needs, and what it is charged for.

    Parameters
    ----------
    bench : Bench
    run : Run

    Attributes
    ----------
    charged : float
        CPU seconds of the shared things the run has used.
    notes : dict
        Plain values to store with the result.
    """

    def __init__(self, bench: Bench, run: Run) -> None:
        self.bench = bench
        self.run = run
        self.seed = run.seed
        self.settings = dict(run.settings)
        self.charged = 0.0
        self.notes: dict[str, Any] = {}
        self._rows = bench.labelled(run.n_labels, run.seed)

    @property
    def n_inputs(self) -> int:
        """Number of features."""
        return self.bench.dataset.n_features

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a network: one for two classes."""
        n_classes = self.bench.dataset.n_classes
        return 1 if self.bench.dataset.task == "classes" and n_classes == 2 else n_classes

    @property
    def X(self) -> Any:  # noqa: N802  # the field's name for it
        """Features of the rows with labels."""
        X = self.bench.dataset.train.X
        return X if self.run.n_labels is None else X[self._rows]

    @property
    def y(self) -> NDArray[Any]:
        """Their targets."""
        y = self.bench.dataset.train.y
        return y if self.run.n_labels is None else y[self._rows]

    def all_rows(self) -> tuple[Any, NDArray[Any]]:
        """Features of all training rows; targets with −1 where there is no label."""
        train = self.bench.dataset.train
        if self.run.n_labels is None:
            return train.X, train.y
        y = np.full_like(train.y, -1)
        y[self._rows] = train.y[self._rows]
        return train.X, y

    def wiring(self, estimator: TSENetClassifier) -> Wiring:
        """The structure that an estimator with these parameters would learn, from all training rows."""
        wiring, cost = self.bench.wiring(
            self.seed,
            density=estimator.density,
            link_rule=estimator.link_rule,
            **self.tree_settings(estimator),
        )
        self.charged += cost
        self.notes["layers"] = list(wiring.layer_sizes)
        return wiring

    def tree_settings(self, estimator: TSENetClassifier) -> dict[str, Any]:
        """How the skeleton is learned: parameters of the estimator, and those that ``learn_tree`` alone has."""
        own = {name: getattr(estimator, name) for name in _STRUCTURE}
        return own | {name: self.settings[name] for name in _TREE_ONLY if name in self.settings}

    def kept_model(self) -> Any:
        """The model of this run, fitted once and kept for those that start from it."""
        about = (self.run.method, self.settings, self.seed, self.run.n_labels)

        def make() -> tuple[Any, float, dict[str, Any]]:
            model = METHODS[self.run.method](self)
            return model, self.charged, self.notes

        (model, charged, notes), cost = self.bench.shared(f"model {canonical(about)}", make)
        self.charged, self.notes = charged + cost, dict(notes)
        return model

    def start(self, method: str) -> Any:
        """The model to start from: ``settings["start"]`` says with which settings."""
        own = replace(self.run, method=method, settings=self.settings["start"])
        before = Work(self.bench, own)
        model = before.kept_model()
        self.charged += before.charged
        return model


def _tsenet(
    work: Work, change: Callable[[Wiring], Wiring] | None = None, paper: bool = False
) -> Any:
    """TSE-Net with the bench's structure, or with one made from it."""
    from tsenet.estimators import TSENetClassifier

    make = TSENetClassifier.paper if paper else TSENetClassifier
    settings = {name: work.settings[name] for name in work.settings if name not in _TREE_ONLY}
    estimator = make(**settings, random_state=work.seed, n_jobs=work.bench.n_jobs)
    wiring = work.wiring(estimator)
    estimator.set_params(wiring=wiring if change is None else change(wiring))
    return estimator.fit(*work.all_rows())


def _tsenet_paper(work: Work) -> Any:
    """The paper's own recipe."""
    return _tsenet(work, paper=True)


def _random(work: Work) -> Any:
    """The same sizes and number of links as TSE-Net, the links drawn at random."""
    from tsenet.baselines import random_wiring

    return _tsenet(work, lambda wiring: random_wiring(wiring, random_state=work.seed))


def _bare_tree(work: Work) -> Any:
    """The skeleton's links alone."""
    from tsenet.baselines import bare_tree

    return _tsenet(work, bare_tree)


def _tsenet_pruned(work: Work) -> Any:
    """A trained TSE-Net whose weakest weights are removed; ``of`` may name one with other links."""
    whole = work.start(work.settings.get("of", "tsenet"))
    size = work.settings["n_parameters"]
    if size >= whole.n_parameters_:
        return whole
    few = work.run.n_labels is not None
    X, y = work.all_rows()
    return copy.deepcopy(whole).prune(size, X, None if few else y)


def _fnn(work: Work) -> Any:
    """A dense network: ``hidden`` layers, or a ``shape`` of the paper's grid."""
    from tsenet.baselines import DenseClassifier, paper_grid

    settings = dict(work.settings)
    if "shape" in settings:
        grid = paper_grid(work.bench.dataset.n_classes)
        settings["hidden"] = dict(zip(PAPER_SHAPES, grid, strict=True))[settings.pop("shape")]
    work.notes["hidden"] = list(settings.setdefault("hidden", (512,)))
    estimator = DenseClassifier(**settings, random_state=work.seed, n_jobs=work.bench.n_jobs)
    return estimator.fit(work.X, work.y)


def _fnn_of_size(work: Work) -> Any:
    """A dense network with one hidden layer, as wide as ``n_parameters`` allow."""
    from tsenet.baselines import hidden_for

    size = work.settings.pop("n_parameters")
    work.settings["hidden"] = hidden_for(work.n_inputs, work.n_outputs, size)
    return _fnn(work)


def _pruned(work: Work) -> Any:
    """A trained dense network whose smallest weights are removed, and which is trained again."""
    from tsenet.baselines import prune

    model = work.start("fnn")
    size = min(work.settings["n_parameters"], model.n_parameters_)
    factor = work.settings.get("learning_rate_factor", 1.0)
    return prune(
        model,
        size,
        work.X,
        work.y,
        learning_rate=factor * model.learning_rate,
        per_layer=work.settings.get("per_layer", False),
    )


def _pivot(work: Work) -> Any:
    """TSE-Net over words drawn at random instead of latents, in the sizes of the learned wiring."""
    from tsenet.baselines import pivot_wiring

    def around_words(wiring: Wiring) -> Wiring:
        first = wiring.layers[0]
        links = max(1, round(first.n_edges / first.n_lower))
        return pivot_wiring(work.bench.dataset.train.X, first.n_upper, links, work.seed)

    return _tsenet(work, around_words)


def _chi2_fnn(work: Work) -> Any:
    """A small dense network on as many of the best features as ``n_parameters`` allow."""
    from tsenet.baselines import chi2_fnn

    settings = dict(work.settings)
    (units,) = settings.pop("hidden")
    left = settings.pop("n_parameters") - units - (units + 1) * work.n_outputs
    n_features = max(1, min(work.n_inputs, left // units))
    work.notes["n_features"] = n_features
    model = chi2_fnn(
        n_features, (units,), **settings, random_state=work.seed, n_jobs=work.bench.n_jobs
    )
    return model.fit(work.X, work.y)


def _logistic(work: Work) -> Any:
    """Logistic regression on the features as they are."""
    from tsenet.baselines import logistic_regression

    return logistic_regression(work.seed).fit(work.X, work.y)


def _scaled_logistic(work: Work) -> Any:
    """Logistic regression on the columns of a table, scaled, or on ``n_components`` of them; C by what is scored."""
    from reproduce.scoring import metric_of
    from tsenet.baselines import scaled_logistic_regression

    scoring = "roc_auc" if metric_of(work.bench.dataset) == "auc" else "accuracy"
    settings = dict(work.settings)
    if "n_components" in settings:
        settings["n_components"] = min(settings["n_components"], work.n_inputs - 1)
    model = scaled_logistic_regression(**settings, scoring=scoring, random_state=work.seed)
    return model.fit(work.X, work.y, unlabelled=work.bench.dataset.train.X)


def _boosting(work: Work) -> Any:
    """Gradient boosted trees as scikit-learn has them, for dense rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingClassifier(**work.settings, random_state=work.seed)
    with threadpool_limits(1, user_api="openmp"):  # a sum must not depend on the number of threads
        return model.fit(work.X, work.y)


def _svd(work: Work) -> Any:
    """Logistic regression on a truncated SVD of all training rows."""
    from tsenet.baselines import svd_logistic_regression

    return _in_two_stages(svd_logistic_regression, work)


def _ppmi(work: Work) -> Any:
    """Logistic regression on word vectors, an SVD of what goes with what in all training rows."""
    from tsenet.baselines import ppmi_logistic_regression

    return _in_two_stages(ppmi_logistic_regression, work)


def _in_two_stages(make: Callable[..., Any], work: Work) -> Any:
    settings = dict(work.settings)
    n_components = min(settings.pop("n_components"), work.n_inputs - 1)
    model = make(n_components, **settings, random_state=work.seed)
    return model.fit(work.X, work.y, unlabelled=work.bench.dataset.train.X)


METHODS: dict[str, Callable[[Work], Any]] = {
    "tsenet": _tsenet,
    "tsenet-paper": _tsenet_paper,
    "random": _random,
    "bare-tree": _bare_tree,
    "pivot": _pivot,
    "tsenet-pruned": _tsenet_pruned,
    "fnn": _fnn,
    "fnn-of-size": _fnn_of_size,
    "pruned": _pruned,
    "chi2-fnn": _chi2_fnn,
    "logistic": _logistic,
    "scaled-logistic": _scaled_logistic,
    "boosting": _boosting,
    "svd": _svd,
    "ppmi": _ppmi,
}
