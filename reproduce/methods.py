"""The methods that are compared: each takes a :class:`RunContext` (rows, settings, seed) and returns a fitted model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from reproduce.run_context import TREE_ONLY, RunContext
from reproduce.runs import Settings

if TYPE_CHECKING:
    from tsenet import Wiring

__all__ = ["METHODS", "PAPER_SHAPES", "PRUNING"]

#: Names of the paper's dense networks, in the order of :func:`tsenet.baselines.paper_grid`.
PAPER_SHAPES = tuple(
    f"{shape} {units}×{layers}"
    for shape, depths in (("rectangle", (1, 2, 3, 4)), ("conic", (2, 3, 4)))
    for units in (512, 1024, 2048)
    for layers in depths
)
#: What a pruned dense network chooses from: a threshold for all layers, or one for each.
PRUNING: tuple[Settings, ...] = ({"per_layer": True}, {"per_layer": False})


def _tsenet(
    context: RunContext, change: Callable[[Wiring], Wiring] | None = None, paper: bool = False
) -> Any:
    """TSE-Net with the shared structure, or with one that ``change`` makes from it."""
    from tsenet import TSENetClassifier

    make = TSENetClassifier.paper if paper else TSENetClassifier
    settings = {name: context.settings[name] for name in context.settings if name not in TREE_ONLY}
    estimator = make(
        **settings, unlabeled=-1, random_state=context.seed, n_jobs=context.shared.n_jobs
    )
    wiring = context.wiring(estimator)
    estimator.set_params(wiring=wiring if change is None else change(wiring))
    return estimator.fit(*context.all_rows())


def _tsenet_paper(context: RunContext) -> Any:
    """The paper's own recipe."""
    return _tsenet(context, paper=True)


def _random(context: RunContext, paper: bool = False) -> Any:
    """The same sizes and number of links as TSE-Net, the links drawn at random."""
    from tsenet.baselines import random_wiring

    return _tsenet(context, lambda wiring: random_wiring(wiring, random_state=context.seed), paper)


def _random_paper(context: RunContext) -> Any:
    """The paper's own recipe over random links."""
    return _random(context, paper=True)


def _tsenet_pruned(context: RunContext) -> Any:
    """A trained TSE-Net whose weakest weights are removed; ``of`` may name one with other links."""
    whole = context.start(context.settings.get("of", "tsenet"))
    size = context.settings["n_parameters"]
    if size >= whole.n_parameters_:
        return whole
    return copy.deepcopy(whole).prune(size, context.all_rows()[0])


def _fnn(context: RunContext) -> Any:
    """A dense network: ``hidden`` layers, or a ``shape`` of the paper's grid."""
    from tsenet.baselines import DenseClassifier, paper_grid

    settings = dict(context.settings)
    if "shape" in settings:
        grid = paper_grid(context.dataset.n_classes)
        settings["hidden"] = dict(zip(PAPER_SHAPES, grid, strict=True))[settings.pop("shape")]
    context.notes["hidden"] = list(settings.setdefault("hidden", (512,)))
    estimator = DenseClassifier(**settings, random_state=context.seed, n_jobs=context.shared.n_jobs)
    return estimator.fit(context.X, context.y)


def _fnn_of_size(context: RunContext) -> Any:
    """A dense network with one hidden layer, as wide as ``n_parameters`` allow."""
    from tsenet.baselines import hidden_for

    size = context.settings.pop("n_parameters")
    context.settings["hidden"] = hidden_for(context.n_inputs, context.n_outputs, size)
    return _fnn(context)


def _pruned(context: RunContext) -> Any:
    """A trained dense network whose smallest weights are removed, and which is trained again."""
    from tsenet.baselines import prune

    model = context.start("fnn")
    layers = list(model.net_.layers)  # biases stay, and a path to each output
    fewest = sum(layer.bias.numel() + layers[-1].bias.numel() for layer in layers)
    size = min(max(fewest, context.settings["n_parameters"]), model.n_parameters_)
    factor = context.settings.get("learning_rate_factor", 1.0)
    return prune(
        model,
        size,
        context.X,
        context.y,
        learning_rate=factor * model.learning_rate,
        per_layer=context.settings.get("per_layer", True),
    )


def _dynamic(context: RunContext, growth: Literal["random", "gradient"]) -> Any:
    """A sparse network of ``n_parameters`` that finds its links in training."""
    from tsenet.baselines import DynamicSparseClassifier

    settings = dict(context.settings)
    context.notes["hidden"] = list(settings["hidden"])
    widths = [context.n_inputs, *settings["hidden"], context.n_outputs]
    fewest = sum(widths[1:]) + len(widths)
    most = sum((lower + 1) * upper for lower, upper in pairwise(widths))
    settings["n_parameters"] = min(max(fewest, settings["n_parameters"]), most)
    estimator = DynamicSparseClassifier(
        **settings, growth=growth, random_state=context.seed, n_jobs=context.shared.n_jobs
    )
    return estimator.fit(context.X, context.y)


def _set(context: RunContext) -> Any:
    """Dynamic sparse training whose links are grown at random."""
    return _dynamic(context, "random")


def _rigl(context: RunContext) -> Any:
    """Dynamic sparse training whose links are grown by the gradient."""
    return _dynamic(context, "gradient")


def _pivot(context: RunContext) -> Any:
    """TSE-Net over words drawn at random instead of latents, in the sizes of the learned wiring."""
    from reproduce.rivals import pivot_wiring

    def around_words(wiring: Wiring) -> Wiring:
        first = wiring.layers[0]
        links = max(1, round(first.n_edges / first.n_lower))
        return pivot_wiring(context.dataset.train.X, first.n_upper, links, context.seed)

    return _tsenet(context, around_words)


def _of_words(context: RunContext, model: Any, *, unlabelled: bool = False) -> Any:
    """A model fitted to the rows as they are, or to tf-idf if they are counts; frequencies are those of all rows.

    ``unlabelled`` hands it all training rows too.
    """
    from reproduce.rivals import OfTfidf
    from tsenet.data import Scaling, Table

    every = context.dataset.train.X
    more = {"unlabelled": every} if unlabelled else {}
    if not Scaling.learn(Table.of(every, missing=True)).counts:
        return model.fit(context.X, context.y, **more)
    return OfTfidf(model).fit(context.X, context.y, **more, idf_from=every)


def _logistic(context: RunContext) -> Any:
    """Logistic regression on the features, counts as tf-idf; of several labels one each."""
    from reproduce.rivals import by_label, logistic_regression

    return _of_words(context, by_label(logistic_regression(context.seed), context.y))


def _pruned_logistic(context: RunContext) -> Any:
    """Logistic regression on as many columns as ``n_parameters`` allow, those with the largest weights."""
    from reproduce.rivals import PrunedLogisticRegression

    return _of_words(
        context, PrunedLogisticRegression(**context.settings, random_state=context.seed)
    )


def _em_bayes(context: RunContext) -> Any:
    """Naive Bayes that EM extends over the rows without labels, on counts (Nigam et al. 2000)."""
    from reproduce.rivals import EMNaiveBayes

    return EMNaiveBayes(random_state=context.seed).fit(*context.all_rows())


def _self_training(context: RunContext) -> Any:
    """Logistic regression that labels the other rows itself."""
    from reproduce.rivals import SelfTraining

    return _of_words(context, SelfTraining(random_state=context.seed), unlabelled=True)


def _start_alone(context: RunContext) -> Any:
    """The linear start of a default TSE-Net without the network."""
    from reproduce.rivals import StartAlone

    return StartAlone(random_state=context.seed).fit(*context.all_rows())


def _tuned(context: RunContext, model: Any, grid: dict[str, Any]) -> Any:
    """A model of tf-idf with the setting of best accuracy in cross-validation on the labelled rows."""
    from sklearn.model_selection import GridSearchCV

    from reproduce.rivals.folds import folds_of

    cv = folds_of(context.y, context.seed)
    if cv is None:
        return _of_words(context, model)
    fitted = _of_words(context, GridSearchCV(model, grid, cv=cv, n_jobs=1))
    if hasattr(fitted, "model_"):
        fitted.model_ = fitted.model_.best_estimator_
        return fitted
    return fitted.best_estimator_


def _linear_svc(context: RunContext) -> Any:
    """A linear support vector machine; C by cross-validation."""
    from sklearn.svm import LinearSVC

    return _tuned(context, LinearSVC(), {"C": [0.01, 0.1, 0.3, 1.0, 10.0]})


def _complement_nb(context: RunContext) -> Any:
    """Complement naive Bayes; the smoothing by cross-validation."""
    from sklearn.naive_bayes import ComplementNB

    return _tuned(context, ComplementNB(), {"alpha": [1.0, 0.01, 0.1, 0.3, 3.0]})


def _boosting(context: RunContext) -> Any:
    """Gradient boosted trees as scikit-learn has them, for dense rows; of several labels one each."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    from reproduce.rivals import by_label

    model: Any = HistGradientBoostingClassifier(**context.settings, random_state=context.seed)
    model = by_label(model, context.y)
    with threadpool_limits(1, user_api="openmp"):  # a sum must not depend on the number of threads
        return model.fit(context.X, context.y)


def _forest(context: RunContext) -> Any:
    """A random forest as scikit-learn has it, for dense rows; of several labels one each."""
    from sklearn.ensemble import RandomForestClassifier

    from reproduce.rivals import by_label

    model = RandomForestClassifier(**context.settings, random_state=context.seed)
    return by_label(model, context.y).fit(context.X, context.y)


def _svd(context: RunContext) -> Any:
    """Logistic regression on a truncated SVD of all training rows."""
    from reproduce.rivals import svd_logistic_regression

    return _in_two_stages(svd_logistic_regression, context)


def _nmf(context: RunContext) -> Any:
    """Logistic regression on topics: a non-negative factorization of all training rows."""
    from reproduce.rivals import nmf_logistic_regression

    return _in_two_stages(nmf_logistic_regression, context)


def _ppmi(context: RunContext) -> Any:
    """Logistic regression on word vectors: an SVD of the words' PPMI in all training rows."""
    from reproduce.rivals import ppmi_logistic_regression

    return _in_two_stages(ppmi_logistic_regression, context)


def _in_two_stages(make: Callable[..., Any], context: RunContext) -> Any:
    settings = dict(context.settings)
    n_components = min(settings.pop("n_components"), context.n_inputs - 1)
    model = make(n_components, **settings, random_state=context.seed)
    return _of_words(context, model, unlabelled=True)


METHODS: dict[str, Callable[[RunContext], Any]] = {
    "tsenet": _tsenet,
    "tsenet-paper": _tsenet_paper,
    "random": _random,
    "random-paper": _random_paper,
    "pivot": _pivot,
    "tsenet-pruned": _tsenet_pruned,
    "fnn": _fnn,
    "fnn-of-size": _fnn_of_size,
    "pruned": _pruned,
    "set": _set,
    "rigl": _rigl,
    "logistic": _logistic,
    "pruned-logistic": _pruned_logistic,
    "em-bayes": _em_bayes,
    "self-training": _self_training,
    "start": _start_alone,
    "linear-svc": _linear_svc,
    "complement-nb": _complement_nb,
    "boosting": _boosting,
    "forest": _forest,
    "svd": _svd,
    "ppmi": _ppmi,
    "nmf": _nmf,
}
