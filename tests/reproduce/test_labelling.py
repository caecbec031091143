"""The oracle that labels: its time, its strategies, and what is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproduce import labelling
from reproduce.data import Rows
from reproduce.labelling import MINUTES, RECIPE, STRATEGIES, Bench, Person
from tests.labelling.running import make_texts


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred short texts in place of a data set."""

    def load(name: str, side: str) -> Rows:
        texts, truth = make_texts(200, seed=int(side == "test"))
        return Rows([" ".join(text.split()[2:]) for text in texts], np.array(truth))

    monkeypatch.setattr(labelling, "load", load)


def test_what_a_person_does_takes_its_time() -> None:
    person = Person(["one two", "word " * 500], ["a", "b"], np.array([1, 0]))
    person.label(0)
    assert person.spent == pytest.approx(2 / (238 / 60) + 1.55)
    before = person.spent
    person.read(1)  # a hundred words, not five hundred
    assert person.spent - before == pytest.approx(100 / (238 / 60))
    before = person.spent
    person.label_topic(3, "a")
    assert person.spent - before == pytest.approx(10 / (238 / 60) + 1.35 + 1.1 + 0.4)
    assert list(person.unlabelled()) == [1]
    assert person.closed.tolist() == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_learns_three_plain_classes(small: None, name: str) -> None:
    bench = Bench("any", 0)
    (_, first, _, _), (_, last, _, accuracy) = labelling.measure(bench, STRATEGIES[name], (0.5, 1))
    assert 0 < first <= last
    assert accuracy > 0.8


@pytest.mark.slow
def test_runs_are_stored_once_and_averaged(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.csv"
    labelling.run(["imdb"], 1, path)
    stored = path.read_text()
    assert stored.count("\n") == 1 + len(STRATEGIES) * len(MINUTES)
    assert f"\n{RECIPE},imdb,ours,0,5," in stored
    labelling.run(["imdb"], 1, path)
    assert path.read_text() == stored
    text = labelling.table(path)
    assert text.startswith("| | imdb |")
    assert text.count("\n") == 1 + len(STRATEGIES)
    assert labelling.draw(path, tmp_path / "a.png").stat().st_size > 5_000
