"""Effects on a network's classes: those of its units, and those of its inputs by the linear skip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from tsenet.explain.report.graph import Graph, place_by_strength
from tsenet.explain.report.views import short

if TYPE_CHECKING:
    from tsenet.explain.units import Unit

__all__ = ["ClassView", "class_view"]

Floats = NDArray[np.float64]

# A unit keeps its effects on so many classes, a class those of so many units, and of so many inputs.
_CLASSES_PER_UNIT = 8
_UNITS_PER_CLASS = 60
_INPUTS_PER_CLASS = 40


class ClassView(TypedDict):
    """Effects on the classes, only the strongest.

    ``totals`` tells how much is left out: for each class, and in it for the inputs, each level and the feature layer,
    the number of effects above 0, their sum, the number below 0, and the sum of their sizes.
    """

    noun: list[str]
    names: list[str]
    counts: list[int] | None
    perUnit: int
    perClass: int
    of: list[list[float]]  # for each unit flat pairs of class and effect
    direct: (
        list[list[float]] | None
    )  # for each class flat pairs of input and effect; None without a linear skip
    totals: list[list[list[float]]]


def class_view(
    latents: Sequence[Unit],
    features: Sequence[Unit],
    direct: Floats | None,
    model: Any,
    graph: Graph,
    y: Any,
    *,
    names: Sequence[str] | None,
    multilabel: bool,
) -> tuple[ClassView | None, list[list[float]]]:
    """Effects on the outputs, by class, and those of the feature layer by unit; None if there are no effects.

    For two classes the network has one output, the log-odds of the second: an effect on one class is the opposite of
    that on the other.

    Parameters
    ----------
    latents, features : sequence of Unit
        The units of the tree's levels and those of the feature layer, with their effects on the outputs.
    direct : (D, C), optional
        Effects of the inputs by the linear skip.
    model : fitted estimator
        Its ``classes_``, if it is a classifier, and ``source_``, if it has one, give the names.
    graph : Graph
        The nodes of the page.
    y : array-like or None
        Targets of the rows, to count the rows of each class.
    names : sequence of str, optional
        What the outputs are called.
    multilabel : bool
        Whether the outputs are labels of which a row may have several.
    """
    if not latents or latents[0].classes is None:
        return None, [[] for _ in features]
    classes = getattr(model, "classes_", None)
    noun, shown, two = _names(latents[0], model, classes, names, multilabel)

    def by_class(effect: Floats) -> Floats:
        return np.concatenate([-effect, effect], axis=1) if two else effect

    n_outputs = len(latents[0].classes)
    latent, feature = (
        by_class(np.array([unit.classes for unit in units], np.float64).reshape(-1, n_outputs))
        for units in (latents, features)
    )
    skip = None if direct is None else by_class(direct)
    totals = [
        _totals(np.empty((0, len(shown))) if skip is None else skip),
        *(_totals(part) for part in np.split(latent, np.cumsum(graph.layer_sizes[1:-1]))),
        _totals(feature),
    ]
    view = ClassView(
        noun=noun,
        names=shown,
        counts=_counts(y, classes, noun[0]),
        perUnit=_CLASSES_PER_UNIT,
        perClass=_UNITS_PER_CLASS,
        of=_strongest(latent),
        direct=None if skip is None else [_inputs(column) for column in skip.T],
        totals=[list(of_class) for of_class in zip(*totals, strict=True)],
    )
    return view, _strongest(feature)


def _names(
    unit: Unit, model: Any, classes: Any, names: Sequence[str] | None, multilabel: bool
) -> tuple[list[str], list[str], bool]:
    """What a class is called, in singular and plural, the classes' names, and whether two share one output."""
    n_outputs = len(unit.classes or ())
    targets = (getattr(model, "source_", None) or {}).get("targets") or []
    own = list(targets) if len(targets) == n_outputs else None
    if classes is None:
        return ["output", "outputs"], own or _numbered("output", n_outputs), False
    if len(classes) == 2 and n_outputs == 1:
        return ["class", "classes"], [str(name) for name in classes.tolist()], True
    known = [str(name) for name in names or _numbered("class", n_outputs)]
    if multilabel:
        return ["label", "labels"], own or known, False
    return ["class", "classes"], known, False


def _strongest(effect: Floats) -> list[list[float]]:
    """For each unit flat pairs of class and effect, the strongest first."""
    unit, column = np.nonzero(effect)
    value = effect[unit, column]
    kept = (place_by_strength(unit, value) < _CLASSES_PER_UNIT) | (
        place_by_strength(column, value) < _UNITS_PER_CLASS
    )
    of: list[list[float]] = [[] for _ in effect]
    order = np.lexsort((column, -np.abs(value), unit))
    for k in order[kept[order]].tolist():
        of[unit[k]] += [int(column[k]), *short([value[k]])]
    return of


def _inputs(effect: Floats) -> list[float]:
    """Flat pairs of input and effect on one class, the strongest first."""
    order = np.argsort(-np.abs(effect), kind="stable")[:_INPUTS_PER_CLASS]
    flat: list[float] = []
    for k in order[effect[order] != 0].tolist():
        flat += [k, *short([effect[k]])]
    return flat


def _totals(effect: Floats) -> list[list[float]]:
    """For each class: number and sum of the effects above 0, and of those below."""
    above, below = np.maximum(effect, 0), np.maximum(-effect, 0)
    return [
        [
            int(np.count_nonzero(up)),
            *short([up.sum()]),
            int(np.count_nonzero(down)),
            *short([down.sum()]),
        ]
        for up, down in zip(above.T, below.T, strict=True)
    ]


def _numbered(noun: str, n: int) -> list[str]:
    return [noun] if n == 1 else [f"{noun} {k}" for k in range(n)]


def _counts(y: Any, classes: Any, noun: str) -> list[int] | None:
    """Rows of each class, or rows with each label; None where there are no classes to count."""
    if y is None or classes is None:
        return None
    truth = np.asarray(y)
    if noun == "label":
        return [int((column == 1).sum()) for column in truth.T]
    return [int((truth.ravel() == name).sum()) for name in classes]
