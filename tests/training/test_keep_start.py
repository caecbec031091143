"""A start that counts: an epoch has to beat it on the validation rows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.training.examples import labelled, small_net, table
from tsenet.training.engine import Engine
from tsenet.training.history import History
from tsenet.training.loop import TrainingOptions, Validation, train
from tsenet.training.losses import MulticlassLoss

INPUTS, _ = table(300, 45)
CLASSES = np.random.default_rng(0).integers(4, size=300)
TRAIN, HELD = np.arange(200), np.arange(200, 300)


def run(learning_rate: float, keep_start: bool) -> tuple[History, Engine, dict[str, np.ndarray]]:
    engine = Engine(small_net(45, 4), INPUTS, MulticlassLoss(4), seed=0, n_jobs=1)
    before = engine.weights()
    options = TrainingOptions(learning_rate=learning_rate, max_epochs=4, keep_start=keep_start)
    held = Validation(INPUTS, HELD, CLASSES[HELD], None)
    rows = labelled(TRAIN, CLASSES[TRAIN])
    return train(engine, rows, validation=held, options=options), engine, before


def test_a_start_that_no_epoch_beats_is_kept() -> None:
    """The classes are noise: large steps only make it worse."""
    history, engine, before = run(30.0, keep_start=True)

    assert history.start_score is not None
    assert max(history.validation_score) < history.start_score
    assert history.best_epoch is None
    assert history.best_score == history.start_score
    assert all(np.array_equal(engine.weights()[name], old) for name, old in before.items())
    assert History.from_dict(history.to_dict()) == history


def test_without_it_the_first_epoch_is_the_one_to_beat() -> None:
    history, engine, before = run(1.0, keep_start=False)

    assert history.start_score is None
    assert history.best_epoch is not None
    assert any(not np.array_equal(engine.weights()[name], old) for name, old in before.items())


def test_a_start_that_is_beaten_gives_way() -> None:
    history, _, _ = run(1e-2, keep_start=True)

    assert history.best_epoch is not None
    assert history.start_score is not None
    assert history.best_score == pytest.approx(max(history.validation_score))
    assert history.best_score > history.start_score
