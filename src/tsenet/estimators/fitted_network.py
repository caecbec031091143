"""What people ask a fitted network: its rows, outputs, units, importances and file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tsenet.data.blocks import is_outside_memory, tables_of
from tsenet.data.mixed import MixedReader
from tsenet.data.table import Table, no_levels
from tsenet.data.text import as_counts
from tsenet.errors import DataError, need_torch
from tsenet.estimators import network_parts
from tsenet.estimators.base import TableEstimator, check_columns
from tsenet.estimators.checked_rows import checked_embeddings
from tsenet.expansion.wiring import Wiring
from tsenet.network.inputs import Inputs
from tsenet.training.scores import CrossValidatedScore

if TYPE_CHECKING:
    from tsenet.network.predictor import Predictor
    from tsenet.network.tsenet import TSENet
    from tsenet.training.linear_teacher import Linear
    from tsenet.training.loop import AdamState

_SLAB = 4096  # sparse rows made dense at a time, for a network that was fitted on dense ones

Arrays = dict[str, NDArray[Any]]


class FittedNetwork(TransformerMixin, TableEstimator):
    """A network that was fitted, or read from a file."""

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    source_: dict[str, Any] | None
    cv_score_: CrossValidatedScore | None = None

    #: The wiring before training; None in a loaded estimator.
    _learned_wiring: Wiring | None = None
    #: How data frames of a text and other columns become rows.
    _mixed: MixedReader | None = None
    #: The network that a file held.
    _stored: Predictor | None = None
    #: What embeddings add to the outputs, after ``fit(…, inputs="both")``.
    _of_embeddings: Linear | None = None
    #: Whether weights were pruned; those that are 0 then stay so.
    _pruned: bool = False
    #: Adam's state between calls of partial_fit; not kept in files.
    _adam: AdamState | None = None
    #: Of the columns, once they were asked for, and the rows that they are computed from.
    _importances: NDArray[np.float64] | None = None
    _importance_rows: Inputs | None = None

    @property
    def reader_(self) -> Any:
        """What makes rows of texts, or of data frames with a text; None if the model was fitted on a table."""
        return self._mixed or self.vectorizer_

    def network_inputs(self, X: Any) -> Iterator[Inputs]:
        """Yield blocks of rows as the network reads them: scaled, categories one-hot.

        Parameters
        ----------
        X : table, (N, V), texts, or a folder of shards
            Rows with the columns that ``fit`` saw; words of a folder are matched by name.

        Yields
        ------
        Inputs
            Consecutive rows; folders and sparse tables that must become dense come in several blocks, others in one.
        """
        if not hasattr(self, "history_"):
            check_is_fitted(self, "history_")
        is_matrix = issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2)
        if not is_matrix:  # texts, a folder or a data frame
            if is_outside_memory(X):
                for table in tables_of(X, self.binary_rule_.names_in):
                    yield from self.network_inputs(table)
                return
            X = as_counts(X, self.reader_)

        table = Table.of(X, columns=getattr(self, "feature_names_in_", None))
        check_columns(self, table)
        rule = self.binary_rule_
        if not rule.has_categories and table.levels is no_levels(table.n_columns):
            table = Table(table.values, rule.names_in, rule.levels, table.named)
        step = _SLAB if table.is_sparse and self.scaling_.centres else table.n_rows
        for start in range(0, table.n_rows, step):
            part = table.take(slice(start, start + step)) if step < table.n_rows else table
            yield Inputs.of(self.scaling_.apply(part), rule)

    def _outputs(self, X: Any, embeddings: Any = None) -> NDArray[np.float64]:
        """Raw outputs of the network, and of the part on embeddings if there is one: (N, C)."""
        outputs = finite_answers(
            [self._predictor.outputs(part, None, self.n_jobs) for part in self.network_inputs(X)]
        )
        part = self._of_embeddings
        if part is None and embeddings is None:
            return outputs
        if part is None:
            raise DataError("the model reads no embeddings: it was fitted without inputs='both'")
        if embeddings is None:
            raise DataError(
                "the model was fitted with inputs='both': pass the embeddings of the rows too, as embeddings=..."
            )

        vectors = checked_embeddings(embeddings, len(outputs))
        if vectors.shape[1] != len(part.weight):
            raise DataError(
                f"embeddings must have {len(part.weight)} columns, as in fit, not {vectors.shape[1]}"
            )
        return outputs + part(vectors)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Activations of all hidden units, layer by layer: (N, units)."""
        return finite_answers(
            [self._predictor.hidden(part, self.n_jobs) for part in self.network_inputs(X)]
        )

    @property
    def reads_embeddings_(self) -> bool:
        """Whether predictions need embeddings too: after ``fit(…, inputs="both")``."""
        return self._of_embeddings is not None

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importance of each column, (V,); the sum is 1.

        The mean size of what a column adds to the outputs (see :func:`tsenet.explain.explain_prediction`), over up to
        200 training rows; the levels of a category count as one column.
        """
        check_is_fitted(self, "history_")
        if self._importances is None:
            from tsenet.explain.affine import column_importances

            if self._importance_rows is None:
                raise AttributeError("the model was read from a file that has no importances")
            self._importances = column_importances(
                self._predictor, self._importance_rows, self.binary_rule_
            )
        return self._importances

    @property
    def n_parameters_(self) -> int:
        """Number of trained parameters; of a pruned network, of those that its outputs depend on."""
        from tsenet.network.compact import n_used_parameters

        check_is_fitted(self, "history_")
        if self._pruned:
            return n_used_parameters(self._predictor)
        return sum(array.size for array in self._predictor.arrays.values())

    @property
    def learned_wiring_(self) -> Wiring:
        """The whole wiring, as it was before training: it depends on no label, so other networks can share it.

        ``wiring_`` is that of the trained network, without links that its outputs do not use. A model file keeps
        ``wiring_`` only; after loading both are the same.
        """
        check_is_fitted(self, "history_")
        return self.wiring_ if self._learned_wiring is None else self._learned_wiring

    @cached_property
    def net_(self) -> TSENet:
        """The network; that of a loaded model is made when it is first asked for, since it needs torch."""
        if self._stored is None:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        need_torch("the network of a loaded model")
        from tsenet.network.tsenet import TSENet

        return TSENet.of_arrays(self.wiring_, self._network_options, self._stored.arrays)

    @property
    def _predictor(self) -> Predictor:
        """The network without torch, which makes all predictions."""
        if self._stored is not None and "net_" not in self.__dict__:
            return self._stored
        return self.net_.predictor()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the hidden units, one for each column that :meth:`transform` gives.

        Latents have their names in the tree; the units of a latent with several are ``Z1.3/1``, ``Z1.3/2``, ….
        ``skip0.3`` is a feature unit that reads the input, ``skip1.3`` one that reads level 1, ``top.3`` one that reads
        the top level.
        """
        check_is_fitted(self, "history_")
        return np.array(self._predictor.topology.hidden_names(), dtype=object)

    def __getstate__(self) -> dict[str, Any]:
        """A pickle holds the importances, and not the rows that they are computed from."""
        state: dict[str, Any] = dict(super().__getstate__())
        if state.get("_importance_rows") is not None:
            state["_importances"] = self.feature_importances_
            state["_importance_rows"] = None
        return state

    def to_onnx(self, path: str | os.PathLike[str], *, texts: bool = False) -> None:
        """Write the fitted estimator as an ONNX model; :func:`tsenet.store.write_onnx` says what it reads and gives.

        Parameters
        ----------
        path : path
            File to write.
        texts : bool, default=False
            Whether the ONNX model reads texts instead of counts of words.
        """
        from tsenet.store import write_onnx

        check_is_fitted(self, "history_")
        write_onnx(self, path, texts=texts)

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """The file form. Parameters that are not plain values, such as a generator, become None."""
        check_is_fitted(self, "history_")
        return network_parts.to_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Rebuild an estimator from :meth:`to_parts`."""
        weights = network_parts.class_weight_of(meta["params"].get("class_weight"))
        model = cls._with_params({**meta["params"], "class_weight": weights})
        network_parts.fill(model, meta, arrays)
        return model


def finite_answers(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Answers in one array, after the check that none is infinite or NaN."""
    answers = np.concatenate(parts)
    finite = np.isfinite(answers)
    if not finite.all():
        row = int(np.argmin(finite.reshape(len(answers), -1).all(axis=1)))
        raise DataError(
            f"row {row} is too far from the rows the network was fitted on: its prediction is not "
            "finite. Check the units of its values"
        )
    return answers
