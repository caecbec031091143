"""All tests of plots draw without a window."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def quiet_pyplot() -> Iterator[None]:
    """No window, no figure left open; and whatever was drawn can be rendered."""
    with mpl.rc_context({"backend": "agg"}):
        yield
        for number in pyplot.get_fignums():
            pyplot.figure(number).canvas.draw()
        pyplot.close("all")
