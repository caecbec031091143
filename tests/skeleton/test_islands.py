"""Islands: the search against its NumPy reference, the tests on planted groups, and limits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.builders import Bools, draw_rows, one_latent_rows, planted_tree
from tests.skeleton.island_reference import reference_islands
from tests.skeleton.island_search import (
    OPTIONS,
    PAPER,
    assert_same,
    find,
    groups,
    two_linked_latents,
)
from tsenet.skeleton.islands import smallest_gain
from tsenet.skeleton.kernels.island_kernels import IslandOptions

# ---- planted groups


@pytest.mark.parametrize("options", [OPTIONS, PAPER], ids=["correlation", "paper"])
@pytest.mark.parametrize("seed", range(5))
def test_two_linked_latents_are_two_groups(seed: int, options: IslandOptions) -> None:
    islands, left = find(two_linked_latents(seed), options, key=seed)

    assert groups(islands) == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert left == []


def test_a_high_threshold_keeps_two_latents_together() -> None:
    """δ is what the second latent has to win by: with δ out of reach the test never fails."""
    islands, _ = find(two_linked_latents(0), OPTIONS._replace(ud_threshold=1e9))

    assert groups(islands) == [list(range(12))]


@pytest.mark.parametrize("seed", range(3))
def test_many_groups(seed: int) -> None:
    sizes = [3, 4, 5, 6, 7, 8]
    on = one_latent_rows(np.random.default_rng(seed), 2000, sizes)
    edges = np.cumsum([0, *sizes])

    islands, left = find(on, key=seed)

    expected = [list(range(a, b)) for a, b in pairwise(edges.tolist())]
    assert groups(islands) == expected
    assert left == []


@pytest.mark.parametrize("seed", range(3))
def test_planted_parameters_are_found(seed: int) -> None:
    on = one_latent_rows(np.random.default_rng(seed), 20_000, [8], prior=0.3, low=0.05, high=0.7)

    (island,), _ = find(on, key=seed)

    up = island.table[0, 1] > island.table[0, 0]
    table, prior = (island.table, island.prior) if up else (island.table[:, ::-1], 1 - island.prior)
    np.testing.assert_allclose(table, np.tile([0.05, 0.7], (8, 1)), atol=0.04)
    assert prior == pytest.approx(0.3, abs=0.03)


# ---- the correlation test


@pytest.mark.parametrize("seed", range(4))
def test_noise_joins_no_group(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.random((3000, 12)) < 0.03
    on = np.concatenate([one_latent_rows(rng, 3000, [5, 5]), noise], axis=1)

    islands, left = find(on, key=seed)

    assert groups(islands) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert left == list(range(10, 22))


@pytest.mark.parametrize("seed", range(4))
def test_the_papers_way_takes_noise_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.random((3000, 12)) < 0.03
    on = np.concatenate([one_latent_rows(rng, 3000, [5, 5]), noise], axis=1)

    islands, left = find(on, PAPER, key=seed)

    assert len(left) <= 1  # at most one is left without a partner
    placed = np.concatenate([island.members for island in islands])
    assert np.isin(np.arange(10, 22), [*placed, *left]).all()
    assert any((island.members >= 10).any() for island in islands)


def test_independent_data_have_no_islands() -> None:
    on = np.random.default_rng(3).random((2000, 30)) < 0.1

    islands, left = find(on)

    assert islands == []
    assert left == list(range(30))


def test_smallest_gain_is_bonferroni_corrected_chi_square() -> None:
    """χ²(1) has 3.84 as its 5 % point; 2·N·MI is compared with it, shared among all pairs."""
    assert smallest_gain(2, OPTIONS) == pytest.approx(3.8415 / 2, abs=1e-4)
    assert smallest_gain(3, OPTIONS) == pytest.approx(5.7311 / 2, abs=1e-4)
    assert smallest_gain(1000, OPTIONS) > smallest_gain(100, OPTIONS) > smallest_gain(2, OPTIONS)
    assert smallest_gain(1, OPTIONS) == smallest_gain(2, OPTIONS)
    assert smallest_gain(1000, PAPER) == 0.0


def test_false_discoveries_keep_to_their_level() -> None:
    """With nothing to find, an island appears in about 5 % of tables: rarely over 10 in 60."""
    rng = np.random.default_rng(4)
    found = sum(bool(find(rng.random((500, 12)) < 0.3)[0]) for _ in range(60))

    assert found <= 10


# ---- limits and special tables


@pytest.mark.parametrize("max_island", [2, 3, 4, 7])
def test_no_island_outgrows_the_limit(max_island: int) -> None:
    on = one_latent_rows(np.random.default_rng(5), 2000, [20])

    islands, left = find(on, OPTIONS._replace(max_island=max_island))

    sizes = [island.members.size for island in islands]
    assert max(sizes) == max_island
    assert sum(sizes) + len(left) == 20


def test_constants_are_in_no_island() -> None:
    on = one_latent_rows(np.random.default_rng(7), 1000, [6])
    on = np.insert(on, [0, 3], [False, True], axis=1)

    islands, left = find(on)

    assert groups(islands) == [[1, 2, 3, 5, 6, 7]]
    assert left == []


def test_identical_columns() -> None:
    """Ties everywhere and no doubt about the latent: finite tables, inside (0, 1)."""
    column = np.random.default_rng(8).random(500) < 0.2
    on = np.repeat(column[:, None], 9, axis=1)

    (island,), left = find(on)

    assert sorted(island.members.tolist()) == list(range(9))
    assert ((island.table > 0) & (island.table < 1)).all()
    assert 0 < island.prior < 1
    assert left == []


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_is_fitted_to_its_table(seed: int) -> None:
    """Two variables under one latent can be fitted perfectly."""
    on = one_latent_rows(np.random.default_rng(seed), 4000, [2])

    (island,), _ = find(on)

    a, b = island.table
    model = sum(
        weight * np.outer([1 - a[y], a[y]], [1 - b[y], b[y]])
        for y, weight in enumerate([1 - island.prior, island.prior])
    )
    first, second = on[:, island.members].T
    data = np.array([[(~first & ~second).mean(), (~first & second).mean()], [0, 0]])
    data[1] = (first & ~second).mean(), (first & second).mean()
    np.testing.assert_allclose(model, data, atol=2e-3)


def test_a_pair_that_avoids_each_other() -> None:
    rng = np.random.default_rng(9)
    first = rng.random(4000) < 0.4
    second = ~first & (rng.random(4000) < 0.5)
    on = np.stack([first, second], axis=1)

    (island,), _ = find(on)

    a, b = island.table
    together = (1 - island.prior) * a[0] * b[0] + island.prior * a[1] * b[1]
    assert together < 2e-3
    margin = [(1 - island.prior) * t[0] + island.prior * t[1] for t in (a, b)]
    np.testing.assert_allclose(margin, on[:, island.members].mean(axis=0), atol=2e-3)


# ---- the search for islands: against its NumPy reference, with short lists, in threads


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
