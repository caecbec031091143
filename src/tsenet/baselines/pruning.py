"""``prune``: the weakest weights of a trained dense network removed in rounds, the others trained after each.

Weights by size (Han et al. 2015), fewer and fewer of them by a cubic schedule (Zhu and Gupta 2017).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tsenet.baselines.dense import DenseEstimator

if TYPE_CHECKING:
    import torch

    from tsenet.baselines.fnn import FNN

__all__ = ["prune"]

_ROUNDS, _EPOCHS_BETWEEN = 6, 2
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
    per_layer: bool = True,
) -> Model:
    """Remove the weights nearest to zero, over all layers, until ``n_parameters`` are left; train these again.

    With training, weights go in six rounds, with two epochs between. Biases are kept, and counted; so is the largest
    weight on the way from each output down to an input, so that no layer is lost. Removed weights are exactly 0 and
    stay so. Give the model a ``random_state``: then the rows held out to stop training are the ones its first training
    did not see either.

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
        Measure weights by the root mean square of their layer, much as Han et al. do. Measured all alike, a layer of
        small weights loses nearly all of them.

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
    _largest(pruned.net_, n_parameters, per_layer)  # refuses impossible numbers before any training
    left = (1 - np.arange(1, _ROUNDS + 1) / _ROUNDS) ** 3 if retrain else np.zeros(1)
    usual = pruned.get_params(deep=False)
    for share in left:
        size = n_parameters + int(share * (model.net_.n_parameters - n_parameters))
        pruned.net_.keep(_largest(pruned.net_, size, per_layer))
        if retrain:
            if size > n_parameters:
                pruned.set_params(max_epochs=_EPOCHS_BETWEEN, early_stopping=False)
            pruned.retrain(X, y, sample_weight)
            pruned.set_params(**usual)
    pruned.n_parameters_ = pruned.net_.n_parameters
    return pruned


def _largest(net: FNN, n_parameters: int, per_layer: bool) -> list[torch.Tensor]:
    """Masks of the largest weights of all layers; with the biases they are ``n_parameters`` numbers."""
    import torch

    n_biases = sum(layer.bias.numel() for layer in net.layers)
    n_kept = n_parameters - n_biases
    paths = _largest_paths(net)
    n_paths = sum(int(path.sum()) for path in paths)
    if not n_paths <= n_kept <= net.n_parameters - n_biases:
        raise ValueError(
            f"n_parameters must lie between {n_biases + n_paths}, the biases and a path to each output, and "
            f"{net.n_parameters}, the number of parameters there are, not at {n_parameters}"
        )
    sizes = [np.abs(layer.weight.detach().numpy()).ravel() for layer in net.layers]
    for k, size in enumerate(sizes):
        if per_layer:
            np.divide(size, np.sqrt(np.square(size).mean()) or 1.0, out=size)
        if (mask := net.mask(k)) is not None:
            size[~mask.numpy().ravel()] = -1.0  # gone already: never before one that is there
        size[paths[k].ravel()] = np.inf
    everything = np.concatenate(sizes)
    chosen = np.zeros(everything.size, bool)
    if n_kept:
        chosen[np.argpartition(-everything, n_kept - 1)[:n_kept]] = True
    parts = np.split(chosen, np.cumsum([size.size for size in sizes])[:-1])
    return [
        torch.from_numpy(part.reshape(layer.weight.shape))
        for part, layer in zip(parts, net.layers, strict=True)
    ]


def _largest_paths(net: FNN) -> list[NDArray[np.bool_]]:
    """The largest weight of each output, that of the unit it reads, and so on: a mask for each layer."""
    sizes = [np.abs(layer.weight.detach().numpy()) for layer in net.layers]  # (in, out)
    for k, size in enumerate(sizes):
        if (mask := net.mask(k)) is not None:
            size[~mask.numpy()] = -1.0
    found = [np.zeros(size.shape, bool) for size in sizes]
    units = np.arange(sizes[-1].shape[1])
    for size, path in zip(reversed(sizes), reversed(found), strict=True):
        below = size[:, units].argmax(axis=0)
        path[below, units] = size[below, units] >= 0
        units = np.unique(below)
    return found
