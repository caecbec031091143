"""Options: the learning rate, and when to stop."""

from __future__ import annotations

import math

import pytest

from tests.training.examples import history_of
from tsenet.training.history import History
from tsenet.training.loop import TrainingOptions


def test_stop_after_ends_a_training_whose_rate_falls_for_longer() -> None:
    options = TrainingOptions(max_epochs=10, cosine=True, stop_after=4)
    rates = [options.learning_rate_at(epoch) for epoch in range(4)]
    assert rates == [
        TrainingOptions(max_epochs=10, cosine=True).learning_rate_at(e) for e in range(4)
    ]
    assert options.stop_reason(History(train_loss=(1.0,) * 3)) is None
    assert options.stop_reason(History(train_loss=(1.0,) * 4)) == "max_epochs"
    assert (
        TrainingOptions(max_epochs=3, stop_after=4).stop_reason(History(train_loss=(1.0,) * 3))
        == "max_epochs"
    )


class TestStopReason:
    options = TrainingOptions(max_epochs=6, patience=3)

    @pytest.mark.parametrize(
        ("scores", "reason"),
        [
            ([], None),
            ([0.5, 0.4, 0.4], None),
            ([0.5, 0.4, 0.4, 0.4], "early_stopping"),
            ([0.5, 0.4, 0.4, 0.6, 0.5], None),
            ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "max_epochs"),
            ([math.nan] * 3, "early_stopping"),
        ],
    )
    def test_patience_and_epochs(self, scores: list[float], reason: str | None) -> None:
        assert self.options.stop_reason(history_of(*scores)) == reason

    def test_early_stopping_can_be_off(self) -> None:
        options = TrainingOptions(max_epochs=6, patience=3, early_stopping=False)
        assert options.stop_reason(history_of(0.5, 0.4, 0.4, 0.4, 0.4)) is None

    def test_without_validation_only_epochs_count(self) -> None:
        history = History()
        for epoch in range(6):
            assert self.options.stop_reason(history) is None, epoch
            history = history.after_epoch(1.0, None, 1e-3, 0.1)
        assert self.options.stop_reason(history) == "max_epochs"
