"""learn_tree on tables with little or nothing to learn, and what it reports on the way."""

from __future__ import annotations

import logging
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from tests.builders import one_latent_rows
from tests.skeleton.learning import assert_sound, groups, learn, planted_rows
from tsenet.errors import DataError

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
