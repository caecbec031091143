"""A cell of a table, that is a method on a data set: how its settings are chosen, and its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reproduce.runs import Result, Run, Settings

if TYPE_CHECKING:
    from reproduce.run_context import RunContext

__all__ = ["Cell", "Found", "Measured", "Probe", "results_of"]

Probe = Callable[[Any, "RunContext"], Mapping[str, Any]]


@dataclass(frozen=True)
class Cell:
    """A method on a data set, to be measured.

    Attributes
    ----------
    experiment, dataset : str
    name : str
        Unique within the data set; other cells refer to it by this name.
    title : str
        Shown in tables.
    method : str
        As in :data:`reproduce.methods.METHODS`.
    settings : mapping, or function of the data set's cells measured so far and a seed
        Fixed settings; a function if they depend on other cells.
    rounds : tuple of tuples of mappings
        Candidates, tried one round after the other: each is added to what the rounds before chose.
    needs : tuple of str
        Cells that must be measured before.
    n_labels : int or None
    keep : bool
        Keep the networks in memory: others start from them.
    probe : function of a fitted model and its RunContext, or None
        Plain values to store with each final run.
    final : bool
        Whether its runs may look at the test rows; False where they serve to choose.
    """

    experiment: str
    dataset: str
    name: str
    title: str
    method: str
    settings: Settings | Callable[[Found, int], Settings] = field(default_factory=dict)
    rounds: tuple[tuple[Settings, ...], ...] = ()
    needs: tuple[str, ...] = ()
    n_labels: int | None = None
    keep: bool = False
    probe: Probe | None = None
    final: bool = True

    def fixed(self, found: Found, seed: int) -> dict[str, Any]:
        """The settings that are not chosen."""
        return dict(self.settings(found, seed) if callable(self.settings) else self.settings)

    @property
    def n_candidates(self) -> int:
        """Number of runs that choose; a round of one chooses nothing."""
        return sum(len(candidates) for candidates in self.rounds if len(candidates) > 1)


@dataclass(frozen=True)
class Measured:
    """A cell with its results.

    Attributes
    ----------
    cell : Cell
    chosen : mapping or None
        What the rounds chose; None if they are not done.
    tried : tuple of (mapping, float or None)
        Each candidate with its validation score; None: it diverged.
    finals : tuple of (Run, Result)
        The final runs, seed by seed; fewer than asked for if some are not done.
    """

    cell: Cell
    chosen: Settings | None = None
    tried: tuple[tuple[Settings, float | None], ...] = ()
    finals: tuple[tuple[Run, Result], ...] = ()

    @property
    def results(self) -> tuple[Result, ...]:
        """Results of the final runs."""
        return tuple(result for _, result in self.finals)

    def settings(self, seed: int) -> Settings:
        """All settings of a final run, fixed and chosen."""
        return self.finals[seed][0].settings


Found = Mapping[str, Measured]


def results_of(measured: Iterable[Measured]) -> tuple[Result, ...]:
    """Results of the final runs of several cells."""
    return tuple(result for one in measured for result in one.results)
