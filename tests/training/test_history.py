"""The record of a run: which epoch is best, and the way to JSON and back."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.examples import history_of
from tsenet.training.history import History


class TestBestEpoch:
    def test_the_first_of_equals_wins(self) -> None:
        made = history_of(0.5, 0.7, 0.7, 0.6)
        assert (made.best_epoch, made.best_score) == (1, 0.7)

    def test_nan_beats_nothing(self) -> None:
        assert history_of(math.nan, math.nan).best_epoch is None
        assert history_of(math.nan, 0.1, math.nan).best_epoch == 1

    def test_without_validation_there_is_none(self) -> None:
        made = History().after_epoch(1.0, None, 1e-3, 0.1)
        assert (made.n_epochs, made.best_epoch, made.best_score) == (1, None, None)
        assert made.validation_loss == made.validation_score == ()


numbers = st.floats(allow_nan=True, allow_infinity=True)
epochs = st.lists(st.tuples(numbers, st.tuples(numbers, numbers), numbers, numbers), max_size=5)


@given(epochs, st.booleans(), st.sampled_from([None, "max_epochs", "diverged"]))
def test_json_brings_every_bit_back(
    entries: list[tuple[float, tuple[float, float], float, float]],
    validated: bool,
    stopped: str | None,
) -> None:
    made = History(stopped=stopped)
    for loss, validation, rate, seconds in entries:
        made = made.after_epoch(loss, validation if validated else None, rate, seconds)
    text = json.dumps(made.to_dict(), allow_nan=False)
    again = History.from_dict(json.loads(text))
    assert repr(again.to_dict()) == repr(made.to_dict())  # NaN is not equal to itself
    assert [type(value) for value in again.train_loss] == [float] * len(entries)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("train_loss", [1.0]),
        ("validation_loss", [1.0]),
        ("train_loss", ["x", 1.0]),
        ("best_epoch", 2),
        ("best_epoch", 3),
        ("best_epoch", -1),
    ],
)
def test_what_cannot_be_a_history_is_refused(field: str, value: object) -> None:
    plain = history_of(0.5, 0.6).to_dict()
    with pytest.raises(ValueError, match=r"length|epoch|float"):
        History.from_dict({**plain, field: value})


def test_missing_and_unknown_fields_are_refused() -> None:
    plain = history_of(0.5).to_dict()
    with pytest.raises(ValueError, match="fields"):
        History.from_dict({**plain, "colour": 1})
    del plain["seconds"]
    with pytest.raises(ValueError, match="fields"):
        History.from_dict(plain)


def test_it_says_what_happened() -> None:
    assert repr(History()) == "History(0 epochs, not stopped)"
    made = history_of(0.5, 0.75, 0.6)
    assert repr(made) == "History(3 epochs, train loss 1, best score 0.75 in epoch 2, not stopped)"
    assert made.table()["validation score"].to_dict() == {1: 0.5, 2: 0.75, 3: 0.6}
    plain = History(stopped="max_epochs").after_epoch(1.0, None, 1e-3, 0.1)
    assert repr(plain) == "History(1 epochs, train loss 1, stopped: max_epochs)"
    assert list(plain.table()) == ["train loss", "learning rate", "seconds"]
