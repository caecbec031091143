"""Values: what a target of a regressor is, and what its network's outputs mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from tsenet.errors import DataError, NonNumericError
from tsenet.estimators._network import NetworkEstimator, dense_targets

if TYPE_CHECKING:
    from tsenet.training.losses import Loss


class ValueTargets(RegressorMixin, NetworkEstimator):
    """One value or several, brought to mean 0 and deviation 1; in a 2-D ``y`` some may be unknown."""

    _one_target: bool
    _target_shift: NDArray[np.float64]
    _target_scale: NDArray[np.float64]

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

    @property
    def output_names_(self) -> None:
        """Values have no names."""

    @property
    def output_scale_(self) -> NDArray[np.float64]:
        """Factor (C,) from raw outputs to answers."""
        return self._target_scale

    @property
    def output_shift_(self) -> NDArray[np.float64]:
        """Shift (C,) from raw outputs to answers."""
        return self._target_shift

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
        self._target_shift = shift
        self._target_scale = np.where(square > 0, np.sqrt(square), 1.0)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
