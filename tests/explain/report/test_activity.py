"""Activity of topics, against the whole matrix of posteriors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.explain.report.corpus import documents, table, tree
from tsenet.explain.report import activity
from tsenet.explain.report.activity import largest, tree_activity
from tsenet.explain.report.along import bins_of
from tsenet.progress import CallbackProgress, Progress


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_best", [1, 3, 20, 99])
def test_largest_agrees_with_sorting(seed: int, n_best: int) -> None:
    values = np.round(np.random.default_rng(seed).random((20, 4)), 1)  # with ties
    place = largest(values, n_best)
    assert place.shape == (min(n_best, 20), 4)
    for column in range(4):
        ranked = sorted(range(20), key=lambda row: (-values[row, column], row))
        assert place[:, column].tolist() == ranked[:n_best]


def test_largest_of_nothing() -> None:
    assert largest(np.empty((0, 3)), 2).shape == (0, 3)
    assert largest(np.empty((3, 0)), 2).shape == (2, 0)


@pytest.mark.parametrize("block", [1 << 22, 300])  # all rows at once, or a few at a time
def test_agrees_with_the_posteriors(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "_BLOCK", block)
    _, subjects = documents()
    values = [None if k % 7 == 0 else str(subject) for k, subject in enumerate(subjects)]
    bins = bins_of(values)
    found = tree_activity(tree(), table(), 4, bins, Progress())
    posterior = tree().posterior(table())
    np.testing.assert_allclose(found.mean, posterior.mean(axis=0))
    for latent in range(tree().n_latents):
        on = posterior[:, latent]
        np.testing.assert_allclose(found.posterior[latent], np.sort(on)[::-1][:4])
        np.testing.assert_allclose(on[found.rows[latent]], found.posterior[latent])
        for k, name in enumerate(bins.names):
            inside = [row for row, value in enumerate(values) if value == name]
            assert found.along is not None
            assert found.along[latent, k] == pytest.approx(on[inside].mean())


def test_blocks_do_not_change_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tree_activity(tree(), table(), 5, None, Progress())
    monkeypatch.setattr(activity, "_BLOCK", 1)
    rowwise = tree_activity(tree(), table(), 5, None, Progress())
    assert whole.rows.tolist() == rowwise.rows.tolist()
    assert whole.along is None


def test_reports_its_progress() -> None:
    seen: list[tuple[str, int, int | None]] = []
    report = CallbackProgress(lambda stage, done, total: seen.append((stage, done, total)))
    tree_activity(tree(), table(), 1, None, report)
    assert seen[-1] == ("rows of each topic", 1, 1)
