"""The Tox21 tasks one by one: a table of areas, and how often a method is ahead of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from reproduce import render
from reproduce.cells import Measured
from reproduce.stats import Spread, paired_seeds, spread, standing

__all__ = ["task_table"]

#: What a line of the table is, the heading, and the text above it.
_KINDS = {
    "tasks": (
        "Tox21, task by task",
        "One network for each task, trained on the compounds that were measured for it, as in the paper: mean area "
        "over the seeds. *TSE-Net (paper) ahead* counts the tasks in which its mean is larger; *minus* is the mean "
        "difference from it, with the p-value of the paired t-test over the tasks. Wilcoxon's test and the one over "
        "the seeds are in the table of the means above.",
    ),
    "folds": (
        "Tox21, the challenge's five folds",
        "One network with 12 outputs; the test rows are a fold of the training compounds, the others train, and the "
        "official test rows are not looked at: mean of the 12 areas, over the seeds. *Minus* is the mean difference "
        "over the folds, with the p-value of the paired t-test over them; folds share training compounds, so it is "
        "somewhat too small.",
    ),
}


def task_table(
    measured: Sequence[Measured],
    tasks: Sequence[str],
    reference: str,
    kind: Literal["tasks", "folds"] = "tasks",
) -> tuple[list[str], dict[str, str]]:
    """Paragraphs of the page, and figures by name.

    Parameters
    ----------
    measured : sequence of Measured
        Methods on the tasks, and maybe on other data sets.
    tasks : sequence of str
        Data sets, a line for each.
    reference : str
        The method whose wins are counted; ``tasks/fnn:wins`` is ``8 of 12``, over the dense network. The difference
        of the dense network from it is ``tasks/fnn:difference``, with ``:p`` and ``:is``.
    kind : {"tasks", "folds"}
    """
    methods: dict[str, dict[str, Measured]] = {}
    for one in measured:
        if one.cell.dataset in tasks and any(r.test is not None for r in one.results):
            methods.setdefault(one.cell.name, {})[one.cell.dataset] = one
    shown = [task for task in tasks if any(task in own for own in methods.values())]
    if not shown:
        return [], {}
    areas = {name: _areas(own) for name, own in methods.items()}
    wins = {
        name: _wins(areas[reference], own)
        for name, own in areas.items()
        if name != reference and reference in areas
    }
    body: list[render.Row] = [
        [task.removeprefix("tox21")[1:], *(_cell(own, task) for own in areas.values())]
        for task in shown
    ]
    ahead = [wins.get(name, "–") for name in methods]
    titles = [next(iter(own.values())).cell.title for own in methods.values()]
    beside = {name: _beside(areas[reference], areas[name]) for name in wins}
    minus = [f"{beside[n][0]} (p {beside[n][1]})" if n in beside else "–" for n in methods]
    ends = [["TSE-Net (paper) ahead", *ahead], ["minus TSE-Net (paper)", *minus]]
    table = render.markdown_table([kind[:-1], *titles], [*body, *ends])
    values = {f"{kind}/{name}:wins": count for name, count in wins.items()}
    for name, found in beside.items():
        named = zip((":difference", ":p", ":is"), found, strict=True)
        values |= {f"{kind}/{name}{end}": text for end, text in named}
    heading, text = _KINDS[kind]
    return [f"## {heading}", text, table], values


def _areas(own: Mapping[str, Measured]) -> dict[str, Spread]:
    found = {
        task: spread([result.test for result in one.results if result.test is not None])
        for task, one in own.items()
    }
    return {task: area for task, area in found.items() if area is not None}


def _cell(own: Mapping[str, Spread], task: str) -> str:
    return render.shown(own[task], "auc") if task in own else "not run"


def _wins(reference: Mapping[str, Spread], own: Mapping[str, Spread]) -> str:
    both = [task for task in reference if task in own]
    ahead = int(np.sum([reference[task].mean > own[task].mean for task in both]))
    return f"{ahead} of {len(both)}"


def _beside(reference: Mapping[str, Spread], own: Mapping[str, Spread]) -> tuple[str, str, str]:
    """Mean difference from the reference, its p-value, and in words."""
    both = [task for task in reference if task in own]
    found = paired_seeds([own[t].mean for t in both], [reference[t].mean for t in both])
    return (
        render.difference(found.difference, "auc"),
        render.p_in_text(found.p),
        standing(found.difference, found.p),
    )
