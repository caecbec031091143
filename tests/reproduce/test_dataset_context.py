"""Label draws, small versions of data sets, structures shared in memory and on disk."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

import tsenet
from reproduce.dataset_context import (
    DatasetContext,
    QuickSize,
    TooFewRowsError,
    fingerprint,
    label_order,
    shrink,
)
from tests.reproduce.tiny import N_CLASSES, tiny_labels, tiny_text
from tsenet.errors import DataError

WIRING = {"density": 0.2, "link_rule": "balanced", "max_top": 4}


def test_labels_are_nested_and_hold_every_class() -> None:
    context = DatasetContext(tiny_text())
    y = context.dataset.train.y
    before: set[int] = set()
    for n_labels in (3, 4, 10, 100, 300):
        rows = context.labelled(n_labels, seed=5)
        assert rows.size == n_labels == np.unique(rows).size
        assert (np.diff(rows) > 0).all()
        assert before < set(rows.tolist())
        assert np.unique(y[rows]).size == N_CLASSES
        before = set(rows.tolist())
    assert np.array_equal(context.labelled(None, 5), np.arange(300))


def test_each_class_gets_its_share_of_labels() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(4, p=[0.6, 0.25, 0.1, 0.05], size=20_000)
    order = label_order(y, seed=1)
    assert np.array_equal(np.sort(order), np.arange(y.size))
    for n_labels in (100, 400, 1_600):
        found = np.bincount(y[order[:n_labels]], minlength=4)
        wanted = np.bincount(y) / y.size * n_labels
        assert np.abs(found - wanted).max() <= 2.0


def test_a_rare_class_comes_early() -> None:
    y = np.zeros(10_000, np.int64)
    y[-1] = 1
    assert set(y[label_order(y, 0)[:2]]) == {0, 1}


def test_draws_differ_by_seed_alone() -> None:
    y = tiny_text().train.y
    assert np.array_equal(label_order(y, 3), label_order(y, 3))
    assert not np.array_equal(label_order(y, 3), label_order(y, 4))


@pytest.mark.parametrize("n_labels", [2, 301])
def test_labels_that_cannot_be_drawn(n_labels: int) -> None:
    with pytest.raises(TooFewRowsError, match=f"{n_labels} labels cannot be drawn"):
        DatasetContext(tiny_text()).labelled(n_labels, 0)


def test_several_labels_at_once_cannot_be_drawn() -> None:
    with pytest.raises(DataError, match="one class per row"):
        DatasetContext(tiny_labels()).labelled(50, 0)


def test_a_small_version_fits_together_and_is_always_the_same() -> None:
    size = QuickSize(n_train=50, n_validation=1_000, n_test=40)
    small, again = shrink(tiny_text(), size), shrink(tiny_text(), size)
    small.validate()
    assert [len(part) for part in small.parts.values()] == [50, 90, 40]
    assert np.array_equal(small.train.y, again.train.y)
    whole = tiny_text()
    rows = {tuple(row) for row in whole.test.X.toarray()[whole.card.in_training]}
    assert all(tuple(row) in rows for row in small.test.X.toarray()[small.card.in_training])


def test_a_structure_is_learned_once_and_charged_each_time(tmp_path: Path) -> None:
    context = DatasetContext(tiny_text(), tmp_path)
    wiring, cost = context.wiring(0, **WIRING)
    spent = context.spent
    again, same = context.wiring(0, **WIRING)
    assert again is wiring
    assert same == cost == pytest.approx(spent)
    assert context.spent == spent
    other, more = context.wiring(0, density=0.5, link_rule="balanced", max_top=4)  # the same tree
    _, tree_cost = context.tree(0, max_top=4)
    assert other.n_edges > wiring.n_edges
    assert context.spent == pytest.approx(cost + more - tree_cost)
    assert context.wiring(1, **WIRING)[0] is not wiring


def test_it_is_what_the_library_learns(tmp_path: Path) -> None:
    context = DatasetContext(tiny_text(), tmp_path)
    tree = tsenet.learn_tree(context.dataset.train.X, max_top=4, random_state=7)
    wanted = tsenet.expand(tree, context.dataset.train.X, density=0.2, random_state=7)
    assert context.wiring(7, **WIRING)[0] == wanted


def test_the_next_process_reads_structures_from_disk(tmp_path: Path) -> None:
    first = DatasetContext(tiny_text(), tmp_path)
    wiring, cost = first.wiring(0, **WIRING)
    second = DatasetContext(tiny_text(), tmp_path)
    again, same = second.wiring(0, **WIRING)
    assert again == wiring
    assert same == pytest.approx(cost)
    assert second.spent == 0.0
    notes = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("*.json")]
    assert {note["kind"] for note in notes} == {"LatentTree", "Wiring"}


def test_other_data_have_other_structures(tmp_path: Path) -> None:
    DatasetContext(tiny_text(seed=0), tmp_path).wiring(0, **WIRING)
    other = DatasetContext(tiny_text(seed=1), tmp_path)
    other.wiring(0, **WIRING)
    assert other.spent > 0.0
    assert fingerprint(tiny_text(seed=0).train) != fingerprint(tiny_text(seed=1).train)
    assert fingerprint(tiny_labels().train) == fingerprint(tiny_labels().train)


def test_a_damaged_structure_is_learned_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wiring, _ = DatasetContext(tiny_text(), tmp_path).wiring(0, **WIRING)
    for path in tmp_path.glob("*.tsenet"):
        path.write_bytes(path.read_bytes()[:100])
    with caplog.at_level(logging.WARNING, "tsenet"):
        again, _ = DatasetContext(tiny_text(), tmp_path).wiring(0, **WIRING)
    assert again == wiring
    assert sum("learned again" in record.message for record in caplog.records) == 2


def test_what_a_shared_thing_needs_is_not_counted_twice() -> None:
    context = DatasetContext(tiny_text())

    def burn() -> float:
        return sum(float(np.linalg.norm(np.ones((200, 200)) @ np.ones(200))) for _ in range(2_000))

    _, outer = context.cached("outer", lambda: context.cached("inner", burn))
    _, inner = context.cached("inner", burn)
    assert outer < inner / 2
    assert context.spent == pytest.approx(outer + inner)
