"""The columns of files that a stranger has, and errors of one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tsenet
from tests.cli.program import (
    error_of,
    fine,
    run,
)


def write_table(path: Path, **columns: list[str]) -> Path:
    """A csv of two numbers, the class that follows from them, and the columns given."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=120)
    table = {
        "a": [f"{value:.3f}" for value in rng.normal(size=120) + 2 * kind],
        "b": [f"{value:.3f}" for value in rng.normal(size=120) - 2 * kind],
        "kind": ["yes" if value else "no" for value in kind],
        **columns,
    }
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def digits(stray: str) -> list[str]:
    return [stray if row % 20 == 0 else str(row * 7 % 9) for row in range(120)]


def fit_table(data: Path, *options: object, target: str = "kind") -> tuple[Path, str]:
    """Fit a model; return its file and the warnings."""
    model = data.with_suffix(".tsenet")
    quick = ("--set", "max_epochs=1", "--jobs", "1", "--quiet", "--force")
    result = run("fit", data, "--target", target, "-o", model, *quick, *options)
    assert result.exit_code == 0, result.output
    return model, result.stderr


class TestColumns:
    def test_marks_of_missing_numbers(self, tmp_path: Path) -> None:
        marks = {"x": "NA", "y": "?", "z": "null"}
        columns = {name: digits(mark) for name, mark in marks.items()}
        model, warned = fit_table(write_table(tmp_path / "d.csv", **columns))
        for name, mark in marks.items():
            assert f"{name!r} holds numbers; cells such as {mark!r} count as missing" in warned
        assert not any(tsenet.load(model).binary_rule_.levels)
        same = write_table(tmp_path / "blank.csv", **dict.fromkeys(marks, digits("")))
        answers = fine("predict", model, tmp_path / "d.csv", "--quiet")
        assert answers == fine("predict", model, same, "--quiet")

    def test_odd_columns_are_reported(self, tmp_path: Path) -> None:
        columns = {
            "stray": digits("x"),
            "percent": [f"{row % 50}%" for row in range(120)],
            "number": [str(row + 1) for row in range(120)],
        }
        _, warned = fit_table(write_table(tmp_path / "d.csv", **columns))
        assert "not in 6 of 120 rows, such as 'x'" in warned
        assert "read as 50 categories, such as '0%'" in warned
        assert "give --id number" in warned

    @pytest.mark.parametrize(
        ("column", "messages"),
        [
            ([f"k{row}" for row in range(120)], ["120 different texts", "--id odd", "--text odd"]),
            (["oops", *(f"{row / 7:.3f}" for row in range(119))], ["such as 'oops'", "--ignore"]),
            ([f"{row / 7:.3f}".replace(".", ",") for row in range(120)], ["1234.5"]),
        ],
        ids=["key", "stray cell", "decimal commas"],
    )
    def test_keys_are_refused(self, column: list[str], messages: list[str], tmp_path: Path) -> None:
        data = write_table(tmp_path / "d.csv", odd=column)
        stderr = error_of("fit", data, "--target", "kind", "-o", tmp_path / "m", "--quiet")
        assert all(message in stderr for message in messages)

    def test_stray_cells_of_a_target(self, tmp_path: Path) -> None:
        amounts = ["oops", *(f"{row / 7:.3f}" for row in range(119))]
        data = write_table(tmp_path / "d.csv", amount=amounts, grade=digits("NA"))
        command = ("fit", data, "--target", "amount", "-o", tmp_path / "m", "--quiet")
        stderr = error_of(*command)
        assert "not in 1 of 120 rows, such as 'oops'" in stderr
        assert "--task classification" in stderr
        model, _ = fit_table(data, "--ignore", "amount", target="grade")
        assert tsenet.load(model).classes_.tolist() == list(range(9))  # NA is no class

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--target", "kind", "--id", "kind"), "different columns"),
            (("--target", "same"), "only one class"),
        ],
    )
    def test_columns_in_the_wrong_role(
        self, options: tuple[str, ...], message: str, tmp_path: Path
    ) -> None:
        data = write_table(tmp_path / "d.csv", same=["1"] * 120)
        assert message in error_of("fit", data, *options, "-o", tmp_path / "m.tsenet", "--quiet")

    def test_new_rows(self, tmp_path: Path) -> None:
        land = ["DE", "NA", "FR"] * 40
        model, warned = fit_table(
            write_table(tmp_path / "d.csv", hue=["red", "blue"] * 60, land=land)
        )
        assert not warned  # NA among names is a name
        assert tsenet.load(model).binary_rule_.levels[-1] == ("DE", "FR", "NA")
        new = write_table(tmp_path / "new.csv", hue=["red", "pink"] * 60, land=land)
        warned = run("predict", model, new, "--quiet").stderr
        assert "'hue': 60 of 120 values did not occur in training, such as 'pink'" in warned
        assert not run("predict", model, tmp_path / "d.csv", "--quiet").stderr
        write_table(new, hue=[""] * 120, land=land)
        assert run("predict", model, new, "--quiet").exit_code == 0
        write_table(new, hue=["red"] * 120, land=land, a=["high"] * 120)
        assert "held numbers" in error_of("predict", model, new, "--quiet")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "d.csv", "--target", "none", "-o", "m"), "no column 'none'; it has 'a'"),
        (("fit", "d.csv", "--target", "kind", "--ignore", "zz", "-o", "m"), "no column 'zz'"),
        (("fit", "d.csv", "--target", "kind", "-o", "there"), "there exists"),
        (("fit", "d.csv", "--target", "empty", "-o", "m"), "no row has a value in 'empty'"),
        (("fit", "d.csv", "--target", "kind", "-o", "no/m"), "there is no folder no"),
        (("fit", "d.csv", "--target", "kind", "-o", ".", "--force"), "is a folder"),
        (("fit", "d.csv", "--target", "kind", "--target", "a", "-o", "m"), "not numbers"),
        (("predict", "d.csv", "d.csv"), "cannot be loaded"),
        (("predict", "tree.tsenet", "d.csv"), "holds a LatentTree, which predicts no target"),
        (("predict", "d.csv", "d.csv", "-o", "out.xlsx"), "csv or jsonl"),
        (("evaluate", "missing.tsenet", "d.csv"), "there is no file missing.tsenet"),
    ],
)
def test_errors_are_one_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(Path("d.csv"), empty=[""] * 120)
    Path("there").touch()
    tsenet.learn_tree(np.eye(8)[:, :4], random_state=0).save("tree.tsenet")
    assert message in error_of(*arguments, "--quiet")
    assert not Path("m").exists()
