"""What TSENetClassifier and TSENetRegressor share: structure from the rows, the recipe, names of units, files."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tsenet._system.packages import need_torch
from tsenet._system.seeds import seed_number, seed_sequence
from tsenet.data.scaling import Scaling
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators.network_estimator import CheckedRows, NetworkEstimator, progress_of
from tsenet.estimators.outside_memory import UsesCluster, fit_outside, is_outside_memory
from tsenet.estimators.texts import are_texts, rows_of
from tsenet.expansion.structure import NetworkStructure, learn_structure, structure_of_wiring
from tsenet.expansion.wiring import Wiring
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.network.options import NetworkOptions
    from tsenet.network.predictor import Predictor
    from tsenet.network.tsenet import TSENet
    from tsenet.skeleton.tree import LatentTree
    from tsenet.training.loop import Validation
    from tsenet.training.metrics import CrossValidatedScore
    from tsenet.training.recipe import RunSeeds, TrainedNetwork

__all__ = ["TSENetEstimator"]

#: Epochs of training between the rounds of pruning, and after the last.
_EPOCHS_BETWEEN, _LAST_EPOCHS = 2, 10


class TSENetEstimator(UsesCluster, NetworkEstimator):
    """An estimator whose network is wired as its rows are."""

    density: float | None
    link_rule: Any
    max_top: int
    max_island: int
    correlation_test: bool
    structure_samples: int | None
    weighting: Any
    linear_skip: Any
    vectorizer: Any
    wiring: Wiring | None
    random_state: Any
    units_per_latent: int | None

    tree_: LatentTree | None
    wiring_: Wiring
    source_: dict[str, Any] | None
    cv_score_: CrossValidatedScore | None = None

    _network_options: NetworkOptions
    #: The wiring before training; None in a loaded estimator.
    _learned_wiring: Wiring | None = None
    #: Trainings so far: each has seeds of its own.
    _n_runs: int
    #: The network that a file held.
    _stored: Predictor | None = None
    #: Whether weights were pruned; those that are 0 then stay so.
    _pruned: bool = False
    #: Adam's state between calls of partial_fit; not kept in files.
    _optimiser: dict[str, NDArray[Any]] | None = None
    #: Of the columns, once they were asked for, and the rows that they are computed from.
    _importances: NDArray[np.float64] | None = None
    _importance_rows: Inputs | None = None

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The paper's own recipe: raw word counts, groups without a correlation test, top-k links, plain weights.

        The structure is learned from at most 10,000 rows, with at most 500 units on top, and each unit reads 5 % of the
        layer below. A latent is one unit; 100 further units read each layer. Weights are drawn at random, dropout is
        0.5, and training stops when a tenth of the labelled rows, held out, sees no more progress. There is no linear
        skip, and rows without a label serve the structure alone. ``paper(skip_units=0)`` is the paper's Backbone. The
        paper trains one network for each of Tox21's tasks: give ``fit`` one column of labels at a time.
        What the defaults do otherwise: docs/results/differences.md.

        Parameters
        ----------
        **changes
            Other parameters, or other values of these.
        """
        recipe = {
            "density": 0.05,
            "link_rule": "top-k",
            "max_top": 500,
            "max_island": 15,
            "correlation_test": False,
            "structure_samples": 10_000,
            "weighting": "counts",
            "skip_units": 100,
            "feature_units": 100,
            "units_per_latent": 1,
            "activation": "relu",
            "dropout": 0.5,
            "input_dropout": 0.0,
            "linear_skip": False,
            "init": "random",
            "learning_rate": 1e-3,
        }
        return cls(**{**recipe, **changes})

    # ---- learning

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        eval_metric: Any = None,
    ) -> Self:
        """Learn the structure from ``X`` alone, then fit the network to ``X`` and ``y``.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows or Table, (N, V); or N texts; or a folder
            The words of texts are counted by ``vectorizer``; the model keeps the fitted one (``vectorizer_``), so that
            it predicts texts too. A folder of shards (path, URL, ``ShardFolder`` or
            :class:`tsenet.scale.Blocks`) or a Dask array or dataframe need not fit into memory: the structure is
            learned from all rows, by the workers of ``client`` if there is one. The network is trained in this process
            on a stream of the rows that have a label, without the linear teacher.
        y : array-like, (N,) or (N, C); for a folder also the names of its label columns
            None, NaN, ``pandas.NA`` and blank text are unknown targets, as is a classifier's ``unlabeled``. Structure
            and first weights are learned from rows without a known target too. Default for a folder: its label column.
        sample_weight : array-like (N,), default=None
            Whole numbers count as repetitions of a row, as long as the rows do not become more than tenfold.
            Other weights count in the loss; the structure then takes all rows alike. 0 removes a row.
        eval_set : tuple (X, y), default=None
            Rows to score the network on after each epoch; ``history_`` holds the scores. The weights of the best epoch
            are kept, and with ``init="random"`` these rows tell when to stop, in place of a part of the others.
        eval_metric : str or callable, default=None
            Score of validation rows. ``"accuracy"`` or ``"auc"``; for a regressor ``"r2"``, ``"mae"`` or ``"rmse"``,
            the last two with a minus sign; or a function of the true targets and of the probabilities or values
            predicted, higher is better. None: minus the loss.

        Returns
        -------
        self
        """
        need_torch("training")
        from tsenet.training.metrics import score_of
        from tsenet.training.recipe import fit_network
        from tsenet.training.settings import Recipe

        recipe = self._settings(Recipe)
        if is_outside_memory(X):
            in_memory = {"sample_weight": sample_weight, "eval_set": eval_set}
            with as_progress(progress_of(self.verbose)) as report:
                fit_outside(self, X, y, recipe, report, **in_memory, eval_metric=eval_metric)
            return self
        with as_progress(progress_of(self.verbose)) as report:
            checked = self._check_rows(X, y, sample_weight, reset=True)
            others = None if eval_set is None else self._check_eval_set(eval_set)
            score = score_of(eval_metric, self.targets_)
            self._optimiser = None
            seed = seed_sequence(self.random_state)
            net_seed = self._learn_structure(checked, seed, report)
            rows = self._training_rows(checked)
            trained = fit_network(
                rows,
                self.targets_,
                self.wiring_,
                recipe,
                net_seed,
                self._next_seeds(seed),
                report,
                class_weight=getattr(self, "class_weight", None),
                validation=None if others is None else self._validation(others),
                score=score,
            )
            self._keep(trained, rows.inputs)
        return self

    def _check_eval_set(self, eval_set: Any) -> CheckedRows:
        """The rows to validate on; those without a target are left out."""
        pair = eval_set[0] if isinstance(eval_set, list) and len(eval_set) == 1 else eval_set
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError("eval_set must be a tuple (X, y) of rows to validate on")
        X, y = pair
        # the structure, which knows the columns of a Table, is not learned yet
        checked = self._check_rows(X, y, None, reset=False, check_columns=not isinstance(X, Table))
        if checked.table.n_columns != self.n_features_in_:
            raise DataError(
                f"X of eval_set has {checked.table.n_columns} features, but {self.n_features_in_} are expected"
            )
        return checked

    def _validation(self, others: CheckedRows) -> Validation:
        """Rows as the training loop validates on them."""
        from tsenet.training.loop import Validation

        rows = self._training_rows(others)
        labelled = rows.labelled
        return Validation(rows.inputs, labelled.rows, labelled.targets, labelled.weights)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """One epoch over new rows; the first call builds the network."""
        need_torch("training")
        from tsenet.network.compact import non_zero_weights
        from tsenet.training.recipe import continue_network, first_network
        from tsenet.training.settings import Recipe

        recipe = self._settings(Recipe, max_epochs=1, early_stopping=False)
        first = not hasattr(self, "history_")
        with as_progress(progress_of(self.verbose)) as report:
            checked = self._check_rows(X, y, sample_weight, reset=first, classes=classes)
            if first:
                seed = seed_sequence(self.random_state)
                net_seed = self._learn_structure(checked, seed, report)
            rows = self._training_rows(checked)
            if first:
                n_outputs = self.targets_.loss().n_outputs
                self.net_ = first_network(
                    recipe, self.wiring_, n_outputs, rows.inputs, net_seed, bool(self.linear_skip)
                )
                self.n_parameters_ = self.net_.n_parameters
            trained = continue_network(
                *(self.net_, rows, self.targets_, recipe),
                self._next_seeds(seed_sequence(self.random_state)),
                report,
                class_weight=getattr(self, "class_weight", None),
                kept_weights=non_zero_weights(self._predictor) if self._pruned else None,
                optimiser=self._optimiser,
            )
            self._keep(trained, rows.inputs)
            self._optimiser = trained.engine.state()
        return self

    def _learn_structure(
        self, checked: CheckedRows, seed: np.random.SeedSequence, report: Progress
    ) -> int:
        """Learn structure and scale, forgetting all that was learned before; return the seed of the network."""
        table = checked.table
        tree_seed, wiring_seed, net_seed = seed_sequence(seed).spawn(3)
        if self.wiring is not None:
            found = structure_of_wiring(table, self.wiring)
        else:
            found = learn_structure(
                table,
                **self._structure_options(),
                tree_seed=tree_seed,
                wiring_seed=wiring_seed,
                progress=report,
            )
        self._take_structure(found)
        self.scaling_ = Scaling.learn(table, self.weighting)
        self._n_runs = 0
        return seed_number(net_seed)

    def _structure_options(self) -> dict[str, Any]:
        """The parameters that structure learning looks at."""
        return {
            "density": self.density,
            "link_rule": self.link_rule,
            "max_island": self.max_island,
            "max_top": self.max_top,
            "correlation_test": self.correlation_test,
            "structure_samples": self.structure_samples,
            "n_jobs": self.n_jobs,
        }

    def _take_structure(self, found: NetworkStructure) -> None:
        """Keep a new structure, and forget what was fitted to another."""
        self.tree_, self.wiring_, self.binary_rule_ = found
        self._learned_wiring = self.wiring_
        self._pruned, self.source_ = False, None

    def _next_seeds(self, seed: np.random.SeedSequence) -> RunSeeds:
        """Seeds of the next training."""
        from tsenet.training.recipe import RunSeeds

        self._n_runs += 1
        return RunSeeds.of(seed, self._n_runs - 1)

    def _keep(self, trained: TrainedNetwork, inputs: Inputs) -> None:
        """Take over what the recipe made."""
        from tsenet.explain.importances import importance_rows
        from tsenet.training.metrics import cross_validated_score

        self._importances, self._importance_rows = None, importance_rows(inputs)
        self.net_, self.history_ = trained.net, trained.history
        self.cv_score_ = None
        if trained.unseen is not None:
            outputs, true = trained.unseen
            self.cv_score_ = cross_validated_score(self.targets_, true, outputs)
        self._network_options = trained.net.options
        if not self._pruned:
            self.n_parameters_ = self.net_.n_parameters

    def _drop_unused(self) -> None:
        """Leave out the units and links that no output reads; the wiring is then that of the others."""
        from tsenet.network.compact import compacted, n_used_parameters

        self.net_ = compacted(self.net_)
        self.wiring_ = self.net_.wiring
        self.n_parameters_ = n_used_parameters(self._predictor)

    def prune(self, n_parameters: int, X: Any) -> Self:
        """Remove the weakest weights of all layers, in place and in rounds; after each, train the others.

        The strength of a weight is its size, times the root mean square of what it reads, times how strongly the
        outputs depend on what it moves. Every output keeps a path from the input. The weights that are left learn to
        answer as the whole network did, so no label is needed. Removed weights are 0 and stay so in all further
        training. Latents, links and feature units that no output reads any more leave the network and its wiring;
        files and predictions cost what is left.

        Parameters
        ----------
        n_parameters : int
            Number of trained numbers to keep at most.
        X : table, (N, V), or texts
            Rows like those the model was fitted on.

        Returns
        -------
        self
        """
        from tsenet.network.compact import non_zero_weights
        from tsenet.training.pruning import pruning_sizes, remove_weakest
        from tsenet.training.recipe import train_as_before
        from tsenet.training.settings import Recipe

        inputs = next(iter(self.network_inputs(X)))
        sizes = pruning_sizes(self.net_, inputs, n_parameters)
        loss, recipe = self.targets_.loss(), self._settings(Recipe)
        answers = loss.predict(self._outputs_of(inputs))
        if answers.shape[1] > loss.n_outputs:  # two classes have one output
            answers = answers[:, 1]
        with as_progress(progress_of(self.verbose)) as report:
            for size in sizes:
                remove_weakest(self.net_, inputs, size)
                self._pruned, self._optimiser = True, None
                self._drop_unused()
                last = size == n_parameters
                trained = train_as_before(
                    *(self.net_, inputs, answers, loss, recipe),
                    self._next_seeds(seed_sequence(self.random_state)),
                    report,
                    kept_weights=non_zero_weights(self._predictor),
                    max_epochs=_LAST_EPOCHS if last else _EPOCHS_BETWEEN,
                )
                self._keep(trained, inputs)
        return self

    @property
    def learned_wiring_(self) -> Wiring:
        """The whole wiring, as it was before training: it depends on no label, so other networks can share it.

        ``wiring_`` is that of the trained network, without links that its outputs do not use. A model file keeps
        ``wiring_`` only; after loading both are the same.
        """
        check_is_fitted(self, "history_")
        return self.wiring_ if self._learned_wiring is None else self._learned_wiring

    # ---- answers

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in the network's answers, (V,); the sum is 1.

        Of a dense table: how much the outputs change, on average over up to 200 training rows, when a row takes the
        column's value of another row; the levels of a category count as one column. Of sparse rows: the mean size of
        what a column adds to the outputs (see :func:`tsenet.explain.explain_prediction`).
        """
        from tsenet.explain.importances import column_importances

        check_is_fitted(self, "history_")
        if self._importances is None:
            if self._importance_rows is None:
                raise AttributeError("the model was read from a file that has no importances")
            self._importances = column_importances(
                self.net_, self._importance_rows, self.binary_rule_
            )
        return self._importances

    def __getstate__(self) -> dict[str, Any]:
        """A pickle holds the importances, and not the rows that they are computed from."""
        state: dict[str, Any] = dict(super().__getstate__())
        if state.get("_importance_rows") is not None:
            state["_importances"], state["_importance_rows"] = self.feature_importances_, None
        return state

    @property
    def _predictor(self) -> Predictor:
        """What answers, without torch."""
        if self._stored is not None and "net_" not in self.__dict__:
            return self._stored
        return self.net_.predictor()

    @cached_property
    def net_(self) -> TSENet:  # type: ignore[override]
        """The network; that of a loaded model is made when it is first asked for, since it needs torch."""
        if self._stored is None:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        need_torch("the network of a loaded model")
        from tsenet.network.tsenet import TSENet

        return TSENet.of_arrays(self.wiring_, self._network_options, self._stored.arrays)

    def _outputs_of(self, inputs: Inputs) -> NDArray[np.float64]:
        return self._predictor.outputs(inputs, None, self.n_jobs)

    def _hidden_of(self, inputs: Inputs) -> NDArray[np.float32]:
        """Level by level, then the feature layer."""
        return self._predictor.hidden(inputs, self.n_jobs)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the hidden units, one for each column that :meth:`transform` gives.

        Latents have their names in the tree; the units of a latent with several are ``Z1.3/1``, ``Z1.3/2``, ….
        ``skip0.3`` is a feature unit that reads the input, ``skip1.3`` one that reads level 1, ``top.3`` one that reads
        the top level.
        """
        check_is_fitted(self)
        names = [name for level in self.net_.unit_names()[1:] for name in level]
        for level, group in enumerate(self.net_.skips):
            names += [f"skip{level}.{k}" for k in range(group.bias.numel())]
        names += [f"top.{k}" for k in range(self.net_.top.bias.numel())]
        return np.array(names, dtype=object)

    # ---- files

    def report(
        self,
        path: str | os.PathLike[str],
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
            What to show of each row; default: the texts themselves, if ``X`` is texts. The page quotes it.
        **options
            ``progress``, and those of :class:`tsenet.explain.report.ReportOptions`.
        """
        from tsenet.explain.report import write_report

        check_is_fitted(self, "history_")
        if X is not None and are_texts(X):
            texts = X if texts is None else texts
            X = rows_of(self, X, reset=False)
        write_report(path, self, X, y, texts=texts, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a ``.tsenet`` file, which :func:`tsenet.load` reads."""
        from tsenet.store import save

        save(self, path)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator as an ONNX model; :func:`tsenet.store.write_onnx` says what it reads and gives."""
        from tsenet.store import write_onnx

        check_is_fitted(self, "history_")
        write_onnx(self, path)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form. Parameters that are not plain values, such as a generator, become None."""
        from tsenet.estimators.files import estimator_parts

        check_is_fitted(self, "history_")
        return estimator_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild an estimator from :meth:`to_parts`."""
        from tsenet.estimators.files import fill_estimator, parameters_of

        estimator = cls(**parameters_of(meta))
        fill_estimator(estimator, meta, arrays)
        return estimator
