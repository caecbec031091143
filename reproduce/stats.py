"""Means, standard deviations, and significance of differences.

Three seeds are too few for a test over seeds alone, and many test rows alone would ignore that another seed gives
another network. :func:`paired_rows` therefore takes both into account: the difference of two methods varies with the
rows that happened to be tested and with the seeds that happened to be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce.runs import Result
from reproduce.scoring import unpack

__all__ = [
    "PairedComparison",
    "Spread",
    "compare",
    "paired_rows",
    "paired_seeds",
    "paired_tasks",
    "spread",
    "standing",
]

_SIGNIFICANT = 0.05
_FEWEST_TASKS = 6  # below, no outcome of Wilcoxon's test reaches 0.05


class Spread(NamedTuple):
    """Mean and standard deviation (n − 1) of ``n`` values; the deviation of one value is None."""

    mean: float
    sd: float | None
    n: int


class PairedComparison(NamedTuple):
    """Mean difference of two methods, first minus second, the two-sided p-value, and by which test."""

    difference: float
    p: float | None
    test: str


def spread(values: Sequence[float]) -> Spread | None:
    """Mean and deviation; None without values."""
    if not values:
        return None
    numbers = np.asarray(values, np.float64)
    sd = float(numbers.std(ddof=1)) if numbers.size > 1 else None
    return Spread(float(numbers.mean()), sd, numbers.size)


def compare(first: Sequence[Result], second: Sequence[Result]) -> PairedComparison | None:
    """Compare two methods on the test rows of one data set, seed by seed.

    Parameters
    ----------
    first, second : sequences of Result
        Final runs with the same seeds, in the same order.

    Returns
    -------
    PairedComparison or None
        None if there is no pair of test scores.
    """
    pairs = [
        (a, b)
        for a, b in zip(first, second, strict=False)
        if a.test is not None and b.test is not None
    ]
    if not pairs:
        return None
    ours, theirs = zip(*pairs, strict=True)
    if all("right" in result.extra for result in (*ours, *theirs)):
        return paired_rows(_rows(ours), _rows(theirs))
    a, b = _areas(ours), _areas(theirs)
    both = np.isfinite(a).all(axis=0) & np.isfinite(b).all(axis=0)
    if both.sum() >= _FEWEST_TASKS:
        return paired_tasks(a[:, both], b[:, both])
    return paired_seeds([r.test or 0.0 for r in ours], [r.test or 0.0 for r in theirs])


def paired_rows(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> PairedComparison:
    """Whether two methods differ in accuracy, over the test rows and the seeds.

    The variance of the mean difference is that over rows, of the seeds' mean, plus that over seeds; the t-statistic has
    the degrees of freedom of Welch and Satterthwaite. What is left over once rows and seeds are taken into account is
    counted in both parts, so the test is conservative. With one seed only the rows count: it is then the
    paired t-test over rows, for many rows the same as McNemar's.

    Parameters
    ----------
    first, second : bool (S, N)
        Whether each method was right on row i with seed s.
    """
    from scipy import stats

    each = first.astype(np.float64) - second.astype(np.float64)  # (S, N)
    n_seeds, n_rows = each.shape
    difference = float(each.mean())
    by_row = each.mean(axis=0).var(ddof=1) / n_rows
    by_seed = each.mean(axis=1).var(ddof=1) / n_seeds if n_seeds > 1 else 0.0
    test = "paired over rows and seeds" if n_seeds > 1 else "paired over rows"
    variance = by_row + by_seed
    if variance == 0.0:
        return PairedComparison(difference, 1.0 if difference == 0.0 else 0.0, test)
    freedom = variance**2 / (by_row**2 / (n_rows - 1) + by_seed**2 / max(1, n_seeds - 1))
    p = float(2 * stats.t.sf(abs(difference) / np.sqrt(variance), freedom))
    return PairedComparison(difference, p, test)


def paired_tasks(first: NDArray[np.float64], second: NDArray[np.float64]) -> PairedComparison:
    """Whether two methods differ over several tasks: Wilcoxon's signed-rank test on the means over seeds.

    Parameters
    ----------
    first, second : float (S, T)
        Score of each method with seed s in task t.
    """
    from scipy import stats

    each = first.mean(axis=0) - second.mean(axis=0)
    test = f"Wilcoxon over {each.size} tasks"
    if not each.any():
        return PairedComparison(0.0, 1.0, test)
    return PairedComparison(float(each.mean()), float(stats.wilcoxon(each).pvalue), test)


def paired_seeds(first: Sequence[float], second: Sequence[float]) -> PairedComparison:
    """Whether two methods differ, by the paired t-test over seeds: weak, but all there is for one area."""
    from scipy import stats

    each = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    difference = float(each.mean())
    if each.size < 2:
        return PairedComparison(difference, None, "one seed")
    if np.ptp(each) == 0.0:  # nothing varies, so nothing tells how much is luck
        return PairedComparison(difference, None if difference else 1.0, "paired over seeds")
    return PairedComparison(
        difference, float(stats.ttest_1samp(each, 0.0).pvalue), "paired over seeds"
    )


def standing(difference: float, *ps: float | None) -> str:
    """In words, whether a method is better: only if every p-value is below 0.05."""
    if any(p is None or p >= _SIGNIFICANT for p in ps):
        return "level with"
    return "ahead of" if difference > 0 else "behind"


def _rows(results: Sequence[Result]) -> NDArray[np.bool_]:
    return np.stack([unpack(r.extra["right"], r.extra["n_rows"]) for r in results])


def _areas(results: Sequence[Result]) -> NDArray[np.float64]:
    """Areas (S, T), NaN where one is not defined."""
    return np.array([r.extra.get("areas", [r.test]) for r in results], np.float64)
