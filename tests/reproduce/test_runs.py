"""The run loop: what is stored, that it continues where it stopped, and what happens to failures."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reproduce import CHANGED, RECIPE, runs
from reproduce.__main__ import main
from reproduce.data import Fold, fold_of
from reproduce.experiments import EXPERIMENTS, QUICK, Experiment, quick
from reproduce.grid import best_shape, ranking_cells
from reproduce.runs import (
    FIELDS,
    Cell,
    _wide_shares,
    last_change,
    measure,
    pack,
    read_runs,
    run_cells,
    score,
    unpack,
)

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
    stale = json.loads(path.read_text().splitlines()[0]) | {"recipe": CHANGED["texts"] - 1}
    path.write_text(json.dumps(stale) + "\n")
    run_cells(CELLS[:1], path)
    assert measured == [CELLS[1], CELLS[0]]  # the texts changed since


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


def test_an_encoder_does_not_depend_on_how_texts_become_words() -> None:
    assert last_change("subj", "logistic") == CHANGED["texts"]
    assert last_change("subj", "minilm") == CHANGED["rivals"] < CHANGED["texts"]
    assert last_change("subj", "tsenet-minilm") == last_change("subj", "tsenet")


def test_experiments_are_well_formed() -> None:
    from reproduce.data import DATA
    from reproduce.rivals import split_name

    for experiment in (*EXPERIMENTS.values(), *map(quick, QUICK)):
        assert experiment.reference in (*experiment.rivals, "tsenet")
        for cell in experiment.cells():
            assert re.split("[@/]", cell.data)[0] in DATA
            if cell.measure != "pixels":
                size = split_name(cell.rival)[2]
                assert size is None or size.isdigit() or size in experiment.rivals


def test_the_best_dense_shape_is_chosen_on_validation_rows(folder: Path, tmp_path: Path) -> None:
    """All shapes on few rows, three on all rows, and the winner on the test rows, each from the stored runs."""
    path = tmp_path / "runs.jsonl"
    experiment = Experiment(
        "",
        ("subj@80",),
        ("fnn:best:weighting=counts",),
        n_seeds=1,
        shapes=("3x1", "24x1", "24x2-conic"),
    )
    assert run_cells(experiment.all_cells(path), path, lambda *text, **options: None) == []
    runs = read_runs(path)
    ranked = [run for run in runs if run["part"] == "validation"]
    assert [run["rival"] for run in ranked] == [
        f"fnn:{shape}:weighting=counts" for shape in ("3x1", "24x1", "24x2-conic")
    ]
    best = max(ranked, key=lambda run: run["score"])
    assert [run["rival"] for run in runs if run["part"] == "test"] == [best["rival"]]


def test_large_sets_are_ranked_on_few_rows_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "runs.jsonl"
    shapes = ("1x1", "2x1", "3x1", "4x1", "2048x3")  # the last is the paper's
    cells = ranking_cells("paper-ag_news", "counts", path, shapes)
    few = [next(cells) for _ in shapes]
    assert {(cell.data, cell.part) for cell in few} == {("paper-ag_news@4000", "validation")}
    with path.open("w") as file:
        for cell, score in zip(few, (0.1, 0.5, 0.4, 0.3, 0.2), strict=True):
            run = dict(zip(FIELDS, cell.key, strict=True)) | {"recipe": RECIPE, "score": score}
            file.write(json.dumps(run) + "\n")
    finalists = list(cells)
    assert {cell.data for cell in finalists} == {"paper-ag_news"}
    assert [cell.rival for cell in finalists] == [
        f"fnn:{shape}:weighting=counts" for shape in ("2x1", "3x1", "4x1", "2048x3")
    ]
    assert best_shape(read_runs(path), "paper-ag_news", "counts") == "2x1"
    assert best_shape([], "paper-ag_news", "counts") == "2048x3"  # the paper's


def test_commands(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.jsonl"
    arguments = ["--data", "subj", "--rivals", "logistic", "--labels", "60", "--seeds", "1"]
    assert main(["run", "few-labels", *arguments, "--runs", str(path)]) == 0
    assert len(read_runs(path)) == 1
    assert main(["list"]) == 0
    assert "few-labels" in capsys.readouterr().out
    assert main(["table", "overview", "60", "subj", "logistic", "--runs", str(path)]) == 0
    assert "Logistic regression" in capsys.readouterr().out
    assert main(["table", "mnist", "--runs", str(path)]) == 0
    assert "not measured yet" in capsys.readouterr().out
    assert main(["data", "--check"]) == 1
    assert "suite/sonar.csv.xz: differs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "tabel3"], "no experiment 'tabel3': choose from few-labels"),
        (["table", "tabel3"], "no table 'tabel3': choose from"),
        (["table3", "--data", "nothing"], "no data set 'nothing': choose from ag_news"),
        (["table3", "--rivals", "fnm"], "no rival 'fnm': choose from tsenet"),
        (["table3", "--data", "subj", "--rivals", "fnn:big"], "'big' is no shape: write 2048x3"),
        (["table3", "--shapes", "512x1,big"], "'big' is no shape: write 2048x3"),
        (["table3", "--labels", "ten"], "'ten' is no number of labels: write 100,400 or all"),
        (["table3"], "paper-ag_news: paper/ag_news-train.csv.xz"),
        (["table", "few-labels"], "write `table few-labels N [RIVALS]`"),
        (["table", "mnist", "a"], "write `table mnist`"),
        (["figures"], "holds no runs of few-labels"),
    ],
)
def test_wrong_names_and_missing_data_are_explained(
    arguments: list[str],
    says: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = ["--runs", str(tmp_path / "runs.jsonl")]
    assert main([*arguments, *runs]) == 1
    captured = capsys.readouterr()
    assert says in captured.err + captured.out


def test_table_3_is_one_command(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "runs.jsonl")
    rivals = (
        "tsenet-paper:max_epochs=2,fnn:16x2:weighting=counts,"
        "pruned:16x2:weighting=counts:rounds=1@tsenet-paper:max_epochs=2"
    )
    options = ["--data", "subj", "--rows", "90", "--seeds", "1", "--rivals", rivals]
    assert main(["table3", *options, "--runs", path]) == 0
    printed = capsys.readouterr().out
    for row in ("TSE-Net (paper), max_epochs 2", "FNN 16x2", "Pruned FNN 16x2, one cut"):
        assert f"| {row}" in printed, printed


def test_table_3_of_ones_own_runs_shows_the_data_that_they_hold(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.jsonl"
    run_cells([Cell("subj@90", "logistic:weighting=counts")], path)
    capsys.readouterr()
    assert main(["table", "table3", "--runs", str(path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("subj@90\n\n")
    assert "| Logistic regression" in printed, printed


def test_the_shapes_of_the_grid_can_be_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "runs.jsonl")
    options = ["--data", "subj", "--rows", "90", "--seeds", "1", "--shapes", "3x1,24x1"]
    best = "fnn:best:weighting=counts"
    assert main(["table3", *options, "--rivals", best, "--runs", path]) == 0
    ranked = [run["rival"] for run in read_runs(Path(path)) if run["part"] == "validation"]
    assert ranked == ["fnn:3x1:weighting=counts", "fnn:24x1:weighting=counts"]
    assert "| FNN " in capsys.readouterr().out


def test_units_of_images_are_wide_or_high() -> None:
    image = np.array([[0, 0, 0, 1], [2, 3, 3, 1], [2, 4, 4, 1], [-1, 4, 4, 5]])
    assert _wide_shares(image) == pytest.approx([1.0, 1 / 3, np.nan], nan_ok=True)


def test_both_layers_are_scored_and_chance_is_the_mean_of_all_pairs(folder: Path) -> None:
    vectors = folder / "word_vectors"
    vectors.mkdir()
    words = ["goal", "referee", "senate", "ballot"]
    lines = [f"{word} {k % 2} {1 - k % 2}" for k, word in enumerate(words)]
    (vectors / "tiny.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    fold = fold_of("subj", "test", 0)
    run = measure(Cell("subj", "tsenet-paper:max_epochs=1", measure="interpretability"), fold, len)
    assert run["chance"]["tiny.txt.gz"] == pytest.approx(2 / 6)  # two of the six pairs are alike
    assert run["coverage"]["tiny.txt.gz"] == pytest.approx(4 / len(fold.names))
    assert run["units_top"] != run["units"]
