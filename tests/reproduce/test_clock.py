"""Time left: the median of runs alike."""

from __future__ import annotations

import pytest

from reproduce.clock import duration, time_left
from reproduce.runs import Result, Run


def finished(dataset: str, method: str, seconds: float, seed: int = 0) -> tuple[Run, Result]:
    return Run("e", dataset, method, {}, seed), Result(0.5, 0.5, 1, 99.0, seconds)


def test_nothing_is_known_at_first() -> None:
    assert time_left({("a", "fnn"): 3}, []) is None


def test_like_counts_with_like() -> None:
    done = [
        finished("a", "fnn", 10.0),
        finished("a", "fnn", 1000.0, 1),  # one that had to wait
        finished("a", "fnn", 12.0, 2),
        finished("b", "fnn", 20.0),
        finished("b", "logistic", 1.0),
    ]
    assert time_left({("a", "fnn"): 2}, done) == 24.0
    assert time_left({("c", "fnn"): 1}, done) == 16.0  # all of the method: 10, 12, 20, 1000
    assert time_left({("c", "tsenet"): 1}, done) == 12.0  # all
    assert time_left({("a", "fnn"): 1, ("b", "logistic"): 3}, done) == 15.0
    assert time_left({("a", "fnn"): 0}, done) == 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (89.0, "89 s"), (600.0, "10 min"), (12_000.0, "3 h 20 min")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text
