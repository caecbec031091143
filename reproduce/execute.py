"""Execute one run: train, score, and record what it cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from reproduce.runs import Result, Run, versions
from tsenet.errors import DivergenceError

if TYPE_CHECKING:
    from reproduce.cells import Probe
    from reproduce.dataset_context import DatasetContext

__all__ = ["execute"]


def execute(
    run: Run, shared: DatasetContext, *, keep: bool = False, probe: Probe | None = None
) -> Result:
    """Execute a run: train, score on validation rows, and on test rows if its settings are final."""
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
        return Result(None, None, 0, *took, versions(), {"error": str(error)})
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
        versions=versions(),
        extra=extra,
    )
