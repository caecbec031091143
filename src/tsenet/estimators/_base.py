"""What TSENetClassifier and TSENetRegressor share: structure, network, names of the units, files."""

from __future__ import annotations

from abc import abstractmethod
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tsenet._system.seeds import seed_sequence
from tsenet.data.scaling import Scaling
from tsenet.estimators._job import Job, Rows
from tsenet.estimators._network import NetworkEstimator, progress_of, seed_number
from tsenet.estimators._structure import bare_wiring, structure_of
from tsenet.expansion.wiring import Wiring
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.network.tsenet import TSENet
    from tsenet.skeleton.tree import LatentTree
    from tsenet.training.callbacks import Callback
    from tsenet.training.engine import Engine
    from tsenet.training.labelled import Labelled
    from tsenet.training.losses import Loss

_NETWORK = ("skip_units", "feature_units", "activation", "dropout", "norm", "linear_skip", "init")


class TSENetBase(NetworkEstimator):
    """An estimator whose network is wired as its rows are; what a target is, is the children's."""

    # The parameters that the wiring and the network add to those of training.
    density: float
    link_rule: Any
    max_top: int
    max_island: int
    correlation_test: bool
    structure_samples: int | None
    skip_units: int
    feature_units: int
    dropout: float
    activation: Any
    norm: Any
    linear_skip: Any
    init: Any
    wiring: Wiring | None

    tree_: LatentTree | None
    wiring_: Wiring
    net_: TSENet
    source_: dict[str, Any] | None

    #: Which weights pruning left, by name; None: all.
    _kept: dict[str, NDArray[np.bool_]] | None = None

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The paper's own recipe: top-k links, groups without a correlation test, structure from 10,000 rows.

        Parameters
        ----------
        **changes
            Other parameters, or other values of these.
        """
        recipe = {
            "link_rule": "top-k",
            "correlation_test": False,
            "dropout": 0.5,
            "linear_skip": False,
            "init": "fan-in",
            "structure_samples": 10_000,
        }
        return cls(**{**recipe, **changes})

    # ---- what the children say

    @abstractmethod
    def _target_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """File form of what was learned from the targets."""

    @abstractmethod
    def _set_target_parts(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Put it back."""

    # ---- learning

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """One epoch over new rows; the first call builds the network."""
        first = not hasattr(self, "net_")
        with as_progress(progress_of(self.verbose)) as report:
            rows = self._rows(X, y, sample_weight, reset=first, classes=classes)
            if first:
                self._build(rows, report)
            engine = self._train(rows, report, epochs=1, early_stopping=False)
            self._optimiser = engine.state()
        return self

    def _build(self, rows: Rows, report: Progress) -> None:
        """Learn structure and scale; make an untrained network."""
        from tsenet.network.tsenet import TSENet

        tree_seed, wiring_seed, net_seed = seed_sequence(self.random_state).spawn(3)
        if self.linear_skip not in (True, False, "auto"):
            raise ValueError(f"linear_skip must be True, False or 'auto', not {self.linear_skip!r}")
        options = {name: getattr(self, name) for name in _NETWORK}
        options["linear_skip"] = bool(self.linear_skip)
        TSENet(bare_wiring(("x",)), 1, **options)  # refuses bad options before the work
        self._options()
        found = structure_of(rows.table, self, tree_seed, wiring_seed, report)
        self.tree_, self.wiring_, self._rule = found
        self._scaling = Scaling.learn(rows.table)
        self._n_runs = 0
        self._kept = None
        self.source_ = None
        self._make_net(options, seed_number(net_seed))

    def _make_net(self, options: dict[str, Any], seed: int) -> None:
        from tsenet.network.tsenet import TSENet

        self._net_options = options
        self.net_ = TSENet(self.wiring_, self._loss().n_outputs, **options, seed=seed)
        self.n_parameters_ = self.net_.n_parameters

    def _train(
        self, rows: Rows, report: Progress, epochs: int, early_stopping: bool, new: bool = False
    ) -> Engine:
        """On dense rows also train a network without linear skips; keep the paths if held-out rows clearly want them.

        Linear skips learn fast: on most tables they help much or do no harm, on some they overfit before the units have
        learned.
        """
        job = self._job(rows, epochs, early_stopping, new)
        engine = self._run(job, report)
        if new and self.linear_skip == "auto" and not job.inputs.is_sparse:
            engine = self._without_paths(job, engine, report)
        self._finish(job, report)
        return engine

    def _without_paths(self, job: Job, engine: Engine, report: Progress) -> Engine:
        """Train a network without linear skips, and put the first one back if that was better."""
        from tsenet.training.judge import losses_by_part, standard_error

        if job.validation is None or self.history_.stopped in ("interrupted", "callback"):
            return engine
        inputs, rows, targets, weights = job.validation
        held_out = type(inputs)(inputs.values[rows])

        def losses() -> NDArray[np.float64]:
            return losses_by_part(job.loss, self._outputs_of(held_out), targets, weights)

        first = self._net_options, self.net_, self.n_parameters_, self.history_
        before = losses()
        *_, net_seed = seed_sequence(self.random_state).spawn(3)
        self._make_net({**self._net_options, "linear_skip": False}, seed_number(net_seed))
        other = self._run(job, report)
        gain = losses() - before  # of the paths
        if gain.mean() <= standard_error(gain):
            return other
        self._net_options, self.net_, self.n_parameters_, self.history_ = first
        return engine

    @property
    def _starts(self) -> bool:
        return self.init == "tree" and bool(list(self.net_.linear_skips))

    def _start(
        self, inputs: Inputs, labelled: Labelled, loss: Loss, seed: int, report: Progress
    ) -> None:
        """Units that follow the model of all rows; if there are linear skips, outputs that follow the labels."""
        from tsenet.network.start import follow_model
        from tsenet.training.start import start_from_labels

        if self.init == "tree":
            follow_model(self.net_, inputs)
        if self._starts:
            start_from_labels(self.net_, inputs, labelled, loss, seed, report)

    def prune(self, n_parameters: int, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove the weakest weights of all layers, in place, and train the others on; biases are kept.

        The strength of a weight is its size, times the root mean square of what it reads, times how strongly the
        outputs depend on what it moves. Removed weights are 0 and stay so in all further training.

        Parameters
        ----------
        n_parameters : int
            Trained numbers that shall be left.
        X : table, (N, V)
            Rows like those the model was fitted on.
        y, sample_weight
            As for :meth:`fit`. None: the weights that are left stay as they are.
        """
        from tsenet.estimators._pruning import remove_weakest

        for part in islice(self.network_inputs(X), 1):
            self._kept = remove_weakest(self.net_, part, n_parameters)
        self.n_parameters_ = n_parameters
        if y is not None:
            with as_progress(progress_of(self.verbose)) as report:
                rows = self._rows(X, y, sample_weight, reset=False)
                self._optimiser = None
                self._train(rows, report, self.max_epochs, self.early_stopping)
        return self

    def _own_callbacks(self) -> tuple[Callback, ...]:
        from tsenet.estimators._pruning import KeepRemoved

        return () if self._kept is None else (KeepRemoved(self.net_, self._kept),)

    def _engine(self, inputs: Inputs, loss: Loss, seed: int) -> Engine:
        """Kernels on a CPU; autograd on other devices and for batch normalisation."""
        from tsenet.training.engine import AutogradEngine
        from tsenet.training.fused import FusedEngine

        device = self._device()
        if device == "cpu" and not self.net_.has_norm:
            return FusedEngine(self.net_, inputs, loss, seed=seed, n_jobs=self.n_jobs)
        return AutogradEngine(self.net_, inputs, loss, device=device, seed=seed)

    # ---- answers

    def _outputs_of(self, inputs: Inputs) -> NDArray[np.float64]:
        from tsenet.network.evaluate import network_outputs

        return network_outputs(self.net_, inputs, self.n_jobs)

    def _hidden_of(self, inputs: Inputs) -> NDArray[np.float32]:
        """Level by level, then the feature layer."""
        from tsenet.network.evaluate import hidden_activations

        return hidden_activations(self.net_, inputs, self.n_jobs)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the hidden units, one for each column that :meth:`transform` gives.

        Latents have their names in the tree; ``skip0.3`` is a feature unit that reads the input, ``skip1.3`` one that
        reads level 1, ``top.3`` one that reads the top level.
        """
        check_is_fitted(self)
        names = [name for layer in self.wiring_.names[1:] for name in layer]
        for level, group in enumerate(self.net_.skips):
            names += [f"skip{level}.{k}" for k in range(group.bias.numel())]
        names += [f"top.{k}" for k in range(self.net_.top.bias.numel())]
        return np.array(names, dtype=object)

    # ---- files

    def report(
        self,
        path: str | PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        texts: Any = None,
        **options: Any,
    ) -> None:
        """Write the model as one HTML page to explore: its units, what they go with, and how it was trained.

        Parameters
        ----------
        path : path
            The file to write; one of that name is replaced.
        X, y : optional
            Rows that show what moves the units and which classes they speak for, and their targets.
        texts : sequence of str, optional
            What to show of each row. The page quotes it.
        **options
            ``progress``, and those of :class:`tsenet.explain.report.ReportOptions`.
        """
        from tsenet.explain.report import write_report

        check_is_fitted(self, "net_")
        write_report(path, self, X, y, texts=texts, **options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted estimator to a ``.tsenet`` file, which :func:`tsenet.load` reads."""
        from tsenet.store import save

        save(self, path)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form. Parameters that are not plain values (callbacks, a generator) become None."""
        from tsenet.estimators._files import estimator_parts

        check_is_fitted(self, "net_")
        return estimator_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild an estimator from :meth:`to_parts`."""
        from tsenet.estimators._files import fill_estimator, parameters_of

        estimator = cls(**parameters_of(meta))
        fill_estimator(estimator, meta, arrays)
        return estimator
