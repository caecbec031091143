"""Estimate how long the remaining runs will take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from reproduce.runs import Result, Run

__all__ = ["duration", "time_left"]


def time_left(
    steps: Mapping[tuple[str, str], int], finished: Iterable[tuple[Run, Result]]
) -> float | None:
    """Seconds that the remaining steps will take, by the median of similar runs; None if nothing is known.

    Runs of the same method on the same data set count if there are any, else those of the method, else all.
    """
    alike: dict[tuple[str | None, str | None], list[float]] = {}
    for run, result in finished:
        for place in ((run.dataset, run.method), (None, run.method), (None, None)):
            alike.setdefault(place, []).append(result.wall_seconds)
    if not alike:
        return None
    total = 0.0
    for (dataset, method), count in steps.items():
        if count:
            places = ((dataset, method), (None, method), (None, None))
            total += count * median(next(alike[place] for place in places if place in alike))
    return total


def duration(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
