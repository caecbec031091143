"""learn_tree from end to end: recovery, order of states, samples, odd tables, and what must not matter."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from tests.builders import Bools, draw_rows, one_latent_rows, planted_tree
from tests.skeleton.learning import assert_sound, groups, learn, planted_rows
from tsenet.errors import DataError
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


# ---- learn_tree: what must not matter, from the number of threads to the kind of table


def test_same_seed_same_tree() -> None:
    on = planted_rows(0).astype(float)

    first = learn(on, random_state=3)

    assert learn(on, random_state=3) == first
    assert learn(on, random_state=4) != first  # the batches of the refinement differ


@pytest.mark.parametrize("correlation_test", [True, False])
def test_any_thread_count_gives_the_same_bytes(correlation_test: bool) -> None:
    on = planted_rows(1).astype(float)

    one = learn(on, n_jobs=1, correlation_test=correlation_test)

    for n_jobs in (2, 4, -1, None):
        assert learn(on, n_jobs=n_jobs, correlation_test=correlation_test) == one


@pytest.mark.parametrize("seed", range(3))
def test_row_order_does_not_matter(seed: int) -> None:
    on = planted_rows(seed).astype(float)
    shuffled = on[np.random.default_rng(seed).permutation(len(on))]

    first, second = learn(on, refine_steps=0), learn(shuffled, refine_steps=0)

    assert groups(first) == groups(second)
    np.testing.assert_array_equal(first.parent, second.parent)
    np.testing.assert_allclose(first.cpt, second.cpt, rtol=1e-8)


NAMES = [f"word{k}" for k in range(60)]


FORMATS: dict[str, Callable[[np.ndarray], Any]] = {
    "bool array": lambda X: X.astype(bool),
    "float32 array": lambda X: X.astype(np.float32),
    "list of lists": lambda X: X.tolist(),
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
    "csr of counts": lambda X: sp.csr_array(7 * X),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64"),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES, orient="row"),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_kind_of_table_gives_the_same_tree(kind: str) -> None:
    X = planted_rows(3, 500).astype(float)
    expected = learn(X, refine_steps=5)

    table = FORMATS[kind](X)
    found = learn(table, refine_steps=5)

    np.testing.assert_array_equal(found.parent, expected.parent)
    np.testing.assert_array_equal(found.level, expected.level)
    np.testing.assert_array_equal(found.cpt, expected.cpt)
    named = kind.startswith(("pandas", "polars"))
    assert (found.names == expected.names) != named
    if named:
        assert list(found.names[:60]) == NAMES
    np.testing.assert_array_equal(
        found.log_likelihood(table, n_jobs=1), expected.log_likelihood(X, n_jobs=1)
    )


def test_64_bit_indices_give_the_same_tree() -> None:
    csr = sp.csr_array(planted_rows(3, 500).astype(float))
    wide = sp.csr_array(csr)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)

    assert learn(wide, refine_steps=5) == learn(csr, refine_steps=5)


def test_the_callers_data_stay_as_they_were() -> None:
    X = planted_rows(4, 300).astype(float)
    csr = sp.csr_array(X)
    before = X.copy(), csr.data.copy(), csr.indices.copy(), csr.indptr.copy()

    learn(X, refine_steps=2)
    learn(csr, refine_steps=2)

    after = X, csr.data, csr.indices, csr.indptr
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- learn_tree on tables with little or nothing to learn, and what it reports on the way


# ---- odd tables


def test_constant_columns_stand_alone(caplog: pytest.LogCaptureFixture) -> None:
    on = planted_rows(5, 600)
    on = np.insert(on, [0, 30], [False, True], axis=1)

    with caplog.at_level(logging.INFO, "tsenet"):
        tree = learn(sp.csr_array(on.astype(float)), refine_steps=10)

    assert_sound(tree, on)
    assert np.flatnonzero(tree.parent[:62] < 0).tolist() == [0, 31]
    assert tree.ancestors(1)[[0, 31]].tolist() == [-1, -1]
    np.testing.assert_allclose(tree.marginals()[[0, 31]], [0.0, 1.0], atol=2e-3)
    assert "2 in no group" in repr(tree)
    assert any("2 of 62 variables are constant" in message for message in caplog.messages)


@pytest.mark.parametrize("correlation_test", [True, False])
def test_no_correlated_variables_at_all(correlation_test: bool) -> None:
    on = np.random.default_rng(6).random((400, 20)) < np.linspace(0.02, 0.4, 20)

    tree = learn(on.astype(float), correlation_test=correlation_test, refine_steps=5)

    assert_sound(tree, on)


@pytest.mark.parametrize("n_constant", [0, 4])
def test_one_varying_column(n_constant: int) -> None:
    on = np.zeros((50, 1 + n_constant), bool)
    on[:20, 0] = True

    tree = learn(on.astype(float), refine_steps=5)

    assert_sound(tree, on)
    assert tree.layer_sizes == (1 + n_constant, 1)
    assert tree.marginals()[0] == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize("n_variables", [2, 3, 4, 5, 6])
def test_small_tables_of_one_group(n_variables: int) -> None:
    on = one_latent_rows(np.random.default_rng(7), 400, [n_variables])

    tree = learn(on.astype(float), refine_steps=5)

    assert_sound(tree, on)
    assert groups(tree) == [[list(range(n_variables))]]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_columns_constant(value: float) -> None:
    X = sp.csr_array(np.full((10, 4), value))

    tree = learn(X)

    assert tree.n_latents == 0
    assert tree.layer_sizes == (4,)
    assert (tree.parent == -1).all()
    assert tree.posterior(X).shape == (10, 0)
    expected = 4 * np.log(10.5 / 11)
    np.testing.assert_allclose(tree.log_likelihood(X), expected)
    assert repr(tree) == "LatentTree(4, 4 parameters, 4 in no group)"


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1, 0], [1, 0, 0]],
        [[0, 0, 0], [1, 1, 1]],
        [[0, 1, 1], [0, 1, 1]],
        [[0], [1]],
    ],
)
def test_two_rows(rows: list[list[int]]) -> None:
    on = np.array(rows, bool)

    tree = learn(sp.csr_array(on.astype(float)), refine_steps=5)

    assert_sound(tree, on)


def test_one_row_is_refused() -> None:
    with pytest.raises(DataError, match="two rows"):
        learn([[0, 1, 1]])


def test_identical_columns_and_identical_rows() -> None:
    column = np.random.default_rng(8).random(100) < 0.3
    on = np.repeat(column[:, None], 40, axis=1)  # more copies than fit in one group

    tree = learn(on.astype(float), refine_steps=10)

    assert_sound(tree, on)


def test_opposite_columns() -> None:
    column = np.random.default_rng(9).random(200) < 0.4
    on = np.stack([column, ~column, column, ~column], axis=1)

    tree = learn(on.astype(float), refine_steps=20)

    assert_sound(tree, on)
    assert len(tree.groups(1)) == 1
    per_row = tree.log_likelihood(on.astype(float)).mean()
    assert per_row == pytest.approx(np.log([0.4, 0.6]) @ [0.4, 0.6], abs=0.1)


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(10)
    on = rng.random((12, 200)) < 0.2

    assert_sound(learn(on.astype(float), refine_steps=5), on)


def test_columns_named_like_latents() -> None:
    on = planted_rows(11, 400).astype(float)
    frame = pd.DataFrame(on, columns=["Z1.0", "Z2.0", *(f"word{k}" for k in range(58))])

    tree = learn(frame, refine_steps=2)

    assert len(set(tree.names)) == tree.n_nodes
    assert tree.names[:2] == ("Z1.0", "Z2.0")


# ---- progress and logging


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_runs_through_every_stage(n_jobs: int) -> None:
    calls: list[tuple[str, int, int | None]] = []

    tree = learn(
        planted_rows(19).astype(float),
        refine_steps=7,
        n_jobs=n_jobs,
        progress=lambda *call: calls.append(call),
    )

    starts = [k for k, (_, done, _) in enumerate(calls) if done == 0]
    stages = [calls[k][0] for k in starts]
    assert stages[:2] == ["pairs", "islands"]
    assert stages.count("pairs") == stages.count("islands") == tree.n_levels == 2
    assert stages[-1] == "refine"
    for start, stop in pairwise([*starts, len(calls)]):
        part = calls[start:stop]
        assert {stage for stage, _, _ in part} == {calls[start][0]}
        done = [d for _, d, _ in part]
        assert done == sorted(done)
        assert part[-1][1] == part[-1][2] == part[0][2]  # to the end, as announced
    assert calls[-1] == ("refine", 7, 7)


def test_a_callback_can_cancel() -> None:
    class Cancelled(Exception):  # noqa: N818  # not an error
        pass

    def cancel(stage: str, done: int, total: int | None) -> None:
        if stage == "islands" and done > 10:
            raise Cancelled

    with pytest.raises(Cancelled):
        learn(planted_rows(19).astype(float), progress=cancel, n_jobs=2)


def test_logging_tells_the_story(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tsenet"):
        tree = learn(planted_rows(19).astype(float), refine_steps=3)

    messages = caplog.messages
    assert f"layer 1: {tree.layer_sizes[1]} latents" in messages
    assert f"layer 2: {tree.layer_sizes[2]} latents" in messages
    assert f"learned {tree!r}" in messages
    assert any(message.startswith("refine: finished") for message in messages)
    assert {record.name.split(".")[0] for record in caplog.records} == {"tsenet"}


def test_a_top_that_cannot_shrink_is_said_aloud(caplog: pytest.LogCaptureFixture) -> None:
    """Independent groups: a further layer would bundle what is not correlated."""
    on = one_latent_rows(np.random.default_rng(20), 1500, [4] * 6).astype(float)

    with caplog.at_level(logging.WARNING, "tsenet"):
        tree = learn(on, max_top=2, refine_steps=3)

    tree.validate()
    assert tree.layer_sizes == (24, 6)
    (message,) = caplog.messages
    assert "stopped at 6 latents" in message
    assert "max_top=2" in message
