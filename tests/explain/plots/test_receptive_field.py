"""The plot of a unit over pixels: correlations and frames."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from tsenet.errors import DataError
from tsenet.explain import plots
from tsenet.explain.units import Feature, Unit, Units


class TestReceptiveField:
    NAMES = tuple(f"x{j}" for j in range(6))

    def units(self, *features: Feature) -> Units:
        return Units((Unit("Z1.0", 1, "", features, 0.0, 0.25, (), None),), None, 8, self.NAMES)

    def test_pixels_are_correlations(self) -> None:
        ax = plots.plot_receptive_field(
            self.units(Feature("x4", 0.5, 1.0), Feature("x0", -0.2, None)), "Z1.0", (2, 3)
        )
        image = np.ma.filled(ax.images[0].get_array(), np.nan)
        np.testing.assert_array_equal(image, [[-0.2, np.nan, np.nan], [np.nan, 0.5, np.nan]])
        assert ax.images[0].get_clim() == (-0.5, 0.5)
        assert ax.get_title() == "Z1.0, active in 25 % of images"

    def test_direct_links_are_framed(self) -> None:
        ax = plots.plot_receptive_field(
            self.units(Feature("x4", 0.5, 1.0), Feature("x0", -0.2, None)), "Z1.0", (2, 3)
        )
        (frame,) = (c for c in ax.collections if isinstance(c, LineCollection))
        sides = {tuple(map(tuple, side.tolist())) for side in map(np.asarray, frame.get_segments())}
        assert sides == {  # pixel (1, 1) covers 0.5 … 1.5 in both directions
            ((0.5, 0.5), (1.5, 0.5)),
            ((0.5, 1.5), (1.5, 1.5)),
            ((0.5, 0.5), (0.5, 1.5)),
            ((1.5, 0.5), (1.5, 1.5)),
        }

    def test_a_unit_that_reads_all_needs_no_frame(self) -> None:
        ax = plots.plot_receptive_field(self.units(Feature("x4", 0.5, 1.0)), "Z1.0", (2, 3))
        assert not any(isinstance(c, LineCollection) for c in ax.collections)

    def test_a_constant_unit(self) -> None:
        assert plots.plot_receptive_field(self.units(), "Z1.0", (3, 2)).images

    def test_bad_questions_are_refused(self) -> None:
        with pytest.raises(DataError, match="does not have 6 pixels"):
            plots.plot_receptive_field(self.units(), "Z1.0", (2, 2))
        with pytest.raises(DataError, match="no unit 'Z9'"):
            plots.plot_receptive_field(self.units(), "Z9", (2, 3))
