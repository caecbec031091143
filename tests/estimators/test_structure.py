"""What a network's structure is if the user does not say."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.builders import random_tree
from tsenet.data import Table
from tsenet.estimators.structure import default_density


@pytest.mark.parametrize(
    ("n_latents", "dense", "sparse"),
    [(2, 1.0, 0.2), (16, 0.25, 0.2), (80, 0.05, 0.1), (400, 0.05, 0.02), (4000, 0.05, 0.005)],
)
def test_the_default_density_lets_enough_latents_read_each_column(
    n_latents: int, dense: float, sparse: float
) -> None:
    tree = random_tree(np.random.default_rng(0), (2 * n_latents, n_latents))
    values = np.ones((2, 2 * n_latents))

    assert default_density(Table.of(values), tree) == pytest.approx(dense)
    assert default_density(Table.of(sp.csr_array(values)), tree) == pytest.approx(sparse)
