"""``TSENetRegressor``: one value or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from tsenet.estimators.network_estimator import NetworkRegressor
from tsenet.estimators.tsenet_estimator import TSENetEstimator

if TYPE_CHECKING:
    from tsenet.expansion.wiring import Wiring
    from tsenet.training.callbacks import Callback


class TSENetRegressor(NetworkRegressor, TSENetEstimator):
    """Regressor whose sparse network has the structure of the data (tree skeleton expansion).

    The targets are brought to mean 0 and deviation 1 and the squared error is made small. Everything else is as in
    :class:`TSENetClassifier`.

    Parameters
    ----------
    density, link_rule, max_top, max_island, correlation_test, structure_samples, skip_units, feature_units, dropout, \
activation, norm, linear_skip, init, learning_rate, batch_size, max_epochs, early_stopping, validation_fraction, \
patience, warm_start, wiring, device, n_jobs, random_state, verbose, callbacks
        As for :class:`TSENetClassifier`.

    Attributes
    ----------
    tree_, wiring_, net_, history_, n_parameters_, n_features_in_, feature_names_in_, source_
        As for :class:`TSENetClassifier`.

    Notes
    -----
    A 2-D ``y`` holds several values for each row; NaN there is an unknown one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tsenet import TSENetRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = TSENetRegressor(random_state=0).fit(X[:350], y[:350])
    >>> bool(model.score(X[350:], y[350:]) > 0.3)
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
        self.warm_start = warm_start
        self.wiring = wiring
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train for one epoch on some rows; the first call learns structure and scales from its rows."""
        return self._partial_fit(X, y, None, sample_weight)
