"""``tsenet predict``: answers, their form, and the reasons."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tsenet
from tests.cli.program import (
    COLUMNS,
    N_ROWS,
    QUICK_FIT,
    error_of,
    fine,
    fit_command,
    make_documents,
    predicted,
    run,
)
from tsenet.explain import explain_prediction


class TestPredict:
    def test_columns_order_and_formats(
        self, folder: Path, frame: pd.DataFrame, tmp_path: Path
    ) -> None:
        model, data = folder / "three.tsenet", folder / "d.csv"
        shown = list(csv.DictReader(io.StringIO(fine("predict", model, data, "--quiet"))))
        assert list(shown[0]) == ["key", "three", "P(A)", "P(B)", "P(C)"]  # the key of fit
        assert [row["key"] for row in shown] == [f"'=row{i}" for i in range(N_ROWS)]  # no formula
        assert np.mean([row["three"] for row in shown] == frame["three"]) > 0.95
        shares = [sum(float(row[f"P({name})"]) for name in "ABC") for row in shown]
        assert np.allclose(shares, 1, atol=3e-6)
        lines = fine("predict", model, data, "--json", "--quiet").splitlines()
        assert json.loads(lines[7])["key"] == "=row7"
        out = tmp_path / "out.jsonl"
        printed = json.loads(fine("predict", model, data, "-o", out, "--json", "--quiet"))
        assert (printed["rows"], printed["out"]) == (300, str(out))
        assert out.read_text("utf-8").splitlines() == lines
        turned = frame[[*reversed(COLUMNS)]]
        turned.to_json(tmp_path / "new.jsonl", orient="records", lines=True)
        turned.to_parquet(tmp_path / "new.parquet")
        for name in ("new.jsonl", "new.parquet"):  # columns by name, no key
            answers = predicted(model, tmp_path / name)
            assert answers.columns.tolist() == ["three", "P(A)", "P(B)", "P(C)"]
            assert answers["three"].tolist() == [row["three"] for row in shown]
        assert predicted(model, data, "--id", "a").columns[0] == "a"

    def test_several_labels_and_numbers(self, folder: Path) -> None:
        answers = predicted(folder / "has1-has2.tsenet", folder / "d.csv")
        assert answers.columns.tolist() == ["key", "has1", "has2", "P(has1)", "P(has2)"]
        answers = predicted(folder / "amount.tsenet", folder / "d.csv")
        assert answers.columns.tolist() == ["key", "amount"]

    def test_reasons(self, folder: Path, frame: pd.DataFrame) -> None:
        answers = predicted(folder / "three.tsenet", folder / "d.csv", "--explain", 2)
        assert answers.columns[-3:].tolist() == ["rather than", "reason 1", "reason 2"]
        fitted = tsenet.load(folder / "three.tsenet")
        for row in (0, 7):
            why = explain_prediction(fitted, frame[COLUMNS].iloc[[row]])
            assert answers["rather than"][row] == why.against
            for k, part in enumerate(why.features[:2]):
                reason = answers[f"reason {k + 1}"][row]
                assert reason.startswith(part.name)
                points = float(reason.rpartition("(")[2].rstrip(" %)"))
                expected = 100 * part.contribution * why.probability_factor
                assert points == pytest.approx(expected, abs=0.06)
        amounts = predicted(folder / "amount.tsenet", folder / "d.csv", "--explain", 1)
        assert "rather than" not in amounts.columns
        assert "%" not in amounts["reason 1"][0]

    def test_texts(self, tmp_path: Path) -> None:
        """A folder of txt files; folders are classes."""
        for number, text in enumerate(make_documents(60)):
            home = tmp_path / "texts" / ("sport" if "goal" in text else "other")
            home.mkdir(exist_ok=True, parents=True)
            (home / f"{number}.txt").write_text(text, encoding="utf-8")
        model, texts = tmp_path / "m.tsenet", tmp_path / "texts"
        command = ("fit", texts, "--text", "text", "--target", "folder", "-o", model)
        assert "60 rows, 13 words" in fine(*command, *QUICK_FIT)
        answers = predicted(model, texts)
        assert answers.columns.tolist() == ["file", "folder", "P(other)", "P(sport)"]
        assert (answers["file"].str.partition("/")[0] == answers["folder"]).mean() > 0.9
        reasons = predicted(model, texts, "--explain", "1")["reason 1"]
        assert reasons.str.contains(r"\[.*goal.*\]").any()  # a topic, by its words
        assert not reasons.str.contains(r"Z1\.").any()
        (tmp_path / "new.csv").write_text("text\nThe GOAL!\nqwerty\n")
        result = run("predict", model, tmp_path / "new.csv", "--quiet", "--explain", "1")
        assert "1 of 2 texts contain no word that the model knows" in result.stderr
        assert result.stdout.splitlines()[1].startswith("sport,")
        assert tsenet.load(model).predict(["the goal"]).tolist() == ["sport"]  # from Python

    def test_a_model_from_python(self, folder: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
        data, rows = folder / "d.csv", frame[list("abcd")]
        model = tsenet.TSENetClassifier(random_state=0, max_epochs=2).fit(rows, frame["three"])
        model.save(tmp_path / "named.tsenet")
        assert predicted(tmp_path / "named.tsenet", data).columns[0] == "prediction"
        assert "give --target" in error_of("evaluate", tmp_path / "named.tsenet", data, "--quiet")
        fine("evaluate", tmp_path / "named.tsenet", data, "--target", "three", "--quiet")
        model.fit(rows.to_numpy(), frame["three"]).save(tmp_path / "nameless.tsenet")
        assert "no column 'x0'" in error_of(
            "predict", tmp_path / "nameless.tsenet", data, "--quiet"
        )

    def test_a_dash_is_standard_output(self, folder: Path) -> None:
        data = folder / "d.csv"
        assert "only predictions" in error_of(*fit_command(data, Path("-"), "three"))
        plain = fine("predict", folder / "three.tsenet", data, "--quiet")
        assert fine("predict", folder / "three.tsenet", data, "-o", "-", "--quiet") == plain
        piped = run("predict", folder / "three.tsenet", "-", "--quiet", stdin=data.read_text())
        assert piped.stdout == plain


def test_model_and_rows_that_are_swapped(folder: Path) -> None:
    data, model = folder / "d.csv", folder / "kind.tsenet"
    for command in ("predict", "evaluate", "suggest"):
        message = error_of(command, data, model)
        assert f"the model comes first: tsenet {command} {model} {data}" in message
