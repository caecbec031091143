"""``TSENetClassifier``: two classes, many, or several labels at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from tsenet.errors import DataError
from tsenet.estimators._base import TSENetBase, dense_targets
from tsenet.estimators._files import array_of_values, values_of_array

if TYPE_CHECKING:
    from tsenet.expansion.wiring import Wiring
    from tsenet.training.callbacks import Callback
    from tsenet.training.loop import Score
    from tsenet.training.losses import Loss


class TSENetClassifier(ClassifierMixin, TSENetBase):
    """Classifier whose sparse network has the structure of the data (tree skeleton expansion).

    ``fit`` learns a latent tree from ``X`` alone, adds links, and trains the network they make. Columns of a dense
    table are brought to mean 0 and deviation 1, a sparse one is scaled by one factor. The result does not depend on the
    order of the rows.

    Parameters
    ----------
    density : float
        Links per unit, as a share of the layer below.
    rule : {"balanced", "top-k", "random", "tree"}
        How links are added to the tree; see :func:`tsenet.expand`.
    max_top, max_island, correlation_test, structure_samples
        As for :func:`tsenet.learn_tree`.
    skip_units : int
        Feature units that read each layer below the top, the input included. 0: the paper's Backbone.
    feature_units : int
        Feature units that read the top layer.
    dropout : float
        Share of the units left out in each step of training.
    activation : {"relu", "tanh", "sigmoid"}
    norm : {"batch"} or None
        Batch normalisation, which is trained by torch's autograd: several times slower on a CPU.
    init : {"fan-in", "pgm"}
        Random weights at first, or weights that follow the latent tree.
    learning_rate : float
        Of Adam.
    batch_size : int
        Most rows in a step. A small table takes fewer, down to 32, so that an epoch has about 20 steps.
    max_epochs : int
    early_stopping : bool
        Hold out rows, stop when they are no longer predicted better, and keep the best weights. Tables of fewer than 20
        rows are used whole.
    validation_fraction : float
        Share of the rows held out; every class has its share of them.
    patience : int
        Epochs without a better validation score before training stops.
    class_weight : dict, "balanced", list of dict or None
        Weight of each class; for several labels, of 0 and 1: one dict for all labels or one for each.
    warm_start : bool
        Whether ``fit`` goes on from the present network, with the structure and scale it has.
    wiring : Wiring or None
        A ready structure: it knows no labels, so one serves all folds, seeds and targets. None: learn it.
    device : str
        ``"auto"``: a GPU where torch finds one, else the CPU; or a device of torch.
    n_jobs : int or None
        Threads; None for all cores. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Same seed, same bytes.
    verbose : bool, Progress or callable
        True draws progress bars; see :func:`tsenet.learn_tree`'s ``progress``.
    callbacks : sequence of Callback or None
        Own code in the training loop; see :mod:`tsenet.training.callbacks`.

    Attributes
    ----------
    classes_ : ndarray
        The classes; for several labels their column numbers.
    tree_ : LatentTree or None
        The skeleton; None if a wiring was given.
    wiring_ : Wiring
    net_ : TSENet
        The trained torch module, on the CPU, in evaluation mode.
    history_ : History
        Losses and scores of the epochs.
    n_parameters_ : int
        Number of trained numbers.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When ``fit`` saw a dataframe with string names.
    source_ : dict or None
        The columns of the file that ``tsenet fit`` read, so that ``tsenet predict`` finds them again.

    Notes
    -----
    A 2-D ``y`` holds 0, 1 or NaN, unknown, for each of C labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import TSENetClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = TSENetClassifier(random_state=0, max_epochs=10).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.85)
    True
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        density: float = 0.05,
        rule: Literal["balanced", "top-k", "random", "tree"] = "balanced",
        max_top: int = 500,
        max_island: int = 15,
        correlation_test: bool = True,
        structure_samples: int | None = None,
        skip_units: int = 100,
        feature_units: int = 100,
        dropout: float = 0.5,
        activation: Literal["relu", "tanh", "sigmoid"] = "relu",
        norm: Literal["batch"] | None = None,
        init: Literal["fan-in", "pgm"] = "fan-in",
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        max_epochs: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        wiring: Wiring | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = False,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.density = density
        self.rule = rule
        self.max_top = max_top
        self.max_island = max_island
        self.correlation_test = correlation_test
        self.structure_samples = structure_samples
        self.skip_units = skip_units
        self.feature_units = feature_units
        self.dropout = dropout
        self.activation = activation
        self.norm = norm
        self.init = init
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.wiring = wiring
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch on some rows; the first call learns structure and scale from its rows.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes : array-like, optional
            All classes there will be; needed in the first call unless ``y`` is 2-D.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows, which partial_fit never sees: give the weights as a dict"
            )
        if not hasattr(self, "net_") and classes is None and np.ndim(y) == 1:
            raise ValueError("classes must be passed on the first call to partial_fit")
        known = getattr(self, "classes_", None)
        if (
            known is not None
            and classes is not None
            and not np.array_equal(np.unique(classes), known)
        ):
            raise ValueError(f"classes is not the same as on the first call: {known}")
        return self._partial_fit(X, y, classes, sample_weight)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class (N,), or 0 and 1 for each label (N, C)."""
        outputs = self._outputs(X)
        if self._multilabel:
            return (outputs > 0).astype(np.int64)
        two = self.classes_.size == 2
        number = (outputs[:, 0] > 0).astype(np.intp) if two else outputs.argmax(axis=1)
        answer: NDArray[Any] = self.classes_[number]
        return answer

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities: of each class (N, classes), or that each label holds (N, labels)."""
        outputs = self._outputs(X)
        return self._loss().predict(outputs)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Raw outputs of the network.

        Two classes: log-odds of the second (N,). More: a score for each (N, classes), whose softmax is
        :meth:`predict_proba`. Labels: log-odds of each (N, labels).
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if not self._multilabel and self.classes_.size == 2 else outputs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows predicted right; for several labels, of rows with all known labels right.

        Rows without any known label are left out.
        """
        check_is_fitted(self, "net_")
        if not self._multilabel:
            return float(super().score(X, y, sample_weight))
        wanted = self._read_targets(y)
        known = ~np.isnan(wanted)
        right = ((self.predict(X) == wanted) | ~known).all(axis=1)
        counted = known.any(axis=1)
        weights = None if sample_weight is None else np.asarray(sample_weight)[counted]
        return float(np.average(right[counted], weights=weights))

    # ---- targets

    def _read_targets(self, y: Any) -> NDArray[Any]:
        wanted = dense_targets(y)
        if wanted.ndim == 2 and (wanted.shape[1] > 1 or _has_unknown(wanted)):
            return _labels_of(wanted)
        wanted = np.asarray(column_or_1d(wanted, warn=True))
        assert_all_finite(wanted, input_name="y")
        check_classification_targets(wanted)
        return wanted

    def _learn_targets(self, y: NDArray[Any], classes: Any) -> None:
        self._multilabel = y.ndim == 2
        self.classes_ = (
            np.arange(y.shape[1])
            if self._multilabel
            else np.unique(y if classes is None else classes)
        )
        if not self._multilabel and self.classes_.size < 2:
            raise DataError(
                f"{type(self).__name__} needs at least two classes, "
                f"but y holds only one class: {self.classes_.tolist()[0]!r}"
            )

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        if self._multilabel:
            if y.ndim != 2 or y.shape[1] != self.classes_.size:
                raise DataError(f"y must have {self.classes_.size} columns of labels, as before")
            return y
        if y.ndim != 1:
            raise DataError("y must be one column of classes, as before")
        known = np.isin(y, self.classes_)
        if not known.all():
            raise DataError(
                f"y holds classes that were not there before: {np.unique(y[~known]).tolist()}; "
                f"classes_ is {self.classes_.tolist()}"
            )
        numbers: NDArray[np.int64] = np.searchsorted(self.classes_, y)
        return numbers

    def _loss(self, targets: NDArray[Any] | None = None) -> Loss:
        from tsenet.training.losses import BinaryLoss, MulticlassLoss, MultilabelLoss

        weights = None if targets is None else self._class_weights(targets)
        if self._multilabel:
            return MultilabelLoss(self.classes_.size, weights)
        if self.classes_.size == 2:
            return BinaryLoss(weights)
        return MulticlassLoss(self.classes_.size, weights)

    def _class_weights(self, targets: NDArray[Any]) -> NDArray[np.float64] | None:
        """Weights of the classes (K,), or of the absence and presence of each label (C, 2)."""
        given = self.class_weight
        if given is None:
            return None
        if not self._multilabel:
            # classes_ of these targets alone: a class without rows has no say
            present = np.unique(targets)
            weights = np.ones(self.classes_.size)
            weights[present] = compute_class_weight(
                given, classes=self.classes_[present], y=self.classes_[targets]
            )
            return weights
        if isinstance(given, str):
            if given != "balanced":
                raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {given!r}")
            counts = np.stack([(targets == k).sum(axis=0) for k in (0, 1)], axis=1)  # (C, 2)
            balanced: NDArray[np.float64] = counts.sum(axis=1, keepdims=True) / (
                2.0 * np.maximum(counts, 1)
            )
            return balanced
        each = [given] * self.classes_.size if isinstance(given, dict) else list(given)
        return np.array([[weight.get(0, 1.0), weight.get(1, 1.0)] for weight in each])

    def _stratify_by(self, targets: NDArray[Any]) -> NDArray[np.int64] | None:
        return None if self._multilabel else targets

    def _validation_score(self) -> Score | None:
        return None

    def _target_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"classes": values_of_array(self.classes_), "multilabel": self._multilabel}, {}

    def _set_target_parts(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.classes_ = array_of_values(meta["classes"])
        self._multilabel = bool(meta["multilabel"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _has_unknown(wanted: NDArray[Any]) -> bool:
    """Whether a 2-D y of one column has entries nobody knows."""
    if wanted.dtype.kind == "O":
        return any(
            value is None or (isinstance(value, float) and math.isnan(value))
            for value in wanted.ravel()
        )
    return wanted.dtype.kind == "f" and bool(np.isnan(wanted).any())


def _labels_of(wanted: NDArray[Any]) -> NDArray[np.float64]:
    """A 2-D y of labels as 0, 1 and NaN."""
    try:
        labels = wanted.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"a 2-D y must hold 0, 1 or NaN (unknown): {error}") from error
    known = labels[~np.isnan(labels)]
    if not np.isin(known, (0.0, 1.0)).all():
        other = known[~np.isin(known, (0.0, 1.0))][0]
        raise DataError(
            f"Unknown label type: a 2-D y must hold 0, 1 or NaN (unknown), but it holds {other:g}"
        )
    if not known.size:
        raise DataError("y holds no known label")
    return labels
