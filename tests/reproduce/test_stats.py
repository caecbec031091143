"""Means, deviations and tests against scipy, and the size of the test against a simulation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as oracle

from reproduce.runs import Result
from reproduce.scoring import pack
from reproduce.stats import (
    Spread,
    compare,
    paired_rows,
    paired_seeds,
    paired_tasks,
    spread,
    standing,
)


def right(rng: np.random.Generator, share: float, shape: tuple[int, int]) -> NDArray[np.bool_]:
    return rng.random(shape) < share


def accuracy_result(bits: NDArray[np.bool_]) -> Result:
    extra = {"right": pack(bits), "n_rows": int(bits.size)}
    return Result(0.5, float(bits.mean()), 1, 1.0, 1.0, extra=extra)


def area_result(areas: list[float | None]) -> Result:
    known = [area for area in areas if area is not None]
    return Result(0.5, float(np.mean(known)), 1, 1.0, 1.0, extra={"areas": areas})


def test_spread_is_numpys() -> None:
    values = [0.1, 0.4, 0.3]
    assert spread(values) == Spread(float(np.mean(values)), float(np.std(values, ddof=1)), 3)
    assert spread([0.3]) == Spread(0.3, None, 1)
    assert spread([]) is None


def test_one_seed_is_the_paired_t_test_over_rows() -> None:
    rng = np.random.default_rng(0)
    a, b = right(rng, 0.9, (1, 500)), right(rng, 0.85, (1, 500))
    found = paired_rows(a, b)
    wanted = oracle.ttest_rel(a[0].astype(float), b[0].astype(float))
    assert found.difference == pytest.approx(a.mean() - b.mean())
    assert found.p == pytest.approx(wanted.pvalue)
    assert found.test == "paired over rows"


def test_one_seed_and_many_rows_is_mcnemars() -> None:
    rng = np.random.default_rng(1)
    a = right(rng, 0.9, (1, 50_000))
    b = np.where(rng.random((1, 50_000)) < 0.02, ~a, a)
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    chi = (only_a - only_b) ** 2 / (only_a + only_b)
    assert paired_rows(a, b).p == pytest.approx(oracle.chi2.sf(chi, 1), rel=0.02, abs=1e-12)


def test_rows_that_all_agree_leave_the_t_test_over_seeds() -> None:
    # Each seed gives all rows the same difference: nothing varies with the rows.
    a = np.repeat([[True], [True], [True], [False]], 50, axis=1)
    b = np.repeat([[False], [False], [True], [False]], 50, axis=1)
    wanted = oracle.ttest_1samp([1.0, 1.0, 0.0, 0.0], 0.0)
    assert paired_rows(a, b).p == pytest.approx(wanted.pvalue)


def test_welch_and_satterthwaite() -> None:
    rng = np.random.default_rng(2)
    a, b = right(rng, 0.9, (3, 400)), right(rng, 0.88, (3, 400))
    each = a.astype(float) - b
    rows = each.mean(0).var(ddof=1) / 400
    seeds = each.mean(1).var(ddof=1) / 3
    freedom = (rows + seeds) ** 2 / (rows**2 / 399 + seeds**2 / 2)
    wanted = 2 * oracle.t.sf(abs(each.mean()) / np.sqrt(rows + seeds), freedom)
    assert paired_rows(a, b).p == pytest.approx(wanted)


def test_alike_and_opposite() -> None:
    same = np.ones((3, 10), bool)
    assert paired_rows(same, same)[:2] == (0.0, 1.0)
    assert paired_rows(same, ~same)[:2] == (1.0, 0.0)


def test_no_more_false_alarms_than_promised() -> None:
    """Rows and seeds both vary, the methods are equal: at 5 % at most about 5 % of the p-values are small."""
    rng = np.random.default_rng(3)
    n_trials, small = 600, 0
    for _ in range(n_trials):
        hard = rng.normal(size=300)
        luck = rng.normal(scale=0.3, size=(2, 3, 1))
        noise = rng.normal(size=(2, 3, 300))
        a, b = hard + luck + noise > -1
        p = paired_rows(a, b).p
        assert p is not None
        small += p < 0.05
    assert small <= 0.05 * n_trials + 3 * np.sqrt(0.05 * 0.95 * n_trials)
    assert small > 0.005 * n_trials  # and it is not so careful that it finds nothing


def test_over_tasks_it_is_wilcoxons() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.random((3, 12)), rng.random((3, 12))
    found = paired_tasks(a, b)
    assert found.p == pytest.approx(oracle.wilcoxon(a.mean(0), b.mean(0)).pvalue)
    assert found.difference == pytest.approx(a.mean() - b.mean())
    assert found.test == "Wilcoxon over 12 tasks"
    assert paired_tasks(a, a)[:2] == (0.0, 1.0)


def test_over_seeds_it_is_the_paired_t_test() -> None:
    a, b = [0.5, 0.6, 0.8], [0.4, 0.45, 0.75]
    assert paired_seeds(a, b).p == pytest.approx(oracle.ttest_rel(a, b).pvalue)
    assert paired_seeds(a[:1], b[:1]).p is None
    assert paired_seeds([0.5, 0.5], [0.25, 0.25])[:2] == (0.25, None)
    assert paired_seeds(a, a).p == 1.0


def test_compare_takes_the_test_that_fits() -> None:
    rng = np.random.default_rng(5)
    a, b = right(rng, 0.9, (2, 50)), right(rng, 0.8, (2, 50))
    rows = compare([accuracy_result(x) for x in a], [accuracy_result(x) for x in b])
    assert rows == paired_rows(a, b)
    many = rng.random((2, 2, 8))
    tasks = compare(*([area_result(list(x)) for x in side] for side in many))
    assert tasks == paired_tasks(many[0], many[1])
    few = compare(*([area_result(list(x[:3])) for x in side] for side in many))
    assert few is not None
    assert few.test == "paired over seeds"


def test_compare_leaves_out_what_is_not_known() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.random((2, 9)), rng.random((2, 9))
    with_gap = [area_result([None, *x[1:]]) for x in a]
    found = compare(with_gap, [area_result(list(x)) for x in b])
    assert found == paired_tasks(a[:, 1:], b[:, 1:])
    diverged = Result(None, None, 1, 1.0, 1.0)
    assert compare([diverged], [diverged]) is None
    assert compare([], []) is None


@pytest.mark.parametrize(
    ("difference", "ps", "words"),
    [
        (0.01, (0.01,), "ahead of"),
        (-0.01, (0.01, 0.04), "behind"),
        (0.01, (0.01, 0.2), "level with"),
        (0.01, (None,), "level with"),
        (0.01, (0.05,), "level with"),
    ],
)
def test_better_is_what_every_test_says(
    difference: float, ps: tuple[float | None, ...], words: str
) -> None:
    assert standing(difference, *ps) == words
