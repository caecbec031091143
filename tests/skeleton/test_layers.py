"""One layer of latents: its posteriors are those after its last step."""

from __future__ import annotations

import numpy as np
import pytest

from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRows
from tsenet.progress import Progress
from tsenet.skeleton.completion import complete
from tsenet.skeleton.kernels.island_kernels import IslandOptions
from tsenet.skeleton.layers import learn_layer


@pytest.mark.parametrize("seed", [76, 110, 154, 323])
def test_posteriors_are_those_of_the_layer_after_its_last_change(seed: int) -> None:
    """In these rows the last step dissolves a group of one variable; the posteriors must follow."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(100, 400)), int(rng.integers(8, 30))
    causes, links = rng.random((n_rows, 4)) < 0.4, rng.random((4, n_columns)) < 0.35
    rows = BinaryRows.of_dense(((causes @ links) > 0) ^ (rng.random((n_rows, n_columns)) < 0.2))
    with Workers(1) as workers:
        found = learn_layer(rows, IslandOptions(), 0, workers, Progress())
    assert found is not None
    layer, soft = found
    again = complete(rows, layer)
    np.testing.assert_array_equal(soft.logodds.toarray(), again.logodds.toarray())
    np.testing.assert_array_equal(soft.base, again.base)
