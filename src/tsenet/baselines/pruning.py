"""``prune``: the weakest weights of a trained dense network removed, the others trained again (Han et al. 2015)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tsenet.baselines.dense import DenseEstimator

if TYPE_CHECKING:
    import torch

    from tsenet.baselines.fnn import FNN

__all__ = ["prune"]

Model = TypeVar("Model", bound=DenseEstimator)


def prune(
    model: Model,
    n_parameters: int,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    retrain: bool = True,
    learning_rate: float | None = None,
    dropout: float | None = None,
    per_layer: bool = False,
) -> Model:
    """Remove the weights nearest to zero, over all layers, until ``n_parameters`` are left; train these again.

    Biases are kept, and counted. Removed weights are exactly 0 and stay so. Give the model a ``random_state``: then
    the rows held out to stop training are the ones its first training did not see either.

    Parameters
    ----------
    model : DenseClassifier or DenseRegressor
        Fitted; it is left as it is.
    n_parameters : int
        Trained numbers that shall be left.
    X, y, sample_weight
        What the model was fitted on. Not looked at if ``retrain`` is False.
    retrain : bool
        Whether to train the weights that are left, from the values they have, with the same loop.
    learning_rate, dropout : float, optional
        Of this training, if not the model's own. Han et al. take a tenth of the learning rate, and less dropout.
    per_layer : bool
        Measure weights by the root mean square of their layer, much as Han et al. do, and not all alike. Either may
        remove a whole layer, depending on the data: try both.

    Returns
    -------
    DenseClassifier or DenseRegressor
        A new model with the parameters of the old one, but these two; calling its ``fit`` would train a dense network
        anew.
    """
    check_is_fitted(model, "net_")
    changes = {"learning_rate": learning_rate, "dropout": dropout}
    pruned: Model = clone(model).set_params(
        **{name: value for name, value in changes.items() if value is not None}
    )
    for name, value in vars(model).items():
        if name not in vars(pruned):
            setattr(pruned, name, value)
    pruned.net_ = copy.deepcopy(model.net_)
    pruned.net_.set_dropout(pruned.dropout)
    pruned.net_.keep(_largest(pruned.net_, n_parameters, per_layer))
    pruned.n_parameters_ = pruned.net_.n_parameters
    if retrain:
        pruned.retrain(X, y, sample_weight)
    return pruned


def _largest(net: FNN, n_parameters: int, per_layer: bool) -> list[torch.Tensor]:
    """Masks of the largest weights of all layers, so many that they and the biases are ``n_parameters``."""
    import torch

    n_biases = sum(layer.bias.numel() for layer in net.layers)
    n_kept = n_parameters - n_biases
    if not 0 <= n_kept <= net.n_parameters - n_biases:
        raise ValueError(
            f"n_parameters must lie between {n_biases}, the number of biases, and {net.n_parameters}, "
            f"the number of parameters there are, not at {n_parameters}"
        )
    sizes = [np.abs(layer.weight.detach().numpy()).ravel() for layer in net.layers]
    for k, size in enumerate(sizes):
        if per_layer:
            np.divide(size, np.sqrt(np.square(size).mean()) or 1.0, out=size)
        if (mask := net.mask(k)) is not None:
            size[~mask.numpy().ravel()] = -1.0  # gone already: never before one that is there
    everything = np.concatenate(sizes)
    chosen = np.zeros(everything.size, bool)
    if n_kept:
        chosen[np.argpartition(-everything, n_kept - 1)[:n_kept]] = True
    parts = np.split(chosen, np.cumsum([size.size for size in sizes])[:-1])
    return [
        torch.from_numpy(part.reshape(layer.weight.shape))
        for part, layer in zip(parts, net.layers, strict=True)
    ]
