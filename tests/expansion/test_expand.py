"""Expansion: conditional information against brute force, and what each link_rule promises (paper §4)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tsenet
from tests.builders import random_tree
from tsenet.data import Blocks
from tsenet.data.binary import BinaryRows
from tsenet.expansion.counts import count_layers, log_odds_of, tiles_of
from tsenet.expansion.expand import expand
from tsenet.expansion.wiring import Wiring
from tsenet.progress import Progress
from tsenet.skeleton.tree import LatentTree

RULES = ("balanced", "context", "top-k", "informative", "random", "tree")


def conditional_information(h: np.ndarray, x: np.ndarray, z: np.ndarray) -> float:
    """N · I(h; x | z), cell by cell, from the definition."""
    total = 0.0
    for a, b, c in itertools.product((0, 1), repeat=3):
        n = np.sum((h == a) & (x == b) & (z == c))
        if n:
            n_ac, n_bc = np.sum((h == a) & (z == c)), np.sum((x == b) & (z == c))
            total += n * np.log(n * np.sum(z == c) / (n_ac * n_bc))
    return total


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    """Twelve causes, each behind six columns, and a few columns of noise."""
    rng = np.random.default_rng(5)
    big = rng.random((1500, 3)) < 0.4
    cause = np.repeat(big, 4, axis=1) & (rng.random((1500, 12)) < 0.6)
    cause |= rng.random(cause.shape) < 0.05
    seen = np.repeat(cause, 6, axis=1) & (rng.random((1500, 72)) < 0.7)
    noise = rng.random((1500, 5)) < 0.2
    return np.concatenate([seen | (rng.random(seen.shape) < 0.02), noise], axis=1).astype(float)


@pytest.fixture(scope="module")
def tree(table: np.ndarray) -> LatentTree:
    learned = tsenet.learn_tree(table, max_top=4, refine_steps=5, random_state=0)
    assert learned.n_levels == 2
    return learned


def scores_of_level_1(tree: LatentTree, rows: BinaryRows) -> np.ndarray:
    layers, tiles = count_layers(tree, Blocks(rows), 1, 1, Progress())
    wanted = itertools.islice(tiles, len(tiles_of(tree.layer_sizes[1])))
    return np.concatenate([layers[0].score(tile) for tile in wanted])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_scores_are_conditional_information(share: float) -> None:
    rng = np.random.default_rng(int(100 * share))
    tree = random_tree(rng, (9, 5, 2), n_constant=1)
    rows = BinaryRows.of_dense(rng.random((60, 9)) < share)
    score = scores_of_level_1(tree, rows)
    lower, upper = (layer.to_dense() for layer in tree.complete(rows)[:2])
    for h, x in itertools.product(range(5), range(9)):
        parent = tree.parent[x] - 9
        if parent == h:
            assert score[h, x] == -1.0
        else:
            given = upper[:, parent] if tree.parent[x] >= 0 else np.zeros(60)
            assert score[h, x] == pytest.approx(
                conditional_information(upper[:, h], lower[:, x], given), abs=1e-9
            )


@pytest.mark.parametrize("link_rule", RULES)
def test_tree_links_are_kept(tree: LatentTree, table: np.ndarray, link_rule: str) -> None:
    wiring = expand(tree, table, density=0.25, link_rule=link_rule, random_state=1)
    assert wiring.layer_sizes == tree.layer_sizes
    for level, layer in enumerate(wiring.layers, start=1):
        above = tree.parent[tree.layer(level - 1)] - tree.layer(level).start
        kept = dict(
            zip(layer.indices[layer.from_tree], layer.upper_ends()[layer.from_tree], strict=True)
        )
        assert kept == {x: h for x, h in enumerate(above.tolist()) if h >= 0}


def test_rules_have_equally_many_links(tree: LatentTree, table: np.ndarray) -> None:
    sizes = {
        link_rule: [
            layer.n_edges for layer in expand(tree, table, density=0.3, link_rule=link_rule).layers
        ]
        for link_rule in RULES
    }
    assert sizes["balanced"] == sizes["top-k"] == sizes["random"] == sizes["informative"]
    assert sizes["tree"] == [table.shape[1], tree.layer_sizes[1]]


@pytest.mark.parametrize("link_rule", ["top-k", "informative", "random"])
def test_every_unit_reaches_the_density(
    tree: LatentTree, table: np.ndarray, link_rule: str
) -> None:
    layer = expand(tree, table, density=0.3, link_rule=link_rule).layers[0]
    assert (np.diff(layer.indptr) == max(round(0.3 * 77), 1)).all()


def test_top_k_takes_the_best(tree: LatentTree, table: np.ndarray) -> None:
    layer = expand(tree, table, density=0.3, link_rule="top-k").layers[0]
    above = (tree.parent[: tree.n_observed] - tree.n_observed).astype(np.int32)
    score = scores_of_level_1(tree, tree.binary(table))
    for h in range(layer.n_upper):
        part = slice(layer.indptr[h], layer.indptr[h + 1])
        added = layer.indices[part][~layer.from_tree[part]]
        others = np.setdiff1d(np.flatnonzero(above != h), added)
        assert score[h, added].min() >= score[h, others].max()


def relative_information(h: np.ndarray, x: np.ndarray, z: np.ndarray) -> tuple[bool, float]:
    """Whether h and x are positively associated given z, and (I(h; x | z) − 1/N) / √H(x), from the definitions."""
    excess = 0.0
    for state in (0, 1):
        of_state = z == state
        if of_state.any():
            excess += np.sum(h & x & of_state)
            excess -= np.sum(h & of_state) * np.sum(x & of_state) / np.sum(of_state)
    rate = x.mean()
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    information = conditional_information(h, x, z) / x.size
    return bool(excess > 1e-9), float((information - 1 / x.size) / np.sqrt(entropy))


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_informative_takes_the_best_by_the_definition(share: float) -> None:
    rng = np.random.default_rng(int(100 * share))
    tree = random_tree(rng, (15, 6, 2))
    rows = rng.random((80, 15)) < share
    lower, upper = (layer.to_dense() for layer in tree.complete(BinaryRows.of_dense(rows))[:2])
    layer = expand(tree, rows, density=0.7, link_rule="informative").layers[0]
    n_negative = 0
    for h in range(6):
        score = {}
        for x in np.flatnonzero(tree.parent[:15] - 15 != h):
            parent = tree.parent[x] - 15
            given = upper[:, parent] if tree.parent[x] >= 0 else np.zeros(80, bool)
            score[x] = relative_information(upper[:, h], lower[:, x], given)
        part = slice(layer.indptr[h], layer.indptr[h + 1])
        added = layer.indices[part][~layer.from_tree[part]]
        best = sorted(score.values(), reverse=True)[: added.size]
        chosen = sorted((score[x] for x in added), reverse=True)
        assert [positive for positive, _ in chosen] == [positive for positive, _ in best]
        np.testing.assert_allclose([s for _, s in chosen], [s for _, s in best], atol=1e-12)
        n_negative += sum(not positive for positive, _ in chosen)
    assert n_negative > 0  # both kinds are met


def test_a_constant_column_is_the_least_informative() -> None:
    rng = np.random.default_rng(0)
    tree = random_tree(rng, (9, 5, 2), n_constant=1)
    rows = rng.random((60, 9)) < 0.5
    rows[:, tree.parent[:9] < 0] = False
    layer = expand(tree, rows, density=0.8, link_rule="informative").layers[0]
    constant = int(np.flatnonzero(tree.parent[:9] < 0)[0])
    assert not rows[:, constant].any()
    assert constant not in layer.indices


@pytest.mark.parametrize("link_rule", RULES)
def test_log_odds_are_those_of_the_completed_rows(
    tree: LatentTree, table: np.ndarray, link_rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"density": 0.2, "link_rule": link_rule, "random_state": 0}
    wiring = expand(tree, table, log_odds=True, **options)
    completed = [layer.to_dense() for layer in tree.complete(table)]
    n_rows = len(table)
    for layer, below, above in zip(wiring.layers, completed, completed[1:], strict=False):
        assert layer.log_odds is not None
        for h, x, weight in zip(layer.upper_ends(), layer.indices, layer.log_odds, strict=True):
            on, off = below[above[:, h], x], below[~above[:, h], x]
            # five rows with x, spread over the rows with h and those without
            with_h = (on.sum() + 5 * on.size / n_rows) / on.size
            without_h = (off.sum() + 5 * off.size / n_rows) / off.size
            assert weight == pytest.approx(np.log(with_h / without_h), rel=1e-6, abs=1e-6)
    assert not expand(tree, table, **options).has_log_odds
    monkeypatch.setattr("tsenet.expansion.counts.UNITS_PER_TILE", 5)
    assert expand(tree, table, log_odds=True, n_jobs=3, **options) == wiring


def test_a_unit_that_never_changes_says_nothing() -> None:
    n_both, n_h, n_x = np.array([0, 7]), np.array([0, 100]), np.array([7, 7])
    assert log_odds_of(n_both, n_h, n_x, 100) == pytest.approx([0, 0])


def test_balanced_starves_no_lower_unit(tree: LatentTree, table: np.ndarray) -> None:
    layer = expand(tree, table, density=0.3, link_rule="balanced").layers[0]
    links = np.bincount(layer.indices[~layer.from_tree], minlength=layer.n_lower)
    assert links.max() - links.min() <= 1


def test_full_density_links_everything(tree: LatentTree, table: np.ndarray) -> None:
    for link_rule in ("balanced", "top-k", "informative", "random"):
        assert all(
            layer.density == 1
            for layer in expand(tree, table, density=1, link_rule=link_rule).layers
        )


@pytest.mark.parametrize("link_rule", RULES)
def test_same_wiring_for_any_thread_count_and_block(
    tree: LatentTree, table: np.ndarray, link_rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = expand(tree, table, density=0.2, link_rule=link_rule, random_state=3, n_jobs=1)
    assert expand(tree, table, density=0.2, link_rule=link_rule, random_state=3, n_jobs=3) == one
    monkeypatch.setattr("tsenet.expansion.counts.UNITS_PER_TILE", 5)
    assert expand(tree, table, density=0.2, link_rule=link_rule, random_state=3, n_jobs=2) == one


def test_random_links_follow_the_seed(tree: LatentTree, table: np.ndarray) -> None:
    first = expand(tree, table, link_rule="random", density=0.3, random_state=0)
    assert first == expand(tree, table, link_rule="random", density=0.3, random_state=0)
    assert first != expand(tree, table, link_rule="random", density=0.3, random_state=1)


def test_constant_columns_may_receive_links_but_no_tree_link(table: np.ndarray) -> None:
    wide = np.concatenate([table, np.zeros((table.shape[0], 1))], axis=1)
    tree = tsenet.learn_tree(wide, refine_steps=0, random_state=0)
    layer = expand(tree, wide, density=0.5).layers[0]
    assert not layer.from_tree[layer.indices == table.shape[1]].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": 0.0}, "density"),
        ({"density": 1.5}, "density"),
        ({"link_rule": "best"}, "link_rule"),
    ],
)
def test_bad_options_are_refused(
    tree: LatentTree, table: np.ndarray, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        expand(tree, table, **options)


def test_tree_without_latents_is_refused() -> None:
    tree = tsenet.learn_tree(np.ones((4, 2)))
    with pytest.raises(ValueError, match="no latents"):
        expand(tree, np.ones((4, 2)))


def test_file_round_trip(tree: LatentTree, table: np.ndarray, tmp_path) -> None:
    wiring = expand(tree, table, density=0.2)
    wiring.save(tmp_path / "wiring.tsenet")
    loaded = tsenet.load(tmp_path / "wiring.tsenet")
    assert isinstance(loaded, Wiring)
    assert loaded == wiring


def test_progress_is_told(tree: LatentTree, table: np.ndarray) -> None:
    seen: list[tuple[str, int, int | None]] = []
    expand(tree, table, progress=lambda *step: seen.append(step))
    assert seen[-1] == ("links", sum(tree.layer_sizes[1:]), sum(tree.layer_sizes[1:]))
