"""The run loop: what is stored, that it continues where it stopped, and what happens to failures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reproduce import RECIPE, runs
from reproduce.__main__ import main
from reproduce.data import Fold
from reproduce.experiments import EXPERIMENTS
from reproduce.runs import Cell, measure, pack, read_runs, run_cells, score, unpack

CELLS = [Cell("subj", "logistic", 60, seed) for seed in (0, 1)]


@given(arrays(np.bool_, st.integers(0, 50)))
def test_packed_rows_come_back(bits: np.ndarray) -> None:
    assert np.array_equal(unpack(pack(bits)), bits)


def test_a_cell_is_measured_and_stored(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "runs.jsonl"
    assert run_cells(CELLS, path) == []
    stored = read_runs(path)
    assert [run["seed"] for run in stored] == [0, 1]
    run = stored[0]
    assert run["recipe"] == RECIPE
    assert run["score"] == unpack(run["right"]).mean() > 0.5
    assert 0.5 < run["macro_f1"] <= 1
    assert run["parameters"] == 18 * 3 + 3
    assert {"cpu", "commit", "versions"} <= set(run)


def test_stored_cells_are_not_measured_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.jsonl"
    run_cells(CELLS[:1], path)
    measured = []
    original = runs.measure
    monkeypatch.setattr(
        runs, "measure", lambda cell, *rest: measured.append(cell) or original(cell, *rest)
    )
    run_cells(CELLS, path)
    assert measured == CELLS[1:]
    stale = json.loads(path.read_text().splitlines()[0]) | {"recipe": RECIPE - 1}
    path.write_text(json.dumps(stale) + "\n")
    run_cells(CELLS[:1], path)
    assert measured == [CELLS[1], CELLS[0]]  # runs of another recipe are stale


def test_a_failure_is_reported_and_the_others_go_on(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    failures = run_cells([Cell("subj", "set@logistic", 60), *CELLS], path)
    assert len(failures) == 1
    assert "measure logistic on subj first" in failures[0]
    assert len(read_runs(path)) == 2


def test_a_rival_takes_the_size_of_another(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    cells = [Cell("subj", "tsenet:max_epochs=1"), Cell("subj", "fnn-sized@tsenet:max_epochs=1")]
    assert run_cells(cells, path) == []
    ours, dense = (run["parameters"] for run in read_runs(path))
    assert 0.7 * ours < dense <= ours


class Chances:
    """A model that gives what it is told."""

    def __init__(self, chances: np.ndarray) -> None:
        self.chances = chances

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.chances


def test_areas_leave_out_unknown_labels_and_repeated_rows() -> None:
    truth = np.array([[1, 0], [0, np.nan], [1, 1], [0, 0], [1, 1]], float)
    chances = np.array([[0.9, 0.1], [0.2, 0.9], [0.1, 0.8], [0.3, 0.2], [0.8, 0.15]])
    repeated = np.array([False, False, True, False, False])
    X = np.zeros((5, 1))
    fold = Fold("tox21", "table", "labels", X, truth, X, truth, ("a",), repeated)
    result = score(Chances(chances), fold)
    # of the pairs of a positive and a negative row, the share in the right order
    assert result["areas"] == [pytest.approx(4 / 6), pytest.approx(3 / 4)]
    assert result["without_repeated"] == pytest.approx((1 + 1 / 2) / 2)


def test_interpretability_is_measured(folder: Path) -> None:
    import gzip

    vectors = folder / "word_vectors"
    vectors.mkdir()
    words = ["goal", "referee", "senate", "ballot", "atom", "laser"]
    lines = [f"{word} {k % 2} {1 - k % 2}" for k, word in enumerate(words)]
    (vectors / "tiny.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    from reproduce.data import fold_of

    fold = fold_of("subj", "test", 0)
    for rival in ("tsenet:max_epochs=1", "fnn-512", "nmf:n_components=3"):
        cell = Cell("subj", rival, measure="interpretability")
        run = measure(cell, fold, lambda name: 0)
        assert run["units"] > 0
        assert -1 <= run["interpretability"]["tiny.txt.gz"] <= 1


def test_experiments_are_well_formed() -> None:
    from reproduce.data import DATA
    from reproduce.rivals import split_name

    for experiment in EXPERIMENTS.values():
        assert experiment.reference in (*experiment.rivals, "tsenet")
        for cell in experiment.cells():
            assert cell.data.partition("/")[0] in DATA
            if cell.measure != "pixels":
                size = split_name(cell.rival)[2]
                assert size is None or size.isdigit() or size in experiment.rivals


def test_commands(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.jsonl"
    arguments = ["--data", "subj", "--rivals", "logistic", "--labels", "60", "--seeds", "1"]
    assert main(["run", "few-labels", *arguments, "--runs", str(path)]) == 0
    assert len(read_runs(path)) == 1
    assert main(["list"]) == 0
    assert "few-labels" in capsys.readouterr().out
    assert main(["table", "pixels"]) == 0
    assert "connected" in capsys.readouterr().out
    assert main(["data", "--check"]) == 1
    assert "suite/sonar.csv.xz: differs" in capsys.readouterr().out
