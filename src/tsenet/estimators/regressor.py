"""``TSENetRegressor``."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from tsenet.estimators.checked_rows import check_length, checked_weights
from tsenet.estimators.fitted_network import finite_answers
from tsenet.estimators.network import TSENetEstimator


class TSENetRegressor(RegressorMixin, TSENetEstimator):
    """Regressor whose sparse network has the structure of the data (tree skeleton expansion).

    It learns a latent tree from the columns, wires a network along it, and trains the network to make the squared error
    small; targets are scaled to mean 0 and deviation 1 inside.

    Attributes
    ----------
    tree_, wiring_, net_, history_, cv_score_, feature_importances_, n_parameters_, targets_, binary_rule_, scaling_, \
n_features_in_, feature_names_in_, vectorizer_, source_
        As for :class:`TSENetClassifier`.

    Notes
    -----
    A 2-D ``y`` holds several values for each row. NaN and None are unknown values: rows without a known one help to
    learn the structure and the first weights, and :meth:`score` leaves them out.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tsenet import TSENetRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = TSENetRegressor(random_state=0).fit(X[:350], y[:350])
    >>> bool(model.score(X[350:], y[350:]) > 0.3)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **TSENetEstimator._parameter_constraints,
        "class_weight": [None],
    }

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train for one epoch on some rows; the first call learns structure and scales from its rows.

        Parameters
        ----------
        X : table, (N, V)
        y : array-like, (N,) or (N, C)
        sample_weight : array-like (N,), default=None
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X: Any, embeddings: Any = None) -> NDArray[np.float64]:
        """The values: (N,), or (N, C) if ``fit`` saw a 2-D ``y``."""
        outputs = self._outputs(X, embeddings)
        return finite_answers([self.targets_.decode(outputs)])

    def score(self, X: Any, y: Any, sample_weight: Any = None, embeddings: Any = None) -> float:
        """R², the mean of those of several targets; unknown values are left out."""
        from sklearn.metrics import r2_score

        outputs = self._outputs(X, embeddings)
        # R² does not change with shift and scale, and squares of scaled values do not overflow
        values = self.targets_.encode(self._read_targets(y))
        check_length("y", values, len(outputs))
        of_row = None
        if sample_weight is not None:
            of_row = checked_weights(sample_weight, len(outputs))

        scores = []
        for true, answer in zip(values.reshape(len(values), -1).T, outputs.T, strict=True):
            known = ~np.isnan(true)
            if known.any():
                weights = None if of_row is None else of_row[known]
                scores.append(r2_score(true[known], answer[known], sample_weight=weights))

        return float(np.mean(scores))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
