"""Options: the learning rate, and when to stop."""

from __future__ import annotations

import math

import pytest

from tests.training.examples import history_of
from tsenet.training.history import History
from tsenet.training.loop import TrainingOptions


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
