"""``TSENetClassifier``."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tsenet.data.scaling import unit_rows
from tsenet.errors import DataError, quoted
from tsenet.estimators.checked_rows import check_length, checked_weights
from tsenet.estimators.network import TSENetEstimator
from tsenet.training.losses import BinaryLoss
from tsenet.training.targets import MultilabelTargets, doubt

_DIRECTIONS = 50  # in which rows are compared


class TSENetClassifier(ClassifierMixin, TSENetEstimator):
    """Classifier whose sparse network has the structure of the data (tree skeleton expansion).

    ``fit`` learns a latent tree from ``X`` alone, adds links, and trains the network they make. Columns of a dense
    table are brought to mean 0 and deviation 1, a sparse one is scaled by one factor. The result does not depend on the
    order of the rows.

    Attributes
    ----------
    tree_ : LatentTree or None
        The skeleton; None if ``wiring`` was given.
    wiring_ : Wiring
        Which unit reads which.
    net_ : TSENet
        The trained torch module, on the CPU, in evaluation mode.
    history_ : History
        Losses and scores of the epochs.
    cv_score_ : CrossValidatedScore or None
        Score of labelled rows that were held out in turn, with a 95 % interval: accuracy, or R² of a regressor. It
        costs no labels; the model itself is fitted to all of them. Where some rows have no label it is that of the
        linear teacher, which the network follows; where predictions read no embeddings but the teacher does, that of a
        linear model that reads none either. ``cv_score_.scored`` says which, and ``cv_score_.unseen_share`` what share
        of the rows is of classes without any label, as far as one can tell. After ``init="random"`` it is that of
        the tenth that told when to stop, and so a little too high. None after ``partial_fit``, and after
        ``linear_skip=False`` or ``init="log-odds"`` if no row was held out; a saved model keeps it.
    feature_importances_ : ndarray (V,)
        Importance of each column; the sum is 1.
    n_parameters_ : int
        Number of trained parameters.
    targets_ : Targets
        What the targets are: it encodes ``y`` and decodes raw outputs.
    binary_rule_ : BinaryRule
        How columns of a table become inputs of the network.
    scaling_ : Scaling
        How their values are scaled.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when ``fit`` saw a dataframe with string names.
    vectorizer_ : CountVectorizer or None
        The fitted vectorizer that counts the words of texts; None if the model was fitted on a table.
    source_ : dict or None
        The columns of the file that ``tsenet fit`` read, so that ``tsenet predict`` finds them again.

    Notes
    -----
    A 2-D ``y`` holds 0, 1 or NaN, unknown, for each of C labels. Rows without a label help to learn the structure and
    the first weights; :meth:`score` leaves them out.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import TSENetClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = TSENetClassifier(random_state=0, max_epochs=10).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.85)
    True
    """

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes; for several labels their column numbers."""
        return np.asarray(self.targets_.classes)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch on some rows; the first call learns structure and scale from its rows.

        Parameters
        ----------
        X : table, (N, V)
        y : array-like, (N,) or (N, C)
        classes : array-like, default=None
            All classes there will be; needed in the first call unless ``y`` is 2-D.
        sample_weight : array-like (N,), default=None
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows, which partial_fit never sees: give the weights as a dict"
            )
        if not hasattr(self, "history_") and classes is None and np.ndim(y) == 1:
            raise ValueError("classes must be passed on the first call to partial_fit")
        known = getattr(self, "classes_", None)
        if (
            known is not None
            and classes is not None
            and not np.array_equal(np.unique(classes), known)
        ):
            raise ValueError(f"classes is not the same as on the first call: {known}")
        return self._partial_fit(X, y, sample_weight, classes)

    def predict(self, X: Any, embeddings: Any = None) -> NDArray[Any]:
        """The most probable class (N,), or 0 and 1 for each label (N, C)."""
        outputs = self._outputs(X, embeddings)
        return np.asarray(self.targets_.decode(outputs))

    def predict_proba(self, X: Any, embeddings: Any = None) -> NDArray[np.float64]:
        """Probabilities: of each class (N, classes), or that each label holds (N, labels)."""
        outputs = self._outputs(X, embeddings)
        return np.asarray(self.targets_.loss.predict(outputs))

    def decision_function(self, X: Any, embeddings: Any = None) -> NDArray[np.float64]:
        """Raw outputs of the network.

        Two classes: log-odds of the second (N,). More: a score for each (N, classes), whose softmax is
        :meth:`predict_proba`. Labels: log-odds of each (N, labels).
        """
        outputs = self._outputs(X, embeddings)
        return outputs[:, 0] if isinstance(self.targets_.loss, BinaryLoss) else outputs

    def score(self, X: Any, y: Any, sample_weight: Any = None, embeddings: Any = None) -> float:
        """Accuracy; for several labels, the share of rows whose known labels are all right.

        Rows without a known label are left out.
        """
        check_is_fitted(self, "history_")
        values, known = self._read_targets(y)
        predicted = self.predict(X, embeddings)
        check_length("y", values, len(predicted))
        if predicted.shape != values.shape or _are_texts(predicted) != _are_texts(values):
            raise DataError(
                f"y does not hold what the model predicts: it holds {quoted(values.tolist()[0])}, "
                f"a prediction is {quoted(predicted.tolist()[0])}"
            )

        right = predicted == values
        if values.ndim == 2:
            right = (right | np.isnan(values)).all(axis=1)

        weights = None
        if sample_weight is not None:
            weights = checked_weights(sample_weight, len(predicted))[known]

        return float(np.average(right[known], weights=weights))

    def suggest(self, X: Any, n: int = 20) -> NDArray[np.int64]:
        """Choose rows to label next: the model is unsure of them, they are typical, and they differ from each other.

        The rows are divided into ``n`` clusters by k-means, in which each row is weighted by how unsure the model is of
        its class; the row closest to the centre of each cluster is chosen.

        Parameters
        ----------
        X : table, (N, V), or texts
            Rows without a label.
        n : int, default=20
            How many rows to choose; all of them if ``X`` has no more.

        Returns
        -------
        ndarray of int64, (n,)
            Positions in ``X``; rows of the clusters that the model is least certain of come first.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from tsenet import TSENetClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> model = TSENetClassifier(random_state=0, max_epochs=5).fit(X[:100], y[:100])
        >>> model.suggest(X[100:], n=5).shape
        (5,)
        """
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n must be a whole number from 1 on, not {n!r}")

        several = isinstance(self.targets_, MultilabelTargets)
        unsure = doubt(self.predict_proba(X), several)
        rows = [part.values for part in self.network_inputs(X)]
        return _typical_rows(rows, unsure, int(n))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _typical_rows(parts: list[Any], importance: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """The rows in the middle of ``n`` groups of similar rows, in which each row has its importance."""
    from scipy.sparse import vstack
    from sklearn.cluster import KMeans
    from sklearn.utils.extmath import randomized_svd

    if importance.size <= n:
        return np.argsort(-importance, kind="stable")

    # Similar rows are close to each other along the leading singular directions.
    rows: Any
    if isinstance(parts[0], np.ndarray):
        rows = np.concatenate(parts)
    else:
        rows = vstack(parts, format="csr")
    u, size, _ = randomized_svd(rows, min(_DIRECTIONS, *rows.shape), random_state=0)
    directions = unit_rows(u * size)  # (N, K)

    weight = np.where(directions.any(axis=1), importance, 0.0) + 1e-9  # empty rows say nothing
    clusters = KMeans(n, n_init=1, random_state=0).fit(directions, sample_weight=weight)

    # The row closest to each centre; the clusters of most weight come first.
    distance = clusters.transform(directions)  # (N, n)
    is_outside = clusters.labels_[:, None] != np.arange(n)
    distance[is_outside] = np.inf
    middle = distance.argmin(axis=0)  # (n,)
    total = np.bincount(clusters.labels_, weight, n)
    return np.asarray(middle[np.argsort(-total, kind="stable")])


def _are_texts(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "U" or (values.dtype.kind == "O" and isinstance(values[0], str))
