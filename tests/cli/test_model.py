"""fit, predict and evaluate: small tables and texts, with models that the tests share."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import tsenet
from tests.builders import one_latent_rows
from tests.cli.program import QUICK_FIT, QUICK_TOPICS, error_of, fine, make_documents, run
from tsenet.explain import explain_prediction

N_ROWS = 300
COLUMNS = [*"abcdefgh", "colour"]
TARGETS = ("kind", "three", "amount", "has1", "has2")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Numbers, a category, a key, and targets that follow from them."""
    rows = one_latent_rows(np.random.default_rng(0), N_ROWS, (4, 4))
    frame = pd.DataFrame(rows.astype(int), columns=list("abcdefgh"))
    frame["colour"] = np.where(rows[:, :4].any(axis=1), "red", "blue")
    frame["key"] = [f"=row{i}" for i in range(N_ROWS)]
    frame["kind"] = np.where(rows[:, 4:].sum(axis=1) > 1, "much", "little")
    frame.loc[::3, "kind"] = ""
    frame.loc[::6, "kind"] = "  "
    frame["three"] = np.where(rows[:, 0], "A", np.where(rows[:, 7], "B", "C"))
    frame["amount"] = rows.sum(axis=1) * 1.5
    frame["has1"] = rows[:, 0].astype(float)
    frame["has2"] = np.where(np.arange(N_ROWS) % 5 == 0, np.nan, rows[:, 5])
    return frame


def fit_command(data: Path, out: Path, *targets: str) -> list[object]:
    named = [part for name in targets for part in ("--target", name)]
    left = [part for name in TARGETS if name not in targets for part in ("--ignore", name)]
    return ["fit", data, *named, *left, "--id", "key", "-o", out, *QUICK_FIT]


@pytest.fixture(scope="module")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows as csv, and models named after their targets, with what fit printed."""
    folder = tmp_path_factory.mktemp("models")
    frame.to_csv(folder / "d.csv", index=False)
    for targets in (["kind"], ["three"], ["amount"], ["has1", "has2"]):
        out = folder / f"{'-'.join(targets)}.tsenet"
        printed = fine(*fit_command(folder / "d.csv", out, *targets), "--json")
        out.with_suffix(".json").write_text(printed, "utf-8")
    return folder


def predicted(*arguments: object) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(fine("predict", *arguments, "--quiet")))


def scores_of(*arguments: object) -> dict[str, object]:
    scores: dict[str, object] = json.loads(fine("evaluate", *arguments, "--json", "--quiet"))
    return scores


# ---- fit


class TestFit:
    def test_a_network_grows_from_topics_that_were_learned_before(self, tmp_path: Path) -> None:
        documents = make_documents(120)
        kinds = np.where(["goal" in text for text in documents], "sport", "other")
        texts = tmp_path / "texts.csv"
        pd.DataFrame({"text": documents, "kind": kinds}).to_csv(texts, index=False)
        fine("topics", texts, "--out", tmp_path / "topics", *QUICK_TOPICS)
        topics = tmp_path / "topics" / "model.tsenet"
        titles = tsenet.load(topics).topics_["label"].tolist()
        command = ["fit", texts, "--text", "text", "--target", "kind", "-o"]
        fine(*command, tmp_path / "m.tsenet", "--topics", topics, *QUICK_FIT)
        model = tsenet.load(tmp_path / "m.tsenet")
        assert set(titles) >= set(model.wiring_.names[1])
        assert model.score(documents, kinds) > 0.9

        fine(*command, tmp_path / "n.tsenet", "--skeleton", "topics", *QUICK_FIT)
        assert tsenet.load(tmp_path / "n.tsenet").skeleton == "topics"
        clash = run(*command, tmp_path / "o.tsenet", "--topics", topics, "--words", 9)
        assert clash.exit_code == 2
        assert "--topics has its own tree and words" in clash.output
        message = error_of(*command, tmp_path / "o.tsenet", "--topics", tmp_path / "m.tsenet")
        assert "holds a TSENetClassifier, not topics" in message

    def test_a_text_and_the_columns_beside_it(self, tmp_path: Path) -> None:
        documents = make_documents(150)
        price = np.random.default_rng(0).uniform(0, 9, 150).round(2)
        frame = pd.DataFrame({"text": documents, "price": price, "shop": ["a", "b", "c"] * 50})
        is_much = (frame["text"].str.contains("goal") & (price > 3)) | (price > 8)
        frame["kind"] = np.where(is_much, "much", "little")
        frame.to_csv(tmp_path / "d.csv", index=False)
        command = ["fit", tmp_path / "d.csv", "--target", "kind", "-o", tmp_path / "m.tsenet"]
        printed = fine(*command, "--text", "text", "--columns", *QUICK_FIT)
        assert "words and values of columns" in printed
        frame[["shop", "price", "text", "kind"]].to_csv(tmp_path / "new.csv", index=False)
        answers = predicted(tmp_path / "m.tsenet", tmp_path / "new.csv", "--explain", 3)
        assert (answers["kind"] == frame["kind"]).mean() > 0.85
        reasons = answers.filter(like="reason").fillna("").to_numpy().ravel()
        assert any("price ≤" in reason or "< price" in reason for reason in reasons)
        scores = scores_of(tmp_path / "m.tsenet", tmp_path / "new.csv")
        assert float(str(scores["accuracy"])) > 0.85

        frame.drop(columns="price").to_csv(tmp_path / "short.csv", index=False)
        short = ["predict", tmp_path / "m.tsenet", tmp_path / "short.csv", "--quiet"]
        assert "price" in error_of(*short)
        assert "name it with --text" in error_of(*command, "--columns", "--force", "--quiet")

    def test_blank_targets_are_unlabelled_rows(self, folder: Path) -> None:
        printed = json.loads((folder / "kind.json").read_text("utf-8"))
        assert (printed["rows"], printed["unlabelled"], printed["columns"]) == (300, 100, 9)
        scored = printed["cross_validated"]
        assert (scored["metric"], scored["n_rows"]) == ("accuracy", 200)
        assert 0.7 < scored["low"] < scored["value"] <= scored["high"]
        model = tsenet.load(folder / "kind.tsenet")
        assert model.classes_.tolist() == ["little", "much"]
        assert {"colour=blue", "colour=red"} <= set(model.binary_rule_.names)

    def test_what_is_printed(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "m.tsenet"
        lines = fine(*fit_command(folder / "d.csv", out, "kind")).splitlines()
        assert lines[0].startswith("300 rows, 9 columns; network ")
        assert "100 of 300 rows have no 'kind'" in lines[1]
        assert str(out) in lines[2]
        assert lines[3].startswith("cross-validated on 200 labelled rows: accuracy")
        assert out.read_bytes() == (folder / "kind.tsenet").read_bytes()  # of the same seed

    def test_weights_count_as_in_the_library(self, tmp_path: Path) -> None:
        texts = make_documents(60)
        labels = ["yes" if "goal" in text else "no" for text in texts]
        weights = np.where(np.arange(60) % 3 == 0, 0.25, 1.0)
        cells = ["" if weight == 1 else str(weight) for weight in weights]
        data = tmp_path / "d.csv"
        pd.DataFrame({"text": texts, "label": labels, "weight": cells}).to_csv(data, index=False)
        named = ["--text", "text", "--target", "label", "--weights", "weight"]
        fine("fit", data, *named, "-o", tmp_path / "m.tsenet", "--jobs", "1", "--quiet")
        model = tsenet.TSENetClassifier(random_state=0, n_jobs=1).fit(texts, labels, weights)
        found = tsenet.load(tmp_path / "m.tsenet").predict_proba(texts)
        np.testing.assert_allclose(found, model.predict_proba(texts), atol=1e-12)

    @pytest.mark.parametrize(
        ("cell", "says"), [("much", "not numbers"), ("-1", "not negative"), ("inf", "finite")]
    )
    def test_weights_that_are_none_are_refused(self, tmp_path: Path, cell: str, says: str) -> None:
        frame = pd.DataFrame({"text": make_documents(9), "y": list("ababababa"), "w": cell})
        frame.to_csv(tmp_path / "d.csv", index=False)
        named = ["--text", "text", "--target", "y", "--weights", "w"]
        assert says in error_of("fit", tmp_path / "d.csv", *named, "-o", tmp_path / "m", "--quiet")

    def test_the_kind_of_target_is_found_or_chosen(self, folder: Path, tmp_path: Path) -> None:
        assert isinstance(tsenet.load(folder / "amount.tsenet"), tsenet.TSENetRegressor)
        out = tmp_path / "m.tsenet"
        fine(*fit_command(folder / "d.csv", out, "has1"), "--task", "regression")
        assert isinstance(tsenet.load(out), tsenet.TSENetRegressor)

    def test_settings_reach_the_estimator_and_defaults_are_its_own(self, tmp_path: Path) -> None:
        texts = make_documents(60)
        kinds = ["sport" if "goal" in text else "other" for text in texts]
        pd.DataFrame({"t": texts, "kind": kinds}).to_csv(tmp_path / "d.csv", index=False)
        out = tmp_path / "m.tsenet"
        command = ("fit", tmp_path / "d.csv", "--text", "t", "--target", "kind", "--quiet")
        options = ("--set", "max_epochs=1", "--set", "link_rule=top-k", "--set", "max_top=9")
        options += ("--set", "random_state=3", "--set", "ngrams=2")
        fine(*command, *options, "--words", "20", "-o", out)
        model = tsenet.load(out)
        expected = tsenet.TSENetClassifier(
            max_epochs=1, link_rule="top-k", max_top=9, random_state=3
        )
        found = {**model.get_params(deep=False), "vectorizer": None, "progress": None}
        assert found == expected.get_params(deep=False)
        assert model.vectorizer_.ngram_range == (1, 2)
        assert len(model.vectorizer_.vocabulary_) == 20
        for preset in ("paper", "informed"):
            fine(*command, "--preset", preset, "--set", "max_epochs=1", "--force", "-o", out)
            recipe = getattr(tsenet.TSENetClassifier, preset)(max_epochs=1, random_state=0)
            model = tsenet.load(out)
            found = {**model.get_params(), "progress": None, "vectorizer": None}
            assert found == {**recipe.get_params(), "vectorizer": None}
            assert "the" not in model.vectorizer_.vocabulary_
        assert "max_epochs" in error_of(*command, "-o", tmp_path / "n", "--set", "max_epochs=many")

    def test_options_from_a_file(self, folder: Path, tmp_path: Path) -> None:
        config = tmp_path / "run.toml"
        config.write_text(
            f"""
[fit]
data = {str(folder / "d.csv")!r}
target = "kind"
ignore = ["key", "three", "amount", "has1", "has2"]
out = {str(tmp_path / "m.tsenet")!r}
max-epochs = 3
quiet = true
json = true

[evaluate]
json = true
""",
            "utf-8",
        )
        assert json.loads(fine("fit", "--config", config))["epochs"] == 3
        command = ("fit", "--config", config, "--force", "--set")
        assert json.loads(fine(*command, "max_epochs=2"))["epochs"] == 2  # typed options go first
        command = ("evaluate", tmp_path / "m.tsenet", folder / "d.csv", "--quiet")
        assert json.loads(fine(*command, "--config", config))["unlabelled"] == 100

    def test_a_marker_of_unlabelled_rows(self, frame: pd.DataFrame, tmp_path: Path) -> None:
        codes = np.where(np.arange(N_ROWS) % 2, frame["e"], -1)
        frame[list("abcd")].assign(kind=codes).to_csv(tmp_path / "d.csv", index=False)
        model = tmp_path / "m.tsenet"
        command = ("fit", tmp_path / "d.csv", "--target", "kind", *QUICK_FIT, "-o", model)
        assert "150 of 300 rows have no 'kind'" in fine(*command, "--unlabeled", "-1")
        assert tsenet.load(model).classes_.tolist() == [0, 1]
        scores = scores_of(model, tmp_path / "d.csv")  # the model remembers the marker
        assert (scores["rows"], scores["unlabelled"]) == (150, 150)
        assert "--unlabeled -1" in run(*command, "--force").stderr

    def test_whole_numbers_that_pandas_wrote_with_a_fraction(
        self, frame: pd.DataFrame, tmp_path: Path
    ) -> None:
        """A column of whole numbers and blank cells is 0.0, 1.0, … in the csv; other files have 0, 1, …"""
        rows = frame[list("abcd")].assign(kind=frame["e"].where(np.arange(N_ROWS) % 2 == 0))
        rows.to_csv(tmp_path / "d.csv", index=False)
        frame[list("abcd")].assign(kind=frame["e"]).to_csv(tmp_path / "test.csv", index=False)
        model = tmp_path / "m.tsenet"
        fine("fit", tmp_path / "d.csv", "--target", "kind", *QUICK_FIT, "-o", model)
        assert tsenet.load(model).classes_.tolist() == [0, 1]
        assert scores_of(model, tmp_path / "test.csv")["rows"] == N_ROWS


# ---- predict


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


# ---- evaluate


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


# ---- files that a stranger has


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


def test_fit_takes_embeddings(folder: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "e.npy"
    np.save(vectors, np.random.default_rng(0).normal(size=(N_ROWS, 4)))
    command = fit_command(folder / "d.csv", tmp_path / "m.tsenet", "kind")
    fine(*command, "--embeddings", vectors)
    assert fine("predict", tmp_path / "m.tsenet", folder / "d.csv") != fine(
        "predict", folder / "kind.tsenet", folder / "d.csv"
    )
    np.save(vectors, np.zeros((7, 4)))
    assert "each of the 300 rows" in error_of(*command, "--embeddings", vectors, "--force")
    assert "cannot be read as an npy file" in error_of(
        *command, "--embeddings", folder / "d.csv", "--force"
    )


def test_embeddings_as_inputs(folder: Path, tmp_path: Path) -> None:
    model, vectors = tmp_path / "m.tsenet", tmp_path / "e.npy"
    np.save(vectors, np.random.default_rng(0).normal(size=(N_ROWS, 4)))
    command = fit_command(folder / "d.csv", model, "kind")
    assert "together with embeddings" in error_of(*command, "--inputs", "both")
    fine(*command, "--inputs", "both", "--embeddings", vectors)
    assert "pass the embeddings" in run("predict", model, folder / "d.csv").stderr
    printed = fine("predict", model, folder / "d.csv", "--embeddings", vectors)
    assert len(printed.splitlines()) == N_ROWS + 1
    assert "accuracy" in fine("evaluate", model, folder / "d.csv", "--embeddings", vectors)


def test_suggest_prints_rows_to_label(folder: Path, frame: pd.DataFrame) -> None:
    printed = fine("suggest", folder / "kind.tsenet", folder / "d.csv", "-n", 5).splitlines()
    rows = [int(line.split("\t")[0]) - 1 for line in printed]
    assert len(set(rows)) == 5
    assert all(not frame["kind"][row].strip() for row in rows)
    assert [line.split("\t")[1] for line in printed] == [frame["key"][row] for row in rows]
    assert "needs a classifier" in error_of("suggest", folder / "amount.tsenet", folder / "d.csv")
    labelled = frame[frame["kind"].str.strip() != ""]
    labelled.to_csv(folder / "known.csv", index=False)
    assert "nothing to label" in error_of(
        "suggest", folder / "kind.tsenet", folder / "known.csv", "--quiet"
    )


def test_model_and_rows_that_are_swapped(folder: Path) -> None:
    data, model = folder / "d.csv", folder / "kind.tsenet"
    for command in ("predict", "evaluate", "suggest"):
        message = error_of(command, data, model)
        assert f"the model comes first: tsenet {command} {model} {data}" in message
