"""The main rows of table 3 in one small table: a line for each data set."""

from __future__ import annotations

from collections.abc import Mapping

from reproduce import render
from reproduce.stats import Spread
from reproduce.summary import CellSummary

__all__ = ["overview"]

_TEXT = (
    "*Level*, *ahead* and *behind* are beside the learned network of the same recipe for random links, else beside "
    "TSE-Net (paper); level is p ≥ .05 (for areas also over the seeds)."
)
#: Rows of the table, and what the columns are called here.
_COLUMNS = {
    "tsenet-paper": "TSE-Net (paper)",
    "random-paper": "… random links",
    "backbone-paper": "Backbone (paper)",
    "backbone-paper-random": "… random links",
    "tsenet": "TSE-Net (default)",
    "random": "… random links",
    "backbone": "Backbone (default)",
    "backbone-random": "… random links",
    "fnn": "dense, validated",
    "pruned-paper": "dense, pruned",
    "logistic": "logistic regression",
}
_SHORT = {"level with": "level", "ahead of": "ahead", "behind": "behind"}


def overview(datasets: Mapping[str, Mapping[str, CellSummary]]) -> list[str]:
    """The table and what its words mean; nothing without results.

    Parameters
    ----------
    datasets : mapping of str to (mapping of str to CellSummary)
        The rows that have results, by data set.
    """
    shown = {name: rows for name, rows in datasets.items() if set(rows) & set(_COLUMNS)}
    columns = [row for row in _COLUMNS if any(row in rows for rows in shown.values())]
    if not shown or len(columns) < 2:
        return []
    body = [[name, *(_cell(rows.get(row)) for row in columns)] for name, rows in shown.items()]
    head = ["data set", *(_COLUMNS[row] for row in columns)]
    return [render.markdown_table(head, body), _TEXT]


def _cell(line: CellSummary | None) -> str:
    if line is None or line.test is None:
        return "not run"
    score = render.shown(Spread(line.test.mean, None, line.test.n), line.metric)
    if line.against is None:
        return score
    return f"{score}, {_SHORT[line.standing]}"
