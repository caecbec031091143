"""What explanations read of a fitted estimator: two protocols, and nothing beyond them.

Any estimator with these members can be explained, whatever its class. The estimators in ``tsenet.estimators`` have all
of them, the dense ones in ``tsenet.baselines`` those of ``FittedNetwork``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    from torch import nn

    from tsenet.data.binary import BinaryRule
    from tsenet.expansion.wiring import Wiring
    from tsenet.network.batches import Inputs
    from tsenet.network.tsenet import TSENet
    from tsenet.training.history import History

__all__ = ["FittedNetwork", "WiredNetwork", "input_names", "output_scale", "rule_of"]

Floats = NDArray[np.float64]


@runtime_checkable
class FittedNetwork(Protocol):
    """A fitted estimator with a network whose units and predictions can be explained.

    ``isinstance(model, FittedNetwork)`` tells whether a model has all members; an estimator that is not fitted has not.
    A classifier also has ``classes_``.

    Attributes
    ----------
    net_ : torch.nn.Module
        The trained network, on the CPU: a ``TSENet``, or a module whose ``layers`` follow each other.
    history_ : History
        Losses and scores of the training epochs.
    binary_rule_ : BinaryRule
        How the columns of a table become inputs of the network: a number is one input, a category one per level.
    output_names_ : tuple of str, or None
        A name for each of the C raw outputs: the classes, for two classes only the second. None for regression.
    output_scale_ : ndarray of float64, (C,)
        Factor from a raw output to the answer: 1 for a classifier, the target's standard deviation for a regressor.
    output_shift_ : ndarray of float64, (C,)
        Shift from a raw output to the answer: 0 for a classifier, the target's mean for a regressor.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tsenet.baselines import DenseClassifier
    >>> from tsenet.explain import FittedNetwork
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DenseClassifier(hidden=(8,), max_epochs=2, random_state=0)
    >>> isinstance(model, FittedNetwork)
    False
    >>> isinstance(model.fit(X, y), FittedNetwork)
    True
    >>> model.output_names_
    ('0', '1', '2')
    """

    @property
    def net_(self) -> nn.Module:
        """The trained network."""

    @property
    def history_(self) -> History:
        """Losses and scores of the training epochs."""

    @property
    def binary_rule_(self) -> BinaryRule:
        """How the columns of a table become inputs of the network."""

    @property
    def output_names_(self) -> tuple[str, ...] | None:
        """A name for each raw output; None for regression."""

    @property
    def output_scale_(self) -> Floats:
        """Factor from raw outputs to answers, (C,)."""

    @property
    def output_shift_(self) -> Floats:
        """Shift from raw outputs to answers, (C,)."""

    def network_inputs(self, X: Any) -> Iterator[Inputs]:
        """Yield blocks of rows as the network reads them: scaled, categories as one input per level."""

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Activations of all hidden units, layer by layer: (N, units)."""

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the hidden units, one for each column of ``transform``."""


@runtime_checkable
class WiredNetwork(FittedNetwork, Protocol):
    """A fitted estimator whose network has a learned wiring: what a report of a network is made of.

    Two members are optional: ``source_``, a dict in which ``tsenet fit`` notes the file's columns, and scikit-learn's
    ``get_params``, for the list of settings.

    Attributes
    ----------
    net_ : TSENet
        The trained network.
    wiring_ : Wiring
        Which unit reads which.
    tree_ : LatentTree or None
        The skeleton of the wiring; None where the wiring was given by the user.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tsenet import TSENetClassifier
    >>> from tsenet.explain import WiredNetwork
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TSENetClassifier(max_epochs=2, random_state=0).fit(X, y)
    >>> isinstance(model, WiredNetwork)
    True
    """

    @property
    def net_(self) -> TSENet:
        """The trained network."""

    @property
    def wiring_(self) -> Wiring:
        """Which unit reads which."""

    @property
    def tree_(self) -> LatentTree | None:
        """The skeleton of the wiring, if it was learned."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Answers for rows: (N,), or (N, C) for several labels or values."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy or R² on rows."""


def rule_of(model: Any) -> BinaryRule | None:
    """How a model reads the columns of a table: that of a network, or of a tree (``tree_``); None for other models."""
    if isinstance(model, FittedNetwork):
        return model.binary_rule_
    tree = getattr(model, "tree_", None)
    return tree.rule if isinstance(tree, LatentTree) else None


def input_names(rule: BinaryRule) -> tuple[str, ...]:
    """Names of the network's inputs: columns of numbers by their own name, categories as ``colour=red``."""
    return tuple(
        rule.names_in[source] if rule.levels[source] is None else name
        for name, source in zip(rule.names, rule.sources.tolist(), strict=True)
    )


def output_scale(model: Any, n_outputs: int) -> tuple[Floats, Floats]:
    """Factor and shift from raw outputs to answers, each (C,); 1 and 0 for a model that does not say."""
    if isinstance(model, FittedNetwork):
        return model.output_scale_, model.output_shift_
    return np.ones(n_outputs), np.zeros(n_outputs)
