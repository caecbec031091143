"""`LightModel`: the answers of a saved classifier or regressor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.data.scaling import Scaling
from tsenet.data.table import Table
from tsenet.data.text import rows_of_texts, vectorizer_of_fields
from tsenet.errors import DataError
from tsenet.network.batches import Inputs
from tsenet.network.options import NetworkOptions
from tsenet.network.predictor import Predictor
from tsenet.store.network_files import (
    arrays_under,
    n_inputs_of,
    names_or,
    scaling_of,
    wiring_of_parts,
)
from tsenet.store.runtime.arrays import net_of_arrays
from tsenet.training.targets import ClassTargets, Targets, ValueTargets, targets_from_parts

if TYPE_CHECKING:
    pass

__all__ = ["LightModel"]

_SLAB = 4096  # sparse rows made dense at a time
_FEW_ROWS = 64  # up to so many, one thread is faster
_FIRST_ROWS = 100  # so many in all are answered before numba is loaded


class LightModel:
    """Answers of a saved `TSENetClassifier` or `TSENetRegressor`, without torch and scikit-learn.

    ``tsenet.load(path, runtime="light")`` makes one, which answers the first hundred rows with numpy and scipy alone
    and the others with the kernels of the full package. With ``runtime="plain"``, or where numba is not installed,
    numpy and scipy answer all.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    classes_ : ndarray
        Of a classifier: the classes, in the order of the probabilities.
    feature_names_in_ : ndarray of str
        Names of the columns, if the model was fitted on columns with names.
    vectorizer_ : CountVectorizer, PlainVectorizer or None
        What counts the words of texts, if the model was fitted on texts.
    binary_rule_ : BinaryRule
        The columns and their categories.
    source_ : dict or None
        Which columns of a file the model was fitted on, if ``tsenet fit`` made it.
    jit : bool
        Whether to use compiled kernels if numba is installed.
    n_jobs : int or None
        Threads of the kernels; None: all cores.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from tsenet import TSENetClassifier, load
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TSENetClassifier(max_epochs=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder, "iris.tsenet"))
    ...     light = load(Path(folder, "iris.tsenet"), runtime="light")
    >>> bool((light.predict(X) == model.predict(X)).all())
    True
    """

    feature_names_in_: NDArray[np.object_]

    def __init__(
        self,
        net: Predictor,
        rule: BinaryRule,
        scaling: Scaling,
        targets: Targets,
        vectorizer: Any,
        source: dict[str, Any] | None = None,
    ) -> None:
        self.jit = True
        self.n_jobs: int | None = None
        self._n_answered = 0
        self.n_features_in_ = rule.n_columns_in
        self.binary_rule_, self.vectorizer_, self.source_ = rule, vectorizer, source
        if not isinstance(targets, ValueTargets):
            self.classes_ = targets.classes
        self._scaling, self._targets = scaling, targets
        self._net = net

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Build the model from the fields and arrays of an estimator's file.

        Raises
        ------
        MissingDependencyError
            If the network has batch normalisation.
        ValueError
            If the parts do not fit each other.
        """
        options = NetworkOptions(**meta["network"])
        targets = targets_from_parts(meta["target"], arrays_under("target", arrays))
        n_outputs = targets.n_targets
        if isinstance(targets, ClassTargets) and targets.classes.size > 2:
            n_outputs = targets.classes.size
        weights = arrays_under("net", arrays)
        if n_outputs > sum(array.size for array in weights.values()):
            raise ValueError(f"there are no weights for {n_outputs} outputs")
        rule = BinaryRule.from_dict(meta["rule"], n_inputs_of(meta, arrays))
        inputs, *latents = meta["wiring"]["names"]
        fields = {**meta["wiring"], "names": [names_or(inputs, rule.names), *latents]}
        wiring = wiring_of_parts(fields, arrays_under("wiring", arrays))
        if wiring.layer_sizes[0] != rule.n_variables:
            raise ValueError("the wiring does not fit the columns")
        counts = bool(meta.get("counts", False))
        scaling = scaling_of(arrays, counts, rule)
        vectorizer = None
        if meta["words"] is not None:
            vectorizer = vectorizer_of_fields(meta["words"], list(rule.names_in), light=True)
        source = meta["source"]
        if not isinstance(source, dict | None):
            raise ValueError("source must be an object or null")
        net = net_of_arrays(wiring, options, n_outputs, weights)
        made = cls(net, rule, scaling, targets, vectorizer, source)
        if meta["feature_names_in"] is not None:
            names = names_or(meta["feature_names_in"], rule.names_in)
            made.feature_names_in_ = np.array(names, dtype=object)
        return made

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row (N,), 0 and 1 for each of several labels (N, C), or the values.

        Parameters
        ----------
        X : table, (N, V), or texts
            Rows with the columns that ``fit`` saw.
        """
        return _finite(self._targets.decode(self._outputs(X)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities: of each class (N, classes), or that each label holds (N, labels).

        Parameters
        ----------
        X : table, (N, V), or texts
            Rows with the columns that ``fit`` saw.
        """
        from scipy.special import expit, softmax

        targets = self._targets
        if isinstance(targets, ValueTargets):
            raise AttributeError("a regressor has no probabilities: call predict")
        z = self._outputs(X)
        if not isinstance(targets, ClassTargets):
            found = expit(z)
        elif targets.classes.size == 2:
            found = np.concatenate([expit(-z), expit(z)], axis=1)
        else:
            found = softmax(z, axis=1)
        return np.asarray(found, np.float64)

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """Raw outputs: (N, C)."""
        return _finite(np.concatenate([self._outputs_of(part) for part in self._inputs(X)]))

    def _outputs_of(self, inputs: Inputs) -> NDArray[np.float64]:
        return self._net.outputs(inputs, None, self.n_jobs)

    def _inputs(self, X: Any) -> Iterator[Inputs]:
        """Blocks of rows as the network reads them."""
        X = rows_of_texts(X, self.vectorizer_)
        table = Table.of(X, missing=True, columns=self.binary_rule_.names_in)
        self.binary_rule_.check_columns(table)
        step = table.n_rows
        if table.is_sparse and self._scaling.centres:
            step = _SLAB
        for start in range(0, table.n_rows, step):
            part = table.take(slice(start, start + step)) if step < table.n_rows else table
            yield Inputs.of(self._scaling.apply(part), self.binary_rule_)


def _finite(answers: NDArray[Any]) -> NDArray[Any]:
    """Answers after the check that none is infinite or NaN."""
    if answers.dtype.kind == "f" and not np.isfinite(answers).all():
        row = int(np.argmin(np.isfinite(answers).reshape(len(answers), -1).all(axis=1)))
        raise DataError(
            f"row {row} is too far from the rows the network was fitted on: its answer is not finite. "
            "Look for values in a wrong unit"
        )
    return answers
