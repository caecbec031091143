"""``DenseClassifier`` and ``DenseRegressor``: fully connected networks with the face of TSE-Net's estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tsenet._system.packages import need_torch
from tsenet._system.seeds import seed_number, seed_sequence
from tsenet._system.threads import chunks, thread_count
from tsenet.baselines.grid import check_shape
from tsenet.data.binary import BinaryRule
from tsenet.data.scaling import Scaling
from tsenet.data.table import Table
from tsenet.estimators.network import (
    CheckedRows,
    NetworkClassifier,
    NetworkEstimator,
    NetworkRegressor,
    progress_of,
)
from tsenet.progress import as_progress

if TYPE_CHECKING:
    from tsenet.baselines.fnn import FNN
    from tsenet.network.batches import Inputs
    from tsenet.training.engine import Engine
    from tsenet.training.history import History
    from tsenet.training.losses import Loss
    from tsenet.training.settings import TrainingSettings

__all__ = ["DenseClassifier", "DenseEstimator", "DenseRegressor"]

_ROWS = 1024  # in a forward pass
_FILLED = 64  # … filled up to a multiple of this, see _levels
_WORTH_THREADS = 100_000  # weights from which a second thread earns more than it costs


class DenseEstimator(NetworkEstimator):
    """An estimator whose network is fully connected."""

    hidden: Sequence[int]
    dropout: float
    weighting: Any
    random_state: Any

    net_: FNN

    # ---- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train a new network.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows or Table, (N, V)
        y : array-like, (N,) or (N, C)
            None, NaN, ``pandas.NA`` and blank text are unknown targets. A dense network cannot use rows without any.
        sample_weight : array-like (N,), default=None
            Whole numbers count as repetitions of a row; other weights count in the loss. 0 removes a row.

        Returns
        -------
        self
        """
        need_torch("training")
        from tsenet.baselines.fnn import FNN
        from tsenet.training.settings import TrainingSettings

        settings = self._settings(TrainingSettings)
        check_shape(self.hidden, self.dropout)
        checked = self._check_rows(X, y, sample_weight, reset=True)
        self.binary_rule_ = _columns_as_given(checked.table)
        self.scaling_ = Scaling.learn(checked.table, self.weighting)
        *_, seed = seed_sequence(self.random_state).spawn(3)
        self.net_ = FNN(
            self.binary_rule_.n_variables,
            self.targets_.loss().n_outputs,
            hidden=self.hidden,
            dropout=self.dropout,
            seed=seed_number(seed),
        )
        self._prepare(seed_number(seed))
        self._train(checked, settings)
        return self

    def _prepare(self, seed: int) -> None:
        """Change the new network before it is trained."""

    def _engine(
        self, inputs: Inputs, loss: Loss, seed: int
    ) -> tuple[Engine, Callable[[History], None] | None]:
        """What trains the network on a CPU, and what to do after each epoch."""
        from tsenet.training.engine import Engine

        return Engine(self.net_, inputs, loss, seed=seed, n_threads=self._threads()), None

    def retrain(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the present network on from its weights, with the same validation rows as in :meth:`fit`.

        Parameters
        ----------
        X, y, sample_weight
            What the model was fitted on.

        Returns
        -------
        self
        """
        from tsenet.training.settings import TrainingSettings

        checked = self._check_rows(X, y, sample_weight, reset=False)
        self._train(checked, self._settings(TrainingSettings))
        return self

    def _train(self, checked: CheckedRows, settings: TrainingSettings) -> None:
        from tsenet.training.engine import Engine
        from tsenet.training.recipe import RunSeeds, hold_out, train_network

        rows = self._training_rows(checked)
        seeds = RunSeeds.of(seed_sequence(self.random_state), 0)
        split = hold_out(rows, self.targets_, settings, seeds.split)
        loss = self.targets_.loss(rows.labelled.targets, getattr(self, "class_weight", None))
        device = settings.torch_device()
        with as_progress(progress_of(self.verbose)) as report:
            engine: Engine
            after_epoch = None
            if device == "cpu":
                engine, after_epoch = self._engine(rows.inputs, loss, seeds.dropout)
            else:
                engine = Engine(self.net_, rows.inputs, loss, device=device, seed=seeds.dropout)
            self.history_ = train_network(
                engine, split, settings, seeds.order, report, after_epoch=after_epoch
            )
        self.net_.to("cpu").eval()
        self.n_parameters_ = self.net_.n_parameters

    def _threads(self) -> int:
        """Threads of a network of this size."""
        n_weights = sum(layer.weight.numel() for layer in self.net_.layers)
        return thread_count(self.n_jobs) if n_weights >= _WORTH_THREADS else 1

    # ---- answers

    def _outputs_of(self, inputs: Inputs) -> NDArray[np.float64]:
        """Raw outputs (n, C); the last layer is summed in float64."""
        output = self.net_.layers[-1]
        weight = output.weight.detach().numpy().astype(np.float64)  # (U, C)
        answer = np.empty((len(inputs), weight.shape[1]))
        for rows, levels in self._levels(inputs):
            answer[rows] = levels[-1] @ weight
        answer += output.bias.detach().numpy()
        return answer

    def _hidden_of(self, inputs: Inputs) -> NDArray[np.float32]:
        parts = [np.concatenate(levels, axis=1) for _, levels in self._levels(inputs)]
        return np.concatenate(parts)

    def _levels(self, inputs: Inputs) -> Iterator[tuple[slice, list[NDArray[np.float32]]]]:
        """Block by block, which rows they are and the activations (rows, units) of each hidden layer.

        A block is filled up by repeating its last row: narrow products round otherwise than wide ones, and a row's
        answer should hardly depend on how many come with it.
        """
        import torch

        from tsenet._system.threads import torch_threads

        with torch.no_grad(), torch_threads(self._threads()):
            for start, stop in chunks(len(inputs), _ROWS):
                n_filled = -(-(stop - start) // _FILLED) * _FILLED
                rows = np.minimum(np.arange(start, start + n_filled), stop - 1)
                levels = self.net_.hidden(inputs.batch(rows))
                yield slice(start, stop), [level.numpy()[: stop - start] for level in levels]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the hidden units, one for each column that :meth:`transform` gives: ``hidden1.0``, …."""
        check_is_fitted(self)
        sizes = [layer.bias.numel() for layer in self.net_.layers[:-1]]
        names = [f"hidden{k}.{u}" for k, size in enumerate(sizes, start=1) for u in range(size)]
        return np.array(names, dtype=object)


class DenseClassifier(NetworkClassifier, DenseEstimator):
    """Classifier with a fully connected network, the paper's FNN: what TSE-Net is compared with.

    Rows, targets, scaling, training loop, early stopping and answers are those of
    :class:`tsenet.TSENetClassifier`; only the network differs. Sparse rows stay sparse. On a CPU a step is several
    times faster than with torch's autograd and default Adam, so that the comparison is a fair one.

    Parameters
    ----------
    hidden : sequence of int
        Units of each hidden layer; see :func:`paper_grid` and :func:`hidden_for`.
    dropout : float
        Share of the hidden units left out in each step of training.
    weighting, learning_rate, batch_size, max_epochs, early_stopping, validation_fraction, patience, class_weight, \
device, random_state, verbose
        As for :class:`tsenet.TSENetClassifier`.
    n_jobs : int or None
        Threads; None for all cores. torch's products may round otherwise with another number of them.

    Attributes
    ----------
    classes_ : ndarray
        The classes; for several labels their column numbers.
    net_ : FNN
        The trained torch module, on the CPU, in evaluation mode.
    history_ : History
        Losses and scores of the epochs.
    n_parameters_ : int
        Number of trained numbers.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When ``fit`` saw a dataframe with string names.

    Notes
    -----
    A 2-D ``y`` holds 0, 1 or NaN, unknown, for each of C labels. There is no file form: pickle it.
    """

    def __init__(
        self,
        *,
        hidden: Sequence[int] = (512,),
        dropout: float = 0.5,
        weighting: Literal["tfidf", "counts"] = "tfidf",
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        max_epochs: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int = 5,
        class_weight: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.weighting = weighting
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.class_weight = class_weight
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class DenseRegressor(NetworkRegressor, DenseEstimator):
    """Regressor with a fully connected network; everything else is as in :class:`DenseClassifier`.

    Parameters
    ----------
    hidden, dropout, weighting, learning_rate, batch_size, max_epochs, early_stopping, validation_fraction, patience, \
device, n_jobs, random_state, verbose
        As for :class:`DenseClassifier`.

    Attributes
    ----------
    net_, history_, n_parameters_, n_features_in_, feature_names_in_
        As for :class:`DenseClassifier`.
    """

    def __init__(
        self,
        *,
        hidden: Sequence[int] = (512,),
        dropout: float = 0.5,
        weighting: Literal["tfidf", "counts"] = "tfidf",
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        max_epochs: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int = 5,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.weighting = weighting
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


def _columns_as_given(table: Table) -> BinaryRule:
    """How a table's columns become inputs: numbers one each, categories one per level.

    Nothing is cut at thresholds: a dense network has no structure to learn.
    """
    category = np.array([levels is not None for levels in table.levels])
    thresholds = np.where(category, np.nan, 0.0)
    return BinaryRule(table.names, thresholds, ~category, table.levels, table.named)
