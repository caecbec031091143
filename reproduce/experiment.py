"""What an experiment is: a name, data sets, and a function from a runner to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from reproduce.cells import Cell
from reproduce.render import ExperimentReport
from reproduce.runner import Runner
from tsenet.errors import DataError

__all__ = ["Experiment", "Request", "expand_names", "select", "wanted_cells"]


@dataclass(frozen=True)
class Request:
    """What a user asks of an experiment.

    Attributes
    ----------
    datasets : tuple of str
    methods : tuple of str or None
        Only these, and those they need; None: all.
    n_labels : tuple of (int or None) or None
        Numbers of labels, None among them for all; None: the experiment's own.
    command : str
        What was typed, for the report.
    small_grid : bool
        Whether networks choose among fewer shapes and settings than the paper's.
    part : {"validation", "test"}
        Which rows the scoreboard scores.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...] | None = None
    n_labels: tuple[int | None, ...] | None = None
    command: str = ""
    small_grid: bool = False
    part: Literal["validation", "test"] = "validation"


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    Attributes
    ----------
    name, title : str
    datasets : tuple of str
        Default.
    make : function of a Runner, a Request and a progress
        Executes the runs that are not done and returns the report.
    known : tuple of str
        Names of data sets it accepts; empty: those of :mod:`tsenet.datasets`.
    runner : type of Runner
        Does its runs.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    make: Callable[[Runner, Request, Any], ExperimentReport]
    known: tuple[str, ...] = ()
    runner: type[Runner] = Runner


def select(cells: Sequence[Cell], wanted: Iterable[str] | None) -> list[Cell]:
    """The cells of the methods asked for and of those they need, in their order.

    Raises
    ------
    DataError
        If there is no such method.
    """
    if wanted is None:
        return list(cells)
    needs = {cell.name: set(cell.needs) for cell in cells}
    chosen, new = set(), set(wanted)
    while new:
        unknown = new - set(needs)
        if unknown:
            raise DataError(
                f"there is no method {' or '.join(sorted(unknown))}: there are {', '.join(needs)}"
            )
        chosen |= new
        new = set.union(*(needs[name] for name in new)) - chosen
    return [cell for cell in cells if cell.name in chosen]


def wanted_cells(
    request: Request,
    counts: Sequence[int | None],
    cells: Callable[[str, int | None], Sequence[Cell]],
) -> list[Cell]:
    """The cells that a request asks for: data set by data set, for its numbers of labels or else ``counts``."""
    return [
        cell
        for name in request.datasets
        for n_labels in request.n_labels or counts
        for cell in select(cells(name, n_labels), request.methods)
    ]


def expand_names(given: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """Names of data sets from what a user writes: commas part them, ``tox21/*`` stands for all that fit.

    Raises
    ------
    DataError
        If a name fits none.
    """
    found: dict[str, None] = {}
    for pattern in (part.strip() for text in given for part in text.split(",")):
        fitting = [name for name in known if fnmatchcase(name, pattern)]
        if pattern and not fitting:
            raise DataError(f"there is no data set {pattern!r}: there are {', '.join(known)}")
        found |= dict.fromkeys(fitting)
    return tuple(found)
