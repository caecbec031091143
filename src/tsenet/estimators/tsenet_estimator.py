"""What TSENetClassifier and TSENetRegressor share: structure from the rows, the recipe, names of units, files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tsenet._system.packages import need_torch
from tsenet._system.seeds import seed_number, seed_sequence
from tsenet.data.scaling import Scaling
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators.network_estimator import CheckedRows, NetworkEstimator, progress_of
from tsenet.estimators.outside_memory import UsesCluster, fit_outside, is_outside_memory
from tsenet.estimators.parameters import check_parameters
from tsenet.estimators.texts import are_texts, rows_of
from tsenet.expansion.structure import NetworkStructure, learn_structure, structure_of_wiring
from tsenet.expansion.wiring import Wiring
from tsenet.memory import Need, Size, check_memory, n_outputs_of, network_need
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.network.options import NetworkOptions
    from tsenet.network.predictor import Predictor
    from tsenet.network.tsenet import TSENet
    from tsenet.skeleton.tree import LatentTree
    from tsenet.training.checkpoint import RunFolder
    from tsenet.training.loop import Score, Validation
    from tsenet.training.metrics import CrossValidatedScore
    from tsenet.training.recipe import RunSeeds, TrainedNetwork
    from tsenet.training.settings import Recipe
    from tsenet.training.shard_recipe import ShardOptions

__all__ = ["TSENetEstimator"]

#: Parameters of which the result does not depend.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "callbacks", "warm_start", "memory_limit")


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
    warm_start: bool
    random_state: Any
    units_per_latent: int | None
    memory_limit: int | str | None

    tree_: LatentTree | None
    wiring_: Wiring
    net_: TSENet
    source_: dict[str, Any] | None
    cv_score_: CrossValidatedScore | None = None

    _network_options: NetworkOptions
    #: The wiring before training; None in a loaded estimator.
    _learned_wiring: Wiring | None = None
    #: Trainings so far: each has seeds of its own.
    _n_runs: int
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
            "init": "fan-in",
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
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn the structure from ``X`` alone, then fit the network to ``X`` and ``y``.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows or Table, (N, V); or N texts; or a folder
            The words of texts are counted by ``vectorizer``; the model keeps the fitted one (``vectorizer_``), so that
            it predicts texts too. A folder of shards (path, URL, ``ShardFolder`` or
            :class:`tsenet.scale.Shards`) or a Dask array or dataframe need not fit into memory: the structure is
            learned from all rows, by the workers of ``client`` if there is one, and the network is trained in this
            process on a stream of them, as :meth:`fit_shards` does it.
        y : array-like, (N,) or (N, C); for a folder also the names of its label columns
            None, NaN, ``pandas.NA`` and blank text are unknown targets, as is a classifier's ``unlabeled``. Structure
            and first weights are learned from rows without a known target too. Default for a folder: its label column.
        sample_weight : array-like (N,), default=None
            Whole numbers count as repetitions of a row, as long as the rows do not become more than tenfold.
            Other weights count in the loss; the structure then takes all rows alike. 0 removes a row.
        eval_set : tuple (X, y), default=None
            Rows to score the network on after each epoch; ``history_`` holds the scores. The weights of the best epoch
            are kept, and with ``init="fan-in"`` these rows tell when to stop, in place of a part of the others.
        eval_metric : str or callable, default=None
            Score of validation rows. ``"accuracy"`` or ``"auc"``; for a regressor ``"r2"``, ``"mae"`` or ``"rmse"``,
            the last two with a minus sign; or a function of the true targets and of the probabilities or values
            predicted, higher is better. None: minus the loss.
        checkpoint : path, default=None
            Folder for the state of a long run: finished levels of the structure, and the training after each epoch.
            The same call after a crash goes on from there and ends with the same weights. A folder of other data,
            parameters or seed is refused.

        Returns
        -------
        self
        """
        need_torch("training")
        from tsenet.training.metrics import score_of
        from tsenet.training.recipe import fit_network
        from tsenet.training.settings import Recipe

        check_parameters(self.get_params(deep=False))
        if is_outside_memory(X):
            self._check_weighting()
            refused = {"sample_weight": sample_weight, "eval_set": eval_set}
            with as_progress(progress_of(self.verbose)) as report:
                fit_outside(self, X, y, report, checkpoint, **refused, eval_metric=eval_metric)
            return self
        recipe = self._settings(Recipe)
        going_on = self.warm_start and hasattr(self, "net_")
        if going_on and checkpoint is not None:
            raise ValueError("checkpoint is for a new network: fit without warm_start")
        with as_progress(progress_of(self.verbose)) as report:
            checked = self._check_rows(X, y, sample_weight, reset=not going_on)
            others = None if eval_set is None else self._check_eval_set(eval_set)
            score = score_of(eval_metric, self.targets_)
            self._optimiser = None
            if going_on:
                return self._continue(checked, recipe, report, others=others, score=score)
            seed = seed_sequence(self.random_state)
            folder = None
            if checkpoint is not None:
                folder = self._run_folder(checkpoint, checked, others, eval_metric, seed)
            if folder is not None:
                seed = folder.seed
            net_seed = self._learn_structure(checked, seed, report, folder)
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
                folder=folder,
            )
            self._keep(trained, rows.inputs)
        return self

    def fit_shards(
        self,
        folder: Any,
        target: str | Sequence[str],
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        options: ShardOptions | None = None,
    ) -> Self:
        """Fit to a folder of documents that need not fit into memory; under ``torchrun``, with all its processes.

        Every process calls it with the same arguments and ends with the same model. The rows that a process has in
        memory are a few partitions of the folder, its validation rows and the sample that the structure is learned
        from. The network is trained alone, without the linear start, on the rows that have a label. Guide: "Training
        over several processes".

        Parameters
        ----------
        folder : path, URL or ShardFolder
            Documents of words that ``tsenet shard`` or :func:`tsenet.data.shard_writer.write_shards` wrote.
        target : str or sequence of str
            Label column to predict; several for several labels or values.
        checkpoint : path, default=None
            Folder for the state of a long run, as in :meth:`fit`; only the first process uses it. The number of
            processes may change from one start to the next.
        options : ShardOptions, default=None
            How the folder is read; see :class:`tsenet.training.shard_recipe.ShardOptions`.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If the folder, its labels or a parameter does not suit.
        """
        from tsenet.estimators.shards import fit_to_folder

        check_parameters(self.get_params(deep=False))
        self._check_weighting()
        names = (target,) if isinstance(target, str) else tuple(target)
        self._check_folder_memory(folder, options)
        with as_progress(progress_of(self.verbose)) as report:
            fit_to_folder(self, folder, names, report, checkpoint, options)
        return self

    def _check_weighting(self) -> None:
        if self.weighting != "tfidf":
            raise DataError("counts of a folder are weighted by tf-idf: leave weighting='tfidf'")

    def _check_memory(self, X: Any, y: Any) -> None:
        """Refuse rows that need more memory than the estimator may use."""
        size = Size.of(X)
        if self.memory_limit is None or size is None:
            return
        need = self._memory_need(n_outputs_of(y, is_classifier(self)), size.is_sparse)
        check_memory(
            *(self.memory_limit, size, need, self.structure_samples),
            otherwise="`tsenet shard` writes rows from which fit_shards reads a part at a time",
        )

    def _memory_need(self, n_outputs: int, is_sparse: bool) -> Need:
        """Bytes for the stages of a fit."""
        usual = 2 if is_sparse else 8
        n_units = usual if self.units_per_latent is None else self.units_per_latent
        given = self.wiring
        n_links = None if given is None else sum(layer.indices.size for layer in given.layers)
        return network_need(n_outputs, n_units, self.density, n_links)

    def _check_folder_memory(self, folder: Any, options: ShardOptions | None) -> None:
        """Refuse a folder of which even the parts that are read need more memory than the estimator may use."""
        if self.memory_limit is None:
            return
        from tsenet.data.shards import ShardFolder, open_shards
        from tsenet.training.shard_recipe import ShardOptions

        shards = folder if isinstance(folder, ShardFolder) else open_shards(folder)
        options = ShardOptions() if options is None else options
        buffered = options.n_streams * options.buffer_rows
        most = options.sample_rows + options.validation_rows + buffered
        rows = min(shards.n_rows, most)
        entries = round(shards.nnz * rows / max(1, shards.n_rows))
        size = Size(rows, shards.n_columns, entries, shards.is_sparse)
        share = options.sample_rows if self.structure_samples is None else self.structure_samples
        check_memory(
            *(self.memory_limit, size, self._memory_need(1, True), min(share, rows)),
            otherwise="smaller sample_rows, validation_rows and buffer_rows of options need less",
        )

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
        from tsenet.network.tsenet import TSENet
        from tsenet.training.settings import Recipe

        check_parameters(self.get_params(deep=False))
        recipe = self._settings(Recipe, max_epochs=1, early_stopping=False)
        first = not hasattr(self, "net_")
        with as_progress(progress_of(self.verbose)) as report:
            checked = self._check_rows(X, y, sample_weight, reset=first, classes=classes)
            if first:
                seed = seed_sequence(self.random_state)
                net_seed = self._learn_structure(checked, seed, report, None)
                inputs = self._training_rows(checked).inputs
                linear_skip = bool(self.linear_skip)
                self._network_options = recipe.network(inputs, self.wiring_, linear_skip)
                n_outputs = self.targets_.loss().n_outputs
                options = self._network_options.to_dict()
                self.net_ = TSENet(self.wiring_, n_outputs, **options, seed=net_seed)
                self.n_parameters_ = self.net_.n_parameters
            self._continue(checked, recipe, report, keep_optimiser=True)
        return self

    def _learn_structure(
        self,
        checked: CheckedRows,
        seed: np.random.SeedSequence,
        report: Progress,
        folder: RunFolder | None,
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
                checkpoint=None if folder is None else folder.structure,
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

    def _continue(
        self,
        checked: CheckedRows,
        recipe: Recipe,
        report: Progress,
        *,
        keep_optimiser: bool = False,
        others: CheckedRows | None = None,
        score: Score | None = None,
    ) -> Self:
        """Train on from the present weights."""
        from tsenet.network.compact import non_zero_weights
        from tsenet.training.recipe import continue_network

        rows = self._training_rows(checked)
        trained = continue_network(
            self.net_,
            self._network_options,
            rows,
            self.targets_,
            recipe,
            self._next_seeds(seed_sequence(self.random_state)),
            report,
            class_weight=getattr(self, "class_weight", None),
            kept_weights=non_zero_weights(self._predictor) if self._pruned else None,
            optimiser=self._optimiser,
            validation=None if others is None else self._validation(others),
            score=score,
        )
        self._keep(trained, rows.inputs)
        self._optimiser = trained.engine.state() if keep_optimiser else None
        return self

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
        self._network_options = trained.options
        if self.wiring is None and self.wiring_ is self._learned_wiring:
            # Log-odds served the initial weights, and would be half of what a file holds of a wiring.
            self.wiring_ = self.net_.wiring = self.wiring_.without_log_odds()
        if not self._pruned:
            self.n_parameters_ = self.net_.n_parameters

    def _drop_unused(self) -> None:
        """Leave out the units and links that no output reads; the wiring is then that of the others."""
        from tsenet.network.compact import compacted, n_used_parameters

        self.net_, self._network_options = compacted(self.net_, self._network_options)
        self.wiring_ = self.net_.wiring
        self.n_parameters_ = n_used_parameters(self._predictor)

    def _run_folder(
        self,
        path: str | os.PathLike[str],
        checked: CheckedRows,
        others: CheckedRows | None,
        eval_metric: Any,
        seed: np.random.SeedSequence,
    ) -> RunFolder:
        """Open the checkpoint folder of this run."""
        from tsenet.estimators.files import plain_parameters
        from tsenet.training.checkpoint import RunFolder

        parameters = plain_parameters(self)
        identity: dict[str, Any] = {
            "estimator": type(self).__name__,
            "parameters": {k: v for k, v in parameters.items() if k not in _WITHOUT_EFFECT},
        }
        if others is not None or eval_metric is not None:
            identity["eval_metric"] = eval_metric if isinstance(eval_metric, str) else None
        given: list[Any] = []
        if self.wiring is not None:
            given += self.wiring.to_parts()[1].values()
        for rows in (checked,) if others is None else (checked, others):
            values = rows.table.values
            dense = isinstance(values, np.ndarray)
            given += [values] if dense else [values.data, values.indices, values.indptr]
            given += [rows.targets, rows.weights]
        return RunFolder.open(path, identity, given, seed)

    def prune(self, n_parameters: int, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove the weakest weights of all layers, in place, and train the others on.

        The strength of a weight is its size, times the root mean square of what it reads, times how strongly the
        outputs depend on what it moves. Removed weights are 0 and stay so in all further training. Latents, links and
        feature units that no output reads any more leave the network and its wiring; files and predictions cost what
        is left.

        Parameters
        ----------
        n_parameters : int
            Number of trained numbers to keep at most.
        X : table, (N, V)
            Rows like those the model was fitted on.
        y, sample_weight : array-like, default=None
            As for :meth:`fit`. Without ``y`` the weights that are left stay as they are.

        Returns
        -------
        self
        """
        from tsenet.explain.importances import importance_rows
        from tsenet.training.pruning import remove_weakest
        from tsenet.training.settings import Recipe

        for part in islice(self.network_inputs(X), 1):
            remove_weakest(self.net_, part, n_parameters)
            self._importances, self._importance_rows = None, importance_rows(part)
        self._pruned, self._optimiser = True, None
        self._drop_unused()
        if y is not None:
            with as_progress(progress_of(self.verbose)) as report:
                checked = self._check_rows(X, y, sample_weight, reset=False)
                self._optimiser = None
                self._continue(checked, self._settings(Recipe), report)
        return self

    @property
    def learned_wiring_(self) -> Wiring:
        """The whole wiring, as it was before training: it depends on no label, so other networks can share it.

        ``wiring_`` is that of the trained network, without links that its outputs do not use. A model file keeps
        ``wiring_`` only; after loading both are the same.
        """
        check_is_fitted(self, "net_")
        return self.wiring_ if self._learned_wiring is None else self._learned_wiring

    # ---- answers

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in the network's answers, (V,); the sum is 1.

        The mean size of what a column adds to the outputs (see :func:`tsenet.explain.explain_prediction`) over up to
        200 training rows. A column that no answer depends on has 0. Columns that go together share their importance.
        """
        from tsenet.explain.importances import column_importances

        check_is_fitted(self, "net_")
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
        return self.net_.predictor()

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

        check_is_fitted(self, "net_")
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

        check_is_fitted(self, "net_")
        write_onnx(self, path)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form. Parameters that are not plain values (callbacks, a generator) become None."""
        from tsenet.estimators.files import estimator_parts

        check_is_fitted(self, "net_")
        return estimator_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild an estimator from :meth:`to_parts`."""
        from tsenet.estimators.files import fill_estimator, parameters_of

        estimator = cls(**parameters_of(meta))
        fill_estimator(estimator, meta, arrays)
        return estimator
