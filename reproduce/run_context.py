"""What one run works with: the labelled rows, all rows, the shared structures, and what the run is charged for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reproduce.runs import Run, canonical

if TYPE_CHECKING:
    from reproduce.dataset_context import DatasetContext
    from tsenet import TSENetClassifier, Wiring
    from tsenet.datasets import Dataset

__all__ = ["TREE_ONLY", "RunContext"]

#: Settings of the structure that :func:`tsenet.learn_tree` has and the estimator has not.
TREE_ONLY = ("piece_size", "leftovers")


class RunContext:
    """What a method needs for one run, and what the run is charged for.

    Parameters
    ----------
    shared : DatasetContext
        The data set, and what its runs share.
    run : Run
        Method, settings, seed and number of labels.

    Attributes
    ----------
    charged : float
        CPU seconds that the shared structures and models this run used have cost.
    notes : dict
        Plain values to store with the result.
    """

    def __init__(self, shared: DatasetContext, run: Run) -> None:
        self.shared = shared
        self.run = run
        self.seed = run.seed
        self.settings = dict(run.settings)
        self.charged = 0.0
        self.notes: dict[str, Any] = {}
        self._rows = shared.labelled(run.n_labels, run.seed)

    @property
    def dataset(self) -> Dataset:
        """The data set of the run."""
        return self.shared.dataset

    @property
    def n_inputs(self) -> int:
        """Number of features."""
        return self.dataset.n_features

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a network: one for two classes."""
        n_classes = self.dataset.n_classes
        return 1 if self.dataset.task == "classes" and n_classes == 2 else n_classes

    @property
    def X(self) -> Any:  # noqa: N802  # the field's name for it
        """Features of the rows with labels."""
        X = self.dataset.train.X
        return X if self.run.n_labels is None else X[self._rows]

    @property
    def y(self) -> NDArray[Any]:
        """Targets of the rows with labels."""
        y = self.dataset.train.y
        return y if self.run.n_labels is None else y[self._rows]

    def all_rows(self) -> tuple[Any, NDArray[Any]]:
        """Features of all training rows; targets with −1 where there is no label."""
        train = self.dataset.train
        if self.run.n_labels is None:
            return train.X, train.y
        y = np.full_like(train.y, -1)
        y[self._rows] = train.y[self._rows]
        return train.X, y

    def wiring(self, estimator: TSENetClassifier) -> Wiring:
        """The structure that an estimator with these parameters would learn, from all training rows."""
        wiring, cost = self.shared.wiring(
            self.seed,
            density=estimator.density,
            link_rule=estimator.link_rule,
            **self.tree_settings(estimator),
        )
        self.charged += cost
        self.notes["layers"] = list(wiring.layer_sizes)
        return wiring

    def tree_settings(self, estimator: TSENetClassifier) -> dict[str, Any]:
        """Options of ``learn_tree``: those the estimator has too, and those given in the run's settings."""
        own = {"max_top": estimator.max_top, **(estimator.tree_options or {})}
        return own | {name: self.settings[name] for name in TREE_ONLY if name in self.settings}

    def kept_model(self) -> Any:
        """Fit the model of this run, or return the one fitted before: other runs start from it."""
        from reproduce.methods import METHODS

        about = (self.run.method, self.settings, self.seed, self.run.n_labels)

        def make() -> tuple[Any, float, dict[str, Any]]:
            model = METHODS[self.run.method](self)
            return model, self.charged, self.notes

        (model, charged, notes), cost = self.shared.cached(f"model {canonical(about)}", make)
        self.charged, self.notes = charged + cost, dict(notes)
        return model

    def start(self, method: str) -> Any:
        """The model to start from, fitted with the settings in ``settings["start"]``."""
        own = replace(self.run, method=method, settings=self.settings["start"])
        before = RunContext(self.shared, own)
        model = before.kept_model()
        self.charged += before.charged
        return model
