"""The scoreboard: tsenet's defaults, its Backbone and their controls against rivals, on text, tables and images.

Settings are chosen here, so ``part="validation"`` is the rule: a quarter of the training rows is scored and no test row
is read. ``part="test"`` is for final figures.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from reproduce import figures, render, scoring
from reproduce.board import TIE, TITLES, Board, Setting
from reproduce.dataset_context import QuickSize, TooFewRowsError, label_order
from reproduce.experiment import Experiment, Request
from reproduce.runner import Runner
from reproduce.runs import Result, Run, versions
from reproduce.scoreboard_methods import (
    SCOREBOARD_METHODS,
    Problem,
    Shared,
    SuiteMethod,
    count_parameters,
    method_of,
)
from reproduce.suite import SUITE, EvaluationPart, Fold, SuiteEntry, available, fold_of
from tsenet.errors import DivergenceError

__all__ = ["SCOREBOARD", "SuiteContext", "SuiteRunner", "make"]

NAME = "scoreboard"
_TEXT_LABELS: tuple[int | None, ...] = (100, 400, None)
_SCORE = "accuracy in percent, or 100·R²"


# ---- doing runs


class SuiteContext:
    """A data set of the suite: its last fold is in memory, with what the runs on it share."""

    def __init__(self, entry: SuiteEntry, quick: QuickSize | None, n_jobs: int | None) -> None:
        self.entry = entry
        self.n_jobs = n_jobs
        self._quick = quick
        self._fold: tuple[tuple[str, int], Fold, dict[str, Shared]] | None = None

    def problem(self, part: EvaluationPart, seed: int, n_labels: int | None) -> Problem:
        """The rows of a seed, so many of them with labels.

        Raises
        ------
        TooFewRowsError
            If there are fewer rows than labels, or fewer labels than classes.
        """
        if self._fold is None or self._fold[0] != (part, seed):
            self._fold = None  # free it before the next is made
            self._fold = ((part, seed), self._make(part, seed), {})
        _, fold, shared = self._fold
        rows = np.arange(fold.y.size)
        if n_labels is not None:
            if not np.unique(fold.y).size <= n_labels <= fold.y.size or fold.entry.regression:
                raise TooFewRowsError(
                    f"{n_labels} labels cannot be drawn from {fold.y.size} rows with each class"
                )
            rows = np.sort(label_order(fold.y, seed)[:n_labels])
        return Problem(fold, rows, seed, shared, self.n_jobs)

    def _make(self, part: EvaluationPart, seed: int) -> Fold:
        small = self._quick
        if small is None:
            return fold_of(self.entry, part, seed)
        sizes = {"n_words": small.n_words, "n_fit": small.n_train, "n_held": small.n_validation}
        return fold_of(self.entry, part, seed, **sizes)


class SuiteRunner(Runner):
    """A runner whose data sets are those of the suite."""

    _needs_kernels = True

    def context(self, name: str) -> Any:
        """The data set of that name; only the last one is kept in memory."""
        found: Any = self._context
        if found is None or found[0] != name:
            found = self._context = (name, SuiteContext(SUITE[name], self.quick, self.n_jobs))  # type: ignore[assignment]  # the suite's own kind of context
        return found[1]

    def finish(
        self, runs: Sequence[tuple[Run, SuiteMethod]], progress: Any = None
    ) -> dict[Run, Result]:
        """The results of runs, those that are missing done now; what cannot be done is left out."""
        done = {}
        self._needs_kernels = any(method.own for _, method in runs)
        with self._at_work(Counter((run.dataset, run.method) for run, _ in runs), progress):
            for run, method in runs:
                result = self.result(run, partial(_execute, method=method))
                if result is not None:
                    done[run] = result
        return done

    def _warm_up(self) -> None:
        if self._needs_kernels:
            super()._warm_up()


def _execute(run: Run, context: Any, method: SuiteMethod) -> Result:
    """Fit a method and score it on the rows held out, or on the test rows if the run is final."""
    from threadpoolctl import threadpool_limits

    part: EvaluationPart = "test" if run.final else "validation"
    problem: Problem = context.problem(part, run.seed, run.n_labels)
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        if method.own:
            model = method.fit(problem, run.settings)
        else:
            with threadpool_limits(1):
                model = method.fit(problem, run.settings)
    except DivergenceError as error:
        took = (time.process_time() - cpu, time.perf_counter() - wall)
        return Result(None, None, 0, *took, versions(), {"error": str(error)})
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    score, kept = _score(model, problem.fold, method.view)
    extra = {"n_train": int(problem.fold.y.size), "n_held": int(problem.fold.y_held.size), **kept}
    return Result(
        validation=None if run.final else score,
        test=score if run.final else None,
        n_parameters=count_parameters(model),
        cpu_seconds=cpu + problem.charged,
        wall_seconds=wall,
        versions=versions(),
        extra={**extra, **problem.notes},
    )


def _score(model: Any, fold: Fold, view: str) -> tuple[float, Mapping[str, Any]]:
    """Accuracy and which rows were right, or R²."""
    guess = np.asarray(model.predict(fold.view(view)[1]))
    if fold.entry.regression:
        from sklearn.metrics import r2_score

        return float(r2_score(fold.y_held, guess.ravel())), {}
    right = guess == fold.y_held
    return float(right.mean()), scoring.kept(scoring.Score(float(right.mean()), right=right))


# ---- what to do


def settings_of(entry: SuiteEntry, wanted: tuple[int | None, ...] | None) -> list[Setting]:
    """Numbers of labels for a data set: those wanted that leave half of its rows unlabelled, and all.

    Without a wish, text has 100, 400 and all, other data all.
    """
    counts = wanted or (_TEXT_LABELS if entry.kind == "text" else (None,))
    few = [n for n in counts if n is not None and 2 * n <= entry.n_rows and not entry.regression]
    return [Setting(entry, n) for n in (*few, *([None] if None in counts else []))]


def _runs(
    settings: Iterable[Setting], methods: Sequence[SuiteMethod], runner: Runner, part: str
) -> Iterator[tuple[Setting, SuiteMethod, Run]]:
    """All runs, fold by fold; all labels first, so that the run with the structure is that with all labels."""
    by_entry: dict[str, list[Setting]] = {}
    for setting in settings:
        by_entry.setdefault(setting.entry.name, []).append(setting)
    for name, own in by_entry.items():
        for seed in runner.seeds:
            for setting in sorted(own, key=lambda s: s.n_labels is not None):
                for method in methods:
                    if setting.entry.kind in method.kinds:
                        yield setting, method, Run(
                            NAME, name, method.name, method.settings, seed,
                            setting.n_labels, runner.quick is not None, part == "test",
                        )  # fmt: skip


def make(runner: Runner, request: Request, progress: Any = None) -> render.ExperimentReport:
    """Do the runs that are not done and render the board."""
    if not isinstance(runner, SuiteRunner):
        raise TypeError(f"the scoreboard needs a SuiteRunner, not a {type(runner).__name__}")
    methods = [method_of(name) for name in request.methods or SCOREBOARD_METHODS]
    settings = [
        setting
        for name in request.datasets
        for setting in settings_of(SUITE[name], request.n_labels)
    ]
    planned = list(_runs(settings, methods, runner, request.part))
    done = runner.finish([(run, method) for _, method, run in planned], progress)
    board = Board()
    for setting, method, run in planned:
        if run in done:
            board.add(setting, method, done[run])
    paragraphs = [_introduction(request.part, runner)]
    for kind, title in TITLES.items():
        paragraphs += board.tables(kind, title)
    told = [f"{len(done)} of {len(planned)} runs are done."]
    paragraphs += [
        "## Where the figures come from",
        render.origin(done.values(), told, request.command, runner.skipped),
    ]
    end = ("-test" if request.part == "test" else "") + ("-quick" if runner.quick else "")
    return render.ExperimentReport(
        NAME + end,
        "Scoreboard" + (" (quick look: small data)" if runner.quick else ""),
        tuple(paragraphs),
        csv={"": board.csv()},
        figures={"": figures.dots(panels, _SCORE)} if (panels := board.picture()) else {},
        values=board.values(),
        results=tuple(done.values()),
    )


def _introduction(part: str, runner: Runner) -> str:
    rows = (
        "the test rows"
        if part == "test"
        else "a quarter of the training rows, drawn by the seed; no test row was read"
    )
    return (
        f"Accuracy in percent, or 100·R² for a regression (tecator), on {rows}: mean ± standard deviation over "
        f"{len(runner.seeds)} seeds. Text: 10,000 words chosen from the rows to learn from; the labels are drawn by "
        "the seed, each class at least once, and the other rows are given without labels to the methods that can use "
        "them. MNIST and Fashion-MNIST: 5,000 rows to learn from. A win or loss is a difference of the means of at "
        f"least {TIE} points; a negative R² counts as 0 in differences."
    )


SCOREBOARD = Experiment(
    NAME,
    "Scoreboard",
    tuple(name for name in SUITE if available(name)),
    make,
    known=tuple(SUITE),
    runner=SuiteRunner,
)
