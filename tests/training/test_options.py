"""Options: refused nonsense, and when to stop."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from tests.training.examples import history_of
from tsenet.training.history import History
from tsenet.training.options import TrainingOptions, learning_rate_at, stop_reason


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": math.nan}, "learning_rate must be above 0"),
        ({"learning_rate": math.inf}, "learning_rate must be above 0"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"max_epochs": 0}, "max_epochs must be at least 1"),
        ({"patience": 0}, "patience must be at least 1"),
        ({"stop_after": 0}, "stop_after must be at least 1"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        TrainingOptions(**options)


def test_options_of_a_search_over_arrays_become_json() -> None:
    chosen = TrainingOptions(learning_rate=np.float64(0.1), batch_size=np.int64(8))  # type: ignore[arg-type]  # as GridSearchCV does
    plain = json.loads(json.dumps(chosen.to_dict()))
    assert TrainingOptions(**plain) == TrainingOptions(learning_rate=0.1, batch_size=8)


def test_stop_after_ends_a_training_whose_rate_falls_for_longer() -> None:
    options = TrainingOptions(max_epochs=10, cosine=True, stop_after=4)
    rates = [learning_rate_at(options, epoch) for epoch in range(4)]
    assert rates == [
        learning_rate_at(TrainingOptions(max_epochs=10, cosine=True), e) for e in range(4)
    ]
    assert stop_reason(options, History(train_loss=(1.0,) * 3)) is None
    assert stop_reason(options, History(train_loss=(1.0,) * 4)) == "max_epochs"
    assert (
        stop_reason(TrainingOptions(max_epochs=3, stop_after=4), History(train_loss=(1.0,) * 3))
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
        assert stop_reason(self.options, history_of(*scores)) == reason

    def test_early_stopping_can_be_off(self) -> None:
        options = TrainingOptions(max_epochs=6, patience=3, early_stopping=False)
        assert stop_reason(options, history_of(0.5, 0.4, 0.4, 0.4, 0.4)) is None

    def test_without_validation_only_epochs_count(self) -> None:
        history = History()
        for epoch in range(6):
            assert stop_reason(self.options, history) is None, epoch
            history = history.after_epoch(1.0, None, 1e-3, 0.1)
        assert stop_reason(self.options, history) == "max_epochs"
