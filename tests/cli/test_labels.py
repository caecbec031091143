"""Few labels, odd files and other programs: what fit, predict and evaluate make of them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tsenet
from tests.builders import one_latent_rows
from tests.cli.program import fine, run
from tsenet.cli._results import write_csv

QUICK = ["--max-epochs", "20", "--learning-rate", "0.01", "--skip-units", "20", "--quiet"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """300 rows in groups of four columns, and whether the second group is on."""
    rows = one_latent_rows(np.random.default_rng(0), 300, (4, 4)).astype(int)
    frame = pd.DataFrame(rows, columns=list("abcdefgh"))
    frame["kind"] = np.where(rows[:, 4:].sum(axis=1) > 1, "much", "little")
    return frame


@pytest.fixture(scope="module")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rows, a third of them without a label, and a model fitted to them."""
    folder = tmp_path_factory.mktemp("few")
    few = frame.assign(key=[f"=row{i}" for i in range(300)])
    few.loc[::3, "kind"] = ""
    few.loc[::6, "kind"] = "  "
    few.to_csv(folder / "few.csv", index=False)
    (folder / "said.json").write_text(
        fine(
            *("fit", folder / "few.csv", "--target", "kind", "--id", "key", *QUICK),
            *("-o", folder / "m.tsenet", "--json", "--verbose"),
        ),
        "utf-8",
    )
    return folder


# ---- few labels


def test_blank_cells_are_unlabelled_rows(folder: Path) -> None:
    said = json.loads((folder / "said.json").read_text("utf-8").splitlines()[-1])
    assert (said["rows"], said["unlabelled"]) == (300, 100)
    scored = said["cross_validated"]
    assert (scored["metric"], scored["n_rows"]) == ("accuracy", 200)
    assert 0.7 < scored["low"] < scored["value"] <= scored["high"]
    assert tsenet.load(folder / "m.tsenet").classes_.tolist() == ["little", "much"]


def test_a_marker_is_named(frame: pd.DataFrame, tmp_path: Path) -> None:
    codes = (frame["kind"] == "much").astype(int)
    codes[::2] = -1
    frame.assign(kind=codes).to_csv(tmp_path / "d.csv", index=False)
    given = ("fit", tmp_path / "d.csv", "--target", "kind", *QUICK, "--force")
    model = tmp_path / "m.tsenet"
    said = fine(*given, "-o", model, "--unlabeled", "-1")
    assert "150 of 300 rows have no 'kind'" in said
    assert "cross-validated on 150 labelled rows: accuracy" in said
    assert tsenet.load(model).classes_.tolist() == [0, 1]
    scores = json.loads(fine("evaluate", model, tmp_path / "d.csv", "--json", "--quiet"))
    assert (scores["rows"], scores["unlabelled"]) == (150, 150)
    warned = run(*given, "-o", model).stderr
    assert warned.startswith("warning: y holds the class -1 in 150 of 300 rows")
    assert warned.endswith("(tsenet fit: --unlabeled -1)\n")
    assert tsenet.load(model).classes_.tolist() == [-1, 0, 1]


def test_evaluate_leaves_blanks_out(folder: Path, frame: pd.DataFrame) -> None:
    printed = fine("evaluate", folder / "m.tsenet", folder / "few.csv", "--quiet")
    shown = dict(line.rsplit(maxsplit=1) for line in printed.partition("\n\n")[0].splitlines())
    assert (shown["rows"], shown["unlabelled"]) == ("200", "100")
    model = tsenet.load(folder / "m.tsenet")
    known = frame[np.arange(300) % 3 != 0]
    expected = (model.predict(known[list("abcdefgh")]) == known["kind"]).mean()
    assert float(shown["accuracy"]) == pytest.approx(expected, abs=1e-4)


def test_evaluate_refuses_what_cannot_be_the_truth(
    folder: Path, frame: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "d.csv"
    other = frame.assign(colour="red", none="", some=frame["kind"].where(frame.index > 9, "new"))
    other.to_csv(path, index=False)
    for target, says in (
        (
            "colour",
            "300 of 300 values are classes unknown to the model, such as 'red'; it predicts",
        ),
        ("a", "cannot be the truth"),
        ("none", "no row has a value in 'none'"),
    ):
        result = run("evaluate", folder / "m.tsenet", path, "--target", target, "--quiet")
        assert result.exit_code == 1
        assert says in result.stderr
    result = run(
        *("evaluate", folder / "m.tsenet", path, "--target", "a", "--target", "b", "--quiet")
    )
    assert "predicts 1 columns, but 2 are given" in result.stderr
    scores = json.loads(
        fine("evaluate", folder / "m.tsenet", path, "--target", "some", "--json", "--quiet")
    )
    assert (scores["rows"], scores["unknown"]) == (300, 10)
    assert "log_loss" not in scores
    regressor = tsenet.TSENetRegressor(random_state=0, max_epochs=2)
    regressor.fit(frame[list("abcd")], frame["e"] * 1.5).save(tmp_path / "r.tsenet")
    result = run("evaluate", tmp_path / "r.tsenet", path, "--target", "kind", "--quiet")
    assert "holds values that are not numbers, such as 'much'" in result.stderr


def test_a_report_shows_no_truth_of_unlabelled_rows(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    fine("report", folder / "m.tsenet", "-o", page, "--data", folder / "few.csv", "--quiet")
    text = page.read_text("utf-8")
    assert re.search(r'"truth":\s*{"\d+":\s*"(little|much)"', text)
    assert '"None"' not in text


# ---- what is printed and written


def test_ids_and_order_are_kept(folder: Path, tmp_path: Path) -> None:
    given = ("predict", folder / "m.tsenet", folder / "few.csv", "--id", "key", "--quiet")
    shown = list(csv.DictReader(io.StringIO(fine(*given))))
    assert [row["key"] for row in shown] == [f"'=row{i}" for i in range(300)]
    assert list(shown[0]) == ["key", "kind", "P(little)", "P(much)"]
    lines = [json.loads(line) for line in fine(*given, "--json").splitlines()]
    assert [line["key"] for line in lines] == [f"=row{i}" for i in range(300)]
    assert [line["kind"] for line in lines] == [row["kind"] for row in shown]
    out = tmp_path / "out.jsonl"
    said = json.loads(fine(*given, "-o", out, "--json"))
    assert (said["rows"], said["out"]) == (300, str(out))
    assert json.loads(out.read_text("utf-8").splitlines()[7]) == lines[7]
    assert "no column 'zz'" in run(*given[:3], "--id", "zz", "--quiet").stderr


def test_predict_repeats_the_key_that_fit_was_given(
    folder: Path, frame: pd.DataFrame, tmp_path: Path
) -> None:
    shown = fine("predict", folder / "m.tsenet", folder / "few.csv", "--quiet")
    assert shown.splitlines()[0] == "key,kind,P(little),P(much)"
    frame.to_csv(tmp_path / "no-key.csv", index=False)
    shown = fine("predict", folder / "m.tsenet", tmp_path / "no-key.csv", "--quiet")
    assert shown.splitlines()[0] == "kind,P(little),P(much)"
    given = ("fit", folder / "few.csv", "--target", "kind", "-o", tmp_path / "m.tsenet")
    assert "no column 'zz'" in run(*given, "--id", "zz", "--quiet").stderr


def test_a_key_is_refused_before_anything_is_compiled(folder: Path, tmp_path: Path) -> None:
    said = run("fit", folder / "few.csv", "--target", "kind", "-o", tmp_path / "m.tsenet")
    assert said.exit_code == 1
    assert "column 'key' holds 300 different texts in 300 rows" in said.stderr
    assert all(f"{option} key" in said.stderr for option in ("--id", "--text", "--ignore"))
    assert "kernels" not in said.stderr


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        *((f"{sign}1+A1", f"'{sign}1+A1") for sign in "=+-@"),
        ("\tx", "'\tx"),
        ("-1", "-1"),
        ("+1.5e3", "+1.5e3"),
        (-2.5, "-2.5"),
        ("plain", "plain"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula(cell: Any, written: str) -> None:
    stream = io.StringIO(newline="")
    write_csv(stream, ["=x", "n"], [[cell], [1]])
    stream.seek(0)
    assert list(csv.reader(stream)) == [["'=x", "n"], [written, "1"]]


def test_verbose_shows_the_epochs(folder: Path, tmp_path: Path) -> None:
    given = ("fit", folder / "few.csv", "--target", "kind", "--ignore", "key", *QUICK)
    lines = fine(*given, "-o", tmp_path / "m.tsenet", "--verbose").splitlines()
    assert lines[0].split() == ["epoch", "train", "loss", "learning", "rate", "seconds"]
    assert [line.split()[0] for line in lines[1:21]] == [str(k) for k in range(1, 21)]


def test_other_encodings(folder: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    frame.rename(columns={"kind": "qualité"}).to_csv(path, index=False, encoding="latin-1")
    given = ("evaluate", folder / "m.tsenet", path, "--target", "qualité", "--quiet")
    assert "is not utf-8 text" in run(*given).stderr
    assert "accuracy" in fine(*given, "--encoding", "latin-1")


def test_every_command_that_prints_can_print_json(tmp_path: Path) -> None:
    tsenet.learn_tree(one_latent_rows(np.random.default_rng(0), 60, (3, 3)), random_state=0).save(
        tmp_path / "tree.tsenet"
    )
    out = tmp_path / "x.bif"
    said = fine("export", tmp_path / "tree.tsenet", "--bif", out, "--json")
    assert json.loads(said) == {"out": str(out)}
    page = tmp_path / "x.html"
    said = fine("report", tmp_path / "tree.tsenet", "-o", page, "--json", "--quiet")
    assert json.loads(said) == {"out": str(page)}
    sets = json.loads(fine("data", "list", "--json"))["sets"]
    assert "digits" in {entry["name"] for entry in sets}
    assert json.loads(fine("data", "fetch", "digits", "--json", "--quiet"))["digits"]["files"] == []
    said = json.loads(fine("data", "verify", "digits", "--json"))
    assert said == {"good": True, "sets": {"digits": []}}


# ---- options from a file


def test_options_from_a_file(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(
        f"""
[fit]
data = {str(folder / "few.csv")!r}
target = "kind"
ignore = ["key"]
out = {str(tmp_path / "m.tsenet")!r}
max-epochs = 3
skip_units = 20
quiet = true
json = true

[evaluate]
json = true
""",
        "utf-8",
    )
    assert json.loads(fine("fit", "--config", config))["epochs"] == 3
    typed = json.loads(fine("fit", "--config", config, "--max-epochs", 2, "--force"))
    assert typed["epochs"] == 2  # what is typed goes first
    given = ("evaluate", tmp_path / "m.tsenet", folder / "few.csv", "--quiet")
    assert json.loads(fine(*given, "--config", config))["unlabelled"] == 100


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[fit]\nmax-epoch = 3", "'max-epoch' is not an option of tsenet fit (did you mean 'max-epochs'?)"),
        ("[fitt]\nseed = 3", "'fitt' is not a command (did you mean 'fit'?)"),
        ("seed = 3", "'seed' is not a command: write the options of tsenet fit below a line [fit]"),
        ("[fit]\nseed = [1, 2]", "'seed' must be one value, not [1, 2]"),
        ("[fit]\nconfig = 'x'", "'config' is not an option"),
        ("[fit", "is not TOML"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_options_is_refused(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text, "utf-8")
    result = run("fit", "d.csv", "--target", "kind", "-o", "m", "--config", path)
    assert result.exit_code == 1
    assert says in result.stderr


def test_a_wrong_value_in_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[fit]\nmax-epochs = 'many'\n", "utf-8")
    result = run("fit", "d.csv", "--target", "kind", "-o", "m", "--config", path)
    assert result.exit_code == 2
    assert "Invalid value for '--max-epochs'" in result.stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("tsenet ev", ["evaluate"]), ("tsenet fit --link-rule t", ["top-k", "tree"])],
)
def test_shells_can_complete(typed: str, offered: list[str]) -> None:
    place = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "tsenet"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "_TSENET_COMPLETE": "complete_bash", **place},
    )
    assert done.stdout.split() == offered
