"""Colours of the plots."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from tsenet.explain.plots._axes import COLOURS

# Machado et al. (2009): what people who lack one kind of cone see, in linear RGB.
BLIND = {
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_colours_can_be_told_apart(kind: str) -> None:
    rgb = np.array([to_rgb(colour) for colour in COLOURS])
    assert len({to_hex(colour) for colour in COLOURS}) == len(COLOURS)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(BLIND[kind]).T, 0, 1)
    shown = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
    away = np.linalg.norm(shown[:, None] - shown[None], axis=2)
    assert away[~np.eye(len(COLOURS), dtype=bool)].min() > 0.1
