"""Options: refused nonsense, learning rates against torch's schedulers, when to stop."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau

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
        ({"plateau_patience": 0}, "plateau_patience must be at least 1"),
        ({"min_delta": -1e-9}, "min_delta must not be negative"),
        ({"min_delta": math.nan}, "min_delta must not be negative"),
        ({"plateau_factor": 1.0}, "plateau_factor must lie between 0 and 1"),
        ({"schedule": "linear"}, "schedule must be one of 'constant', 'cosine', 'plateau'"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        TrainingOptions(**options)


def test_options_of_a_search_over_arrays_become_json() -> None:
    chosen = TrainingOptions(learning_rate=np.float64(0.1), batch_size=np.int64(8))  # type: ignore[arg-type]  # as GridSearchCV does
    plain = json.loads(json.dumps(chosen.to_dict()))
    assert TrainingOptions(**plain) == TrainingOptions(learning_rate=0.1, batch_size=8)


def optimiser(rate: float) -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


class TestLearningRate:
    def test_constant(self) -> None:
        options = TrainingOptions(learning_rate=0.3)
        assert learning_rate_at(options, history_of(1, 0, 0, 0, 0, 0), 0.5) == 0.3

    @given(st.integers(1, 5), st.integers(1, 7), st.floats(1e-5, 1.0))
    def test_cosine_is_torchs(self, max_epochs: int, n_batches: int, rate: float) -> None:
        options = TrainingOptions(learning_rate=rate, schedule="cosine", max_epochs=max_epochs)
        adam = optimiser(rate)
        schedule = CosineAnnealingLR(adam, T_max=max_epochs * n_batches)
        for step in range(max_epochs * n_batches):
            epoch, batch = divmod(step, n_batches)
            ours = learning_rate_at(options, history_of(*[0.0] * epoch), batch / n_batches)
            assert ours == pytest.approx(adam.param_groups[0]["lr"], rel=1e-6, abs=1e-9 * rate)
            adam.step()
            schedule.step()
        assert adam.param_groups[0]["lr"] == pytest.approx(0, abs=1e-9)

    @given(
        st.lists(st.sampled_from([0.1, 0.2, 0.25, 0.3, 0.5]), max_size=25),
        st.integers(1, 4),
        st.sampled_from([0.0, 0.06, 0.15]),
        st.booleans(),
    )
    def test_plateau_is_torchs(
        self, values: list[float], patience: int, min_delta: float, validated: bool
    ) -> None:
        options = TrainingOptions(
            learning_rate=0.4,
            schedule="plateau",
            plateau_factor=0.25,
            plateau_patience=patience,
            min_delta=min_delta,
        )
        adam = optimiser(0.4)
        schedule = ReduceLROnPlateau(
            adam,
            mode="max",
            factor=0.25,
            patience=patience - 1,  # torch waits for one more
            threshold=min_delta,
            threshold_mode="abs",
            eps=0,
        )
        history = History()
        for value in values:
            if validated:
                history = history.after_epoch(9.0, (9.0, value), 0.1, 0.1)
            else:
                history = history.after_epoch(-value, None, 0.1, 0.1)
            schedule.step(value)
            ours = learning_rate_at(options, history, 0.5)
            assert ours == pytest.approx(adam.param_groups[0]["lr"], rel=1e-12)

    def test_plateau_falls_when_the_score_stays(self) -> None:
        options = TrainingOptions(learning_rate=1.0, schedule="plateau", plateau_patience=2)
        rates = [
            learning_rate_at(options, history_of(*[0.5, 0.6, 0.6, 0.6, 0.6, 0.6][:n]), 0.0)
            for n in range(7)
        ]
        assert rates == [1, 1, 1, 1, 0.5, 0.5, 0.25]


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
