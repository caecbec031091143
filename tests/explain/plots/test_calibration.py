"""Calibration: the numbers are counted by hand, and what is drawn is these numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.explain.plots.drawn import check_labelled, said
from tsenet.errors import DataError
from tsenet.explain import plots
from tsenet.explain.plots import calibration_of


class TestCalibration:
    @pytest.mark.parametrize("n_bins", [1, 5, 10])
    def test_it_is_counted_bin_by_bin(self, n_bins: int) -> None:
        rng = np.random.default_rng(0)
        chance = np.r_[rng.random(300), 0.0, 1.0, 0.2, 0.5]
        event = (rng.random(304) < chance**2).astype(int)
        found = calibration_of(event, chance, n_bins)
        wanted, error = [], 0.0
        for k in range(n_bins):
            # an upper edge belongs to its bin; 0 belongs to the first
            inside = (chance > k / n_bins) & (chance <= (k + 1) / n_bins) | (
                (chance == 0) & (k == 0)
            )
            row = chance[inside].mean(), event[inside].mean(), inside.sum()
            error += abs(row[0] - row[1]) * row[2] / 304
            wanted.append(row)
        np.testing.assert_allclose(np.transpose(wanted), found[:3])
        assert found.error == pytest.approx(error)

    def test_empty_bins_are_left_out(self) -> None:
        found = calibration_of([0, 1, 1], [0.05, 0.95, 0.95])
        np.testing.assert_allclose(found.predicted, [0.05, 0.95])
        assert found.n_rows.tolist() == [1, 2]

    @pytest.mark.parametrize("outcome", [0, 1])
    def test_events_that_never_or_always_happen(self, outcome: int) -> None:
        found = calibration_of([outcome] * 3, [0.1, 0.2, 0.7])
        assert found.observed.tolist() == [outcome] * len(found.observed)
        assert found.n_rows.sum() == 3

    def test_several_classes_by_their_most_probable(self) -> None:
        rng = np.random.default_rng(1)
        chance = rng.dirichlet(np.ones(4), size=200)
        y = rng.integers(4, size=200)
        right, sure = chance.argmax(axis=1) == y, chance.max(axis=1)
        found, wanted = calibration_of(y, chance), calibration_of(right, sure)
        np.testing.assert_array_equal(found.observed, wanted.observed)
        np.testing.assert_array_equal(found.predicted, wanted.predicted)

    def test_drawing_two_models_on_one_axes(self) -> None:
        rng = np.random.default_rng(0)
        chance = rng.random(400)
        event = rng.random(400) < chance
        ax = plots.plot_calibration(event, chance, label="one")
        found = calibration_of(event, chance)
        np.testing.assert_allclose(np.asarray(ax.lines[1].get_ydata()), found.observed)
        assert plots.plot_calibration(event, chance**2, ax, label="two") is ax
        check_labelled(ax)
        assert said(ax)[0] == "perfectly calibrated"
        assert said(ax)[1] == f"one: error {found.error:.3f}"
        assert said(ax)[2].startswith("two: ")
        assert ax.lines[1].get_color() != ax.lines[2].get_color()

    @pytest.mark.parametrize(
        ("y", "chance", "n_bins"),
        [
            ([0, 1], [0.5], 10),
            ([0, 2], [0.5, 0.5], 10),
            ([0, 1], [0.5, 1.5], 10),
            ([0, 1], [0.5, np.nan], 10),
            ([0, 1], [0.5, 0.5], 0),
            ([], [], 10),
        ],
    )
    def test_bad_numbers_are_refused(self, y: Any, chance: Any, n_bins: int) -> None:
        with pytest.raises(DataError):
            calibration_of(y, chance, n_bins)
