"""The best dense network of the paper's grid for a data set: 21 shapes, ranked on validation rows with one seed.

All shapes are fitted to at most 4,000 rows, and the best three and the paper's own choice to all rows; a part of the
training rows scores them.
``best`` in the name of a rival stands for the winner, such as ``fnn:best:weighting=counts``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reproduce.data import DATA
from reproduce.networks import GRID
from reproduce.paper import PAPER_SHAPES
from reproduce.runs import Cell, Run, read_runs

__all__ = ["BEST", "best_shape", "ranked_on", "ranking_cells", "resolved", "scores_of_shapes"]

BEST = ":best"
RANKED_ROWS = 4_000
N_FINALISTS = 3


def ranking_cells(
    data: str, weighting: str, path: Path, shapes: Sequence[str] = GRID
) -> Iterator[Cell]:
    """Yield the cells that rank the shapes for a data set; the finalists follow from the stored runs of the others."""
    few = ranked_on(data)
    for shape in shapes:
        yield _cell(few, shape, weighting)
    if few != data:
        ranked = scores_of_shapes(read_runs(path), few, weighting)
        finalists = sorted(ranked, key=ranked.__getitem__, reverse=True)[:N_FINALISTS]
        theirs = PAPER_SHAPES.get(re.split("[@/]", data)[0], "")
        if theirs in shapes and theirs not in finalists:
            finalists.append(theirs)
        for shape in finalists:
            yield _cell(data, shape, weighting)


def best_shape(runs: Iterable[Run], data: str, weighting: str) -> str | None:
    """Return the shape with the best validation score on all rows, else on few; else the paper's own choice."""
    listed = list(runs)
    for rows in (data, ranked_on(data)):
        if scores := scores_of_shapes(listed, rows, weighting):
            return max(scores, key=scores.__getitem__)
    return PAPER_SHAPES.get(re.split("[@/]", data)[0])


def resolved(rival: str, data: str, runs: Iterable[Run]) -> str | None:
    """Replace ``best`` in a name by the best shape for a data set; None if none is known."""
    if BEST not in rival:
        return rival
    shape = best_shape(runs, data, weighting_of(rival))
    return None if shape is None else rival.replace(BEST, f":{shape}", 1)


def weighting_of(rival: str) -> str:
    """Return the weighting in a rival's name; tf-idf unless another is given."""
    changes = dict(part.partition("=")[::2] for part in rival.partition("@")[0].split(":"))
    return changes.get("weighting", "tfidf")


def ranked_on(data: str) -> str:
    """Return the data set that all shapes are ranked on: few of its rows, if it has more."""
    base, _, n_rows = data.partition("@")
    if "/" in base:  # only the rows whose label of this kind is known: always few
        return data
    n_train = int(n_rows) if n_rows else DATA[base].n_train
    return f"{base}@{RANKED_ROWS}" if n_train > RANKED_ROWS else data


def _cell(data: str, shape: str, weighting: str) -> Cell:
    return Cell(data, f"fnn:{shape}:weighting={weighting}", part="validation")


def scores_of_shapes(runs: Iterable[Run], data: str, weighting: str) -> dict[str, float]:
    """Return the stored validation scores of the dense shapes on a data set."""
    start, end = "fnn:", f":weighting={weighting}"
    return {
        run["rival"].removeprefix(start).removesuffix(end): run["score"]
        for run in runs
        if (run["data"], run["labels"], run["part"]) == (data, None, "validation")
        and run["rival"].startswith(start)
        and run["rival"].endswith(end)
    }
