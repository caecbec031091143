"""Documents with a planted hierarchy of topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows

N_THEMES, N_TOPICS, N_WORDS = 4, 3, 10  # topics of each theme, and words of each


def planted(
    n_rows: int = 1500, seed: int = 0, longest: float = 2.0
) -> tuple[BinaryRows, NDArray[np.int64]]:
    """Documents of any length about one topic each, with words of its theme and general ones; their topics."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, N_THEMES * N_TOPICS, n_rows)
    n_topical = N_THEMES * N_TOPICS * N_WORDS
    rate = np.zeros((n_rows, n_topical + N_THEMES * 5 + 20))
    length = rng.uniform(0.3, longest, n_rows)[:, None]
    words = np.arange(rate.shape[1])
    rate[(words // N_WORDS == topic[:, None]) & (words < n_topical)] = 0.3
    theme = (words - n_topical) // 5
    rate[(words >= n_topical) & (theme == topic[:, None] // N_TOPICS)] = 0.4
    rate[:, -20:] = 0.15
    rate += 0.005
    return BinaryRows.of_dense(rng.random(rate.shape) < rate * length), topic
