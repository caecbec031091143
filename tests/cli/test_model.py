"""fit, predict and evaluate from the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import metrics

import tsenet
from tests.builders import one_latent_rows
from tests.cli.program import fine, make_documents, run
from tsenet.data.text import vectorize
from tsenet.explain import explain_prediction

QUICK = ["--max-epochs", "30", "--learning-rate", "0.01", "--skip-units", "20", "--quiet"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """300 rows: numbers, a category, and things that follow from them."""
    rng = np.random.default_rng(0)
    rows = one_latent_rows(rng, 300, (4, 4))
    frame = pd.DataFrame(rows.astype(int), columns=list("abcdefgh"))
    frame["colour"] = np.where(rows[:, :4].any(axis=1), "red", "blue")
    frame["key"] = np.arange(300)
    frame["kind"] = np.where(rows[:, 4:].sum(axis=1) > 1, "much", "little")
    frame["amount"] = rows.sum(axis=1) * 1.5
    frame["has1"] = rows[:, 0].astype(float)
    frame["has2"] = np.where(np.arange(300) % 5 == 0, np.nan, rows[:, 5])
    return frame


OTHERS = ("key", "kind", "amount", "has1", "has2")


def leave_out(*targets: str) -> list[str]:
    return [part for name in OTHERS if name not in targets for part in ("--ignore", name)]


def accuracy_in(printed: str, name: str = "accuracy") -> float:
    """A score from the first block of lines that `evaluate` prints."""
    scores = dict(line.rsplit(maxsplit=1) for line in printed.partition("\n\n")[0].splitlines())
    return float(scores[name])


def test_classes_from_csv(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame.drop(columns=["kind", "amount"]).to_json(
        tmp_path / "new.jsonl", orient="records", lines=True
    )
    frame.to_parquet(tmp_path / "test.parquet")
    model = tmp_path / "m.tsenet"
    said = fine(
        "fit", tmp_path / "train.csv", "--target", "kind", *leave_out("kind"), "-o", model, *QUICK
    )
    assert "300 rows, 9 columns" in said
    assert str(model) in said
    assert accuracy_in(fine("evaluate", model, tmp_path / "test.parquet", "--quiet")) > 0.95
    out = tmp_path / "out.csv"
    assert "300 predictions" in fine("predict", model, tmp_path / "new.jsonl", "-o", out, "--quiet")
    answers = pd.read_csv(out)
    assert answers.columns.tolist() == ["kind", "P(little)", "P(much)"]
    assert (answers["kind"] == frame["kind"]).mean() > 0.95
    assert np.allclose(answers["P(little)"] + answers["P(much)"], 1, atol=2e-6)
    loaded = tsenet.load(model)
    assert loaded.source_["targets"] == ["kind"]
    assert [name for name in loaded.binary_rule_.names if "colour" in name] == [
        "colour=blue",
        "colour=red",
    ]


def test_numbers_are_regressed(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "d.tsv", index=False, sep="\t")
    model = tmp_path / "m.tsenet"
    fine("fit", tmp_path / "d.tsv", "--target", "amount", *leave_out("amount"), "-o", model, *QUICK)
    assert isinstance(tsenet.load(model), tsenet.TSENetRegressor)
    assert accuracy_in(fine("evaluate", model, tmp_path / "d.tsv", "--quiet"), "R2") > 0.8
    printed = fine("predict", model, tmp_path / "d.tsv", "--quiet")
    assert len(pd.read_csv(io.StringIO(printed))) == 300


def test_task_can_be_chosen(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "d.csv", index=False)
    model = tmp_path / "m.tsenet"
    given = ("fit", tmp_path / "d.csv", "--target", "has1", *leave_out("has1"), "-o", model, *QUICK)
    fine(*given)
    assert tsenet.load(model).classes_.tolist() == ["0.0", "1.0"]  # as the csv spells them
    fine(*given, "--task", "regression", "--force")
    assert isinstance(tsenet.load(model), tsenet.TSENetRegressor)


def test_several_labels_with_unknown_ones(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "d.csv", index=False)
    model = tmp_path / "m.tsenet"
    targets = ("--target", "has1", "--target", "has2")
    fine("fit", tmp_path / "d.csv", *targets, *leave_out("has1", "has2"), "-o", model, *QUICK)
    printed = fine("evaluate", model, tmp_path / "d.csv", "--quiet")
    assert accuracy_in(printed) > 0.95
    assert "mean AUC" in printed
    header = fine("predict", model, tmp_path / "d.csv", "--quiet").splitlines()[0]
    assert header == "has1,has2,P(has1),P(has2)"


def test_documents(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = {"pets": "cat dog hamster parrot rabbit", "sky": "star moon planet comet sun"}
    kinds = rng.choice(list(words), size=200)
    texts = [" ".join(rng.choice(words[kind].split(), size=3)) for kind in kinds]
    pd.DataFrame({"body": texts, "kind": kinds}).to_csv(tmp_path / "d.csv", index=False)
    model = tmp_path / "m.tsenet"
    said = fine(
        "fit", tmp_path / "d.csv", "--target", "kind", "--text", "body", "-o", model, *QUICK
    )
    assert "200 rows, 10 words" in said
    pd.DataFrame({"body": ["A hamster, and a Parrot!", "comets? the comet", ""]}).to_parquet(
        tmp_path / "new.parquet"
    )
    printed = fine("predict", model, tmp_path / "new.parquet", "--quiet")
    assert pd.read_csv(io.StringIO(printed))["kind"].tolist()[:2] == ["pets", "sky"]
    loaded = tsenet.load(model)  # from Python, raw text
    assert loaded.predict(["A hamster, and a Parrot!", "comets? the comet"]).tolist() == [
        "pets",
        "sky",
    ]


def test_documents_that_are_split_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = ["red_cat black_dog", "red_cat black_dog fish", "moon bright_star", "moon sun"] * 10
    kinds = ["pets", "pets", "sky", "sky"] * 10
    pd.DataFrame({"text": texts, "kind": kinds}).to_csv("d.csv", index=False, sep=";")
    fit = ("fit", "d.csv", "--target", "kind", "--text", "text", "-o", "m.tsenet", *QUICK)
    fine(*fit, "--tokenizer", "whitespace", "--ngrams", "2")
    loaded = tsenet.load("m.tsenet")
    assert {"red_cat", "red_cat black_dog"} <= set(loaded.vectorizer_.vocabulary_)
    assert loaded.vectorizer.ngram_range == (1, 2)
    printed = fine("predict", "m.tsenet", "d.csv", "--quiet")
    assert pd.read_csv(io.StringIO(printed))["kind"].tolist() == kinds
    assert accuracy_in(fine("evaluate", "m.tsenet", "d.csv", "--quiet")) == 1
    result = run(*fit, "--force", "--tokenizer", "jieba:lcut")
    assert result.exit_code == 1
    assert "tokenizer must be" in result.stderr


def test_the_learning_rate_is_the_librarys(tmp_path: Path) -> None:
    """``tsenet fit`` used to pass its own, ten times that of the library after a linear teacher."""
    texts = make_documents(2100)  # with fewer sparse rows there is no back-propagation
    kinds = np.where(["goal" in text for text in texts], "sport", "other")
    kinds[::7] = "sport"
    pd.DataFrame({"body": texts, "kind": kinds}).to_csv(tmp_path / "d.csv", index=False)
    path = tmp_path / "m.tsenet"
    fine(
        *("fit", tmp_path / "d.csv", "--target", "kind", "--text", "body", "-o", path),
        *("--max-epochs", "2", "--quiet"),
    )
    fitted = tsenet.load(path)
    model = tsenet.TSENetClassifier(random_state=0, max_epochs=2)
    expected = model.fit(vectorize(texts), kinds)
    assert fitted.learning_rate is None
    assert fitted.history_.learning_rate == expected.history_.learning_rate
    assert fitted.history_.n_epochs == 2
    assert fitted.history_.train_loss == expected.history_.train_loss
    arrays = fitted.to_parts()[1]
    for name, array in expected.to_parts()[1].items():
        assert np.array_equal(array, arrays[name]), name


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_arrays(form: str, frame: pd.DataFrame, tmp_path: Path) -> None:
    rows = frame[list("abcdefgh")].to_numpy(float)
    kinds = (frame["kind"] == "much").to_numpy(int) + 5
    path, model = tmp_path / "d.npz", tmp_path / "m.tsenet"
    if form == "dense":
        np.savez(path, X=rows, y=kinds)
    else:
        csr = sp.csr_array(rows)
        parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
        np.savez(path, **parts, shape=csr.shape, format=np.array(b"csr"), y=kinds)
    fine("fit", path, "--target", "y", "-o", model, *QUICK)
    assert accuracy_in(fine("evaluate", model, path, "--quiet")) > 0.95
    assert tsenet.load(model).classes_.tolist() == [5, 6]
    assert fine("predict", model, path, "--quiet").startswith("y,P(5),P(6)\n")


def test_same_seed_same_file(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "d.csv", index=False)
    files = []
    for jobs in (1, 2):
        model = tmp_path / f"{jobs}.tsenet"
        fine(
            "fit",
            tmp_path / "d.csv",
            "--target",
            "kind",
            *leave_out("kind"),
            "-o",
            model,
            *QUICK,
            "--jobs",
            jobs,
        )
        files.append(tsenet.load(model))
    rows = files[0].to_parts()[1]
    for name, array in files[1].to_parts()[1].items():
        assert np.array_equal(array, rows[name]), name


def test_a_model_from_python_can_predict(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "d.csv", index=False)
    rows = frame[list("abcdefgh")]
    model = tsenet.TSENetClassifier(random_state=0, max_epochs=20).fit(rows, frame["kind"])
    model.save(tmp_path / "named.tsenet")
    printed = fine("predict", tmp_path / "named.tsenet", tmp_path / "d.csv", "--quiet")
    assert printed.startswith("prediction,P(little),P(much)\n")
    answer = run("evaluate", tmp_path / "named.tsenet", tmp_path / "d.csv", "--quiet")
    assert (answer.exit_code, "give --target" in answer.stderr) == (1, True)
    fine("evaluate", tmp_path / "named.tsenet", tmp_path / "d.csv", "--target", "kind", "--quiet")
    model.fit(rows.to_numpy(), frame["kind"]).save(tmp_path / "nameless.tsenet")
    answer = run("predict", tmp_path / "nameless.tsenet", tmp_path / "d.csv", "--quiet")
    assert (answer.exit_code, "by place, not by name" in answer.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fit", "d.csv", "--target", "none", "-o", "m"), "no column 'none'; it has 'a'"),
        (("fit", "d.csv", "--target", "kind", "--ignore", "zz", "-o", "m"), "no column 'zz'"),
        (("fit", "d.csv", "--target", "kind", "-o", "there"), "there exists"),
        (("fit", "d.csv", "--target", "empty", "-o", "m"), "no row has a value in 'empty'"),
        (("fit", "d.csv", "--target", "kind", "-o", "no/m"), "there is no folder no to write m to"),
        (("fit", "d.csv", "--target", "kind", "-o", "."), "exists"),
        (("fit", "d.csv", "--target", "kind", "-o", ".", "--force"), "is a folder"),
        (
            ("fit", "d.csv", "--target", "kind", "-o", "m", "--encoding", "x"),
            "unknown encoding 'x'",
        ),
        (("fit", "d.csv", "--target", "kind", "--target", "has1", "-o", "m"), "not numbers"),
        (("fit", "d.csv", "--target", "kind", "--text", "zz", "-o", "m"), "no column 'zz'"),
        (("fit", "missing.csv", "--target", "kind", "-o", "m"), "missing.csv"),
        (("fit", "d.xyz", "--target", "kind", "-o", "m"), "cannot tell the format"),
        (("predict", "d.csv", "d.csv"), "cannot be loaded"),
        (("predict", "tree.tsenet", "d.csv"), "holds a LatentTree, which predicts nothing"),
        (("predict", "d.csv", "d.csv", "-o", "no/out.csv"), "there is no folder no"),
        (("evaluate", "missing.tsenet", "d.csv"), "there is no file missing.tsenet"),
    ],
)
def test_errors_are_one_line(
    arguments: tuple[str, ...],
    said: str,
    frame: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    frame.assign(empty="").to_csv("d.csv", index=False)
    Path("there").touch()
    tsenet.learn_tree(frame[list("abcd")], random_state=0).save("tree.tsenet")
    result = run(*arguments, "--quiet")
    assert result.exit_code == 1
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("m").exists()


def test_the_papers_preset(tmp_path: Path) -> None:
    texts = make_documents(150)
    label = ["wind" if len(text) % 2 else "sun" for text in texts]
    pd.DataFrame({"text": texts, "label": label}).to_csv(tmp_path / "docs.csv", index=False)
    where = ("fit", tmp_path / "docs.csv", "--text", "text", "--target", "label", "--quiet")
    paper = ("--preset", "paper", "--max-epochs", "2", "-o")
    fine(*where, *paper, tmp_path / "paper.tsenet")
    model = tsenet.load(tmp_path / "paper.tsenet")
    wanted = tsenet.TSENetClassifier.paper(max_epochs=2, random_state=0).get_params()
    found = {**model.get_params(), "verbose": False}
    assert found == {**wanted, "verbose": False}
    assert not model.scaling_.counts  # raw words
    fine(*where, "--skip-units", "0", *paper, tmp_path / "b.tsenet")
    assert tsenet.load(tmp_path / "b.tsenet").skip_units == 0
    wrong = run(*where, "--preset", "best", "-o", tmp_path / "c.tsenet")
    assert wrong.exit_code == 2


@pytest.fixture(scope="module")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scores")
    three = np.where(frame["a"] == 1, "A", np.where(frame["h"] == 1, "B", "C"))
    frame.assign(three=three).to_csv(folder / "d.csv", index=False)
    for name, targets in {"one": ["three"], "many": ["has1", "has2"]}.items():
        left_out = [
            part
            for other in (*OTHERS, "three")
            if other not in targets
            for part in ("--ignore", other)
        ]
        given = [part for target in targets for part in ("--target", target)]
        fine("fit", folder / "d.csv", *given, *left_out, "-o", folder / f"{name}.tsenet", *QUICK)
    return folder


class TestScores:
    """What evaluate says besides one number, against scikit-learn on the predictions of the model."""

    def test_classes_one_by_one(self, folder: Path) -> None:
        given = ("evaluate", folder / "one.tsenet", folder / "d.csv", "--quiet")
        scores = json.loads(fine(*given, "--json"))
        printed = fine("predict", folder / "one.tsenet", folder / "d.csv", "--quiet")
        found = pd.read_csv(io.StringIO(printed))
        truth = pd.read_csv(folder / "d.csv")["three"]
        expected = metrics.classification_report(
            truth, found["three"], output_dict=True, zero_division=0
        )
        for name in "ABC":
            of_class = scores["classes"][name]
            for ours, theirs in (
                ("precision",) * 2,
                ("recall",) * 2,
                ("F1", "f1-score"),
                ("rows", "support"),
            ):
                assert of_class[ours] == pytest.approx(expected[name][theirs])
            area = metrics.roc_auc_score(truth == name, found[f"P({name})"])
            assert of_class["AUC"] == pytest.approx(area, abs=1e-3)
        matrix = scores["confusion_matrix"]
        assert matrix["classes"] == ["A", "B", "C"]
        assert matrix["counts"] == metrics.confusion_matrix(truth, found["three"]).tolist()
        lines = fine(*given).splitlines()
        head = next(line for line in lines if "precision" in line)
        assert head.split() == ["class", "precision", "recall", "F1", "AUC", "rows"]
        for name, counts in zip("ABC", matrix["counts"], strict=True):
            assert [name, *map(str, counts)] in [line.split() for line in lines]

    def test_a_class_that_the_model_does_not_know(self, folder: Path) -> None:
        frame = pd.read_csv(folder / "d.csv")
        frame.loc[:4, "three"] = "D"
        frame.to_csv(folder / "new.csv", index=False)
        scores = json.loads(
            fine("evaluate", folder / "one.tsenet", folder / "new.csv", "--quiet", "--json")
        )
        assert scores["classes"]["D"]["recall"] == 0
        assert scores["confusion_matrix"]["classes"] == ["A", "B", "C", "D"]
        assert sum(scores["confusion_matrix"]["counts"][3]) == 5

    def test_labels_one_by_one(self, folder: Path) -> None:
        given = ("evaluate", folder / "many.tsenet", folder / "d.csv", "--quiet")
        scores = json.loads(fine(*given, "--json"))
        assert scores["targets"]["has1"]["rows"] == 300
        assert scores["targets"]["has2"]["rows"] == 240
        assert scores["targets"]["has1"]["F1"] > 0.95
        assert "has2" in fine(*given)


def test_reasons_of_predictions(frame: pd.DataFrame, tmp_path: Path) -> None:
    data, model = tmp_path / "d.csv", tmp_path / "m.tsenet"
    frame.to_csv(data, index=False)
    fine("fit", data, "--target", "kind", *leave_out("kind"), "-o", model, *QUICK)
    found = pd.read_csv(
        io.StringIO(fine("predict", model, data, "--explain", 2, "--quiet")), dtype=str
    )
    assert list(found.columns[-2:]) == ["reason 1", "reason 2"]
    fitted = tsenet.load(model)
    rows = frame[[*"abcdefgh", "colour"]]
    for row in (0, 7):
        expected = explain_prediction(fitted, rows.iloc[[row]]).features[:2]
        for k, part in enumerate(expected):
            said = found[f"reason {k + 1}"][row]
            assert said.startswith(f"{part.name} = ")
            assert float(said.rpartition("(")[2].rstrip(")")) == pytest.approx(
                part.contribution, rel=1e-2
            )


def test_a_dash_is_standard_output(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame.to_csv("d.csv", index=False)
    given = ("fit", "d.csv", "--target", "kind", *leave_out("kind"), *QUICK)
    fitted = run(*given, "-o", "-")
    assert fitted.exit_code == 0
    assert "300 rows" in fitted.stderr
    Path("m.tsenet").write_bytes(fitted.stdout_bytes)
    fine(*given, "-o", "same.tsenet")
    assert fitted.stdout_bytes == Path("same.tsenet").read_bytes()
    plain = fine("predict", "m.tsenet", "d.csv", "--quiet")
    assert fine("predict", "m.tsenet", "d.csv", "-o", "-", "--quiet") == plain
    fine("export", "m.tsenet", "--onnx", "m.onnx")
    assert run("export", "m.tsenet", "--onnx", "-").stdout_bytes == Path("m.onnx").read_bytes()
    assert fine("report", "m.tsenet", "-o", "-", "--quiet").startswith("<!doctype html>")
    assert not Path("-").exists()
