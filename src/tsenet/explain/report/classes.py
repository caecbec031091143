"""Effects of a network's units on its classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from tsenet.explain.report.graph import Graph, place_by_strength
from tsenet.explain.report.views import short

if TYPE_CHECKING:
    from tsenet.explain.units import Units

__all__ = ["ClassView", "class_view"]

# A unit keeps its effects on so many classes, a class those of so many units.
_CLASSES_PER_UNIT = 8
_UNITS_PER_CLASS = 60


class ClassView(TypedDict):
    """Effects on the classes: for each unit flat pairs of class and effect, only the strongest."""

    noun: list[str]
    names: list[str]
    counts: list[int] | None
    perUnit: int
    perClass: int
    of: list[list[float]]


def class_view(
    found: Units, model: Any, graph: Graph, y: Any, *, multilabel: bool
) -> ClassView | None:
    """Effects of the units on the outputs, by class; None if the units have no effects.

    For two classes the network has one output, the log-odds of the second: an effect on one class is the opposite of
    that on the other.

    Parameters
    ----------
    found : Units
        The units, with their effects on the outputs.
    model : fitted estimator
        Its ``classes_``, if it is a classifier, and ``source_``, if it has one, give the names.
    graph : Graph
        The nodes of the page.
    y : array-like or None
        Targets of the rows, to count the rows of each class.
    multilabel : bool
        Whether the outputs are labels of which a row may have several.
    """
    units = [found.latent(name) for name in graph.names[graph.n_inputs :]]
    if not units or units[0].classes is None:
        return None
    effect = np.array([unit.classes for unit in units], np.float64)  # (U, C)
    classes = getattr(model, "classes_", None)
    targets = (getattr(model, "source_", None) or {}).get("targets") or []
    if classes is None:
        names = list(targets) if len(targets) == effect.shape[1] else _numbered("output", effect)
        noun = ["output", "outputs"]
    elif len(classes) == 2 and effect.shape[1] == 1:
        effect = np.concatenate([-effect, effect], axis=1)
        names, noun = [str(name) for name in classes.tolist()], ["class", "classes"]
    else:
        names = [str(name) for name in found.class_names or _numbered("class", effect)]
        noun = ["class", "classes"]
        if multilabel:
            noun = ["label", "labels"]
            names = list(targets) if len(targets) == effect.shape[1] else names
    unit, column = np.nonzero(effect)
    value = effect[unit, column]
    kept = (place_by_strength(unit, value) < _CLASSES_PER_UNIT) | (
        place_by_strength(column, value) < _UNITS_PER_CLASS
    )
    of: list[list[float]] = [[] for _ in units]
    order = np.lexsort((column, -np.abs(value), unit))
    for k in order[kept[order]].tolist():
        of[unit[k]] += [int(column[k]), *short([value[k]])]
    return ClassView(
        noun=noun,
        names=names,
        counts=_counts(y, classes, noun[0]),
        perUnit=_CLASSES_PER_UNIT,
        perClass=_UNITS_PER_CLASS,
        of=of,
    )


def _numbered(noun: str, effect: NDArray[np.float64]) -> list[str]:
    n = effect.shape[1]
    return [noun] if n == 1 else [f"{noun} {k}" for k in range(n)]


def _counts(y: Any, classes: Any, noun: str) -> list[int] | None:
    """Rows of each class, or rows with each label; None where there are no classes to count."""
    if y is None or classes is None:
        return None
    truth = np.asarray(y)
    if noun == "label":
        return [int((column == 1).sum()) for column in truth.T]
    return [int((truth.ravel() == name).sum()) for name in classes]
