"""The scoreboard: one command for methods, data sets and numbers of labels."""

from __future__ import annotations

import lzma
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner, Result

from reproduce import scoreboard, suite
from reproduce.board import Board, Setting
from reproduce.commands import app
from reproduce.dataset_context import TooFewRowsError
from reproduce.experiment import Request
from reproduce.rivals import EMNaiveBayes
from reproduce.runs import RunStore, is_stale
from reproduce.scoreboard import SuiteContext, SuiteRunner, make, settings_of
from reproduce.scoreboard_methods import SCOREBOARD_METHODS, count_parameters, method_of
from reproduce.scoring import pack
from reproduce.stats import paired_rows
from reproduce.suite import SUITE, RawRows, SuiteEntry, fold_of
from tests.reproduce.tiny import documents, tiny_task
from tsenet.datasets import Part
from tsenet.errors import DataError

N_WORDS = 24
MADE = tiny_task("made")


def texts(seed: int, n_rows: int) -> RawRows:
    X, y = documents(np.random.default_rng(seed), n_rows)
    rows = [" ".join(f"word{j}" for j in np.flatnonzero(row)) + " common" for row in X]
    return RawRows(rows, np.array(["red", "green", "blue"])[y])


def text_entry(test: bool = True) -> SuiteEntry:
    def read(side: suite.Side, seed: int) -> RawRows:
        if side == "test":
            assert test, "the test rows were read"
            return texts(1, 80)
        return texts(0, 320)

    return SuiteEntry("tiny-text", "text", 320, read)


def table_entry(regression: bool = False) -> SuiteEntry:
    def read(side: suite.Side, seed: int) -> RawRows:
        rng = np.random.default_rng(2 if side == "train" else 3)
        X = rng.normal(size=(160, 6))
        y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=160)
        return RawRows(X, y if regression else (y > 0).astype(np.int64))

    return SuiteEntry("tiny-table", "table", 160, read, regression=regression)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of a text without test rows and a table."""
    for entry in (text_entry(test=False), table_entry()):
        monkeypatch.setitem(SUITE, entry.name, entry)


def board(folder: Path, methods: str, seeds: int = 2, **wishes: Any) -> tuple[SuiteRunner, str]:
    runner = SuiteRunner(folder, seeds=seeds, n_jobs=1)
    request = Request(("tiny-text", "tiny-table"), tuple(methods.split(",")), **wishes)
    return runner, make(runner, request).markdown


# ---- the command


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["scoreboard", *map(str, arguments)])


def test_the_command_runs_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "suite" / "sonar.csv.xz"
    table.parent.mkdir()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    rows = [f"{a},{b},{c},{'rock' if a > 0 else 'mine'}" for a, b, c in X]
    table.write_bytes(lzma.compress("\n".join(["V1,V2,V3,TARGET", *rows]).encode()))
    monkeypatch.setenv("TSENET_DATA", str(tmp_path))
    command = ["--datasets", "sonar", "--methods", "linear,forest", "--seeds", 2, "--jobs", 1]
    command += ["--out", tmp_path / "out", "--quiet"]
    first = run(*command)
    assert first.exit_code == 0, first.output
    assert "4 runs done" in first.stdout
    assert "| sonar all" in first.stdout
    assert "random forest" in first.stdout
    store = tmp_path / "out" / "runs" / "scoreboard.jsonl"
    before = store.read_bytes()
    assert "\n0 runs done" in run(*command).stdout
    assert store.read_bytes() == before
    stored = RunStore(store).items()
    assert all(
        r.test is None and r.validation is not None and r.validation > 0.7 for _, r in stored
    )
    assert all(len(r.extra["right"]) > 0 and r.versions["python"] for _, r in stored)
    assert not any(is_stale(result) for _, result in stored)
    final = run(*command, "--part", "test")
    assert "4 runs done" in final.stdout
    assert (tmp_path / "out" / "scoreboard-test.md").exists()


def test_a_data_set_without_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSENET_DATA", str(tmp_path))
    shown = run("--datasets", "vowel", "--methods", "linear", "--out", tmp_path, "--quiet")
    assert shown.exit_code == 1
    assert "vowel" in shown.output


@pytest.mark.parametrize("name", ["svm", "lr:C=1", "default:density"])
def test_unknown_methods_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=name.partition(":")[0]):
        method_of(name)


def test_own_methods_take_parameters() -> None:
    changed = method_of("backbone:density=0.02:link_rule=top-k")
    assert changed.settings == {
        "skip_units": 0, "linear_skip": False, "density": 0.02, "link_rule": "top-k",
    }  # fmt: skip


# ---- rows


@pytest.mark.usefixtures("tiny")
def test_validation_never_reads_test_rows(tmp_path: Path) -> None:
    runner, page = board(tmp_path, "lr,em-nb,linear", n_labels=(20, None))
    assert runner.n_executed == 2 * (2 * 2 + 2)
    assert "no test row was read" in page
    with pytest.raises(AssertionError, match="the test rows were read"):
        board(tmp_path, "lr", part="test")


def test_suite_text_reads_no_test_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suite").mkdir()
    rows = texts(0, 80)
    lines = [f"{label},{text}" for text, label in zip(rows.X, rows.y, strict=True)]
    (tmp_path / "suite" / "subj-train.csv.xz").write_bytes(
        lzma.compress("\n".join(["label,text", *lines]).encode())
    )
    monkeypatch.setenv("TSENET_DATA", str(tmp_path))
    assert fold_of(SUITE["subj"], "validation", 0).y.size == 60
    with pytest.raises(FileNotFoundError, match="subj-test"):
        fold_of(SUITE["subj"], "test", 0)


def test_a_fold_keeps_its_parts_apart() -> None:
    entry = text_entry()
    first, again, other = (fold_of(entry, "validation", seed) for seed in (0, 0, 1))
    assert (first.y.size, first.y_held.size) == (240, 80)
    assert np.array_equal(first.y, again.y)
    assert not np.array_equal(first.y_held, other.y_held) or not np.array_equal(first.y, other.y)
    final = fold_of(entry, "test", 0)
    assert (final.y.size, final.y_held.size) == (320, 80)
    counts, tfidf = first.view("counts")[0], first.view("tfidf")[0]
    assert counts.shape == tfidf.shape == (240, N_WORDS + 1)
    assert np.allclose(np.sqrt(tfidf.multiply(tfidf).sum(axis=1)), 1.0)


def test_rows_of_the_catalog_are_read_without_test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithoutTest:
        train = MADE.train
        validation = MADE.validation

        @property
        def test(self) -> Part:
            raise AssertionError("the test rows were read")

    monkeypatch.setattr("tsenet.datasets.load", lambda *_, **__: WithoutTest())
    entry = SuiteEntry("digits", "table", 390, partial(suite._catalog, "digits"))
    fold = fold_of(entry, "validation", 0)
    assert fold.y.size + fold.y_held.size == len(MADE.train) + len(MADE.validation)
    with pytest.raises(AssertionError, match="the test rows were read"):
        fold_of(entry, "test", 0)


def test_a_fixed_number_of_rows_is_scored_on_as_many_others() -> None:
    def read(side: suite.Side, seed: int) -> RawRows:
        return RawRows(np.arange(100.0)[:, None], np.arange(100) % 2)

    fold = fold_of(SuiteEntry("big", "image", 20, read, n_fit=20), "validation", 0)
    fit, held = fold.view("values")
    assert len(fit) == len(held) == 20
    assert not np.intersect1d(fit, held).size
    assert fold_of(SuiteEntry("big", "image", 20, read, n_fit=20), "test", 0).y.size == 20


def test_the_vocabulary_is_that_of_the_rows_to_learn_from() -> None:
    def read(side: suite.Side, seed: int) -> RawRows:
        if side == "test":
            return RawRows(["novel novel words", "novel again"], np.array(["a", "b"]))
        return RawRows(["apple pear", "pear apple"] * 4, np.array(["a", "b"] * 4))

    fold = fold_of(SuiteEntry("words", "text", 8, read), "test", 0)
    assert fold.view("counts")[1].shape == (2, 2)
    assert fold.view("counts")[1].nnz == 0


def test_a_class_never_seen_is_never_right() -> None:
    def read(side: suite.Side, seed: int) -> RawRows:
        X = np.arange(8.0)[:, None]
        names = ["a", "b"] if side == "train" else ["b", "c"]
        return RawRows(X, np.array(names * 4))

    assert set(fold_of(SuiteEntry("odd", "table", 8, read), "test", 0).y_held) == {1, -1}


def test_few_labels_hold_every_class_and_grow() -> None:
    context = SuiteContext(text_entry(), None, 1)
    few, more = (context.problem("validation", 0, n) for n in (10, 40))
    assert set(few.rows) < set(more.rows)
    assert np.unique(few.y).size == 3
    X, y = few.every_row("counts")
    assert X.shape[0] == 240
    assert np.count_nonzero(y != -1) == 10
    assert np.array_equal(y[few.rows], few.y)
    with pytest.raises(TooFewRowsError):
        context.problem("validation", 0, 2)


def test_numbers_of_labels_that_make_sense() -> None:
    assert [s.n_labels for s in settings_of(text_entry(), None)] == [100, None]
    assert [s.n_labels for s in settings_of(table_entry(), None)] == [None]
    assert [s.n_labels for s in settings_of(table_entry(), (50, 100, None))] == [50, None]
    assert settings_of(table_entry(regression=True), (50,)) == []


# ---- methods


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", [n for n, m in SCOREBOARD_METHODS.items() if not m.own])
def test_every_rival_learns(name: str) -> None:
    method = SCOREBOARD_METHODS[name]
    entry = text_entry() if "text" in method.kinds else table_entry()
    problem = SuiteContext(entry, None, 1).problem("validation", 0, 60)
    with threadpool_limits(1):
        model = method.fit(problem, method.settings)
    score, kept = scoreboard._score(model, problem.fold, method.view)
    assert score > 0.75
    assert kept["n_rows"] == problem.fold.y_held.size
    assert count_parameters(model) > 0


@pytest.mark.parametrize("name", [n for n, m in SCOREBOARD_METHODS.items() if "table" in m.kinds])
def test_every_method_for_tables_predicts_numbers(name: str) -> None:
    method = SCOREBOARD_METHODS[name]
    problem = SuiteContext(table_entry(regression=True), None, 1).problem("validation", 0, None)
    quick = {"max_epochs": 2} if method.own else {}
    with threadpool_limits(1):
        model = method.fit(problem, {**method.settings, **quick})
    score, kept = scoreboard._score(model, problem.fold, method.view)
    assert score > (-1.0 if method.own else 0.4)
    assert kept == {}


@pytest.mark.usefixtures("tiny")
def test_controls_have_the_same_sizes_and_other_links(tmp_path: Path) -> None:
    names = ("default", "default-random", "backbone", "backbone-random")
    problem = SuiteContext(text_entry(), None, 1).problem("validation", 0, 60)
    models = {}
    for name in names:
        method = method_of(name)
        models[name] = method.fit(problem, {**method.settings, "max_epochs": 1})
    assert problem.notes["structure"] == "shared"
    for name in ("default", "backbone"):
        ours, control = models[name], models[f"{name}-random"]
        assert ours.n_parameters_ == control.n_parameters_
        assert ours.wiring_.layer_sizes == control.wiring_.layer_sizes
        assert control.wiring_.link_rule == "random"
    assert models["backbone"].n_parameters_ < models["default"].n_parameters_
    assert models["backbone"].net_.linear_skip is None


def test_em_naive_bayes_is_naive_bayes_when_all_rows_are_labelled() -> None:
    X, y = documents(np.random.default_rng(0), 200)
    counts = X * np.random.default_rng(1).integers(1, 4, X.shape)
    for alpha in (0.1, 1.0):
        ours = EMNaiveBayes(alphas=(alpha,)).fit(counts[:150], y[:150])
        theirs = MultinomialNB(alpha=alpha).fit(counts[:150], y[:150])
        assert np.allclose(ours.predict_proba(counts[150:]), theirs.predict_proba(counts[150:]))


def test_em_naive_bayes_learns_from_rows_without_labels() -> None:
    X, y = documents(np.random.default_rng(0), 1200)
    given = np.full(900, -1)
    first = [int(np.flatnonzero(y == k)[0]) for k in range(3)]  # one label of each class
    given[first] = y[first]
    model = EMNaiveBayes(weights=(1.0,), alphas=(1.0,)).fit(X[:900], given)
    plain = MultinomialNB().fit(X[first], y[first])
    gain = np.mean(model.predict(X[900:]) == y[900:]) - np.mean(plain.predict(X[900:]) == y[900:])
    assert gain > 0.05
    unweighted = EMNaiveBayes(weights=(0.0,), alphas=(1.0,)).fit(X[:900], given)
    assert np.allclose(unweighted.predict_proba(X[900:]), plain.predict_proba(X[900:]))


# ---- the page


@pytest.mark.usefixtures("tiny")
def test_the_page_compares_methods(tmp_path: Path) -> None:
    _, page = board(tmp_path, "lr,linear", n_labels=(20, None))
    for line in ("## Text", "## Tables", "| tiny-text 20", "| tiny-text all", "| tiny-table all"):
        assert line in page
    runner, again = board(tmp_path, "lr,cnb", n_labels=(20, None))
    assert runner.n_executed == 4  # those of ComplementNB
    assert "ComplementNB" in again


def test_differences_wins_and_costs_are_those_of_the_results() -> None:
    from reproduce.runs import Result as RunResult

    def result(score: float, size: int) -> RunResult:
        return RunResult(score, None, size, 2.0, 2.0)

    entry = table_entry()
    made = Board()
    for n_labels, ours, theirs in ((20, 0.9, 0.8), (None, 0.7, 0.701)):
        setting = Setting(entry, n_labels)
        for score, name, size in ((ours, "default", 1200), (theirs, "linear", 100)):
            for shift in (-0.01, 0.01):
                made.add(setting, SCOREBOARD_METHODS[name], result(score + shift, size))
    text = "\n".join(made.tables("table", "Tables"))
    assert "90.0 ± 1.4" in text
    assert "+4.95 (−0.1; 1/1/0)" in text  # default − linear over both settings
    assert "+10.00 (+10.0; 1/0/0)" in text
    assert "1.2 K, 2.0 s" in text
    assert "80.00" in text  # mean of default over both settings
    assert "learned minus random" not in text


def test_learned_links_are_compared_with_random_ones_on_test_rows() -> None:
    from reproduce.runs import Result as RunResult

    rng, entry = np.random.default_rng(0), text_entry()
    setting, made = Setting(entry, 20), Board()
    right = {"backbone": rng.random((3, 400)) < 0.9, "backbone-random": rng.random((3, 400)) < 0.7}
    for name, rows in right.items():
        for own in rows:
            kept = {"right": pack(own), "n_rows": own.size}
            made.add(
                setting,
                SCOREBOARD_METHODS[name],
                RunResult(None, float(own.mean()), 5, 1.0, 1.0, extra=kept),
            )
    expected = paired_rows(right["backbone"], right["backbone-random"])
    text = "\n".join(made.tables("text", "Text"))
    assert "learned minus random" in text
    assert f"+{100 * expected.difference:.2f} (< 0.001)" in text
    values = made.values()
    assert values["board:tiny-text@20/backbone"] == f"{100 * right['backbone'].mean():.1f}"
    assert values["board:tiny-text@20/backbone:is"] == "ahead of"
    assert set(made.picture()) == {"tiny-text 20"}
