"""How the structure is learned, one change at a time: coherence of its topics, and what networks on it score.

Defaults are chosen by this table, so no run of it looks at the test rows: all scores are those of validation rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reproduce import figures, render
from reproduce.cells import Measured
from reproduce.experiment import Experiment, Request, wanted_cells
from reproduce.runner import Runner
from reproduce.runs import Result
from reproduce.scoring import Metric, unpack
from reproduce.stats import PairedComparison, Spread, paired_rows, paired_seeds, spread
from reproduce.structure_variants import (
    DEFAULT,
    NAME,
    VARIANTS,
    Variant,
    backbone_of,
    cells,
)
from reproduce.summary import by_dataset

__all__ = ["STRUCTURE", "versus"]

LABELS: tuple[int | None, ...] = (400,)


def make(runner: Runner, request: Request, progress: Any = None) -> render.ExperimentReport:
    """Measure the variants and render them."""
    quick = runner.quick is not None
    wanted = wanted_cells(request, LABELS, lambda name, n_labels: cells(name, n_labels, quick))
    measured = runner.measure_all(wanted, progress)
    paragraphs, rows, pictures = [_INTRODUCTION], [], {}
    for name, own in by_dataset(measured).items():
        for n_labels in dict.fromkeys(one.cell.n_labels for one in own):
            lines = _lines([one for one in own if one.cell.n_labels == n_labels])
            title = f"{name}, {'all' if n_labels is None else f'{n_labels:,}'} labels"
            paragraphs += [f"## {title}", render.markdown_table(_HEAD, map(_page_row, lines))]
            rows += [_file_row(line, name, n_labels) for line in lines]
            end = f"-{name.replace('/', '-')}-{'all' if n_labels is None else n_labels}"
            pictures[end] = _picture(lines)
    origin = render.validation_provenance(measured, request.command, runner.skipped)
    paragraphs += ["## Where the figures come from", origin]
    return render.ExperimentReport(
        name=NAME + ("-quick" if quick else ""),
        title="How the structure is learned" + (" (quick look: small data)" if quick else ""),
        paragraphs=tuple(paragraphs),
        csv={"": (_CSV_HEAD, rows), "-runs": render.runs_csv(measured)},
        figures=pictures,
    )


_INTRODUCTION = (
    "Each line changes one thing in how the structure is learned. *NPMI* is the coherence of the level-1 topics: the "
    "mean over the pairs of a latent's ten top words, by which training rows they share, then over the latents. "
    "*Clear words* leaves out words that tell less than a tenth of what the first one tells, as `tsenet topics` does; "
    "many of these fit no group and were attached to the latent that tells most about them. Groups of two words are "
    "easily coherent, so see the number of latents too. *Backbone* is the network of the structure alone, *TSE-Net* "
    "has skip-paths and linear skips as well. Both are scored on validation rows: the table serves to choose "
    "defaults, so nothing in it has seen the test rows. Mean ± standard deviation over seeds; beside it the "
    "difference to the first line, in points, and its two-sided p-value (paired over rows and seeds, not corrected "
    "for the number of lines). *Latents* are those of the first seed, from level 1 up. CPU seconds are those of the "
    "structure, and of both networks without it."
)
_HEAD = (
    "variant", "NPMI", "clear words", "latents", "links", "Backbone", "difference (p)", "TSE-Net",
    "difference (p)", "structure, CPU s", "networks, CPU s",
)  # fmt: skip
_CSV_HEAD = (
    "dataset", "n_labels", "variant", "change", "seeds", "npmi", "npmi_sd", "npmi_clear",
    "npmi_clear_sd", "latents", "links", "backbone", "backbone_sd", "backbone_minus_default",
    "backbone_p", "tsenet", "tsenet_sd", "tsenet_minus_default", "tsenet_p",
    "structure_cpu_seconds", "networks_cpu_seconds",
)  # fmt: skip


# ---- differences


def versus(one: Sequence[Result], reference: Sequence[Result]) -> PairedComparison | None:
    """Whether a variant differs from the reference on validation rows; None without a pair of scores."""
    both = [
        (a, b)
        for a, b in zip(one, reference, strict=False)
        if a.validation is not None and b.validation is not None
    ]
    if not both:
        return None
    first, second = zip(*both, strict=True)
    if _metric(first) == "accuracy":
        return paired_rows(*(np.stack([_right(r) for r in results]) for results in (first, second)))
    return paired_seeds([r.validation for r in first], [r.validation for r in second])


def _right(result: Result) -> Any:
    on_validation = result.extra["on_validation"]
    return unpack(on_validation["right"], on_validation["n_rows"])


def _metric(results: Sequence[Result]) -> Metric:
    return (
        "auc" if any("areas" in r.extra.get("on_validation", {}) for r in results) else "accuracy"
    )


# ---- lines of the table


@dataclass(frozen=True)
class _Score:
    """A network's validation score over the seeds, and how it differs from that on the default structure."""

    metric: Metric
    value: Spread | None
    against: PairedComparison | None


@dataclass(frozen=True)
class _Line:
    """A variant in a few numbers."""

    variant: Variant
    seeds: int
    npmi: Spread | None
    npmi_clear: Spread | None
    latents: tuple[int, ...]
    links: float
    backbone: _Score
    tsenet: _Score
    structure_seconds: float
    network_seconds: float


def _lines(group: Sequence[Measured]) -> list[_Line]:
    """The variants of one data set and number of labels of which there are results."""
    results = {
        one.cell.name: tuple(r for r in one.results if r.validation is not None) for one in group
    }
    lines = []
    for variant in VARIANTS:
        backbone = results.get(backbone_of(variant.name), ())
        tsenet = results.get(variant.name, ())
        either = backbone or tsenet  # both have the same structure
        if not either:
            continue
        networks = [own for own in (backbone, tsenet) if own]
        lines.append(
            _Line(
                variant,
                len(either),
                _spread_of("npmi", either),
                _spread_of("npmi_clear", either),
                tuple(either[0].extra["layers"][1:]),
                _mean([r.extra["links"] for r in either]),
                _score(variant, backbone, results.get(backbone_of(DEFAULT.name), ())),
                _score(variant, tsenet, results.get(DEFAULT.name, ())),
                _mean([r.extra["shared_cpu_seconds"] for r in either]),
                sum(
                    _mean([r.cpu_seconds - r.extra["shared_cpu_seconds"] for r in own])
                    for own in networks
                ),
            )
        )
    return lines


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _spread_of(name: str, results: Sequence[Result]) -> Spread | None:
    found = [result.extra[name] for result in results]
    return spread([value for value in found if value is not None])


def _score(variant: Variant, own: Sequence[Result], default: Sequence[Result]) -> _Score:
    return _Score(
        _metric(own),
        spread([result.validation for result in own if result.validation is not None]),
        None if variant is DEFAULT else versus(own, default),
    )


def _page_row(line: _Line) -> render.Row:
    return [
        line.variant.title,
        *(render.shown(x, "npmi").replace("-", "−") for x in (line.npmi, line.npmi_clear)),
        "-".join(map(str, line.latents)),
        f"{line.links:,.0f}",
        *(text for score in (line.backbone, line.tsenet) for text in _shown(score)),
        f"{line.structure_seconds:.1f}",
        f"{line.network_seconds:.1f}",
    ]


def _shown(score: _Score) -> tuple[str, str]:
    against = score.against
    if against is None:
        return render.shown(score.value, score.metric), "–"
    text = render.difference(against.difference, score.metric)
    return render.shown(score.value, score.metric), f"{text} ({render.p_value(against.p)})"


def _file_row(line: _Line, dataset: str, n_labels: int | None) -> render.Row:
    values = [
        dataset,
        "all" if n_labels is None else n_labels,
        line.variant.name,
        json.dumps(dict(line.variant.change)),
        line.seeds,
        *_two(line.npmi),
        *_two(line.npmi_clear),
        "-".join(map(str, line.latents)),
        round(line.links),
        *_two(line.backbone.value),
        *_two(line.backbone.against),
        *_two(line.tsenet.value),
        *_two(line.tsenet.against),
        round(line.structure_seconds, 1),
        round(line.network_seconds, 1),
    ]
    return ["" if value is None else value for value in values]


def _two(found: Spread | PairedComparison | None) -> tuple[float | None, float | None]:
    """Mean and deviation, or difference and p-value."""
    return (None, None) if found is None else (found[0], found[1])


def _picture(lines: Sequence[_Line]) -> Any:
    """Dots: coherence, Backbone, TSE-Net."""
    kind = {"accuracy": "accuracy", "auc": "area under the curve"}
    panels = {
        "NPMI of the topics": [line.npmi for line in lines],
        "NPMI, clear words": [line.npmi_clear for line in lines],
        f"Backbone: validation {kind[lines[0].backbone.metric]}": [
            line.backbone.value for line in lines
        ],
        f"TSE-Net: validation {kind[lines[0].tsenet.metric]}": [
            line.tsenet.value for line in lines
        ],
    }
    drawn = {
        title: [
            figures.Dot(line.variant.title, found.mean, found.sd)
            for line, found in zip(lines, own, strict=True)
            if found is not None
        ]
        for title, own in panels.items()
    }
    drawn = {title: own for title, own in drawn.items() if own}
    return figures.dots(drawn, "mean ± standard deviation over seeds")


STRUCTURE = Experiment(
    NAME, "How the structure is learned", ("ag_news", "20newsgroups_headers"), make
)
