"""learn_tree from end to end: recovery, order of states, samples and parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from tests.builders import Bools, draw_rows, planted_tree
from tests.skeleton.learning import assert_sound, groups, learn, planted_rows
from tsenet.skeleton.hlta import learn_tree
from tsenet.skeleton.tree import LatentTree

# ---- recovery


@pytest.mark.parametrize("correlation_test", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_planted_trees_are_found(seed: int, correlation_test: bool) -> None:
    rng = np.random.default_rng(seed)
    truth = planted_tree(rng, (120, 20, 4))
    rows, held_out = (draw_rows(truth, n, rng).astype(float) for n in (3000, 1500))

    found = learn_tree(
        rows, max_top=6, random_state=seed, n_jobs=1, correlation_test=correlation_test
    )

    assert_sound(found, rows > 0)
    assert adjusted_rand_score(truth.ancestors(1), found.ancestors(1)) >= 0.95
    assert found.n_levels == 2
    assert adjusted_rand_score(truth.ancestors(2), found.ancestors(2)) >= 0.8
    loss = truth.log_likelihood(held_out).mean() - found.log_likelihood(held_out).mean()
    assert -0.05 < loss < 0.3


def test_refinement_improves_held_out_rows() -> None:
    rng = np.random.default_rng(20)
    truth = planted_tree(rng, (60, 12, 3))
    rows, held_out = (draw_rows(truth, n, rng).astype(float) for n in (2000, 2000))

    plain, refined = (learn(rows, refine_steps=steps) for steps in (0, 50))

    assert groups(plain) == groups(refined)
    assert refined.log_likelihood(held_out).mean() > plain.log_likelihood(held_out).mean()


def test_the_paper_mode_takes_noise_words_into_groups_of_their_own() -> None:
    """With the correlation test no group consists of noise only."""
    rng = np.random.default_rng(21)
    words = draw_rows(planted_tree(rng, (60, 12, 3)), 2000, rng)
    on = np.concatenate([words, rng.random((2000, 30)) < 0.02], axis=1).astype(float)

    tested, paper = (learn(on, correlation_test=test) for test in (True, False))

    def of_noise_only(tree: LatentTree) -> int:
        return sum(bool((group >= 60).all()) for group in tree.groups(1))

    assert of_noise_only(tested) == 0
    assert of_noise_only(paper) > 0


@pytest.mark.parametrize("refine_steps", [0, 20])
@pytest.mark.parametrize("seed", range(3))
def test_state_one_turns_the_group_on(seed: int, refine_steps: int) -> None:
    tree = learn(planted_rows(seed).astype(float), refine_steps=refine_steps, random_state=seed)

    for level in range(1, tree.n_levels + 1):
        below = tree.layer(level - 1)
        for group in tree.groups(level):
            rise = tree.cpt[group + below.start, 1, 1] - tree.cpt[group + below.start, 0, 1]
            assert rise.sum() >= 0


@pytest.mark.parametrize("refine_steps", [0, 5])
def test_state_one_turns_the_group_on_where_variables_were_attached(refine_steps: int) -> None:
    """Nothing is significant in four rows: two columns are put beside their opposite."""
    tree = learn([[0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 1]], refine_steps=refine_steps)

    assert tree.layer_sizes == (3, 1)
    assert (tree.cpt[:3, 1, 1] - tree.cpt[:3, 0, 1]).sum() >= 0


# ---- signs of ties


def opposite_rows(seed: int, n_rows: int = 3000) -> Bools:
    """Groups of four variables under eight latents; the first four latents exclude the other four."""
    rng = np.random.default_rng(seed)
    side = rng.random(n_rows) < 0.5
    rate = np.where(side[:, None], [0.5] * 4 + [0.05] * 4, [0.05] * 4 + [0.5] * 4)
    latent = np.repeat(rng.random((n_rows, 8)) < rate, 4, axis=1)
    return rng.random((n_rows, 32)) < np.where(latent, 0.7, 0.03)


@pytest.mark.parametrize("refine_steps", [0, 30])
@pytest.mark.parametrize("seed", range(3))
def test_no_latent_is_less_likely_when_its_parent_is_on(seed: int, refine_steps: int) -> None:
    on = opposite_rows(seed).astype(float)
    options = {"max_top": 2, "random_state": seed, "refine_steps": refine_steps}

    tree, paper = learn(on, **options), learn(on, ties="any", **options)

    def falls(tree: LatentTree) -> Bools:
        return (tree.cpt[:, 1, 1] < tree.cpt[:, 0, 1]) & (tree.level > 0)

    assert not falls(tree).any()
    assert falls(paper).any()  # or these rows would show nothing
    side = np.arange(32) // 16
    for z in range(tree.layer_sizes[-1]):
        assert len(set(side[tree.ancestors(tree.n_levels) == z])) <= 1


def test_a_latent_without_a_positive_tie_has_no_parent() -> None:
    """Four latents in a chain of ties, and one that is on only where they are off."""
    rng = np.random.default_rng(3)
    theme = rng.random(4000) < 0.4
    loner = ~theme & (rng.random(4000) < 0.5)
    linked = rng.random((4000, 4)) < np.where(theme, 0.7, 0.05)[:, None]
    latent = np.repeat(np.concatenate([linked, loner[:, None]], axis=1), 5, axis=1)
    on = rng.random((4000, 25)) < np.where(latent, 0.7, 0.03)

    tree = learn(on.astype(float), max_top=1)

    assert tree.layer_sizes == (25, 5, 1)
    (alone,) = np.flatnonzero(tree.parent[tree.layer(1)] < 0)
    assert tree.groups(1)[alone].tolist() == [20, 21, 22, 23, 24]
    assert (tree.ancestors(2)[20:] == -1).all()


# ---- structure_samples


def test_structure_from_a_sample_of_rows() -> None:
    rng = np.random.default_rng(12)
    truth = planted_tree(rng, (60, 12, 3))
    on = draw_rows(truth, 4000, rng).astype(float)

    sampled = learn(on, structure_samples=1500)

    assert adjusted_rand_score(truth.ancestors(1), sampled.ancestors(1)) >= 0.95
    assert learn(on, structure_samples=1500) == sampled
    assert learn(on, structure_samples=1500, n_jobs=2) == sampled


def test_a_sample_of_all_rows_is_no_sample() -> None:
    on = planted_rows(13, 500).astype(float)

    expected = learn(on)

    assert learn(on, structure_samples=500) == expected
    assert learn(on, structure_samples=10**6) == expected
    assert learn(on, structure_samples=100) != expected


def test_a_column_that_is_constant_in_the_sample() -> None:
    """It stands alone, but with its rate in all rows."""
    on = planted_rows(14, 1000)
    rare = np.zeros((1000, 1), bool)
    rare[7] = True
    on = np.concatenate([on, rare], axis=1)

    tree = learn(on.astype(float), structure_samples=50, random_state=1, refine_steps=5)

    tree.validate()
    assert tree.parent[60] == -1
    assert tree.marginals()[60] == pytest.approx(1.5 / 1001)


# ---- parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_island", 1),
        ("max_island", 64),
        ("max_top", 0),
        ("ud_threshold", np.nan),
        ("structure_samples", 1),
        ("refine_steps", -1),
        ("em_restarts", 0),
        ("completion", "group"),
        ("ties", "negative"),
        ("piece_size", 1),
        ("piece_size", "30"),
        ("n_jobs", 0),
    ],
)
def test_senseless_parameters_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must .*{value}"):
        learn(planted_rows(15, 50).astype(float), **{name: value})


def test_max_top_decides_the_height() -> None:
    on = planted_rows(16).astype(float)

    low, high = learn(on, max_top=50), learn(on, max_top=5)

    assert low.n_levels == 1
    assert high.n_levels == 2
    assert high.layer_sizes[-1] <= 5
    np.testing.assert_array_equal(low.ancestors(1), high.ancestors(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: 5,
        lambda: np.random.default_rng(5),
        lambda: np.random.RandomState(5),  # scikit-learn users hand it over
        lambda: np.random.SeedSequence(5),
    ],
    ids=["int", "Generator", "RandomState", "SeedSequence"],
)
def test_kinds_of_random_state(make: Callable[[], Any]) -> None:
    on = planted_rows(18, 400).astype(float)

    assert learn(on, random_state=make()) == learn(on, random_state=make())


def test_a_seed_sequence_is_not_used_up() -> None:
    """A seed is a value: the same object twice means the same tree twice."""
    on = planted_rows(18, 400).astype(float)
    seeds = np.random.SeedSequence(5)

    assert learn(on, random_state=seeds) == learn(on, random_state=seeds)
