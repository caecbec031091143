"""``Runner``: executes the runs that are not done, chooses settings on validation rows, and estimates the time left.

The settings of a :class:`Cell` are chosen in rounds of candidates, by the validation score with the first seed. Then
the chosen ones are run with every seed, and only these runs see the test rows.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reproduce.cells import Cell, Found, Measured
from reproduce.clock import duration, time_left
from reproduce.dataset_context import DatasetContext, QuickSize, TooFewRowsError, shrink
from reproduce.execute import execute
from reproduce.interrupt import StopAtOnce
from reproduce.runs import Result, Run, RunStore, Settings, is_stale
from reproduce.tox21_folds import is_fold, tox21_fold
from tsenet.errors import DivergenceError, TSENetError
from tsenet.progress import as_progress

if TYPE_CHECKING:
    from tsenet.datasets.dataset import Dataset
    from tsenet.progress import Progress

__all__ = ["CountsRunner", "Runner"]

logger = logging.getLogger("tsenet")

Doing = Callable[[Run, DatasetContext], Result]
N_WORDS = 10_000  # the paper's
_WHOLE = QuickSize(*[1 << 40] * 4)


class Runner:
    """Executes the runs of experiments and keeps their results in a folder.

    Parameters
    ----------
    folder : path
        Runs are kept in ``runs/``, structures in ``structures/``.
    seeds : int
        Every final run is done with the seeds 0 … seeds − 1.
    quick : QuickSize or None
        Shrink the data sets.
    n_jobs : int or None
        Threads; no score depends on it.
    execute : bool
        Whether to execute runs that are not done; False leaves them out.
    keep_stale : bool
        Whether results of another recipe are kept; else they are run again.
    datasets : mapping of str to Dataset
        Data sets to use; others are loaded by name.
    """

    weighting: Literal["tfidf", "counts"] = "tfidf"  # of the words of documents

    def __init__(
        self,
        folder: str | Path,
        *,
        seeds: int = 3,
        quick: QuickSize | None = None,
        n_jobs: int | None = None,
        execute: bool = True,
        keep_stale: bool = False,
        datasets: Mapping[str, Dataset] | None = None,
    ) -> None:
        if seeds < 1:
            raise ValueError(f"seeds must be at least 1, not {seeds}")
        self.folder = Path(folder)
        self.seeds = range(seeds)
        self.quick = quick
        self.n_jobs = n_jobs
        self.execute = execute
        self.keep_stale = keep_stale
        self.skipped: dict[str, str] = {}  # data sets that could not be loaded, and why
        self.n_executed = 0
        self._datasets = dict(datasets or {})
        self._context: tuple[str, DatasetContext] | None = None
        self._stores: dict[str, RunStore] = {}
        self._steps: Counter[tuple[str, str]] = Counter()  # left to do, by data set and method
        self._report: Progress = as_progress(None)
        self._ctrl_c = StopAtOnce()

    # ---- stored runs and data sets

    def store(self, experiment: str) -> RunStore:
        """The finished runs of an experiment."""
        if experiment not in self._stores:
            self._stores[experiment] = RunStore(self.folder / "runs" / f"{experiment}.jsonl")
        return self._stores[experiment]

    def context(self, name: str) -> DatasetContext:
        """The context of a data set; only the last one is kept in memory."""
        if self._context is None or self._context[0] != name:
            self._context = None  # free it before the next is loaded
            structures = self.folder / "structures"
            self._context = (name, DatasetContext(self._load(name), structures, self.n_jobs))
        return self._context[1]

    def is_text(self, name: str) -> bool:
        """Whether the features of a data set are words, not the columns of a table; nothing is loaded to tell."""
        from scipy.sparse import issparse

        from tsenet.datasets import entry_of

        given = self._datasets.get(name)
        return (
            entry_of(name.partition(":")[0]).kind == "documents"
            if given is None
            else issparse(given.train.X)
        )

    def _load(self, name: str) -> Dataset:
        from tsenet.datasets import load

        small = self.quick
        if name in self._datasets:
            dataset = self._datasets[name]
        else:
            n_words = N_WORDS if small is None else small.n_words
            whole, _, part = name.partition(":")
            dataset = load(whole, n_words=n_words, weighting=self.weighting)
            if is_fold(part):
                dataset = tox21_fold(dataset, part)
            elif part:
                size = replace(_WHOLE, n_train=int(part))
                dataset = replace(shrink(dataset, size), name=name)
        return dataset if small is None else shrink(dataset, small)

    # ---- measuring

    def measure_all(self, cells: Sequence[Cell], progress: Any = None) -> list[Measured]:
        """Measure cells, data set by data set; a data set that cannot be loaded is left out and noted in ``skipped``.

        Parameters
        ----------
        cells : sequence of Cell
            Those of one data set next to each other, each after those it needs.
        progress : None, bool, Progress or callable
        """
        steps: Counter[tuple[str, str]] = Counter()
        for cell in cells:
            steps[cell.dataset, cell.method] += cell.n_candidates + len(self.seeds)
        measured: list[Measured] = []
        found: dict[str, dict[str, Measured]] = {}
        with self._at_work(steps, progress):
            for cell in cells:
                own = found.setdefault(cell.dataset, {})
                own[cell.name] = self.measure(cell, own)
                measured.append(own[cell.name])
        return measured

    def results(self, runs: Sequence[Run], do: Doing, progress: Any = None) -> list[Result]:
        """The results of runs that choose nothing, up to the first that is not done."""
        with self._at_work(Counter((run.dataset, run.method) for run in runs), progress):
            found = (self.result(run, do) for run in runs)
            return [result for result in takewhile(lambda r: r is not None, found) if result]

    @contextmanager
    def _at_work(self, steps: Counter[tuple[str, str]], progress: Any) -> Iterator[None]:
        """Show progress while runs are executed, and let Ctrl-C end them."""
        self._steps = steps
        with as_progress(progress) as self._report, self._ctrl_c:
            if self.execute:
                self._warm_up()
            self._report.start("runs", sum(steps.values()))
            yield
            self._report.finish(f"{self.n_executed} done now")

    def measure(self, cell: Cell, found: Found | None = None) -> Measured:
        """Choose the settings of a cell, then execute its final runs."""
        before = found or {}
        n_ready = min(
            (len(before[name].finals) for name in cell.needs if name in before), default=0
        )
        if cell.needs and n_ready < len(self.seeds):
            return Measured(cell)  # something it needs is not done, and may not be
        fixed = cell.fixed(before, 0)
        chosen: dict[str, Any] = {}
        tried: list[tuple[Settings, float | None]] = []
        for candidates in cell.rounds:
            if len(candidates) == 1:  # nothing to choose
                chosen |= candidates[0]
                continue
            scores: list[tuple[Settings, float]] = []
            for candidate in candidates:
                run = self._run(cell, {**fixed, **chosen, **candidate}, 0, final=False)
                result = self.result(run, execute)
                if result is None:
                    return Measured(cell, None, tuple(tried))
                tried.append(({**chosen, **candidate}, result.validation))
                if result.validation is not None:
                    scores.append((candidate, result.validation))
            if not scores:
                raise DivergenceError(
                    f"{cell.dataset}, {cell.name}: training diverged with all candidates"
                )
            chosen |= max(scores, key=lambda pair: pair[1])[0]  # of equals the first
        finals = []
        doing = partial(execute, keep=cell.keep, probe=cell.probe)
        for seed in self.seeds:
            run = self._run(cell, {**cell.fixed(before, seed), **chosen}, seed, final=cell.final)
            result = self.result(run, doing)
            if result is None:
                break
            finals.append((run, result))
        return Measured(cell, chosen, tuple(tried), tuple(finals))

    def _run(self, cell: Cell, settings: Settings, seed: int, *, final: bool) -> Run:
        return Run(
            cell.experiment,
            cell.dataset,
            cell.method,
            settings,
            seed,
            cell.n_labels,
            self.quick is not None,
            final,
        )

    # ---- runs

    def result(self, run: Run, do: Doing) -> Result | None:
        """The result of a run: from the store, or executed now and stored; None if it may not be executed."""
        store = self.store(run.experiment)
        result = store.get(run)
        if result is not None and self.execute and not self.keep_stale and is_stale(result):
            logger.info("%s: measured with recipe %d, it is run again", run, result.recipe)
            result = None
        if result is None and self.execute and run.dataset not in self.skipped:
            try:
                context = self.context(run.dataset)
            except (TSENetError, OSError) as error:
                self._skip(run.dataset, error)
                return None
            try:
                with _quiet():
                    result = do(run, context)
            except TooFewRowsError as error:
                self._skip(f"{run.dataset} with {run.n_labels} labels", error)
                return None
            self._ctrl_c.check()  # a run cut short is not done
            store.add(run, result)
            self.n_executed += 1
            self._tell(run, result)
        elif result is not None:
            self._step(run)
        return result

    def _skip(self, what: str, error: Exception) -> None:
        if what not in self.skipped:
            self.skipped[what] = str(error)
            logger.warning("%s is left out: %s", what, error)

    def _step(self, run: Run) -> str:
        place = (run.dataset, run.method)
        self._steps[place] = max(0, self._steps[place] - 1)
        finished = [pair for store in self._stores.values() for pair in store.items()]
        seconds = time_left(self._steps, [pair for pair in finished if pair[0].quick == run.quick])
        note = "" if seconds is None else f"about {duration(seconds)} left"
        self._report.advance(note=note)
        return note

    def _tell(self, run: Run, result: Result) -> None:
        left = self._step(run)
        scores = [
            f"{name} {value:.4f}"
            for name, value in (("validation", result.validation), ("test", result.test))
            if value is not None
        ]
        logger.info(
            "%s: %s; %.1f s%s",
            run,
            ", ".join(scores) or ("diverged" if "error" in result.extra else "done"),
            result.wall_seconds,
            f"; {left}" if left else "",
        )

    def _warm_up(self) -> None:
        self._report.start("kernels (the first use on a machine compiles them)", None)
        _compile_kernels()


class CountsRunner(Runner):
    """A runner whose documents are word counts: each method weighs them itself, the paper's recipe not at all."""

    weighting = "counts"


@cache
def _compile_kernels() -> None:
    import tsenet

    tsenet.warmup()


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide what training logs of each epoch, unless the level is DEBUG: one line for each run is enough."""
    level = logger.level
    if not logger.isEnabledFor(logging.DEBUG):
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
