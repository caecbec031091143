"""``tsenet fit``: what it reads, what it prints, and the model that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tsenet
from tests.cli.program import (
    N_ROWS,
    QUICK_FIT,
    QUICK_TOPICS,
    error_of,
    fine,
    fit_command,
    make_documents,
    predicted,
    run,
    scores_of,
)


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
