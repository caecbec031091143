"""What TSENetClassifier and TSENetRegressor share: structure from the rows, the recipe, names of units, files."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tsenet._system.seeds import seed_number, seed_sequence
from tsenet.data.scaling import Scaling
from tsenet.estimators.network_estimator import CheckedRows, NetworkEstimator, progress_of
from tsenet.expansion.structure import learn_structure, structure_of_wiring
from tsenet.expansion.wiring import Wiring
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.network.options import NetworkOptions
    from tsenet.network.tsenet import TSENet
    from tsenet.skeleton.tree import LatentTree
    from tsenet.training.checkpoint import RunFolder
    from tsenet.training.pruning import Masks
    from tsenet.training.recipe import Recipe, RunSeeds, TrainedNetwork

__all__ = ["TSENetEstimator"]

#: Parameters of which the result does not depend.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "callbacks", "warm_start")


class TSENetEstimator(NetworkEstimator):
    """An estimator whose network is wired as its rows are."""

    density: float | None
    link_rule: Any
    max_top: int
    max_island: int
    correlation_test: bool
    structure_samples: int | None
    linear_skip: Any
    wiring: Wiring | None
    warm_start: bool
    random_state: Any

    tree_: LatentTree | None
    wiring_: Wiring
    net_: TSENet
    source_: dict[str, Any] | None

    _network_options: NetworkOptions
    #: Trainings so far: each has seeds of its own.
    _n_runs: int
    #: Which weights pruning left, by name; None: all.
    _kept_weights: Masks | None = None
    #: Adam's state between calls of partial_fit; not kept in files.
    _optimiser: dict[str, NDArray[Any]] | None = None

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The paper's own recipe: top-k links, groups without a correlation test, structure from 10,000 rows.

        Parameters
        ----------
        **changes
            Other parameters, or other values of these.
        """
        recipe = {
            "density": 0.05,
            "link_rule": "top-k",
            "correlation_test": False,
            "skip_units": 100,
            "dropout": 0.5,
            "linear_skip": False,
            "init": "fan-in",
            "structure_samples": 10_000,
        }
        return cls(**{**recipe, **changes})

    # ---- learning

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn the structure from ``X`` alone, then fit the network to ``X`` and ``y``.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows or Table, (N, V); or N texts
            The words of texts are counted as :func:`tsenet.data.vectorize` does it; the model keeps how
            (``word_counter_``), so that it predicts texts too.
        y : array-like, (N,) or (N, C)
            NaN in a 2-D ``y`` is an unknown target: it is left out. For a classifier, the class −1 beside two or
            more others marks rows without a label, as for scikit-learn's semi-supervised estimators: structure and
            first weights are learned from them too.
        sample_weight : array-like (N,), default=None
            Whole numbers count as repetitions of a row, as long as the rows do not become more than tenfold.
            Other weights count in the loss; the structure then takes all rows alike. 0 removes a row.
        checkpoint : path, default=None
            Folder for the state of a long run: finished levels of the structure, and the training after each epoch.
            The same call after a crash goes on from there and ends with the same weights. A folder of other data,
            parameters or seed is refused.

        Returns
        -------
        self
        """
        from tsenet.training.recipe import Recipe, fit_network

        recipe = self._settings(Recipe)
        going_on = self.warm_start and hasattr(self, "net_")
        if going_on and checkpoint is not None:
            raise ValueError("checkpoint is for a new network: fit without warm_start")
        with as_progress(progress_of(self.verbose)) as report:
            checked = self._check_rows(X, y, sample_weight, reset=not going_on)
            self._optimiser = None
            if going_on:
                return self._continue(checked, recipe, report)
            seed = seed_sequence(self.random_state)
            folder = None if checkpoint is None else self._run_folder(checkpoint, checked, seed)
            if folder is not None:
                seed = folder.seed
            net_seed = self._learn_structure(checked, seed, report, folder)
            trained = fit_network(
                self._training_rows(checked),
                self.targets_,
                self.wiring_,
                recipe,
                net_seed,
                self._next_seeds(seed),
                report,
                class_weight=getattr(self, "class_weight", None),
                folder=folder,
            )
            self._keep(trained)
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """One epoch over new rows; the first call builds the network."""
        from tsenet.network.tsenet import TSENet
        from tsenet.training.recipe import Recipe

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
                density=self.density,
                link_rule=self.link_rule,
                max_island=self.max_island,
                max_top=self.max_top,
                correlation_test=self.correlation_test,
                structure_samples=self.structure_samples,
                tree_seed=tree_seed,
                wiring_seed=wiring_seed,
                n_jobs=self.n_jobs,
                progress=report,
                checkpoint=None if folder is None else folder.structure,
            )
        self.tree_, self.wiring_, self.binary_rule_ = found
        self.scaling_ = Scaling.learn(table)
        self._n_runs, self._kept_weights, self.source_ = 0, None, None
        return seed_number(net_seed)

    def _continue(
        self, checked: CheckedRows, recipe: Recipe, report: Progress, keep_optimiser: bool = False
    ) -> Self:
        """Train on from the present weights."""
        from tsenet.training.recipe import continue_network

        trained = continue_network(
            self.net_,
            self._network_options,
            self._training_rows(checked),
            self.targets_,
            recipe,
            self._next_seeds(seed_sequence(self.random_state)),
            report,
            class_weight=getattr(self, "class_weight", None),
            kept_weights=self._kept_weights,
            optimiser=self._optimiser,
        )
        self._keep(trained)
        self._optimiser = trained.engine.state() if keep_optimiser else None
        return self

    def _next_seeds(self, seed: np.random.SeedSequence) -> RunSeeds:
        """Seeds of the next training."""
        from tsenet.training.recipe import RunSeeds

        self._n_runs += 1
        return RunSeeds.of(seed, self._n_runs - 1)

    def _keep(self, trained: TrainedNetwork) -> None:
        """Take over what the recipe made."""
        self.net_, self.history_ = trained.net, trained.history
        self._network_options = trained.options
        if self._kept_weights is None:
            self.n_parameters_ = self.net_.n_parameters

    def _run_folder(
        self, path: str | os.PathLike[str], checked: CheckedRows, seed: np.random.SeedSequence
    ) -> RunFolder:
        """Open the checkpoint folder of this run."""
        from tsenet.estimators.files import plain_parameters
        from tsenet.training.checkpoint import RunFolder

        parameters = plain_parameters(self)
        identity = {
            "estimator": type(self).__name__,
            "parameters": {k: v for k, v in parameters.items() if k not in _WITHOUT_EFFECT},
        }
        given = [] if self.wiring is None else list(self.wiring.to_parts()[1].values())
        values = checked.table.values
        arrays = (
            [values]
            if isinstance(values, np.ndarray)
            else [values.data, values.indices, values.indptr]
        )
        return RunFolder.open(
            path, identity, [*arrays, checked.targets, checked.weights, *given], seed
        )

    def prune(self, n_parameters: int, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove the weakest weights of all layers, in place, and train the others on; biases are kept.

        The strength of a weight is its size, times the root mean square of what it reads, times how strongly the
        outputs depend on what it moves. Removed weights are 0 and stay so in all further training.

        Parameters
        ----------
        n_parameters : int
            Number of trained numbers to keep.
        X : table, (N, V)
            Rows like those the model was fitted on.
        y, sample_weight : array-like, default=None
            As for :meth:`fit`. Without ``y`` the weights that are left stay as they are.

        Returns
        -------
        self
        """
        from tsenet.training.pruning import remove_weakest
        from tsenet.training.recipe import Recipe

        for part in islice(self.network_inputs(X), 1):
            self._kept_weights = remove_weakest(self.net_, part, n_parameters)
        self.n_parameters_ = n_parameters
        if y is not None:
            with as_progress(progress_of(self.verbose)) as report:
                checked = self._check_rows(X, y, sample_weight, reset=False)
                self._optimiser = None
                self._continue(checked, self._settings(Recipe), report)
        return self

    # ---- answers

    def _outputs_of(self, inputs: Inputs) -> NDArray[np.float64]:
        from tsenet.network.forward import network_outputs

        return network_outputs(self.net_, inputs, self.n_jobs)

    def _hidden_of(self, inputs: Inputs) -> NDArray[np.float32]:
        """Level by level, then the feature layer."""
        from tsenet.network.forward import hidden_activations

        return hidden_activations(self.net_, inputs, self.n_jobs)

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
            What to show of each row. The page quotes it.
        **options
            ``progress``, and those of :class:`tsenet.explain.report.ReportOptions`.
        """
        from tsenet.explain.report import write_report

        check_is_fitted(self, "net_")
        write_report(path, self, X, y, texts=texts, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a ``.tsenet`` file, which :func:`tsenet.load` reads."""
        from tsenet.store import save

        save(self, path)

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
