"""Choosing on validation rows, resuming, skipping, and what a run is charged for."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduce import RECIPE
from reproduce.cells import Cell, Found
from reproduce.dataset_context import DatasetContext, QuickSize
from reproduce.execute import execute
from reproduce.methods import METHODS
from reproduce.run_context import RunContext
from reproduce.runner import Runner
from reproduce.runs import Run, is_stale
from tests.reproduce.tiny import tiny_labels, tiny_task, tiny_text
from tsenet.baselines import DenseClassifier
from tsenet.datasets import Dataset, Part
from tsenet.errors import DivergenceError
from tsenet.progress import CallbackProgress

SHORT = {"max_epochs": 4, "learning_rate": 0.01}
SMALL = {**SHORT, "max_top": 4, "skip_units": 4, "feature_units": 4, "density": 0.2}
WIDTHS = tuple({"hidden": [units]} for units in (1, 8, 3))


def dense(name: str = "fnn", **more: Any) -> Cell:
    return Cell("e", "tiny", name, "FNN", "fnn", SHORT, (WIDTHS,), **more)


def runner_of(folder: Path, dataset: Dataset | None = None, **more: Any) -> Runner:
    data = tiny_text() if dataset is None else dataset
    return Runner(folder, **{"seeds": 2, "n_jobs": 1, "datasets": {"tiny": data}, **more})


def test_the_best_on_validation_rows_is_run_with_every_seed(tmp_path: Path) -> None:
    runner = runner_of(tmp_path)
    (one,) = runner.measure_all([dense()])
    scores = [score for _, score in one.tried]
    assert [dict(settings) for settings, _ in one.tried] == list(WIDTHS)
    assert one.chosen == WIDTHS[int(np.argmax(scores))]
    assert [run.seed for run, _ in one.finals] == [0, 1]
    assert all(run.settings == {**SHORT, **one.chosen} for run, _ in one.finals)
    assert all(result.test is not None for result in one.results)
    assert runner.n_executed == 5
    for run, result in runner.store("e").items():
        assert (result.test is not None) == run.final
        assert "right" in result.extra if run.final else "right" not in result.extra


def test_rounds_build_on_each_other(tmp_path: Path) -> None:
    cell = replace(dense(), rounds=(WIDTHS[1:2], ({"dropout": 0.0}, {"dropout": 0.9})))
    runner = runner_of(tmp_path)
    (one,) = runner.measure_all([cell])
    assert all(run.settings["hidden"] == [8] for run, _ in runner.store("e").items())
    assert runner.n_executed == 4  # a round of one chooses nothing and is not run
    assert [dict(settings) for settings, _ in one.tried] == [
        {"hidden": [8], "dropout": 0.0},
        {"hidden": [8], "dropout": 0.9},
    ]
    assert one.chosen == {"hidden": [8], "dropout": 0.0}


def test_a_run_of_another_recipe_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = replace(dense(), rounds=())
    assert runner_of(tmp_path).measure_all([cell])[0].results
    again = runner_of(tmp_path)
    again.measure_all([cell])
    assert again.n_executed == 0
    monkeypatch.setattr("reproduce.RECIPE", RECIPE + 1)
    shown = runner_of(tmp_path, execute=False)
    (one,) = shown.measure_all([cell])
    assert all(map(is_stale, one.results))  # shown as they are
    kept = runner_of(tmp_path, keep_stale=True)
    kept.measure_all([cell])
    assert kept.n_executed == 0
    last = runner_of(tmp_path)
    (one,) = last.measure_all([cell])
    assert last.n_executed == 2
    assert [result.recipe for result in one.results] == [RECIPE + 1] * 2


def test_the_test_rows_have_no_say(tmp_path: Path) -> None:
    """The same data with other test labels: the same choices, the same networks, other test scores."""
    data = tiny_text()
    other = replace(data, test=Part(data.test.X, (data.test.y + 1) % 3))
    cells = [
        dense(),
        Cell("e", "tiny", "tsenet", "T", "tsenet", SMALL, (({"dropout": 0.1}, {"dropout": 0.6}),)),
    ]
    first = runner_of(tmp_path / "a", data).measure_all(cells)
    second = runner_of(tmp_path / "b", other).measure_all(cells)
    for one, two in zip(first, second, strict=True):
        assert one.chosen == two.chosen
        assert one.tried == two.tried
        assert [run for run, _ in one.finals] == [run for run, _ in two.finals]
        assert [r.validation for r in one.results] == [r.validation for r in two.results]
        assert [r.test for r in one.results] != [r.test for r in two.results]


def test_the_validation_rows_have_their_say(tmp_path: Path) -> None:
    data = tiny_text()
    rounds = (({"hidden": [1], "max_epochs": 1}, {"hidden": [8], "max_epochs": 8}),)
    cell = replace(dense(), rounds=rounds)
    (one,) = runner_of(tmp_path / "a", data, seeds=1).measure_all([cell])
    (weak, strong) = (score for _, score in one.tried)
    assert weak is not None
    assert strong is not None
    assert strong > weak
    # Rename the classes in the validation rows alone: now the worse network looks better.
    wrong = replace(data, validation=Part(data.validation.X, (data.validation.y + 1) % 3))
    (two,) = runner_of(tmp_path / "b", wrong, seeds=1).measure_all([cell])
    assert two.chosen != one.chosen


def test_nothing_is_done_twice(tmp_path: Path) -> None:
    first = runner_of(tmp_path)
    before = first.measure_all([dense()])
    second = runner_of(tmp_path, datasets={"tiny": tiny_text()})
    assert second.measure_all([dense()]) == before
    assert second.n_executed == 0
    more = runner_of(tmp_path, seeds=3)
    more.measure_all([dense()])
    assert more.n_executed == 1


def test_a_store_cut_anywhere_is_resumed_to_the_same_figures(tmp_path: Path) -> None:
    whole = runner_of(tmp_path)
    wanted = whole.measure_all([dense()])
    path = whole.store("e").path
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for cut in [0, *np.sort(rng.integers(1, len(content), size=4)).tolist()]:
        path.write_bytes(content[:cut])
        runner = runner_of(tmp_path)
        n_left = 5 - len(runner.store("e"))
        found = runner.measure_all([dense()])
        assert runner.n_executed == n_left
        for one, two in zip(wanted, found, strict=True):
            assert (one.chosen, one.tried) == (two.chosen, two.tried)
            assert [r.extra["right"] for r in one.results] == [
                r.extra["right"] for r in two.results
            ]


def test_without_executing_only_what_is_done_is_shown(tmp_path: Path) -> None:
    (one,) = runner_of(tmp_path, execute=False).measure_all([dense()])
    assert one.results == ()
    assert one.chosen is None
    runner_of(tmp_path, seeds=1).measure_all([dense()])
    (two,) = runner_of(tmp_path, execute=False, datasets={}).measure_all([dense()])
    assert len(two.results) == 1
    needing = Cell("e", "tiny", "b", "B", "fnn", lambda found, seed: {}, needs=("fnn",))
    *_, three = runner_of(tmp_path, execute=False).measure_all([dense(), needing])
    assert three.results == ()


def test_cells_may_depend_on_others(tmp_path: Path) -> None:
    def twice(found: Found, seed: int) -> Mapping[str, Any]:
        return {**SHORT, "n_parameters": 2 * found["fnn"].results[seed].n_parameters}

    cells = [dense(), Cell("e", "tiny", "twice", "T", "fnn-of-size", twice, needs=("fnn",))]
    small, large = runner_of(tmp_path).measure_all(cells)
    for a, b in zip(small.results, large.results, strict=True):
        assert 1.5 * a.n_parameters < b.n_parameters <= 2 * a.n_parameters


def test_a_data_set_that_cannot_be_had_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runner = runner_of(tmp_path)
    with caplog.at_level(logging.WARNING, "tsenet"):
        missing, there = runner.measure_all([replace(dense(), dataset="no such thing"), dense()])
    assert missing.results == ()
    assert len(there.results) == 2
    assert "no such thing" in runner.skipped["no such thing"]
    assert len(caplog.records) == 1


def test_labels_that_cannot_be_drawn_are_left_out(tmp_path: Path) -> None:
    runner = runner_of(tmp_path)
    (one,) = runner.measure_all([replace(dense(), n_labels=1_000, rounds=())])
    assert one.results == ()
    assert "tiny with 1000 labels" in runner.skipped


def test_a_diverged_candidate_is_never_chosen(tmp_path: Path) -> None:
    wild = {"learning_rate": 1e30, "dropout": 0.0}
    cell = replace(dense(), rounds=((wild, {"learning_rate": 0.01}),))
    with np.errstate(all="ignore"):
        (one,) = runner_of(tmp_path, seeds=1).measure_all([cell])
    assert one.tried[0][1] is None
    assert one.chosen == {"learning_rate": 0.01}
    with np.errstate(all="ignore"), pytest.raises(DivergenceError, match="tiny, fnn"):
        runner_of(tmp_path, seeds=1).measure_all(
            [replace(cell, rounds=((wild, {**wild, "batch_size": 50}),))]
        )


def test_a_quick_lab_shrinks_the_data_and_keeps_its_runs_apart(tmp_path: Path) -> None:
    cell = replace(dense(), rounds=())
    runner_of(tmp_path, seeds=1).measure_all([cell])
    quick = runner_of(tmp_path, seeds=1, quick=QuickSize(n_train=100, n_validation=50, n_test=50))
    (one,) = quick.measure_all([cell])
    assert quick.n_executed == 1
    assert one.results[0].extra["n_train"] == 100
    assert one.results[0].extra["n_rows"] == 50


@pytest.fixture
def heeded_ctrl_c() -> Iterator[None]:
    """Python's own answer to Ctrl-C, also in a shell's background, where the signal is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_ctrl_c")
def test_ctrl_c_ends_a_run_at_once_and_stores_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is done or it is not."""

    def press(stage: str, done: int, total: int | None) -> None:
        if done:
            signal.raise_signal(signal.SIGINT)

    def pressing(context: RunContext) -> Any:
        verbose = press if context.seed == 1 else False
        model = DenseClassifier(**context.settings, random_state=context.seed, verbose=verbose)
        return model.fit(context.X, context.y)

    monkeypatch.setitem(METHODS, "pressing", pressing)
    cell = Cell("e", "tiny", "p", "P", "pressing", SHORT)
    with pytest.raises(KeyboardInterrupt):
        runner_of(tmp_path).measure_all([cell])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.setitem(METHODS, "pressing", METHODS["fnn"])
    again = runner_of(tmp_path)
    assert [run.seed for run, _ in again.store("e").items()] == [0]
    (one,) = again.measure_all([cell])
    assert again.n_executed == 1
    assert len(one.results) == 2


def test_progress_counts_all_steps(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int | None]] = []
    runner_of(tmp_path).measure_all([dense()], CallbackProgress(lambda *call: calls.append(call)))
    own = [(done, total) for stage, done, total in calls if stage == "runs"]
    assert own[0] == (0, 5)
    assert own[-1] == (5, 5)
    assert [done for done, _ in own[:-1]] == [0, 1, 2, 3, 4, 5]


def test_each_run_is_told_with_the_time_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "tsenet"):
        runner_of(tmp_path).measure_all([dense()])
    lines = [record.message for record in caplog.records if "tiny fnn" in record.message]
    assert len(lines) == 5
    assert "(choosing)" in lines[0]
    assert "test" not in lines[0]
    assert "test 0." in lines[-1] or "test 1." in lines[-1]
    assert all("left" in line for line in lines)


def test_what_runs_share_is_charged_to_each(tmp_path: Path) -> None:
    context = DatasetContext(tiny_text(), tmp_path, n_jobs=1)
    run = Run("e", "tiny", "tsenet", SMALL)
    first = execute(run, context)
    second = execute(run, context)
    structure = context.spent
    assert structure > 0
    for result in (first, second):
        assert result.extra["shared_cpu_seconds"] == pytest.approx(structure)
        assert result.cpu_seconds > structure
    assert first.extra["right"] == second.extra["right"]
    start = {**SHORT, "hidden": [8]}
    base = execute(Run("e", "tiny", "fnn", start), context, keep=True)
    pruned = execute(Run("e", "tiny", "pruned", {"start": start, "n_parameters": 60}), context)
    assert pruned.n_parameters == 60
    assert pruned.extra["shared_cpu_seconds"] == pytest.approx(base.cpu_seconds, rel=0.5)
    assert pruned.cpu_seconds > pruned.extra["shared_cpu_seconds"]


def test_duplicates_are_told_apart(tmp_path: Path) -> None:
    data = tiny_text()
    result = execute(Run("e", "tiny", "fnn", {**SHORT, "hidden": [8]}), DatasetContext(data))
    clean = result.extra["test_without_duplicates"]
    n, m = 120, int(data.card.in_training.sum())
    assert result.test is not None
    assert round(result.test * n) - round(clean * (n - m)) in range(m + 1)


def test_areas_are_stored_for_labels() -> None:
    result = execute(
        Run("e", "tox21", "fnn", {**SHORT, "hidden": [8]}), DatasetContext(tiny_labels())
    )
    assert len(result.extra["areas"]) == 7
    assert result.test == pytest.approx(np.mean(result.extra["areas"]))


def test_a_lab_needs_a_seed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Runner(tmp_path, seeds=0)


def test_a_method_sees_only_the_labels_it_has() -> None:
    shared = DatasetContext(tiny_text())
    train = shared.dataset.train
    context = RunContext(shared, Run("e", "tiny", "fnn", {}, seed=3, n_labels=40))
    rows = shared.labelled(40, 3)
    assert np.array_equal(context.y, train.y[rows])
    assert np.array_equal(context.X.toarray(), train.X.toarray()[rows])
    X, y = context.all_rows()
    assert X is train.X
    assert np.array_equal(np.flatnonzero(y >= 0), rows)
    assert np.array_equal(y[rows], train.y[rows])
    assert set(np.delete(y, rows)) == {-1}
    everything = RunContext(shared, Run("e", "tiny", "fnn"))
    assert everything.X is train.X
    assert everything.all_rows()[1] is train.y


def test_two_classes_need_one_output() -> None:
    run = Run("e", "t", "fnn")
    assert RunContext(DatasetContext(tiny_task("tox21/NR-AR")), run).n_outputs == 1
    assert RunContext(DatasetContext(tiny_labels(n_labels=2)), run).n_outputs == 2
    assert RunContext(DatasetContext(tiny_text()), run).n_outputs == 3


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_runs_with_some_labels(method: str) -> None:
    settings: dict[str, dict[str, Any]] = {
        "tsenet": SMALL,
        "tsenet-paper": SMALL,
        "random": SMALL,
        "pivot": SMALL,
        "random-paper": SMALL,
        "tsenet-pruned": {"start": SMALL, "n_parameters": 150},
        "fnn": {**SHORT, "shape": "conic 512×2"},
        "fnn-of-size": {**SHORT, "n_parameters": 200},
        "pruned": {"start": {**SHORT, "hidden": [8]}, "n_parameters": 100},
        "set": {**SHORT, "hidden": [8], "n_parameters": 100},
        "rigl": {**SHORT, "hidden": [8], "n_parameters": 100},
        "logistic": {},
        "pruned-logistic": {"n_parameters": 33},
        "em-bayes": {},
        "self-training": {},
        "start": {},
        "linear-svc": {},
        "complement-nb": {},
        "forest": {"n_estimators": 5},
        "boosting": {"max_iter": 5},
        "svd": {"n_components": 5},
        "ppmi": {"n_components": 5},
        "nmf": {"n_components": 5},
    }
    for_tables = method in ("boosting", "forest")
    context = DatasetContext(tiny_task("tiny") if for_tables else tiny_text())
    result = execute(Run("e", "tiny", method, settings[method], 1, 60), context)
    assert result.test is not None
    assert 0.2 < result.test <= 1.0
    assert result.n_parameters > 0


def test_only_whoever_debugs_reads_about_each_epoch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cell = replace(dense(), rounds=())
    with caplog.at_level(logging.INFO, "tsenet"):
        runner_of(tmp_path / "a", seeds=1).measure_all([cell])
    assert not any("train loss" in record.message for record in caplog.records)
    with caplog.at_level(logging.DEBUG, "tsenet"):
        runner_of(tmp_path / "b", seeds=1).measure_all([cell])
    assert any("train loss" in record.message for record in caplog.records)
