"""Plot of the pixels that a unit of a network over images reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.explain.plots._axes import INK, new_axes
from tsenet.explain.units import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_receptive_field"]


def plot_receptive_field(
    units: Units, name: str, shape: Sequence[int], ax: Axes | None = None
) -> Axes:
    """Draw a unit's correlation with each pixel of an image; the pixels it has links from are framed.

    Parameters
    ----------
    units : Units
        From ``describe_units`` over images whose pixels are the features, row by row. Only the features it kept are
        drawn, so call it with ``n_features`` equal to the number of pixels.
    name : str
        Name of the unit.
    shape : (int, int)
        Rows and columns of the image.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The image, with a colour bar.

    Raises
    ------
    DataError
        If the shape does not fit the features, or there is no such unit.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.explain import describe_units
    >>> from tsenet.explain.plots import plot_receptive_field
    >>> X = np.random.default_rng(0).random((50, 6))
    >>> units = describe_units(lambda rows: np.maximum(rows[:, :2] - 0.5, 0), X, n_features=6)
    >>> ax = plot_receptive_field(units, "unit.0", (2, 3))
    >>> ax.get_title().startswith("unit.0, active in")
    True
    """
    if len(shape) != 2 or int(np.prod(shape)) != len(units.feature_names):
        raise DataError(
            f"an image of shape {tuple(shape)} does not have {len(units.feature_names)} pixels, "
            "one for each feature"
        )
    try:
        unit = units[name]
    except KeyError:
        raise DataError(f"there is no unit {name!r}") from None
    ax = new_axes(ax, (4.0, 3.4 * shape[0] / shape[1] + 0.3))
    place = {feature: j for j, feature in enumerate(units.feature_names)}
    image = np.full(len(place), np.nan)
    linked = np.zeros(len(place), bool)
    for feature in unit.features:
        image[place[feature.name]] = feature.correlation
        linked[place[feature.name]] = feature.weight is not None
    largest = max(np.nanmax(np.abs(image), initial=0.0), 1e-9)
    ax.set_facecolor("#d9d9d9")
    drawn = ax.imshow(image.reshape(shape), cmap="PuOr_r", vmin=-largest, vmax=largest)
    if not linked[~np.isnan(image)].all():  # a unit that reads every pixel needs no frame
        _frame(ax, linked.reshape(shape))
    figure = ax.get_figure()
    assert figure is not None
    figure.colorbar(drawn, ax=ax, label="correlation with the unit", shrink=0.85)
    ax.set(xticks=[], yticks=[], title=f"{name}, active in {100 * unit.active:.0f} % of images")
    return ax


def _frame(ax: Axes, inside: NDArray[np.bool_]) -> None:
    """A line around the marked pixels."""
    from matplotlib.collections import LineCollection

    padded = np.pad(inside, 1)
    down = np.argwhere(
        padded[:-1] != padded[1:]
    )  # between (i, j) and (i + 1, j) of the padded image
    across = np.argwhere(padded[:, :-1] != padded[:, 1:])
    lines: list[Any] = [[(j - 1.5, i - 0.5), (j - 0.5, i - 0.5)] for i, j in down.tolist()]
    lines += [[(j - 0.5, i - 1.5), (j - 0.5, i - 0.5)] for i, j in across.tolist()]
    ax.add_collection(LineCollection(lines, colors=INK, linewidths=1.6, capstyle="round"))
