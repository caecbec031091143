"""``tsenet evaluate``: scores against scikit-learn's."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from sklearn import metrics

import tsenet
from tests.cli.program import (
    COLUMNS,
    error_of,
    fine,
    predicted,
    scores_of,
)


class TestEvaluate:
    def test_classes(self, folder: Path, frame: pd.DataFrame) -> None:
        command = (folder / "three.tsenet", folder / "d.csv")
        scores, found = scores_of(*command), predicted(*command)
        truth = frame["three"]
        expected = metrics.classification_report(truth, found["three"], output_dict=True)
        shares = found[["P(A)", "P(B)", "P(C)"]]
        assert scores["accuracy"] == pytest.approx(expected["accuracy"])
        loss = metrics.log_loss(truth, shares.div(shares.sum(axis=1), axis=0))
        assert scores["log_loss"] == pytest.approx(loss, abs=1e-3)
        for name in "ABC":
            of_class = scores["classes"][name]  # type: ignore[index]  # from JSON
            for ours, theirs in (
                ("precision", "precision"),
                ("recall", "recall"),
                ("F1", "f1-score"),
                ("rows", "support"),
            ):
                assert of_class[ours] == pytest.approx(expected[name][theirs])
            area = metrics.roc_auc_score(truth == name, found[f"P({name})"])
            assert of_class["AUC"] == pytest.approx(area, abs=1e-3)
        counts = metrics.confusion_matrix(truth, found["three"]).tolist()
        matrix = {
            t: dict(zip("ABC", row, strict=True)) for t, row in zip("ABC", counts, strict=True)
        }
        assert scores["confusion_matrix"] == matrix
        lines = [line.split() for line in fine("evaluate", *command, "--quiet").splitlines()]
        assert ["classes", "precision", "recall", "F1", "AUC", "rows"] in lines
        for name, row in zip("ABC", counts, strict=True):
            assert [name, *map(str, row)] in lines

    def test_rows_without_truth_are_left_out(self, folder: Path, frame: pd.DataFrame) -> None:
        scores = scores_of(folder / "kind.tsenet", folder / "d.csv")
        assert (scores["rows"], scores["unlabelled"]) == (200, 100)
        known = frame[frame["kind"].str.strip() != ""]
        answers = tsenet.load(folder / "kind.tsenet").predict(known[COLUMNS])
        assert scores["accuracy"] == pytest.approx((answers == known["kind"]).mean())

    def test_several_labels_and_numbers(self, folder: Path, frame: pd.DataFrame) -> None:
        command = (folder / "has1-has2.tsenet", folder / "d.csv")
        scores = scores_of(*command)
        of_targets = scores["targets"]
        assert [of_targets[name]["F1"] > 0.9 for name in ("has1", "has2")] == [True, True]  # type: ignore[index]
        known = frame["has2"].notna()
        area = metrics.roc_auc_score(frame["has2"][known], predicted(*command)["P(has2)"][known])
        assert of_targets["has2"]["AUC"] == pytest.approx(area, abs=1e-3)  # type: ignore[index]
        assert "mean AUC" in fine("evaluate", *command, "--quiet")
        command = (folder / "amount.tsenet", folder / "d.csv")
        scores, answers = scores_of(*command), predicted(*command)["amount"]
        assert scores["R2"] == pytest.approx(metrics.r2_score(frame["amount"], answers))
        error = metrics.root_mean_squared_error(frame["amount"], answers)
        assert scores["RMSE"] == pytest.approx(error)

    def test_unknown_classes_count_as_wrong(
        self, folder: Path, frame: pd.DataFrame, tmp_path: Path
    ) -> None:
        frame.assign(three=["D"] * 5 + frame["three"][5:].tolist()).to_csv(tmp_path / "d.csv")
        scores = scores_of(folder / "three.tsenet", tmp_path / "d.csv")
        assert scores["unknown"] == 5
        assert "log_loss" not in scores
        assert sum(scores["confusion_matrix"]["D"].values()) == 5  # type: ignore[index]  # from JSON

    @pytest.mark.parametrize(
        ("model", "target", "message"),
        [
            ("three", ["colour"], "classes unknown to the model, such as"),
            ("three", ["a", "b"], "predicts 1 columns, but 2 are given"),
            ("amount", ["colour"], "holds values that are not numbers, such as"),
        ],
    )
    def test_what_cannot_be_the_truth(
        self, model: str, target: list[str], message: str, folder: Path
    ) -> None:
        named = [part for name in target for part in ("--target", name)]
        command = ("evaluate", folder / f"{model}.tsenet", folder / "d.csv", "--quiet")
        assert message in error_of(*command, *named)
