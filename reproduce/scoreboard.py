"""The scoreboard: tsenet's defaults, its Backbone and their controls against rivals, on text, tables and images.

Settings are chosen here, so ``part="validation"`` is the rule: a quarter of the training rows is scored and no test row
is read. ``part="test"`` is for final figures.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from reproduce import figures, render, scoring
from reproduce.dataset_context import QuickSize, TooFewRowsError, label_order
from reproduce.execute import with_source
from reproduce.experiment import Experiment, Request
from reproduce.runner import Runner
from reproduce.runs import Result, Run
from reproduce.scoreboard_methods import (
    SCOREBOARD_METHODS,
    Problem,
    Shared,
    SuiteMethod,
    count_parameters,
    method_of,
)
from reproduce.sources import note_files, recorded_files
from reproduce.stats import PairedComparison, compare, spread, standing
from reproduce.suite import SUITE, EvaluationPart, Fold, SuiteEntry, available, fold_of
from tsenet.errors import DivergenceError

__all__ = ["SCOREBOARD", "SuiteContext", "SuiteRunner", "make"]

NAME = "scoreboard"
_TEXT_LABELS: tuple[int | None, ...] = (100, 400, None)
_TIE = 0.5  # points
_SCORE = "accuracy in percent, or 100·R²"
_LEARNED = ("default", "backbone")  # each has a control over random links
_TITLES = {"text": "Text", "table": "Tables", "image": "Images"}


# ---- doing runs


class SuiteContext:
    """A data set of the suite: its last fold is in memory, with what the runs on it share."""

    def __init__(self, entry: SuiteEntry, quick: QuickSize | None, n_jobs: int | None) -> None:
        self.entry = entry
        self.n_jobs = n_jobs
        self._quick = quick
        self._fold: tuple[tuple[str, int], Fold, dict[str, Shared], set[str]] | None = None

    def problem(self, part: EvaluationPart, seed: int, n_labels: int | None) -> Problem:
        """The rows of a seed, so many of them with labels.

        Raises
        ------
        TooFewRowsError
            If there are fewer rows than labels, or fewer labels than classes.
        """
        if self._fold is None or self._fold[0] != (part, seed):
            self._fold = None  # free it before the next is made
            with recorded_files() as files:
                fold = self._make(part, seed)
            self._fold = ((part, seed), fold, {}, files)
        _, fold, shared, files = self._fold
        note_files(files)
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
    import reproduce.rivals  # noqa: F401  # before the recording: what its import calls is no part of the run

    with recorded_files() as files:
        result = _fit_and_score(run, context, method)
    return with_source(run, result, files)


def _fit_and_score(run: Run, context: Any, method: SuiteMethod) -> Result:
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
        return Result(None, None, 0, *took, extra={"error": str(error)})
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    score, kept = _score(model, problem.fold, method.view)
    extra = {"n_train": int(problem.fold.y.size), "n_held": int(problem.fold.y_held.size), **kept}
    return Result(
        validation=None if run.final else score,
        test=score if run.final else None,
        n_parameters=count_parameters(model),
        cpu_seconds=cpu + problem.charged,
        wall_seconds=wall,
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


@dataclass(frozen=True)
class Setting:
    """A row of the scoreboard: a data set with a number of labels."""

    entry: SuiteEntry
    n_labels: int | None

    @property
    def title(self) -> str:
        """As in the table."""
        return f"{self.entry.name} {'all' if self.n_labels is None else self.n_labels}"


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
    for kind, title in _TITLES.items():
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
        f"least {_TIE} points; a negative R² counts as 0 in differences."
    )


# ---- the board


class Board:
    """Results by setting and method, and the tables made of them."""

    def __init__(self) -> None:
        self._results: dict[tuple[Setting, str], list[Result]] = {}
        self._methods: dict[str, SuiteMethod] = {}

    def add(self, setting: Setting, method: SuiteMethod, result: Result) -> None:
        """Take in a result."""
        self._methods[method.name] = method
        self._results.setdefault((setting, method.name), []).append(result)

    def scores(self, setting: Setting, method: str) -> list[float]:
        """Scores over the seeds, those of diverged runs left out."""
        results = self._results.get((setting, method), [])
        each = (r.validation if r.test is None else r.test for r in results)
        return [100 * score for score in each if score is not None]

    def mean(self, setting: Setting, method: str) -> float | None:
        """Mean score; a negative R² counts as 0."""
        scores = self.scores(setting, method)
        return float(np.mean(np.maximum(scores, 0.0))) if scores else None

    def differences(self, first: str, second: str, settings: Iterable[Setting]) -> list[float]:
        """Means of the first method minus those of the second, or of the best rival, where both are there."""
        found = []
        for setting in settings:
            ours = self.mean(setting, first)
            names = self._rivals() if second == "best rival" else [second]
            theirs = [m for m in (self.mean(setting, name) for name in names) if m is not None]
            if ours is not None and theirs:
                found.append(ours - max(theirs))
        return found

    def tables(self, kind: str, title: str) -> list[str]:
        """The tables of one kind of data; none without results."""
        settings = [s for s in self._settings() if s.entry.kind == kind]
        names = [n for n in self._methods if any(self.scores(s, n) for s in settings)]
        if not names:
            return []
        head = ["data set, labels", *(self._methods[name].title for name in names)]
        body = [[s.title, *(self._shown(s, name) for name in names)] for s in settings]
        full = [s for s in settings if all(self.scores(s, name) for name in names)]
        if full:
            means = [np.mean([self.mean(s, name) or 0.0 for s in full]) for name in names]
            body.append([f"mean of {len(full)}", *(f"{mean:.2f}" for mean in means)])
        cost = [[s.title, *(self._cost(s, name) for name in names)] for s in settings]
        return [
            f"## {title}",
            render.markdown_table(head, body),
            *self._controls(settings),
            *self._comparison(settings, names),
            "Parameters and CPU seconds (a star: the structure, learned once for each seed, is left out):",
            render.markdown_table(head, cost),
        ]

    def values(self) -> dict[str, str]:
        """Figures by name, for texts: ``board:subj@400/backbone`` is a mean in percent.

        With ``:p`` and ``:is`` at the end, how it is beside random links.
        """
        values: dict[str, str] = {}
        for setting, name in self._results:
            key = f"board:{setting.entry.name}@{setting.n_labels or 'all'}/{name}"
            found = spread(self.scores(setting, name))
            values[key] = "–" if found is None else f"{found.mean:.1f}"
            against = self.against_random(setting, name)
            if against is not None:
                values[f"{key}:p"] = render.p_in_text(against.p)
                values[f"{key}:is"] = standing(against.difference, against.p)
        return values

    def picture(self) -> dict[str, list[figures.Dot]]:
        """Dots for each setting with learned and random links: these, and the best rival."""
        panels: dict[str, list[figures.Dot]] = {}
        for setting in self._settings():
            if all(self.against_random(setting, name) is None for name in _LEARNED):
                continue
            own = [n for name in _LEARNED for n in (name, f"{name}-random")]
            rivals = [n for n in self._rivals() if self.scores(setting, n)]
            best = max(rivals, key=lambda n: self.mean(setting, n) or 0.0, default=None)
            found = [
                (n, spread(self.scores(setting, n))) for n in (*own, *([best] if best else []))
            ]
            panels[setting.title] = [
                figures.Dot(self._methods[n].title, score.mean, score.sd, kind=_kind(n))
                for n, score in found
                if score is not None
            ]
        return panels

    def against_random(self, setting: Setting, name: str) -> PairedComparison | None:
        """A method minus the same over random links, on test rows; None without both."""
        pair = [self._results.get((setting, n), []) for n in (name, f"{name}-random")]
        return compare(*pair) if all(pair) else None

    def _controls(self, settings: Sequence[Setting]) -> list[str]:
        """Learned minus random links in each setting, with p-values: none without test rows."""
        body = []
        for setting in settings:
            found = [self.against_random(setting, name) for name in _LEARNED]
            if any(found):
                body.append([setting.title, *map(_difference, found)])
        head = ["learned minus random links (p)", "TSE-Net", "Backbone"]
        return [render.markdown_table(head, body)] if body else []

    def csv(self) -> tuple[render.Row, list[render.Row]]:
        """Every setting and method as a row."""
        head = (
            "dataset", "n_labels", "method", "seeds", "mean", "sd", "n_parameters", "cpu_seconds",
        )  # fmt: skip
        rows: list[render.Row] = []
        for (setting, name), results in self._results.items():
            found = spread(self.scores(setting, name))
            rows.append(
                [
                    setting.entry.name,
                    "all" if setting.n_labels is None else setting.n_labels,
                    name,
                    0 if found is None else found.n,
                    "" if found is None else f"{found.mean:.4f}",
                    "" if found is None or found.sd is None else f"{found.sd:.4f}",
                    round(np.mean([r.n_parameters for r in results])),
                    f"{np.mean([r.cpu_seconds for r in results]):.2f}",
                ]
            )
        return head, rows

    def _settings(self) -> list[Setting]:
        places = {name: k for k, name in enumerate(SUITE)}
        every = {setting for setting, _ in self._results}
        return sorted(
            every,
            key=lambda s: (places.get(s.entry.name, -1), s.entry.name, s.n_labels or np.inf),
        )

    def _rivals(self) -> list[str]:
        return [name for name, method in self._methods.items() if not method.own]

    def _pairs(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Which methods are compared: own ones with their controls, with each other, and with the rivals."""
        own = [n for n in names if self._methods[n].own]
        controls = [(n, f"{n}-random") for n in own if f"{n}-random" in names]
        others = [("backbone", "default")]
        rivals = ["best rival", *(n for n in names if n not in own)]
        learned = [n for n in own if not n.split(":")[0].endswith("-random")]
        varied = [(n, n.split(":")[0]) for n in own if ":" in n and n.split(":")[0] in names]
        return [
            *controls,
            *(pair for pair in others if set(pair) <= set(names)),
            *varied,
            *((n, rival) for n in learned for rival in rivals),
        ]

    def _comparison(self, settings: Sequence[Setting], names: Sequence[str]) -> list[str]:
        counts = list(dict.fromkeys(s.n_labels for s in settings))
        groups: list[tuple[str, list[Setting]]] = [("all settings", list(settings))]
        if len(counts) > 1:
            groups += [
                (
                    "all labels" if n is None else f"{n} labels",
                    [s for s in settings if s.n_labels == n],
                )
                for n in sorted(counts, key=lambda n: n or np.inf)
            ]
        body = []
        for first, second in self._pairs(names):
            cells = [self._versus(self.differences(first, second, own)) for _, own in groups]
            if cells[0] != "–":
                body.append([f"{first} − {second}", *cells])
        if not body:
            return []
        head = ["mean difference (worst; wins/ties/losses)", *(title for title, _ in groups)]
        return [render.markdown_table(head, body)]

    def _versus(self, differences: Sequence[float]) -> str:
        if not differences:
            return "–"
        wins = sum(d >= _TIE for d in differences)
        losses = sum(d <= -_TIE for d in differences)
        ties = len(differences) - wins - losses
        text = f"{np.mean(differences):+.2f} ({min(differences):+.1f}; {wins}/{ties}/{losses})"
        return text.replace("-", "−")

    def _shown(self, setting: Setting, name: str) -> str:
        found = spread(self.scores(setting, name))
        if found is None:
            return "–"
        return f"{found.mean:.1f}" + ("" if found.sd is None else f" ± {found.sd:.1f}")

    def _cost(self, setting: Setting, name: str) -> str:
        results = self._results.get((setting, name))
        if not results:
            return "–"
        seconds = np.mean([r.cpu_seconds for r in results])
        star = "*" if any(r.extra.get("structure") == "shared" for r in results) else ""
        size = render.counted(float(np.mean([r.n_parameters for r in results])))
        return f"{size}, {seconds:.1f} s{star}"


def _difference(found: PairedComparison | None) -> str:
    if found is None:
        return "–"
    return f"{render.difference(found.difference, 'accuracy')} ({render.p_value(found.p)})"


def _kind(name: str) -> figures.Kind:
    if name in _LEARNED:
        return "learned wiring"
    return "random wiring" if name.removesuffix("-random") in _LEARNED else "others"


SCOREBOARD = Experiment(
    NAME,
    "Scoreboard",
    tuple(name for name in SUITE if available(name)),
    make,
    known=tuple(SUITE),
    runner=SuiteRunner,
)
