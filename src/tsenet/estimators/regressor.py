"""``TSENetRegressor``: one value or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from tsenet.errors import DataError, NonNumericError
from tsenet.estimators._base import TSENetBase, dense_targets

if TYPE_CHECKING:
    from tsenet.expansion.wiring import Wiring
    from tsenet.training.callbacks import Callback
    from tsenet.training.losses import Loss


class TSENetRegressor(RegressorMixin, TSENetBase):
    """Regressor whose sparse network has the structure of the data (tree skeleton expansion).

    The targets are brought to mean 0 and deviation 1 and the squared error is made small. Everything else is as in
    :class:`TSENetClassifier`.

    Parameters
    ----------
    density, rule, max_top, max_island, correlation_test, structure_samples, skip_units, feature_units, dropout, \
activation, norm, init, learning_rate, batch_size, max_epochs, early_stopping, validation_fraction, patience, \
warm_start, wiring, device, n_jobs, random_state, verbose, callbacks
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

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The values: (N,), or (N, C) if ``fit`` saw a 2-D ``y``."""
        values = self._outputs(X) * self._target_scale + self._target_shift  # (N, C)
        return values[:, 0] if self._one_target else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the mean of those of several targets; unknown values are left out."""
        check_is_fitted(self, "net_")
        wanted = self._read_targets(y)
        if self._one_target or not np.isnan(wanted).any():
            return float(super().score(X, wanted, sample_weight))
        predicted = self.predict(X)
        scores = []
        for column in range(wanted.shape[1]):
            known = ~np.isnan(wanted[:, column])
            if known.any():
                weights = None if sample_weight is None else np.asarray(sample_weight)[known]
                scores.append(
                    r2_score(wanted[known, column], predicted[known, column], sample_weight=weights)
                )
        return float(np.mean(scores))

    # ---- targets

    def _read_targets(self, y: Any) -> NDArray[Any]:
        given = dense_targets(y)
        try:
            wanted = given.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise NonNumericError(f"y must hold numbers: {error}") from error
        if wanted.ndim not in (1, 2) or wanted.size == 0:
            raise DataError(f"y must be 1-D or 2-D, not of shape {wanted.shape}")
        if wanted.ndim == 1:
            assert_all_finite(wanted, input_name="y")
        elif np.isinf(wanted).any():
            raise DataError("Input y contains infinity")
        return wanted

    def _learn_targets(self, y: NDArray[Any], classes: Any) -> None:
        self._one_target = y.ndim == 1
        column = y[:, None] if self._one_target else y
        known = ~np.isnan(column)
        if not known.any(axis=0).all():
            raise DataError("a column of y holds no known value")
        count = known.sum(axis=0)
        shift = np.where(known, column, 0.0).sum(axis=0) / count
        square = np.square(np.where(known, column - shift, 0.0)).sum(axis=0) / count
        self._target_shift: NDArray[np.float64] = shift
        self._target_scale: NDArray[np.float64] = np.where(square > 0, np.sqrt(square), 1.0)

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        if (y.ndim == 1) != self._one_target or (
            y.ndim == 2 and y.shape[1] != self._target_shift.size
        ):
            raise DataError(f"y must have {self._target_shift.size} columns, as before")
        scaled: NDArray[np.float64] = (y.reshape(len(y), -1) - self._target_shift) / (
            self._target_scale
        )
        return scaled[:, 0] if self._one_target else scaled

    def _loss(self, targets: NDArray[Any] | None = None) -> Loss:
        from tsenet.training.losses import RegressionLoss

        return RegressionLoss(self._target_shift.size)

    def _target_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {"target_shift": self._target_shift, "target_scale": self._target_scale}
        return {"one_target": self._one_target}, arrays

    def _set_target_parts(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._one_target = bool(meta["one_target"])
        self._target_shift, self._target_scale = arrays["target_shift"], arrays["target_scale"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
