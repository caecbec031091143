"""From stored runs to numbers and tables: means, paired differences with 95 % intervals, and verdicts.

Three seeds are too few for an interval over seeds alone, and many test rows alone would ignore that another seed gives
another model. Where it is known which rows were right, an interval therefore covers both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from reproduce.data import DATA
from reproduce.experiments import (
    DENSITIES,
    EXPERIMENTS,
    HEADLINE_SEEDS,
    LINK_RULES,
    TEXT,
    WIRINGS,
    Experiment,
)
from reproduce.grid import BEST, best_shape, ranked_on, resolved, scores_of_shapes, weighting_of
from reproduce.markdown import table
from reproduce.paper import INTERPRETABILITY, PAPER_SHAPES, PUBLISHED, TABLE3
from reproduce.rivals import title_of
from reproduce.runs import RUNS, Run, is_current, last_change, read_runs, unpack

__all__ = ["TABLES", "Estimate", "Results", "compare", "estimate", "holm", "over", "task_scores"]

CONFIDENCE = 0.95
HALF_A_POINT = 0.005  # an interval within ± this counts as level
VERDICTS = ("ahead", "level", "cannot tell", "behind")
TOPICS = RUNS.with_name("topics.csv")
WORD_VECTORS = {"google": "Google News", "glove": "GloVe"}
TOP = "_top"  # ends the fields about the tree's top units
THIRDS = ("top", "middle", "bottom")  # of an image
FEWEST_TASKS = 6  # from which several areas are compared over tasks


class Estimate(NamedTuple):
    """A mean or a mean difference with its 95 % interval (NaN where it cannot be told) and p-value against 0."""

    value: float
    low: float
    high: float
    p: float

    @property
    def verdict(self) -> str:
        """In words: ahead, behind, level (within half a point), or cannot tell."""
        if self.low > 0:
            return "ahead"
        if self.high < 0:
            return "behind"
        if self.low > -HALF_A_POINT and self.high < HALF_A_POINT:
            return "level"
        return "cannot tell"


def estimate(runs: Sequence[Run]) -> Estimate:
    """Return the mean score of the runs of one rival, one per seed."""
    if all("right" in run for run in runs):
        return _over_rows_and_seeds(np.stack([unpack(run["right"]) for run in runs]).astype(float))
    return over(np.array([run["score"] for run in runs]))


def compare(first: Sequence[Run], second: Sequence[Run]) -> Estimate | None:
    """Return the mean difference, first minus second, paired by seed; None without a common seed.

    Accuracies are paired over rows and seeds, areas of several tasks over the tasks, other scores over seeds.
    """
    by_seed = {run["seed"]: run for run in second}
    pairs = [(run, by_seed[run["seed"]]) for run in first if run["seed"] in by_seed]
    if not pairs:
        return None
    if all("right" in run for pair in pairs for run in pair):
        ours, theirs = (np.stack([unpack(pair[k]["right"]) for pair in pairs]) for k in (0, 1))
        return _over_rows_and_seeds(ours.astype(float) - theirs)
    areas = [[pair[k].get("areas", []) for pair in pairs] for k in (0, 1)]
    if all(len(row) >= FEWEST_TASKS for side in areas for row in side):
        return over(np.mean(areas[0], axis=0) - np.mean(areas[1], axis=0))
    return over(np.array([a["score"] - b["score"] for a, b in pairs]))


def _over_rows_and_seeds(each: NDArray[np.float64]) -> Estimate:
    """Estimate the mean of numbers (seeds, rows), both of which vary by chance.

    The variance is that over rows, of the seeds' mean, plus that over seeds, with the degrees of freedom of Welch and
    Satterthwaite. What is left once rows and seeds are taken into account counts twice: the interval is conservative.
    """
    n_seeds, n_rows = each.shape
    by_row = each.mean(axis=0).var(ddof=1) / n_rows
    by_seed = each.mean(axis=1).var(ddof=1) / n_seeds if n_seeds > 1 else 0.0
    variance = by_row + by_seed
    freedom = 1.0
    if variance > 0:
        freedom = variance**2 / (by_row**2 / (n_rows - 1) + by_seed**2 / max(1, n_seeds - 1))
    return _interval(float(each.mean()), float(np.sqrt(variance)), freedom)


def over(values: NDArray[np.float64]) -> Estimate:
    """Estimate a mean over seeds or tasks by Student's t."""
    if values.size < 2:
        return Estimate(float(values.mean()), float("nan"), float("nan"), float("nan"))
    error = values.std(ddof=1) / np.sqrt(values.size)
    return _interval(float(values.mean()), float(error), values.size - 1)


def _interval(mean: float, error: float, freedom: float) -> Estimate:
    if error == 0:
        return Estimate(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, freedom))
    return Estimate(mean, mean - reach, mean + reach, p)


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust p-values for their number by Holm's method."""
    order = np.argsort(ps)
    adjusted = np.empty(len(ps))
    largest = 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[k]))
        adjusted[k] = largest
    return adjusted.tolist()


# ---- stored results


@dataclass(frozen=True)
class Results:
    """The stored runs by what they measure: data set, rival, labels, part and measure."""

    cells: dict[tuple[Any, ...], list[Run]]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Results:
        """Group runs by cell: all current ones if there are any, else those of the latest recipe."""
        by_seed: dict[tuple[Any, ...], dict[int, Run]] = {}
        latest: dict[tuple[Any, ...], int] = {}
        for run in sorted(runs, key=lambda run: (run["recipe"], run["seed"])):
            key = (run["data"], run["rival"], run["labels"], run["part"], run["measure"])
            recipe = min(run["recipe"], last_change(run["data"], run["rival"]))
            if latest.get(key) != recipe:
                latest[key] = recipe
                by_seed[key] = {}
            by_seed[key][run["seed"]] = run
        return cls({key: [group[s] for s in sorted(group)] for key, group in by_seed.items()})

    @classmethod
    def stored(cls, path: Path = RUNS) -> Results:
        """Read all stored runs."""
        return cls.of(read_runs(path))

    def runs(self, experiment: str, data: str, labels: int | None, rival: str) -> list[Run]:
        """Return the runs of a cell as an experiment measures it; empty if it is not measured.

        ``best`` in the name of a rival is the dense shape that was chosen for the data set.
        """
        definition = EXPERIMENTS[experiment]
        if BEST in rival:
            rival = resolved(rival, data, self.stored_runs()) or rival
        return self.cells.get((data, rival, labels, definition.part, definition.measure), [])

    def stored_runs(self) -> list[Run]:
        """Return all runs, whatever they measure."""
        return [run for group in self.cells.values() for run in group]

    def value(self, key: str) -> str:
        """Return a number for a text.

        ``few-labels/ag_news/100/tsenet`` is a score, ``…/tsenet-vs-logistic`` a difference (first minus second). After
        a space may follow: ``interval`` or ``verdict`` of a difference; ``parameters``, ``share-of-RIVAL`` (of the
        parameters), ``cpu``, ``seeds`` or ``vectors-FILE`` (the interpretability by a file of word
        vectors, or the difference of two, ± half its interval over the seeds).

        ``tox21/*/all/…`` is the mean of all tasks, and ``better`` on how many of them the first is ahead. With ``*``
        for the data sets of another experiment, a number is the range over those that were measured, and ``verdict``
        says on how many it is which.
        ``mnist/mnist/all/tree`` has shares of each level: ``connected``, ``by_chance`` and ``wide-top``, ``-middle``,
        ``-bottom``. ``topics/20newsgroups/tsenet/1 nmi`` is a score of a level of topics.

        Raises
        ------
        KeyError
            If nothing is stored for the key.
        """
        if key.startswith("topics/"):
            path, _, column = key.rpartition(" ")
            _, corpus, model, level = path.split("/")
            levels = _topics(corpus, model).set_index("level")
            return _topic_score(column, levels[column][int(level)])
        path, _, what = key.partition(" ")
        start, count, rival = path.rsplit("/", 2)
        experiment, _, data = start.partition("/")
        labels = None if count == "all" else int(count)
        first, _, second = rival.partition("-vs-")
        if data == "*":
            if experiment == "tox21":
                return self._value_of_tasks(EXPERIMENTS[experiment], first, second, what)
            return self._range_over_sets(experiment, f"{count}/{rival}", what)
        runs = self.runs(experiment, data, labels, first)
        if not runs:
            raise KeyError(f"no stored run for {key!r}")
        if what == "parameters":
            return counted(_mean(runs, "parameters"))
        if experiment == "mnist":
            return " / ".join(f"{share:.0%}" for share in pixel_shares(runs, what))
        if what == "cpu":
            return f"{_mean(runs, 'cpu'):.0f}"
        if what == "seeds":
            return str(len(runs))
        if what.startswith("share-of-"):
            other = self.runs(experiment, data, labels, what.removeprefix("share-of-"))
            if not other:
                raise KeyError(f"no stored run for {key!r}")
            return f"{100 * _mean(runs, 'parameters') / _mean(other, 'parameters'):.1f} %"
        if what.startswith("vectors-"):
            file = what.removeprefix("vectors-")
            if second:
                return _lead_of_vectors(runs, self.runs(experiment, data, labels, second), file)
            return f"{_of_vectors(runs, 'interpretability', file).mean():.4f}"
        metric = runs[0]["metric"]
        if not second:
            return shown(estimate(runs).value, metric)
        difference = compare(runs, self.runs(experiment, data, labels, second))
        if difference is None:
            raise KeyError(f"no stored run for {key!r}")
        if what == "interval":
            return interval(difference, metric)
        return difference.verdict if what == "verdict" else signed(difference.value, metric)

    def _range_over_sets(self, experiment: str, cell: str, what: str) -> str:
        """Return the lowest and the highest of a number over the data sets, or how many have which verdict."""
        found = []
        for data in EXPERIMENTS[experiment].data:
            try:
                found.append(self.value(f"{experiment}/{data}/{cell} {what}".rstrip()))
            except KeyError:
                continue  # not measured on this set
        if not found:
            raise KeyError(f"no stored run for {experiment}/*/{cell}")
        if what == "verdict":
            counts = Counter(found)
            return ", ".join(
                f"{verdict} on {counts[verdict]}" for verdict in VERDICTS if verdict in counts
            )
        unit = " %" if found[0].endswith(" %") else ""
        numbers = [text.partition(" ")[0] for text in found]
        ends = [pick(numbers, key=_number) for pick in (min, max)]
        return " to ".join(dict.fromkeys(ends)) + unit

    def _value_of_tasks(self, experiment: Experiment, first: str, second: str, what: str) -> str:
        """Return the mean of the areas of all tasks, or of their differences."""
        areas = task_scores(self, experiment)
        if not {first, second or first} <= areas.keys():
            raise KeyError(f"no stored run of all tasks for {first!r} and {second!r}")
        if not second:
            return shown(float(areas[first].mean()), "auc")
        if what == "better":
            return _n_better(areas[first].mean(axis=0), areas[second].mean(axis=0))
        lead = tasks_lead(areas, first, second)
        if what == "interval":
            return interval(lead, "auc")
        return lead.verdict if what == "verdict" else signed(lead.value, "auc")


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def _mean(runs: Sequence[Run], name: str) -> float:
    return float(np.mean([run[name] for run in runs]))


# ---- how numbers look


def shown(value: float, metric: str) -> str:
    """Format a score: accuracies in percent, others as they are."""
    return f"{100 * value:.2f}" if metric == "accuracy" else f"{value:.4f}"


def score_of(runs: Sequence[Run]) -> str:
    """Format the mean score of runs; a dagger marks those of an earlier recipe."""
    return shown(estimate(runs).value, runs[0]["metric"]) + dagger(runs)


def dagger(runs: Sequence[Run]) -> str:
    """Return the mark of runs of an earlier recipe, which is empty for others."""
    return "" if all(map(is_current, runs)) else "†"


def signed(value: float, metric: str) -> str:
    """Format a difference with its sign: accuracies in points."""
    text = f"{100 * value:+.2f}" if metric == "accuracy" else f"{value:+.4f}"
    return text.replace("-", "−")


def interval(difference: Estimate, metric: str) -> str:
    """Format the interval of a difference."""
    if np.isnan(difference.low):
        return "one seed"
    return f"{signed(difference.low, metric)} to {signed(difference.high, metric)}"


def counted(number: float) -> str:
    """Format a number of parameters."""
    if number >= 1e6:
        return f"{number / 1e6:.2f} M"
    return f"{number / 1e3:.0f} K" if number >= 1e4 else f"{number:,.0f}"


# ---- tables


def scores_table(
    results: Results, experiment: str, labels: int | None, data: str = "", rivals: str = ""
) -> str:
    """Scores of rivals (rows) on data sets (columns), with the interval of the difference from the reference.

    All rows have the same seeds: what was measured with more of them is in the headline table.
    """
    definition = EXPERIMENTS[experiment]
    rows = rivals.split(",") if rivals else definition.rivals
    columns = [name for name in definition.data if not data or name in data.split(",")]
    columns = [
        name
        for name in columns
        if any(results.runs(experiment, name, labels, rival) for rival in rows)
    ]
    body = []
    for rival in rows:
        cells = [
            _score_cell(results, experiment, name, labels, rival, definition.n_seeds)
            for name in columns
        ]
        if any(cell != "–" for cell in cells):
            body.append([title_of(rival), *cells])
    return table(["", *(name.partition("@")[0] for name in columns)], body)


def _score_cell(
    results: Results, experiment: str, data: str, labels: int | None, rival: str, n_seeds: int
) -> str:
    definition = EXPERIMENTS[experiment]
    runs, reference = (
        [run for run in results.runs(experiment, data, labels, name) if run["seed"] < n_seeds]
        for name in (rival, definition.reference)
    )
    if not runs:
        return "–"
    text = score_of(runs)
    if rival == definition.reference or not reference:
        return text
    difference = compare(runs, reference)
    return text if difference is None else f"{text} ({interval(difference, runs[0]['metric'])})"


def changes_table(results: Results, experiment: str, labels: str) -> str:
    """Scores of the reference on data sets (columns); then how far, in points, each other rival is from it.

    The last column is the mean over the sets that were measured, with its 95 % interval over them. A difference has
    the seeds that both have.
    """
    definition = EXPERIMENTS[experiment]
    count = None if labels == "all" else int(labels)

    def measured(rival: str) -> dict[str, list[Run]]:
        cells = {data: results.runs(experiment, data, count, rival) for data in definition.data}
        return {data: runs for data, runs in cells.items() if runs}

    reference = measured(definition.reference)
    scores = {data: estimate(runs).value for data, runs in reference.items()}
    body: list[list[str]] = [
        [
            title_of(definition.reference),
            *(score_of(runs) for runs in reference.values()),
            shown(float(np.mean(list(scores.values()))), "accuracy") if scores else "–",
            str(len(scores)),
        ]
    ]
    for rival in definition.rivals:
        cells = measured(rival)
        found = {data: compare(cells.get(data, []), runs) for data, runs in reference.items()}
        differences = np.array([each.value for each in found.values() if each is not None])
        if rival == definition.reference or not differences.size:
            continue
        mean = over(differences)
        body.append(
            [
                title_of(rival),
                *(
                    "–" if each is None else signed(each.value, "accuracy") + dagger(cells[data])
                    for data, each in found.items()
                ),
                f"{signed(mean.value, 'accuracy')} ({interval(mean, 'accuracy')})",
                str(differences.size),
            ]
        )
    seeds = [str(len(runs)) for runs in reference.values()]
    body.append(["seeds", *seeds, "", ""])
    names = [data.removeprefix("paper-").partition("@")[0] for data in reference]
    return table(["", *names, "mean", "sets"], body)


def links_table(results: Results) -> str:
    """Learned minus random links of the same network, in points, by network and number of labels."""

    def cell(experiment: str, data: str, labels: int | None, network: str) -> str:
        pair = [
            results.runs(experiment, data, labels, f"{network}{links}") for links in ("", "-random")
        ]
        lead = compare(*pair)
        if lead is None:
            return "–"
        points = signed(lead.value, "accuracy") + dagger(_paired(*pair))
        return f"{points} ({interval(lead, 'accuracy')})"

    body = []
    for network in ("tsenet", "backbone"):
        for labels in (100, 400, None):
            experiment = "few-labels" if labels else "all-labels"
            cells = [cell(experiment, data, labels, network) for data in TEXT]
            body.append([f"{title_of(network)}, {labels or 'all'} labels", *cells])
    return table(["", *TEXT], body)


def headline_table(results: Results, labels: str) -> str:
    """The main comparisons of the few-labels experiment, with their number taken into account by Holm's method.

    A star marks a difference from the reference that is significant at 5 % among all of them.
    """
    definition = EXPERIMENTS["few-labels"]
    differences: dict[tuple[str, str, int | None], Estimate] = {}
    for count in definition.headline_labels:
        for data in definition.data:
            reference = results.runs("few-labels", data, count, definition.reference)
            for rival in definition.headline:
                runs = results.runs("few-labels", data, count, rival)
                found = compare(runs, reference) if rival != definition.reference else None
                if found is not None and not np.isnan(found.p):
                    differences[rival, data, count] = found
    adjusted = holm([found.p for found in differences.values()])
    significant = {key for key, p in zip(differences, adjusted, strict=True) if p < 1 - CONFIDENCE}
    n_labels = int(labels)
    body = []
    for rival in definition.headline:
        cells = []
        for data in definition.data:
            text = _score_cell(results, "few-labels", data, n_labels, rival, HEADLINE_SEEDS)
            cells.append(f"{text}{' *' * ((rival, data, n_labels) in significant)}")
        if any(cell != "–" for cell in cells):
            body.append([title_of(rival), *cells])
    return table(["", *definition.data], body)


def overview_table(results: Results, labels: str, data: str, rivals: str) -> str:
    """Scores without intervals over the seeds that all have, and the mean CPU seconds and parameters of each rival."""
    names = data.split(",")
    cells = {
        rival: [results.runs("few-labels", name, int(labels), rival) for name in names]
        for rival in rivals.split(",")
    }
    n_seeds = min(len(runs) for row in cells.values() for runs in row)
    body = []
    for rival, row in cells.items():
        scores = [score_of([run for run in runs if run["seed"] < n_seeds]) for runs in row]
        runs = [run for found in row for run in found]
        cost = (f"{_mean(runs, 'cpu'):.0f}", counted(_mean(runs, "parameters")))
        body.append([title_of(rival), *scores, *cost])
    return table(["", *(DATA[name].title for name in names), "CPU s", "parameters"], body)


def topics_table(results: Results, corpora: str, columns: str) -> str:
    """Scores of hierarchies of topics on corpora, the top level first, from ``docs/results/topics.csv``.

    Of several corpora, each row begins with the name of one.
    """
    del results
    shown_columns = columns.split(",")
    names = corpora.split(",")
    body = []
    for name in names:
        for model, levels in _topics(name).groupby("model", sort=False):
            cells = []
            for column in shown_columns:
                values = [_topic_score(column, value) for value in levels[column]]
                cells.append(values[0] if len(set(values)) == 1 else " / ".join(values))
            title = [DATA[name.partition("@")[0]].title] if len(names) > 1 else []
            body.append([*title, model, *cells])
    titles = {
        "n_topics": "topics",
        "cpu_s": "CPU s",
        "pccx": "PCCx",
        "npmi_zero": "NPMI (0)",
        **{k: k.upper() for k in ("npmi", "nmi", "ami")},
    }
    head = [""] * (2 if len(names) > 1 else 1)
    return table([*head, *(titles.get(column, column) for column in shown_columns)], body)


def _topics(corpus: str, model: str | None = None) -> pd.DataFrame:
    """Stored scores of the levels of topics of a corpus, of all models or one."""
    scores = pd.read_csv(TOPICS)
    return scores[(scores["corpus"] == corpus) & (scores["model"].eq(model) | (model is None))]


def _topic_score(column: str, value: float) -> str:
    if np.isnan(value):
        return "–"
    if column in ("n_topics", "cpu_s", "mb"):
        return f"{value:.0f}"
    return f"{value:.3f}".replace("0.", ".", 1).replace("-", "−")


def paper_table(results: Results, experiment: Experiment, data: str) -> str:
    """Table 3 on one data set: mean and deviation over seeds, the paper's, parameters, difference from the reference.

    The networks of the experiment come first, then others that were measured on the same features.
    """
    published = TABLE3.get(PUBLISHED.get(data.partition("@")[0], ""), {})
    block = weighting_of_table(experiment.reference)
    stored = [
        key[1] for key in results.cells if (key[0], *key[2:]) == (data, None, "test", "score")
    ]
    runs_of_data = [run for key, group in results.cells.items() if key[0] == data for run in group]
    few = [run for key, group in results.cells.items() if key[3] == "validation" for run in group]
    declared = [resolved(rival, data, [*runs_of_data, *few]) for rival in experiment.rivals]
    others = [name for name in stored if weighting_of_table(name) == block]
    dense = resolved(f"fnn:best:weighting={block}", data, [*runs_of_data, *few])
    measured = [name for name in stored if name.startswith("fnn:") and name.endswith(block)]
    if dense not in measured and len(measured) == 1:
        dense = measured[0]
    of_dense = results.cells.get((data, dense, None, "test", "score"))
    reference = results.cells.get((data, experiment.reference, None, "test", "score"), [])

    body, n_seeds = [], {}
    for rival in dict.fromkeys(name for name in [*declared, *others] if name in stored):
        runs = results.cells[data, rival, None, "test", "score"]
        scores = 100 * np.array([run["score"] for run in runs])
        deviation = f" ± {scores.std(ddof=1):.2f}" if scores.size > 1 else ""
        n_parameters = _mean(runs, "parameters")
        share = f" ({n_parameters / _mean(of_dense, 'parameters'):.1%})" if of_dense else ""
        # the paper's dense network is the best of its grid: no figure stands beside another shape, pruned or not
        chosen = rival in (dense, *declared) or not rival.startswith(("fnn", "pruned"))
        compares = block == "counts" and chosen
        theirs = published.get(_published_name(rival)) if compares else None
        difference = compare(runs, reference) if rival != experiment.reference else None
        lead = "–"
        if difference is not None:
            points = signed(difference.value, "accuracy")
            lead = f"{points} ({interval(difference, 'accuracy')})"
        title = _paper_title(rival, block)
        n_seeds[title] = scores.size
        body.append(
            [
                title,
                f"{scores.mean():.2f}{deviation}{dagger(runs)}",
                "–" if theirs is None else f"{100 * theirs.score:.2f} ± {100 * theirs.sd:.2f}",
                lead,
                f"{counted(n_parameters)}{share}",
                "–" if theirs is None else counted(theirs.n_parameters),
            ]
        )
    if not body:
        return f"{DATA[data.partition('@')[0]].title}: not measured yet."
    head = ["", "here", "the paper", f"minus {_paper_title(experiment.reference, block)}"]
    text = table([*head, "parameters", "the paper's"], body)
    most = max(n_seeds.values())
    fewer = [f"{title} {n}" for title, n in n_seeds.items() if n < most]
    return f"{text}\n\nSeeds: {'; '.join([str(most), *fewer])}."


def shapes_table(results: Results, experiment: Experiment) -> str:
    """Validation accuracy of the dense shapes (rows) on each data set: on the few rows that rank them / on all.

    The winner of a data set is bold, and ‡ marks the shape that the paper chose.
    """
    stored = results.stored_runs()
    block = weighting_of_table(experiment.reference)
    scores = {
        data: [
            scores_of_shapes(stored, rows, block) for rows in dict.fromkeys([ranked_on(data), data])
        ]
        for data in experiment.data
    }
    if not any(any(found) for found in scores.values()):
        return "The dense shapes: not measured yet."

    def cell(data: str, shape: str) -> str:
        found = [shown(each[shape], "accuracy") if shape in each else "–" for each in scores[data]]
        text = " / ".join(found) if set(found) != {"–"} else "–"
        if text != "–" and best_shape(stored, data, block) == shape:
            text = f"**{text}**"
        return f"{text} ‡" if PAPER_SHAPES.get(data.partition("@")[0]) == shape else text

    body = [[shape, *(cell(data, shape) for data in scores)] for shape in experiment.shapes]
    return table(["", *map(_title_of_data, scores)], body)


#: What the verdict rests on: two networks, of which the difference is taken; ``fnn`` is the experiment's dense one.
COMPARISONS = (
    ("TSE-Net − FNN", "tsenet-paper", "fnn"),
    ("TSE-Net − pruned FNN", "tsenet-paper", "pruned:best:weighting=counts:rounds=1@tsenet-paper"),
    ("Backbone − TSE-Net", "backbone-paper", "tsenet-paper"),
    ("TSE-Net: learned − random links", "tsenet-paper", "tsenet-paper-random"),
    ("Backbone: learned − random links", "backbone-paper", "backbone-paper-random"),
    ("informed() − FNN", "tsenet-informed", "fnn"),
    ("informed() − TSE-Net", "tsenet-informed", "tsenet-paper"),
    ("informed(): learned − random links", "tsenet-informed", "tsenet-informed:link_rule=random"),
)


def comparisons_of(experiment: Experiment) -> list[tuple[str, str, str]]:
    """The comparisons of networks that an experiment measures."""
    named = [
        (title, *(experiment.dense if name == "fnn" else name for name in pair))
        for title, *pair in COMPARISONS
    ]
    return [
        (title, first, second)
        for title, first, second in named
        if {first, second} <= {*experiment.rivals}
    ]


def points_of(lead: Estimate, metric: str, runs: Sequence[Run]) -> str:
    """Format a difference ± half its interval, with what it rests on: one seed, an earlier recipe."""
    reach = signed(lead.high - lead.value, metric)[1:]
    few = " (1 seed)" if len({run["seed"] for run in runs}) == 1 else ""
    return f"{signed(lead.value, metric)} ± {reach}{dagger(runs)}{few}"


def differences_table(results: Results, experiment: Experiment) -> str:
    """Paired differences of Table 3 on each data set, in points ± half the 95 % interval, and the paper's below ours.

    A star marks a difference that is significant at 5 % among all of the table (Holm's method).
    """
    stored = results.stored_runs()

    def measured(data: str, rival: str) -> list[Run]:
        return results.cells.get((data, resolved(rival, data, stored), None, "test", "score"), [])

    leads: dict[tuple[str, str], tuple[Estimate, list[Run]]] = {}
    for title, first, second in comparisons_of(experiment):
        for data in experiment.data:
            pair = measured(data, first), measured(data, second)
            if (lead := compare(*pair)) is not None:
                leads[title, data] = lead, _paired(*pair)
    adjusted = holm([lead.p for lead, _ in leads.values()])
    significant = {key for key, p in zip(leads, adjusted, strict=True) if p < 1 - CONFIDENCE}

    def cell(title: str, data: str) -> str:
        if (title, data) not in leads:
            return "–"
        lead, runs = leads[title, data]
        return points_of(lead, "accuracy", runs) + " *" * ((title, data) in significant)

    def published(data: str, first: str, second: str) -> str:
        figures = TABLE3.get(PUBLISHED.get(data.partition("@")[0], ""), {})
        pair = [figures.get(_published_name(rival)) for rival in (first, second)]
        if pair[0] is None or pair[1] is None:
            return "–"
        return signed(pair[0].score - pair[1].score, "accuracy")

    if not leads:
        return f"{experiment.title}: not measured yet."
    body = []
    for title, first, second in comparisons_of(experiment):
        ours = [cell(title, data) for data in experiment.data]
        theirs = [published(data, first, second) for data in experiment.data]
        if {*ours, *theirs} != {"–"}:
            body.append([title, *ours])
        if {*theirs} != {"–"}:
            body.append(["… in the paper", *theirs])
    return table(["points", *map(_title_of_data, experiment.data)], body)


def _title_of_data(data: str) -> str:
    return DATA[data.partition("@")[0]].title.removesuffix(" (part)")


def _paired(first: Sequence[Run], second: Sequence[Run]) -> list[Run]:
    """The runs of the seeds that both have."""
    seeds = {run["seed"] for run in first} & {run["seed"] for run in second}
    return [run for run in [*first, *second] if run["seed"] in seeds]


def _paper_title(rival: str, block: str) -> str:
    """The name of a row: what all rows of the block share, and the size that pruned networks have, is left out."""
    title = title_of(rival).replace(f", weighting {block}", "").partition(", size of")[0]
    if rival.startswith("pruned"):
        cut = ", one cut" if "rounds=1" in rival else ", in six rounds"
        title = title.replace(", rounds 1", "") + cut
    return title.replace("link_rule random", "random links")


def paper_row(results: Results, data: str) -> str:
    """Table 3's four networks on one data set, ours and the paper's: one row of that table, turned."""
    stored = results.stored_runs()
    rivals = {
        "TSE-Net": "tsenet-paper",
        "Backbone": "backbone-paper",
        "dense": "fnn:best:weighting=counts",
        "pruned": "pruned:best:weighting=counts:rounds=1@tsenet-paper",
    }
    published = TABLE3[PUBLISHED[data.partition("@")[0]]]
    heads = []
    rows: dict[str, list[str]] = {"here, %": [], "in the paper, %": [], "parameters here": []}
    for title, rival in rivals.items():
        runs = results.cells.get((data, resolved(rival, data, stored), None, "test", "score"))
        if not runs:
            continue
        heads.append(title)
        theirs = published[_published_name(rival.replace(":best", ":1x1"))]
        rows["here, %"].append(score_of(runs))
        rows["in the paper, %"].append(shown(theirs.score, "accuracy"))
        rows["parameters here"].append(counted(_mean(runs, "parameters")))
    if not heads:
        return f"{DATA[data.partition('@')[0]].title}: not measured yet."
    return table(["", *heads], [[name, *row] for name, row in rows.items()])


def weighting_of_table(rival: str) -> str:
    """Return what a rival reads, for the block of Table 3 that it belongs to: the presets read counts by default."""
    if "weighting=" in rival.partition("@")[0]:
        return weighting_of(rival)
    return "counts" if re.match("(tsenet|backbone)-(paper|informed)", rival) else "tfidf"


def _published_name(rival: str) -> str:
    """The paper's row for a rival, if it is one of the paper's own methods."""
    if re.fullmatch("fnn:[^:]*(:weighting=counts)?", rival):
        return "fnn"
    if rival.startswith("pruned") and "rounds=1" in rival:
        return "pruned@tsenet-paper"
    return rival


def task_scores(
    results: Results, experiment: Experiment, field: str = "score"
) -> dict[str, NDArray[np.float64]]:
    """Areas (seeds, tasks) of Tox21, one network for each task, by rival; only rivals measured on all tasks.

    Seeds that one of the tasks lacks are left out.
    """
    stored = results.stored_runs()
    found = {}
    for rival in experiment.rivals:
        tasks = []
        for data in experiment.data:
            key = (data, resolved(rival, data, stored), None, experiment.part, "score")
            tasks.append({run["seed"]: run[field] for run in results.cells.get(key, [])})
        if seeds := sorted(set.intersection(*map(set, tasks))):
            found[rival] = np.array([[task[seed] for task in tasks] for seed in seeds])
    return found


def tasks_lead(areas: dict[str, NDArray[np.float64]], first: str, second: str) -> Estimate:
    """Estimate the mean difference of two rivals over the tasks, each by its mean over the seeds."""
    return over(areas[first].mean(axis=0) - areas[second].mean(axis=0))


def tasks_table(results: Results, experiment: Experiment) -> str:
    """Tox21 by the paper's protocol: one network for each task; the mean has its deviation over the seeds."""
    areas = task_scores(results, experiment)
    if not areas:
        return "Tox21: not measured yet."
    published = TABLE3["tox21"]
    rivals = list(areas)
    stored = results.stored_runs()

    def by_seed(each: NDArray[np.float64]) -> str:
        means = each.mean(axis=1)
        return f"{means.mean():.4f}" + (f" ± {means.std(ddof=1):.4f}" if means.size > 1 else "")

    tasks = {rival: each.mean(axis=0) for rival, each in areas.items()}
    body: list[list[Any]] = [
        [data.partition("/")[2], *(f"{tasks[rival][k]:.4f}" for rival in rivals)]
        for k, data in enumerate(experiment.data)
    ]
    body.append(["mean", *(by_seed(areas[rival]) for rival in rivals)])
    without = task_scores(results, experiment, "without_repeated")
    body.append(["mean, no shared compounds", *(by_seed(without[rival]) for rival in rivals)])
    theirs = [published.get(_published_name(rival)) for rival in rivals]
    body.append(
        ["the paper's mean", *(f"{t.score:.4f} ± {t.sd:.4f}" if t else "–" for t in theirs)]
    )
    body.append(["seeds", *(areas[rival].shape[0] for rival in rivals)])
    cells = [
        [
            run
            for data in experiment.data
            for run in results.cells[data, resolved(rival, data, stored), None, "test", "score"]
        ]
        for rival in rivals
    ]
    body.append(["parameters", *(counted(_mean(runs, "parameters")) for runs in cells)])
    body.append(["the paper's", *(counted(t.n_parameters) if t else "–" for t in theirs)])

    heads = [
        _paper_title(rival, "counts").replace(" (best of four)", "").replace(" (paper)", "")
        + dagger(runs)
        for rival, runs in zip(rivals, cells, strict=True)
    ]
    text = table(["task", *heads], body)
    if any(map(dagger, cells)):
        text += "\n\n† Measured with an earlier recipe."
    reference = experiment.reference
    if reference not in areas:
        return text
    for rival, head in zip(rivals, heads, strict=True):
        if rival == reference:
            continue
        lead = tasks_lead(areas, reference, rival)
        text += (
            f"\n\nTSE-Net minus {head.rstrip('†')}: {signed(lead.value, 'auc')} ({interval(lead, 'auc')}), "
            f"better on {_n_better(tasks[reference], tasks[rival])} tasks."
        )
    return text


def _n_better(first: NDArray[np.float64], second: NDArray[np.float64]) -> str:
    """On how many tasks the first is better."""
    return f"{int((first > second).sum())} of {first.size}"


def interpretability_table(results: Results, experiment: Experiment, vectors: str = "") -> str:
    """Table 4: mean cosine of the words of a layer's units, by one file of word vectors, or by each of both.

    The last hidden units are a TSE-Net's feature layer and a dense network's last layer; those of a tree's top are also
    given. The paper's figures, which are by Google's vectors, stand below ours.
    """
    if not vectors:
        tables = [interpretability_table(results, experiment, name) for name in WORD_VECTORS]
        return "\n\n".join(dict.fromkeys(tables))
    stored = results.stored_runs()
    body: list[list[str]] = []
    for rival in experiment.rivals:
        names = [resolved(rival, data, stored) for data in experiment.data]
        cells = [
            results.cells.get((data, name, None, "test", "interpretability"), [])
            for data, name in zip(experiment.data, names, strict=True)
        ]
        if not any(cells):
            continue
        title = _paper_title(rival.replace(":best", ""), "counts").replace(" (best of four)", "")
        for layer, place in (("", "last hidden"), (TOP, "top of the tree")):
            if any(f"interpretability{layer}" in run for runs in cells for run in runs):
                row = [_mean_and_deviation(runs, vectors, layer) for runs in cells]
                body.append([title, place, *row])
        theirs = [
            INTERPRETABILITY[PUBLISHED[data.partition("@")[0]]].get(_published_name(str(name)))
            for data, name in zip(experiment.data, names, strict=True)
        ]
        if vectors == "google" and any(theirs):
            body.append(["", "the paper", *("–" if v is None else f"{v:.4f}" for v in theirs)])
    if not body:
        return "Table 4: not measured yet."
    for title, field in (("two random words", "chance"), ("words with a vector", "coverage")):
        row = []
        for data in experiment.data:
            found = [run for run in stored if run["data"] == data and field in run]
            value = _of_vectors(found, field, vectors).mean() if found else None
            form = "{:.4f}" if field == "chance" else "{:.0%}"
            row.append("–" if value is None else form.format(value))
        body.append([title, "", *row])
    heads = [data.removeprefix("paper-").partition("@")[0] for data in experiment.data]
    return table([f"{WORD_VECTORS[vectors]}", "layer", *heads], body)


def _of_vectors(runs: Sequence[Run], field: str, vectors: str) -> NDArray[np.float64]:
    """Return a number of each run by the word vectors whose file name begins so."""
    return np.array(
        [
            score
            for run in runs
            for file, score in run[field].items()
            if file.startswith(vectors) and score is not None
        ]
    )


def _lead_of_vectors(first: Sequence[Run], second: Sequence[Run], vectors: str) -> str:
    """The difference of the last hidden units' scores, paired by seed, ± half its interval over the seeds."""
    both = _paired(first, second)
    ours, theirs = (
        _of_vectors([run for run in side if run in both], "interpretability", vectors)
        for side in (first, second)
    )
    if not ours.size:
        raise KeyError("no stored run with word vectors and a common seed")
    lead = over(ours - theirs)
    reach = "" if np.isnan(lead.high) else f" ± {lead.high - lead.value:.3f}"
    return f"{lead.value:+.3f}".replace("-", "−") + reach


def _mean_and_deviation(runs: Sequence[Run], vectors: str, layer: str) -> str:
    scores = _of_vectors(runs, f"interpretability{layer}", vectors)
    if not scores.size:
        return "–"
    return f"{scores.mean():.4f}" + (f" ± {scores.std(ddof=1):.4f}" if scores.size > 1 else "")


def curves_table(results: Results, experiment: Experiment) -> str:
    """Accuracy by the number of training rows, or of labels, with what is stored."""

    def measured(rival: str, data: str, labels: int | None) -> list[Run]:
        return results.cells.get((data, rival, labels, "test", "score"), [])

    columns = [
        (data, labels)
        for data in experiment.data
        for labels in experiment.labels
        if any(measured(rival, data, labels) for rival in experiment.rivals)
    ]
    cells = {rival: [measured(rival, *column) for column in columns] for rival in experiment.rivals}
    body: list[list[Any]] = [
        [
            _paper_title(rival, "counts"),
            *(score_of(runs) if runs else "–" for runs in row),
        ]
        for rival, row in cells.items()
        if any(row)
    ]
    if not body:
        return f"{experiment.title}: not measured yet."
    numbers = [
        sorted({len(row[k]) for row in cells.values() if row[k]}) for k in range(len(columns))
    ]
    for title, first, second in comparisons_of(experiment):
        row = []
        for pair in zip(cells[first], cells[second], strict=True):
            lead = compare(*pair)
            row.append("–" if lead is None else points_of(lead, "accuracy", _paired(*pair)))
        if set(row) != {"–"}:
            body.append([title, *row])
    body.append(["seeds", *(" to ".join(map(str, sorted({n[0], n[-1]}))) for n in numbers)])

    def heading(data: str, labels: int | None) -> str:
        name, _, n_rows = data.removeprefix("paper-").partition("@")
        rows = f"{int(n_rows):,}" if n_rows else "all"
        if experiment.labels == (None,):
            return f"{name}, {rows} rows"
        return f"{name}, {f'{labels:,}' if labels else 'all'} labels"

    return table(["", *(heading(*column) for column in columns)], body)


def transfer_table(results: Results, experiment: Experiment) -> str:
    """Several tasks of the same rows: two kinds of labels of 20 Newsgroups, and the mean of Tox21's tasks."""
    (n_labels,) = experiment.labels
    columns = {
        "20 groups": ("20newsgroups",),
        "their six subjects": ("20newsgroups/subjects",),
        "Tox21, mean of 12 tasks": tuple(d for d in experiment.data if d.startswith("tox21/")),
    }

    def measured(rival: str, names: Sequence[str]) -> list[list[Run]]:
        found = [results.cells.get((name, rival, n_labels, "test", "score")) for name in names]
        return [cell for cell in found if cell] if all(found) else []

    def lead_of(first: str, second: str, names: Sequence[str]) -> str:
        """Over the rows and seeds of one task, or over several tasks."""
        pairs = list(zip(measured(first, names), measured(second, names), strict=False))
        leads = [compare(*pair) for pair in pairs]
        if not leads or None in leads:
            return "–"
        each = [lead for lead in leads if lead is not None]
        lead = each[0] if len(each) == 1 else over(np.array([one.value for one in each]))
        runs = [run for pair in pairs for run in _paired(*pair)]
        return points_of(lead, runs[0]["metric"], runs)

    body: list[list[Any]] = []
    for rival in experiment.rivals:
        row = []
        for names in columns.values():
            runs = [run for cell in measured(rival, names) for run in cell]
            row.append(score_of(runs) if runs else "–")
        if set(row) != {"–"}:
            body.append([_paper_title(rival, "counts"), *row])
    for title, first, second in comparisons_of(experiment):
        row = [lead_of(first, second, names) for names in columns.values()]
        if set(row) != {"–"}:
            body.append([title, *row])
    if not body:
        return f"{experiment.title}: not measured yet."
    return table(["", *columns], body)


def pixel_shares(runs: Sequence[Run], what: str) -> list[float]:
    """Return a share of each level's groups: ``connected``, ``by_chance``, or wide in a third of the image."""
    name, _, third = what.partition("-")
    each = np.array([run[name] for run in runs])  # (seeds, levels), or (seeds, levels, thirds)
    mean: list[float] = (each[..., THIRDS.index(third)] if third else each).mean(axis=0).tolist()
    return mean


def pixels_table(results: Results, experiment: Experiment) -> str:
    """MNIST: how much of each level's groups is connected, and where groups are wider than high."""
    runs = results.cells.get((experiment.data[0], "tree", None, "test", "pixels"), [])
    if not runs or "wide" not in runs[0]:
        return "MNIST: not measured yet."
    columns = ["connected", "by_chance", *(f"wide-{third}" for third in THIRDS)]
    shares = {column: pixel_shares(runs, column) for column in columns}
    body = []
    for level in range(len(runs[0]["groups"])):
        groups = ", ".join(str(run["groups"][level]) for run in runs)
        body.append([level + 1, groups, *(f"{shares[column][level]:.0%}" for column in columns)])
    thirds = [f"wide, {third}" for third in THIRDS]
    return table(["level", "groups", "connected", "by chance", *thirds], body)


def controls_table(results: Results, data: str, labels: str) -> str:
    """Backbones over different links (rows) by density (columns), with the difference from the default links."""
    count = None if labels == "all" else int(labels)
    bases = [f"backbone:link_rule={rule}" for rule in LINK_RULES]
    bases += [f"backbone-{name}" for name in WIRINGS]

    def cell(base: str, density: float) -> str:
        runs, default = (
            results.runs("controls", data, count, f"{name}:density={density}")
            for name in (base, bases[0])
        )
        if not runs:
            return "–"
        difference = None if base == bases[0] else compare(runs, default)
        score = score_of(runs)
        return score if difference is None else f"{score} ({interval(difference, 'accuracy')})"

    body = [[title_of(base), *(cell(base, density) for density in DENSITIES)] for base in bases]
    text = table(["", *(f"{density:.1%}" for density in DENSITIES)], body)
    tree = results.runs("controls", data, count, "backbone:link_rule=tree")
    return f"{text}\n\nThe bare tree, without added links: {score_of(tree)} %." if tree else text


def sizes_table(results: Results) -> str:
    """Accuracy of networks of different sizes."""
    definition = EXPERIMENTS["small-networks"]
    by_name: dict[str, dict[str, str]] = {}
    for rival in definition.rivals:
        runs = results.runs("small-networks", "ag_news", None, rival)
        base, _, size = rival.partition("@")
        if runs and size:
            by_name.setdefault(base, {})[size] = score_of(runs)
    sizes = sorted({int(size) for row in by_name.values() for size in row})
    body = [
        [title_of(base), *(row.get(str(size), "–") for size in sizes)]
        for base, row in by_name.items()
    ]
    return table(["", *(f"{size:,}" for size in sizes)], body)


#: Tables by the name in a page's marker; words after the name are arguments.
TABLES: dict[str, Callable[..., str]] = {
    "headline": headline_table,
    "overview": overview_table,
    "topics": topics_table,
    "few-labels": lambda r, n, rivals="": scores_table(r, "few-labels", int(n), "", rivals),
    "fewest-labels": lambda r, n: scores_table(r, "fewest-labels", int(n)),
    "all-labels": lambda r, rivals="": scores_table(r, "all-labels", None, "", rivals),
    "links": links_table,
    "tables": lambda r, data="": scores_table(r, "tables", None, data),
    "ablations": lambda r: scores_table(r, "ablations", None),
    "paper-links": lambda r: scores_table(r, "paper-links", None),
    "controls": controls_table,
    "changes": changes_table,
    "table3": lambda r, data: paper_table(r, EXPERIMENTS["table3"], data),
    "table3-row": paper_row,
    "table3-tfidf": lambda r, data: paper_table(r, EXPERIMENTS["table3-tfidf"], data),
    "shapes": lambda r: shapes_table(r, EXPERIMENTS["table3"]),
    "differences": lambda r: differences_table(r, EXPERIMENTS["table3"]),
    "tox21": lambda r: tasks_table(r, EXPERIMENTS["tox21"]),
    "table4": lambda r, vectors="": interpretability_table(r, EXPERIMENTS["table4"], vectors),
    "curves": lambda r: curves_table(r, EXPERIMENTS["curves"]),
    "curves-labels": lambda r: curves_table(r, EXPERIMENTS["curves-labels"]),
    "transfer": lambda r: transfer_table(r, EXPERIMENTS["transfer"]),
    "mnist": lambda r: pixels_table(r, EXPERIMENTS["mnist"]),
    "small-networks": sizes_table,
}
