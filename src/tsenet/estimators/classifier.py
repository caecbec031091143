"""``TSENetClassifier``: two classes, many, or several labels at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from tsenet.estimators.network_estimator import NetworkClassifier
from tsenet.estimators.tsenet_estimator import TSENetEstimator

if TYPE_CHECKING:
    from tsenet.expansion.wiring import Wiring
    from tsenet.training.callbacks import Callback


class TSENetClassifier(NetworkClassifier, TSENetEstimator):
    """Classifier whose sparse network has the structure of the data (tree skeleton expansion).

    ``fit`` learns a latent tree from ``X`` alone, adds links, and trains the network they make. Columns of a dense
    table are brought to mean 0 and deviation 1, a sparse one is scaled by one factor. The result does not depend on the
    order of the rows.

    Parameters
    ----------
    density : float
        Links per unit, as a share of the layer below.
    link_rule : {"balanced", "top-k", "random", "tree"}
        How links are added to the tree; see :func:`tsenet.expand`.
    max_top, max_island, correlation_test, structure_samples
        As for :func:`tsenet.learn_tree`.
    skip_units : int
        Feature units that read each layer below the top, the input included. 0, and no linear
        paths: the paper's Backbone.
    feature_units : int
        Feature units that read the top layer.
    dropout : float
        Share of the units left out in each step of training.
    activation : {"relu", "tanh", "sigmoid"}
    norm : {"batch"} or None
        Batch normalisation, which is trained by torch's autograd: several times slower on a CPU.
    linear_skip : bool or "auto"
        Whether the outputs also read the input and every level directly (wide and deep). ``"auto"``: yes for sparse
        rows and where there is nothing held out; for other dense tables two networks are trained, with and without,
        and the better one on the held-out rows is kept.
    init : {"fan-in", "tree"}
        Random weights at first; or units that follow the latent tree and, where there are linear skips, outputs that
        follow the labels from the first step on. With few labels that start is all there is to it.
    learning_rate : float or None
        Of Adam. None: 1e-3, or 1e-4 for sparse rows after a start from labels, which larger steps spoil.
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
        Own code in the training loop, of each network that is trained; see :mod:`tsenet.training.callbacks`.

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

    def __init__(
        self,
        *,
        density: float = 0.05,
        link_rule: Literal["balanced", "top-k", "random", "tree"] = "balanced",
        max_top: int = 500,
        max_island: int = 15,
        correlation_test: bool = True,
        structure_samples: int | None = None,
        skip_units: int = 100,
        feature_units: int = 100,
        dropout: float = 0.5,
        activation: Literal["relu", "tanh", "sigmoid"] = "relu",
        norm: Literal["batch"] | None = None,
        linear_skip: bool | Literal["auto"] = "auto",
        init: Literal["fan-in", "tree"] = "tree",
        learning_rate: float | None = None,
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
        self.link_rule = link_rule
        self.max_top = max_top
        self.max_island = max_island
        self.correlation_test = correlation_test
        self.structure_samples = structure_samples
        self.skip_units = skip_units
        self.feature_units = feature_units
        self.dropout = dropout
        self.activation = activation
        self.norm = norm
        self.linear_skip = linear_skip
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
