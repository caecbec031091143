"""Files that a stranger has: numbers with stray cells, keys, folders of texts, models given to the wrong command."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import tsenet
from tests.cli.program import QUICK_TOPICS, fine, make_documents, run
from tsenet.cli._cells import blank_marks

QUICK = ("--max-epochs", "1", "--skip-units", "2", "--jobs", "1", "--quiet")
N_ROWS = 120


def write_table(path: Path, **columns: list[str]) -> Path:
    """A csv of two numbers, the class that follows from them, and the columns given."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=N_ROWS)
    table = {
        "a": [f"{value:.3f}" for value in rng.normal(size=N_ROWS) + 2 * kind],
        "b": [f"{value:.3f}" for value in rng.normal(size=N_ROWS) - 2 * kind],
        "kind": ["yes" if value else "no" for value in kind],
        **columns,
    }
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


def fit(data: Path, *options: object, target: str = "kind") -> tuple[Path, str, str]:
    """Fit a model; return its file and what was said on both streams."""
    model = data.with_suffix(".tsenet")
    result = run("fit", data, "--target", target, "-o", model, *QUICK, *options)
    assert result.exit_code == 0, result.output
    return model, result.stdout, result.stderr


def error_of(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    return result.stderr


def digits(stray: str, every: int = 20) -> list[str]:
    return [stray if row % every == 0 else str(row * 7 % 9) for row in range(N_ROWS)]


# ---- numbers


@pytest.mark.parametrize("mark", ["NA", "?", "null"])
def test_marks_of_missing_numbers_are_missing(mark: str, tmp_path: Path) -> None:
    model, _, said = fit(write_table(tmp_path / "d.csv", grade=digits(mark)))
    assert f"column 'grade' holds numbers; cells such as {mark!r} count as missing" in said
    fitted = tsenet.load(model)
    assert not any(fitted.binary_rule_.levels)
    assert fitted.n_features_in_ == 3
    same = write_table(tmp_path / "blank.csv", grade=digits(""))
    with_mark = fine("predict", model, tmp_path / "d.csv", "--quiet")
    assert with_mark == fine("predict", model, same, "--quiet")


def test_a_mark_among_names_is_a_name() -> None:
    assert blank_marks(["DE", "NA", "FR"]) == (["DE", "NA", "FR"], None)
    assert blank_marks(["1", "NA", ""]) == (["1", "", ""], "NA")
    assert blank_marks(["NA", "?"]) == (["NA", "?"], None)
    for mark in ("n/a", "#N/A", "None", "-", ".", "\\N"):
        assert blank_marks(["1.5", mark]) == (["1.5", ""], mark)


def test_rows_whose_target_is_marked_missing_have_no_label(tmp_path: Path) -> None:
    _, said, _ = fit(write_table(tmp_path / "d.csv", grade=digits("NA")), target="grade")
    assert "6 of 120 rows have no 'grade'" in said


def test_numbers_with_stray_cells_are_told(tmp_path: Path) -> None:
    _, _, said = fit(write_table(tmp_path / "d.csv", grade=digits("x")))
    assert "'grade' is read as 10 categories: it holds numbers, but not in 6 of 120 rows" in said


def test_stray_cells_of_a_quantity_are_refused(tmp_path: Path) -> None:
    amounts = [f"{row / 7:.3f}" for row in range(N_ROWS)]
    data = write_table(tmp_path / "d.csv", amount=["oops", *amounts[1:]])
    as_column = error_of("fit", data, "--target", "kind", "-o", tmp_path / "m.tsenet", *QUICK)
    assert "'amount' holds numbers, but not in 1 of 120 rows, such as 'oops'" in as_column
    as_target = error_of("fit", data, "--target", "amount", "-o", tmp_path / "m.tsenet", *QUICK)
    assert "'amount' holds numbers, but not in 1 of 120 rows, such as 'oops'" in as_target
    assert "--task classification" in as_target


def test_numbers_written_in_other_ways_are_told(tmp_path: Path) -> None:
    shares = [f"{row % 50}%" for row in range(N_ROWS)]
    _, _, said = fit(write_table(tmp_path / "d.csv", share=shares))
    assert "column 'share' is read as 50 categories, such as '0%'" in said
    comma = [f"{row / 7:.3f}".replace(".", ",") for row in range(N_ROWS)]
    data = write_table(tmp_path / "e.csv", amount=comma)
    refused = error_of("fit", data, "--target", "kind", "-o", tmp_path / "e.tsenet", *QUICK)
    assert "write them as 1234.5" in refused


def test_a_column_that_counts_the_rows_is_told(tmp_path: Path) -> None:
    data = write_table(tmp_path / "d.csv", number=[str(row + 1) for row in range(N_ROWS)])
    assert "'number' only counts the rows: if it is their key, give --id number" in fit(data)[2]
    assert "counts the rows" not in fit(data, "--id", "number", "--force")[2]


# ---- roles of columns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "kind", "--id", "kind"), "--id and --target name the same column, 'kind'"),
        (("--target", "kind", "--text", "kind"), "--text and --target name the same column"),
        (("--target", "kind", "--target", "kind"), "--target names 'kind' twice"),
        (("--target", "same"), "column 'same' holds only one class, 1: a classifier needs two"),
    ],
)
def test_columns_in_the_wrong_role(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    data = write_table(tmp_path / "d.csv", same=["1"] * N_ROWS)
    assert message in error_of("fit", data, *options, "-o", tmp_path / "m.tsenet", *QUICK)


# ---- new rows


def test_categories_unknown_to_the_model_are_told(tmp_path: Path) -> None:
    model, *_ = fit(write_table(tmp_path / "d.csv", hue=["red", "blue"] * (N_ROWS // 2)))
    new = write_table(tmp_path / "new.csv", hue=["red", "pink"] * (N_ROWS // 2))
    said = run("predict", model, new, "--quiet").stderr
    assert "'hue': 60 of 120 values did not occur in training, such as 'pink'" in said
    assert not run("predict", model, tmp_path / "d.csv", "--quiet").stderr


def test_rows_without_names_for_a_model_of_named_columns(tmp_path: Path) -> None:
    model, *_ = fit(write_table(tmp_path / "d.csv"))
    np.savez(tmp_path / "x.npz", X=np.zeros((3, 2)))
    assert "knows its columns by name ('a', 'b')" in error_of("predict", model, tmp_path / "x.npz")


@pytest.mark.parametrize("name", ["out.xlsx", "out.parquet", "out.json"])
def test_predictions_under_the_name_of_another_format(name: str, tmp_path: Path) -> None:
    data = write_table(tmp_path / "d.csv")
    said = error_of("predict", tmp_path / "m.tsenet", data, "-o", tmp_path / name)
    assert "predictions are written as csv or jsonl" in said


def test_rows_of_another_width(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", X=rng.random((N_ROWS, 4)), y=np.arange(N_ROWS) % 2)
    model, *_ = fit(tmp_path / "d.npz", target="y")
    np.savez(tmp_path / "x.npz", X=np.zeros((3, 2)))
    said = error_of("predict", model, tmp_path / "x.npz")
    assert "x.npz has 2 columns, but the model was fitted on 4" in said


# ---- texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts in a folder for each class."""
    folder = tmp_path_factory.mktemp("texts")
    for number, text in enumerate(make_documents(60)):
        home = folder / ("sport" if "goal" in text else "other")
        home.mkdir(exist_ok=True)
        (home / f"{number}.txt").write_text(text, encoding="utf-8")
    return folder


def test_folders_are_classes_and_texts_without_a_known_word_are_told(
    folder: Path, tmp_path: Path
) -> None:
    model = tmp_path / "m.tsenet"
    said = fine("fit", folder, "--text", "text", "--target", "folder", "-o", model, *QUICK)
    assert "60 rows" in said
    assert "cross-validated on 35 labelled rows" in said
    lines = fine("predict", model, folder, "--quiet").splitlines()
    assert lines[0] == "file,folder,P(other),P(sport)"
    assert lines[1].startswith("other/")
    assert len(lines) == 61
    (tmp_path / "new.csv").write_text("text\nthe goal\nqwerty\n")
    said = run("predict", model, tmp_path / "new.csv", "--quiet").stderr
    assert "1 of 2 texts have no word that the model knows" in said


def test_a_topic_model_given_to_other_commands(folder: Path, tmp_path: Path) -> None:
    topics = tmp_path / "topics"
    fine("topics", folder, "--out", topics, *QUICK_TOPICS)
    model = topics / "model.tsenet"
    assert f"tsenet topics DATA --model {model}" in error_of("predict", model, folder)
    fine("export", model, "--bif", tmp_path / "a.bif")
    fine("export", topics / "tree.tsenet", "--bif", tmp_path / "b.bif")
    assert (tmp_path / "a.bif").read_bytes() == (tmp_path / "b.bif").read_bytes()
    fine("report", model, "--data", folder, "-o", tmp_path / "r.html", "--quiet")


def test_no_topic_at_all(tmp_path: Path) -> None:
    (tmp_path / "same.txt").write_text("the same words\n" * 20)
    said = error_of("topics", tmp_path / "same.txt", "--out", tmp_path / "out", *QUICK_TOPICS)
    assert "no topic was found" in said
    assert not (tmp_path / "out").exists()
