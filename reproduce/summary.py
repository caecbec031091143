"""The numbers of a cell that tables and curves show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reproduce.cells import Measured
from reproduce.runs import Result
from reproduce.scoring import Metric
from reproduce.stats import PairedComparison, Spread, compare, paired_seeds, spread, standing

__all__ = ["CellSummary", "by_dataset", "summarise"]


@dataclass(frozen=True)
class CellSummary:
    """Means over the seeds.

    Attributes
    ----------
    measured : Measured
    metric : {"accuracy", "auc"}
    test : Spread or None
        None if no final run came to an end.
    clean : Spread or None
        The test score without the rows that also occur in training, where there are such.
    n_parameters, cpu_seconds : float
    against : PairedComparison or None
        The method minus the reference; None for the reference itself and without one.
    p_over_seeds : float or None
        The p-value of the same difference by the paired t-test over seeds alone.
    """

    measured: Measured
    metric: Metric
    test: Spread | None
    clean: Spread | None
    n_parameters: float
    cpu_seconds: float
    against: PairedComparison | None
    p_over_seeds: float | None = None

    @property
    def standing(self) -> str:
        """In words, how it is beside the reference: ``ahead of``, ``level with`` or ``behind`` it."""
        assert self.against is not None
        # tasks of one network vary together: areas must differ over the seeds too
        ps = (self.against.p, *([self.p_over_seeds] if self.metric == "auc" else []))
        return standing(self.against.difference, *ps)


def summarise(measured: Measured, reference: Measured | None = None) -> CellSummary:
    """Summarise a cell that has results."""
    results = [result for result in measured.results if result.test is not None]
    other = None if reference is measured else reference
    return CellSummary(
        measured,
        "auc" if any("areas" in result.extra for result in results) else "accuracy",
        spread([result.test for result in results if result.test is not None]),
        _clean(results),
        float(np.mean([result.n_parameters for result in results])) if results else 0.0,
        float(np.mean([result.cpu_seconds for result in measured.results])),
        None if other is None else compare(measured.results, other.results),
        None if other is None else _over_seeds(measured, other),
    )


def _over_seeds(first: Measured, second: Measured) -> float | None:
    pairs = [
        (a.test, b.test)
        for a, b in zip(first.results, second.results, strict=False)
        if a.test is not None and b.test is not None
    ]
    return paired_seeds([a for a, _ in pairs], [b for _, b in pairs]).p if pairs else None


def by_dataset(measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    """Cells that have results, in groups of one data set."""
    groups: dict[str, list[Measured]] = {}
    for one in measured:
        if one.results:
            groups.setdefault(one.cell.dataset, []).append(one)
    return groups


def _clean(results: Sequence[Result]) -> Spread | None:
    known = [
        r.extra["test_without_duplicates"] for r in results if "test_without_duplicates" in r.extra
    ]
    return spread(known)
