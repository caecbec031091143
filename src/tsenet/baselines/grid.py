"""The sizes of dense networks: the paper's grid (§6, table 2), and a network of a given number of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["check_shape", "hidden_for", "paper_grid", "parameters_of_fnn"]

UNITS = (512, 1024, 2048)
LAYERS = (1, 2, 3, 4)


def check_shape(hidden: Sequence[int], dropout: float) -> None:
    """Refuse hidden layers and dropout rates that make no network.

    Raises
    ------
    ValueError
        If there is no hidden layer, one without a unit, or a rate outside [0, 1).
    """
    if not len(hidden) or min(hidden) < 1:
        raise ValueError(f"an FNN needs at least one hidden layer of at least one unit: {hidden}")
    if not 0.0 <= dropout < 1.0:
        raise ValueError(f"a dropout rate must be at least 0 and below 1, not {dropout}")


def paper_grid(n_outputs: int = 2) -> list[tuple[int, ...]]:
    """Hidden layers of all dense networks the paper considers: 512, 1024 or 2048 units, 1 to 4 layers, two shapes.

    ``Rectangle``: all layers are alike. ``Conic`` (Klambauer et al. 2017): from the given units in the first layer the
    widths fall in a geometric progression that would reach the number of classes C in the output layer, rounded down:
    ⌊u·(C/u)^(k/L)⌋ for layer k = 0 … L − 1. Rounded so, the conic network 10000-1024-119-14 has the 10.36 million
    parameters the paper reports for DBPedia. With one layer the shapes are the same and are listed once.

    Parameters
    ----------
    n_outputs : int
        Number of classes C, which the conic shape tapers to.

    Returns
    -------
    list of tuple of int
        21 networks, each for ``DenseClassifier(hidden=…)``.
    """
    if n_outputs < 1:
        raise ValueError(f"n_outputs must be at least 1, not {n_outputs}")
    rectangles = [(units,) * layers for units in UNITS for layers in LAYERS]
    cones = [_conic(units, layers, n_outputs) for units in UNITS for layers in LAYERS[1:]]
    return rectangles + cones


def hidden_for(
    n_inputs: int, n_outputs: int, n_parameters: int, n_layers: int = 1
) -> tuple[int, ...]:
    """Hidden layers, all of the same width, of the largest dense network with at most ``n_parameters``.

    Parameters
    ----------
    n_inputs, n_outputs : int
        Outputs are those of the network: one for two classes.
    n_parameters : int
        Weights and biases to stay within. Where even one unit per layer has more, that is what is returned.
    n_layers : int
    """
    if min(n_inputs, n_outputs, n_layers) < 1:
        raise ValueError(
            f"n_inputs, n_outputs and n_layers must be at least 1: {n_inputs, n_outputs, n_layers}"
        )
    # The count grows with the width: halve the interval that holds the widest network that fits.
    low, high = 1, max(2, n_parameters // n_inputs + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if parameters_of_fnn(n_inputs, (middle,) * n_layers, n_outputs) <= n_parameters:
            low = middle
        else:
            high = middle
    return (low,) * n_layers


def parameters_of_fnn(n_inputs: int, hidden: Sequence[int], n_outputs: int) -> int:
    """Number of weights and biases of a dense network."""
    return sum((below + 1) * above for below, above in pairwise((n_inputs, *hidden, n_outputs)))


def _conic(units: int, n_layers: int, n_outputs: int) -> tuple[int, ...]:
    shrink = n_outputs / units
    return tuple(max(1, int(units * shrink ** (k / n_layers))) for k in range(n_layers))
