"""Classifiers that also learn from rows without labels: self-training, and TSE-Net's linear teacher alone."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from reproduce.rivals.linear import TunedLogisticRegression

__all__ = ["SelfTraining", "StartAlone"]

_ROUNDS = 5


class SelfTraining(ClassifierMixin, BaseEstimator):
    """Logistic regression that labels the other rows in five rounds, of each class the surest, in the labels' shares.

    Without shares one class takes all; with C below 1 all probabilities are near the shares and nothing is sure.

    Parameters
    ----------
    random_state : int or None
        Of the folds that choose C.
    """

    model_: LogisticRegression

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any], unlabelled: Any = None) -> Self:
        """Fit to labelled rows (n, V) with classes 0 … C − 1, and to rows without labels (N, V)."""
        first = TunedLogisticRegression(random_state=self.random_state).fit(X, y).model_
        self.classes_ = first.classes_
        self.model_ = first
        if unlabelled is None or unlabelled.shape[0] == 0:
            return self
        numbers = np.searchsorted(self.classes_, y)
        shares = np.bincount(numbers) / numbers.size
        model = LogisticRegression(C=max(1.0, first.C), max_iter=1000).fit(X, y)
        n_left = unlabelled.shape[0]
        for step in range(1, _ROUNDS + 1):
            chance = model.predict_proba(unlabelled)
            guess, sure = chance.argmax(axis=1), chance.max(axis=1)
            taken = [
                own[np.argsort(-sure[own], kind="stable")[: round(share * n_left * step / _ROUNDS)]]
                for k, share in enumerate(shares)
                for own in [np.flatnonzero(guess == k)]
            ]
            rows = np.concatenate(taken)
            both = vstack([X, unlabelled[rows]], format="csr")
            model.fit(both, np.concatenate([y, self.classes_[guess[rows]]]))
        self.model_ = model
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row: (N,)."""
        check_is_fitted(self)
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class: (N, classes)."""
        check_is_fitted(self)
        return self.model_.predict_proba(X)


class StartAlone(ClassifierMixin, BaseEstimator):
    """The linear teacher that teaches a default TSE-Net, and nothing else: one linear model of the input.

    Parameters
    ----------
    random_state : int
        Of its folds and singular directions.

    Attributes
    ----------
    classes_ : ndarray
    n_parameters_ : int
        Weights and biases.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit to all rows (N, V); −1 in ``y`` (N,) marks rows without a label."""
        from tsenet.data import BinaryRule, Scaling, Table
        from tsenet.data.order import duplicate_groups
        from tsenet.network.batches import Inputs
        from tsenet.progress import Progress
        from tsenet.training.linear_teacher import fit_linear_teacher
        from tsenet.training.losses import BinaryLoss, MulticlassLoss
        from tsenet.training.rows import TrainingRows

        table = Table.of(X)
        self.classes_ = np.unique(y[y != -1])
        targets = np.where(y == -1, -1, np.searchsorted(self.classes_, y))
        self._rule, self._scaling = BinaryRule.learn(table), Scaling.learn(table)
        inputs = Inputs.of(self._scaling.apply(table), self._rule)
        rows = TrainingRows.of(inputs, targets, None, duplicate_groups(table.values))
        n_classes = self.classes_.size
        loss = BinaryLoss() if n_classes == 2 else MulticlassLoss(n_classes)
        start = fit_linear_teacher(inputs, rows.labelled, loss, self.random_state, Progress())
        self._linear, self._loss = start.model, loss
        self.n_parameters_ = int(start.model.weight.size + np.size(start.model.bias))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class: (N, classes)."""
        from tsenet.data import Table
        from tsenet.network.batches import Inputs

        check_is_fitted(self, "n_parameters_")
        inputs = Inputs.of(self._scaling.apply(Table.of(X)), self._rule)
        return np.asarray(self._loss.predict(self._linear(inputs.values)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class: (N,)."""
        chosen: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return chosen
