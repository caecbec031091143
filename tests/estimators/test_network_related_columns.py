"""Columns that repeat each other or add up to a constant: no cell may send the answer out of all proportion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tsenet import TSENetClassifier, TSENetRegressor

LEVELS = np.array(list("abcdefgh"))


def related_table(seed: int, n_rows: int = 300) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Rows with categories, twins, near twins, sums, shares of 100 and a constant; and a noisy sum of all of them."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for k in range(rng.integers(1, 4)):
        columns[f"number{k}"] = rng.normal(size=n_rows) * 10 ** rng.uniform(-1, 2)
    for k in range(rng.integers(1, 4)):
        columns[f"category{k}"] = LEVELS[rng.integers(0, rng.integers(2, 8), n_rows)]
    columns["twin"] = columns["number0"].copy()
    columns["near"] = columns["number0"] * (1 + 10 ** rng.uniform(-7, -2) * rng.normal(size=n_rows))
    columns["first"], columns["second"] = rng.normal(size=(2, n_rows))
    columns["sum"] = columns["first"] + columns["second"]
    columns["constant"] = np.full(n_rows, 3.0)
    shares = 100 * rng.dirichlet(np.ones(4), n_rows)
    columns |= {f"share{k}": shares[:, k] for k in range(4)}
    frame = pd.DataFrame(columns)
    wanted = rng.normal(size=n_rows) / 2
    for name in frame:
        if name.startswith("category"):
            wanted += frame[name].map(dict(zip(LEVELS, rng.normal(size=8), strict=True)))
        elif name != "constant":
            wanted += rng.normal() * (frame[name] - frame[name].mean()) / frame[name].std()
    return frame, np.asarray(wanted)


def disturbed(frame: pd.DataFrame, name: str, rng: np.random.Generator) -> list[pd.Series]:
    """A column blanked, flipped, rounded or unseen, and filled with the values of other rows."""
    column = frame[name]
    if name.startswith("category"):
        ways = [
            pd.Series([None] * len(column), dtype=object),
            column.map(dict(zip(LEVELS, np.roll(LEVELS, 1), strict=True))),
            pd.Series(["never seen"] * len(column)),
        ]
    else:
        ways = [column * np.nan, -column, column.round()]
    return [*ways, pd.Series(rng.permutation(column.to_numpy()))]


@settings(
    max_examples=6, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(seed=st.integers(0, 10_000), regression=st.booleans())
def test_one_cell_never_moves_the_answer_out_of_proportion(seed: int, regression: bool) -> None:
    frame, wanted = related_table(seed)
    if regression:
        regressor = TSENetRegressor(random_state=0, max_epochs=20).fit(frame, wanted)
        answer, net = regressor.predict, regressor.net_
    else:
        classifier = TSENetClassifier(random_state=0, max_epochs=20)
        classifier.fit(frame, np.where(wanted > wanted.mean(), "yes", "no"))
        answer, net = classifier.decision_function, classifier.net_
    usual = answer(frame)
    size = np.abs(next(iter(net.layers)).weight.detach().numpy())

    assert size.max() <= 20 * np.median(size)
    rng = np.random.default_rng(seed)
    for name in frame:
        for column in disturbed(frame, name, rng):
            change = np.abs(answer(frame.assign(**{name: column.to_numpy()})) - usual)
            assert change.max() <= 10 * np.ptp(usual), name


def test_a_cell_in_a_wrong_unit_is_limited_and_said() -> None:
    frame, wanted = related_table(1)
    model = TSENetRegressor(random_state=0, max_epochs=10).fit(frame, wanted)
    usual = model.predict(frame)
    wrong = frame.assign(first=frame["first"] * 1e30)
    with pytest.warns(UserWarning, match="'first'"):
        found = model.predict(wrong)
    assert np.abs(found - usual).max() < 100 * np.ptp(usual)


def test_a_column_that_was_constant_is_ignored() -> None:
    frame, wanted = related_table(2)
    model = TSENetRegressor(random_state=0, max_epochs=5).fit(frame, wanted)
    np.testing.assert_array_equal(model.predict(frame.assign(constant=1e9)), model.predict(frame))


def test_importances_follow_what_permuting_a_column_costs() -> None:
    """Also where a category is nearly always the same: what every row gets alike makes no difference."""
    from scipy.stats import spearmanr
    from sklearn.inspection import permutation_importance

    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame({f"x{k}": rng.normal(size=n) for k in range(6)})
    frame["mostly"] = np.where(rng.random(n) < 0.97, "a", "b")
    frame["half"] = np.where(rng.random(n) < 0.5, "a", "b")
    wanted = frame[[f"x{k}" for k in range(6)]] @ np.array([3, 2, 1, 0.5, 0.2, 0.0])
    wanted += 2.5 * (frame["half"] == "a") + rng.normal(size=n) / 4
    model = TSENetRegressor(random_state=0).fit(frame, wanted)

    cost = permutation_importance(
        model, frame, wanted, n_repeats=5, random_state=0
    ).importances_mean

    assert spearmanr(cost, model.feature_importances_).statistic >= 0.8
    assert len(model.feature_importances_) == frame.shape[1]
