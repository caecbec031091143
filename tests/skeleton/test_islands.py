"""Islands: the uni-dimensionality and correlation tests, and the search against its twin."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import Bools, draw_rows, one_latent_rows, planted_tree
from tests.skeleton.island_twin import em_step, split_advantage, twin_islands
from tsenet.data.rows import BinaryRows
from tsenet.progress import Progress
from tsenet.skeleton import _island_kernels
from tsenet.skeleton.information import PairCounter, pair_information
from tsenet.skeleton.islands import Island, IslandFinder, IslandOptions, smallest_gain
from tsenet.threads import Workers

OPTIONS = IslandOptions()
PAPER = IslandOptions(correlation_test=False)


def find(
    on: Bools,
    options: IslandOptions = OPTIONS,
    *,
    key: int = 7,
    n_partners: int = 128,
    n_jobs: int = 1,
) -> tuple[list[Island], list[int]]:
    """Islands in the order found, and the variables left over."""
    counter = PairCounter(BinaryRows.of_dense(on))
    with Workers(n_jobs) as workers:
        information = pair_information(counter, n_partners, workers, Progress())
        finder = IslandFinder(counter, information, options, key, workers)
        islands = list(finder.islands())
        return islands, np.flatnonzero(finder.alive).tolist()


def groups(islands: list[Island]) -> list[list[int]]:
    return sorted(sorted(island.members.tolist()) for island in islands)


def assert_same(first: list[Island], second: list[Island]) -> None:
    """Bitwise the same islands in the same order."""
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.members, b.members)
        np.testing.assert_array_equal(a.table, b.table)
        assert a.prior == b.prior


def two_linked_latents(seed: int, n_rows: int = 3000, size: int = 6) -> Bools:
    """Two correlated latents with ``size`` variables each: all of them hang together."""
    rng = np.random.default_rng(seed)
    first = rng.random(n_rows) < 0.35
    second = rng.random(n_rows) < np.where(first, 0.75, 0.15)
    latent = np.repeat(np.stack([first, second], axis=1), size, axis=1)
    return rng.random((n_rows, 2 * size)) < np.where(latent, 0.7, 0.05)


# ---- planted groups


@pytest.mark.parametrize("options", [OPTIONS, PAPER], ids=["correlation", "paper"])
@pytest.mark.parametrize("seed", range(5))
def test_one_latent_is_one_group(seed: int, options: IslandOptions) -> None:
    on = one_latent_rows(np.random.default_rng(seed), 2000, [10])

    islands, left = find(on, options, key=seed)

    assert groups(islands) == [list(range(10))]
    assert left == []


@pytest.mark.parametrize("options", [OPTIONS, PAPER], ids=["correlation", "paper"])
@pytest.mark.parametrize("seed", range(5))
def test_two_linked_latents_are_two_groups(seed: int, options: IslandOptions) -> None:
    islands, left = find(two_linked_latents(seed), options, key=seed)

    assert groups(islands) == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert left == []


def test_a_high_threshold_keeps_two_latents_together() -> None:
    """δ is what the second latent has to win by: with δ out of reach the test never fails."""
    islands, _ = find(two_linked_latents(0), replace(OPTIONS, ud_threshold=1e9))

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
    assert smallest_gain(3, replace(OPTIONS, significance=0.15)) == pytest.approx(1.9207, abs=1e-4)
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

    islands, left = find(on, replace(OPTIONS, max_island=max_island))

    sizes = [island.members.size for island in islands]
    assert max(sizes) == max_island
    assert sum(sizes) + len(left) == 20


@pytest.mark.parametrize("n_variables", [2, 3, 4, 5])
def test_a_handful_of_variables(n_variables: int) -> None:
    """A table so small that the island takes everything ends, too."""
    on = one_latent_rows(np.random.default_rng(6), 1000, [n_variables])

    islands, left = find(on)

    assert groups(islands) == [list(range(n_variables))]
    assert left == []


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


# ---- the search: lists, threads, keys


def planted_rows(seed: int, n_rows: int = 1500) -> Bools:
    """60 words under 12 latents under 3, with 15 noise words."""
    rng = np.random.default_rng(seed)
    words = draw_rows(planted_tree(rng, (60, 12, 3)), n_rows, rng)
    return np.concatenate([words, rng.random((n_rows, 15)) < 0.04], axis=1)


@pytest.mark.parametrize("options", [OPTIONS, PAPER], ids=["correlation", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_equals_its_numpy_twin(seed: int, options: IslandOptions) -> None:
    on = planted_rows(seed)

    islands, left = find(on, options, key=seed)
    twins, twin_left = twin_islands(on, options, seed)

    assert [i.members.tolist() for i in islands] == [t.members for t in twins]
    assert left == twin_left.tolist()
    assert len(islands) > 5
    for island, twin in zip(islands, twins, strict=True):
        if len(twin.members) > 2:
            np.testing.assert_allclose(island.table, twin.table, rtol=1e-6)
            assert island.prior == pytest.approx(twin.prior, rel=1e-6)


@pytest.mark.parametrize("options", [OPTIONS, PAPER], ids=["correlation", "paper"])
@pytest.mark.parametrize("n_partners", [6, 7, 12])
def test_short_lists_give_the_same_islands(
    n_partners: int, options: IslandOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = planted_rows(10)
    options = replace(options, max_island=6)
    refills = []
    refill = IslandFinder._refill

    def counted(finder: IslandFinder, variables: NDArray[np.int32]) -> None:
        refills.extend(variables.tolist())
        refill(finder, variables)

    monkeypatch.setattr(IslandFinder, "_refill", counted)
    full, left = find(on, options, n_partners=1000)
    assert not refills  # the full list never runs dry
    short, short_left = find(on, options, n_partners=n_partners)

    assert refills
    assert_same(short, full)
    assert short_left == left


@pytest.mark.parametrize("options", [OPTIONS, PAPER], ids=["correlation", "paper"])
@pytest.mark.parametrize("n_partners", [6, 128])
def test_threads_leave_no_trace(n_partners: int, options: IslandOptions) -> None:
    on = planted_rows(11)
    options = replace(options, max_island=6)

    one, left = find(on, options, n_partners=n_partners, n_jobs=1)
    for n_jobs in (2, 3, 4):
        several, several_left = find(on, options, n_partners=n_partners, n_jobs=n_jobs)
        assert_same(several, one)
        assert several_left == left


def test_row_order_does_not_matter() -> None:
    """Joint counts are all that rows tell, so even the tables' last bits stay within rounding."""
    on = planted_rows(12)

    first, left = find(on)
    second, second_left = find(on[np.random.default_rng(0).permutation(len(on))])

    assert [i.members.tolist() for i in first] == [i.members.tolist() for i in second]
    assert left == second_left
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a.table, b.table, rtol=1e-9)


def test_every_variable_is_in_one_island_or_left_over() -> None:
    on = planted_rows(13)

    islands, left = find(on)

    everyone = np.concatenate([*(island.members for island in islands), left])
    assert sorted(everyone.tolist()) == list(range(75))


# ---- kernels against raw rows


def patterns_of(on: Bools) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pattern table of some members: (bits, number of rows, pattern of each row)."""
    code = on @ (1 << np.arange(on.shape[1]))
    bits, of_row, count = np.unique(code, return_inverse=True, return_counts=True)
    return bits.astype(np.uint64), count.astype(np.int64), of_row


@pytest.mark.parametrize("closest", [0, 1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_split_advantage_equals_the_rows_likelihoods(seed: int, closest: int) -> None:
    rng = np.random.default_rng([seed, closest])
    on = one_latent_rows(rng, 400, [6])
    members = [0, 1, 2, 3, 4]
    prior, table = rng.uniform(0.2, 0.6), rng.uniform(0.05, 0.95, (5, 2))
    joined, split = rng.uniform(0.05, 0.95, 2), rng.uniform(0.05, 0.95, (3, 2))
    bits, count, of_row = patterns_of(on[:, :5])
    with_candidate = np.bincount(of_row, weights=on[:, 5], minlength=bits.size).astype(np.int64)
    state = (bits[:, None] >> np.arange(5, dtype=np.uint64)) & np.uint64(1)
    ratio = np.where(state, table[:, 1] / table[:, 0], (1 - table[:, 1]) / (1 - table[:, 0]))

    advantage = _island_kernels._split_advantage(
        bits,
        count,
        with_candidate,
        ratio.prod(axis=1),
        bits.size,
        prior,
        closest,
        table[closest],
        joined,
        split,
    )

    expected = split_advantage(on, members, prior, table, closest, 5, joined, split)
    assert advantage == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_split_that_changes_nothing_has_no_advantage() -> None:
    """Z a copy of Y, W and X as under Y: M2 is M1."""
    rng = np.random.default_rng(14)
    on = one_latent_rows(rng, 300, [4])
    table = np.array([[0.1, 0.8], [0.2, 0.7], [0.05, 0.6]])
    joined = np.array([0.15, 0.5])
    bits, count, of_row = patterns_of(on[:, :3])
    with_candidate = np.bincount(of_row, weights=on[:, 3], minlength=bits.size).astype(np.int64)
    state = (bits[:, None] >> np.arange(3, dtype=np.uint64)) & np.uint64(1)
    ratio = np.where(state, table[:, 1] / table[:, 0], (1 - table[:, 1]) / (1 - table[:, 0]))
    copy = np.array([[0.0, 1.0], table[2], joined])

    advantage = _island_kernels._split_advantage(
        bits,
        count,
        with_candidate,
        ratio.prod(axis=1),
        bits.size,
        0.3,
        2,
        table[2],
        joined,
        copy,
    )

    assert advantage == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_refit_is_em_on_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    on = one_latent_rows(rng, 500, [6])
    keep = np.array([0, 2, 3, 5])  # the table may hold members that left
    bits, count, _ = patterns_of(on)
    prior, table = 0.4, np.stack([rng.uniform(0.1, 0.3, 4), rng.uniform(0.4, 0.8, 4)], axis=1)
    twin_prior, twin_table = prior, table.copy()
    for _ in range(7):
        twin_prior, twin_table = em_step(on, keep.tolist(), twin_prior, twin_table, 1.0)

    found = _island_kernels._refit(bits, count, bits.size, keep, prior, table, 1.0, 7)

    assert found == pytest.approx(twin_prior, rel=1e-10)
    np.testing.assert_allclose(table, twin_table, rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_one_more_refit_step_is_one_em_step_on_the_rows(seed: int) -> None:
    """The whole way through the pattern table: growth, a member that leaves, the last fit."""
    on = two_linked_latents(seed)
    some, _ = find(on, replace(OPTIONS, refit_steps=4))
    more, _ = find(on, replace(OPTIONS, refit_steps=5))

    for before, after in zip(some, more, strict=True):
        members = before.members.tolist()
        assert after.members.tolist() == members
        prior, table = em_step(on, members, before.prior, before.table, OPTIONS.smooth)
        np.testing.assert_allclose(after.table, table, rtol=1e-9)
        assert after.prior == pytest.approx(prior, rel=1e-9)


def test_scratch_is_handed_back_clean() -> None:
    """Islands share a scratch array: what one leaves behind the next would read."""
    counter = PairCounter(BinaryRows.of_dense(planted_rows(15)))
    with Workers(1) as workers:
        information = pair_information(counter, 128, workers, Progress())
        finder = IslandFinder(counter, information, OPTIONS, 0, workers)
        for _ in finder.islands():
            assert not finder._scratch[0].any()


def test_many_patterns_make_the_table_grow() -> None:
    """15 independent-looking members give thousands of patterns, far over the first room of 64."""
    on = one_latent_rows(np.random.default_rng(16), 4000, [15], low=0.2, high=0.6, prior=0.5)
    patterns = len(np.unique(on, axis=0))

    islands, _ = find(on, replace(PAPER, ud_threshold=1e9))
    twins, _ = twin_islands(on, replace(PAPER, ud_threshold=1e9), 7)

    assert patterns > 1000
    assert [i.members.tolist() for i in islands] == [t.members for t in twins]
    np.testing.assert_allclose(islands[0].table, twins[0].table, rtol=1e-6)
