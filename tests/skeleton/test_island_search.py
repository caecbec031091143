"""The search for islands: against its NumPy reference, with short lists, in threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import Bools, draw_rows, planted_tree
from tests.skeleton.island_reference import reference_islands
from tests.skeleton.island_search import OPTIONS, PAPER, assert_same, find
from tsenet.skeleton.kernels.island_kernels import IslandOptions


def planted_rows(seed: int, n_rows: int = 1500) -> Bools:
    """60 words under 12 latents under 3, with 15 noise words."""
    rng = np.random.default_rng(seed)
    words = draw_rows(planted_tree(rng, (60, 12, 3)), n_rows, rng)
    return np.concatenate([words, rng.random((n_rows, 15)) < 0.04], axis=1)


@pytest.mark.parametrize("options", [OPTIONS, PAPER], ids=["correlation", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_equals_its_numpy_reference(seed: int, options: IslandOptions) -> None:
    on = planted_rows(seed)

    islands, left = find(on, options, key=seed)
    references, reference_left = reference_islands(on, options, seed)

    assert [i.members.tolist() for i in islands] == [t.members for t in references]
    assert left == reference_left.tolist()
    assert len(islands) > 5
    for island, reference in zip(islands, references, strict=True):
        if len(reference.members) > 2:
            np.testing.assert_allclose(island.table, reference.table, rtol=1e-6)
            assert island.prior == pytest.approx(reference.prior, rel=1e-6)


@pytest.mark.parametrize("options", [OPTIONS, PAPER], ids=["correlation", "paper"])
@pytest.mark.parametrize("n_partners", [6, 7, 12])
def test_short_lists_give_the_same_islands(n_partners: int, options: IslandOptions) -> None:
    on = planted_rows(10)
    options = options._replace(max_island=6)
    full, left = find(on, options, n_partners=1000)
    short, short_left = find(on, options, n_partners=n_partners)

    assert_same(short, full)
    assert short_left == left
