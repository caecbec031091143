"""Execute one run: train, score, and record what it cost."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reproduce.code import packed
from reproduce.runs import Result, Run, versions
from reproduce.sources import note_files, recorded_files
from tsenet.errors import DivergenceError

if TYPE_CHECKING:
    from reproduce.cells import Probe
    from reproduce.dataset_context import DatasetContext

__all__ = ["execute", "with_source"]


def execute(
    run: Run, shared: DatasetContext, *, keep: bool = False, probe: Probe | None = None
) -> Result:
    """Execute a run: train, score on validation rows, and on test rows if its settings are final."""
    import reproduce.rivals  # noqa: F401  # before the recording: what its import calls is no part of the run

    with recorded_files() as files:
        note_files(shared.loaded_by)
        result = _train_and_score(run, shared, keep, probe)
    return with_source(run, result, files)


def with_source(run: Run, result: Result, files: set[str]) -> Result:
    """The result with the versions and source files that it depends on."""
    return replace(
        result,
        versions=versions(run, files),
        extra={**result.extra, "source": packed(files)},
    )


def _train_and_score(run: Run, shared: DatasetContext, keep: bool, probe: Probe | None) -> Result:
    from reproduce import scoring
    from reproduce.methods import METHODS
    from reproduce.rivals import n_parameters
    from reproduce.run_context import RunContext

    dataset = shared.dataset
    context = RunContext(shared, run)
    spent, cpu, wall = shared.spent, time.process_time(), time.perf_counter()
    try:
        model = context.kept_model() if keep else METHODS[run.method](context)
    except DivergenceError as error:
        took = (time.process_time() - cpu, time.perf_counter() - wall)
        return Result(None, None, 0, *took, extra={"error": str(error)})
    own = time.process_time() - cpu - (shared.spent - spent)
    wall = time.perf_counter() - wall
    extra: dict[str, Any] = {
        "n_train": len(dataset.train),
        "shared_cpu_seconds": context.charged,
        **context.notes,
    }
    test = None
    if run.final:
        score = scoring.score_on(model, dataset.test, dataset)
        test = score.value
        extra |= scoring.kept(score)
        clean = scoring.without(model, dataset.test, dataset, dataset.card.in_training)
        if clean is not None:
            extra["test_without_duplicates"] = clean
    extra |= {} if probe is None else probe(model, context)
    return Result(
        validation=scoring.score_on(model, dataset.validation, dataset).value,
        test=test,
        n_parameters=int(n_parameters(model)),
        cpu_seconds=own + context.charged,
        wall_seconds=wall,
        extra=extra,
    )
