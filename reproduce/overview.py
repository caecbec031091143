"""The main rows of table 3 in one small table: a line for each data set."""

from __future__ import annotations

from collections.abc import Mapping

from reproduce import render
from reproduce.stats import Spread
from reproduce.summary import CellSummary, summarise

__all__ = ["default_beside", "overview"]

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
#: What the default is compared with: rows of the table, and what the columns are called.
_RIVALS = {
    "tsenet-paper": "TSE-Net (paper)",
    "fnn": "dense, validated",
    "equal-size": "dense, of its size",
    "pruned": "dense, pruned to its size",
    "pruned-paper": "dense, pruned",
    "set-paper": "SET",
    "rigl-paper": "RigL",
    "logistic": "logistic regression",
    "forest": "random forest",
    "boosting": "boosting",
}
_BESIDE = (
    "In parentheses p-values: over test rows and seeds, for areas over the seeds. SET, RigL and the pruned network "
    "without a note have the size of TSE-Net (paper)."
)
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


def default_beside(
    datasets: Mapping[str, Mapping[str, CellSummary]],
) -> tuple[list[str], dict[str, str]]:
    """TSE-Net (default) minus each rival as a table, and the same by name: ``ag_news/default-fnn:p``."""
    values: dict[str, str] = {}
    body: list[render.Row] = []
    rivals = [
        name
        for name in _RIVALS
        if any(name in rows and "tsenet" in rows for rows in datasets.values())
    ]
    for dataset, rows in datasets.items():
        if "tsenet" not in rows or len(rows) < 2:
            continue
        cells = []
        for name in rivals:
            line = summarise(rows["tsenet"].measured, rows[name].measured) if name in rows else None
            if line is None or line.against is None:
                cells.append("–")
                continue
            gain = render.difference(line.against.difference, line.metric)
            p = line.p_over_seeds if line.metric == "auc" else line.against.p
            cells.append(f"{gain} ({render.p_value(p)})")
            key = f"{dataset}/default-{name}"
            values |= {f"{key}:difference": gain, f"{key}:p": render.p_in_text(p)}
            values[f"{key}:is"] = line.standing
        body.append([dataset, *cells])
    if not body or not rivals:
        return [], {}
    titles = [_RIVALS[name] for name in rivals]
    return [render.markdown_table(["TSE-Net (default) minus …", *titles], body), _BESIDE], values


def _cell(line: CellSummary | None) -> str:
    if line is None or line.test is None:
        return "not run"
    score = render.shown(Spread(line.test.mean, None, line.test.n), line.metric)
    if line.test.n == 1:
        return f"{score}, 1 seed"
    return score if line.against is None else f"{score}, {_SHORT[line.standing]}"
