"""Every figure on the results pages and in README is computed again from the files that are committed."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from reproduce import label_efficiency, pages, render, table3
from reproduce.runs import Result, Run, RunStore
from reproduce.stats import Spread, spread
from reproduce.suite import SUITE
from tsenet.errors import DataError

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "results"
SCORE = re.compile(r"\d+\.\d{2} % ± \d+\.\d{2}|0\.\d{4} ± 0\.\d{4}")


@pytest.fixture(scope="module")
def reports() -> dict[str, render.ExperimentReport]:
    return {report.name: report for report in pages.pages(FOLDER)}


def lines_of(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_pages_are_what_the_stored_runs_give(reports: dict[str, render.ExperimentReport]) -> None:
    """After a change, or after new runs: make results. A dagger says that code has changed, so it may come and go."""
    of_paper = {"table3", "figure-parameters", "figure-mnist", "interpretability", "verdict"}
    beyond = {"differences", "scoreboard", "few-labels", "small-networks"}
    assert set(reports) == of_paper | beyond
    for name, report in reports.items():
        written = (FOLDER / f"{name}.md").read_text("utf-8")
        assert _plain(report.markdown) == _plain(written), name
        for end, (head, rows) in report.csv.items():
            stored = lines_of(f"{name}{end}.csv")
            shown = [[str(cell) for cell in row] for row in rows]
            assert shown == [list(line.values()) for line in stored], name
            assert not stored or list(stored[0]) == [str(cell) for cell in head]


def test_every_page_opens_with_a_picture() -> None:
    opening = re.compile(r"# .+\n\n!\[.+\]\((.+\.png)\)\n\n")
    for page in FOLDER.glob("*.md"):
        if page.stem == "scoreboard-earlier":  # tables of defaults that are no more
            continue
        found = opening.match(page.read_text("utf-8"))
        assert found is not None, page.name
        assert (FOLDER / found[1]).exists(), page.name


def _plain(page: str) -> str:
    """A page without daggers and without the widths of its columns."""
    return re.sub(r" +", " ", re.sub(r"-{3,}:?", "---", page.replace(" †", "")))


def test_every_stored_run_says_what_it_is() -> None:
    for path in (FOLDER / "runs").glob("*.jsonl"):
        store = RunStore(path)
        assert store.n_torn == 0
        for run, result in store.items():
            assert result.versions["commit"], run
            assert not result.versions["commit"].endswith("+"), f"{run}: the tree was not clean"
            # The scoreboard's runs are stored under the code's digest, the others beside it.
            assert run.settings.get("code") or result.versions["code"]
            assert result.wall_seconds > 0
            if run.final and result.test is not None:
                regression = run.experiment == "scoreboard" and SUITE[run.dataset].regression
                assert regression or {"right", "areas"} & set(result.extra), run
    assert sum(path.stat().st_size for path in (FOLDER / "runs").iterdir()) < 5_000_000


def _shown(values: Iterable[float], metric: str) -> set[str]:
    """A mean and deviation as pages show them; files have six decimals, so the last digit may be its neighbour."""
    found = spread(list(values))
    assert found is not None
    shifts = (-6e-7, 0.0, 6e-7)
    return {
        render.shown(Spread(found.mean + a, None if found.sd is None else found.sd + b, 3), metric)
        for a in shifts
        for b in shifts
    }


@pytest.mark.parametrize(
    "name", ["label-efficiency", "label-efficiency-tables", "frontier", "structure"]
)
def test_scores_of_earlier_pages_are_those_of_their_runs(name: str) -> None:
    groups: dict[tuple[str, ...], list[float]] = {}
    for line in lines_of(f"{name}-runs.csv"):
        kind = (line["dataset"], line["method"], line["n_labels"])
        score = line["validation" if name == "structure" else "test"]
        groups.setdefault(kind, []).append(float(score))
    known: set[str] = set()
    if name == "frontier":  # a point is three runs in a row, whose sizes may differ
        tests = [float(line["test"]) for line in lines_of("frontier-runs.csv")]
        groups = {(str(k),): tests[k : k + 3] for k in range(0, len(tests), 3)}
    for kind, values in groups.items():
        known |= _shown(values, "auc" if kind[0].startswith("tox21") else "accuracy")
    if name == "label-efficiency-tables":
        known |= _means_of_tasks(groups)
    page = (FOLDER / f"{name}.md").read_text("utf-8")
    found = [
        score for line in page.splitlines() if line[:1] == "|" for score in SCORE.findall(line)
    ]
    if name == "structure":  # coherence is in its other file
        found = [score for score in found if "%" in score]
    assert len(found) > 20
    assert [score for score in found if score not in known] == []


def _means_of_tasks(groups: dict[tuple[str, ...], list[float]]) -> set[str]:
    tasks: dict[tuple[str, ...], list[list[float]]] = {}
    for (dataset, *kind), values in groups.items():
        if dataset in table3.TASKS:
            tasks.setdefault(tuple(kind), []).append(values)
    known: set[str] = set()
    for own in tasks.values():
        assert len(own) == 12
        known |= _shown(np.mean(own, axis=0), "auc")
    return known


def test_differences_of_the_label_efficiency_page_are_those_of_its_runs() -> None:
    means: dict[tuple[str, str, str], float] = {}
    for line in lines_of("label-efficiency.csv"):
        means[line["dataset"], line["method"], line["n_labels"]] = float(line["mean"])
    titles = {cell.title: cell.name for cell in label_efficiency.cells("", None)}
    page = (FOLDER / "label-efficiency.md").read_text("utf-8")
    checked = 0
    for dataset in ("ag_news", "20newsgroups_headers"):
        section = page.split(f"\n## {dataset}\n")[1].split("\n## ")[0]
        head, _, *body = section.split("| TSE-Net minus …")[1].splitlines()
        counts = [count.strip().replace(",", "") for count in head.split("|")[1:-1]]
        for line in body:
            title, *cells = (part.strip() for part in line.split("|")[1:-1])
            for count, cell in zip(counts, cells, strict=True):
                key = (dataset, titles[title], count)
                if cell == "–":
                    assert key not in means
                    continue
                found = means[dataset, "tsenet", count] - means[key]
                assert abs(float(cell.split()[0].replace("−", "-")) - 100 * found) < 0.0051
                checked += 1
    assert checked > 60


def test_the_lead_of_learned_links_is_that_of_the_runs(
    reports: dict[str, render.ExperimentReport],
) -> None:
    tests: dict[tuple[str, int | None, str], list[float]] = {}
    for run, result in RunStore(FOLDER / "runs" / "label-efficiency.jsonl").items():
        if run.settings == {"skip_units": 0, "linear_skip": False} and result.test is not None:
            tests.setdefault((run.dataset, run.n_labels, run.method), []).append(result.test)
    checked = 0
    for (dataset, n_labels, method), scores in tests.items():
        learned = tests.get((dataset, n_labels, "tsenet"), [])
        if method == "random" and len(learned) == len(scores):
            lead = 100 * (np.mean(learned) - np.mean(scores))
            shown = reports["few-labels"].values[f"{dataset}@{n_labels}/backbone-random:lead"]
            assert shown.startswith(f"{lead:+.2f}".replace("-", "−"))
            checked += 1
    assert checked >= 3


def test_figures_in_readme_are_those_of_the_files(
    reports: dict[str, render.ExperimentReport],
) -> None:
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    earlier: dict[tuple[str, str, str], list[float]] = {}
    for line in lines_of("runs/table3-earlier.csv"):
        key = (line["dataset"], line["method"], line["commit"])
        earlier.setdefault(key, []).append(float(line["test"]))

    def of(*key: str) -> str:
        return f"{np.mean(earlier[key]):.3f}"[1:]  # type: ignore[index]  # three strings

    assert (
        f"a pruned one had {of('tox21', 'pruned', '19ae2e9')} in an earlier measurement" in readme
    )
    tables = {
        (line["dataset"], line["method"], line["n_labels"]): float(line["tsenet_minus_method"] or 0)
        for line in lines_of("label-efficiency-tables.csv")
    }
    behind = 100 * tables["digits", "boosting", "100"]
    assert f"boosted trees are {behind:.1f} points behind at 100 labels" in readme
    rows = {(line["dataset"], line["method"]): line for line in lines_of("table3.csv")}
    area = {
        name: f"{float(rows['tox21', name]['mean']):.3f}"[1:]
        for name in ("tsenet", "random", "fnn")
    }
    assert (
        f"a mean area of {area['tsenet']}, over random links {area['random']}; a dense network has {area['fnn']}"
    ) in readme
    more = float(rows["tox21", "fnn"]["n_parameters"]) / float(
        rows["tox21", "tsenet"]["n_parameters"]
    )
    assert 5.5 < more < 6.6  # six times the parameters
    table = {name: line for (dataset, name), line in rows.items() if dataset == "ag_news"}

    def percent(method: str) -> str:
        return f"{100 * float(table[method]['mean']):.1f}"

    sizes = {name: float(line["n_parameters"]) for name, line in table.items()}
    values = reports["table3"].values
    p = {name: values[f"ag_news/default-{name}:p"] for name in ("fnn", "pruned", "logistic")}
    assert (
        f"the default has {percent('tsenet')} % with {sizes['tsenet'] / 1e3:.0f} thousand parameters, over random "
        f"links {percent('random')} % (p {values['ag_news/random:p']}). A validated dense network has "
        f"{percent('fnn')} % with {sizes['fnn'] / 1e6:.1f} million (p {p['fnn']}), pruned to our size "
        f"{percent('pruned')} % (p {p['pruned']}), logistic regression {percent('logistic')} % (p {p['logistic']})"
    ) in readme
    news = {name: line for (dataset, name), line in rows.items() if dataset == "20newsgroups"}
    ours, theirs = (f"{100 * float(news[name]['mean']):.1f}" for name in ("tsenet", "equal-size"))
    assert values["ag_news/default-equal-size:is"] == "level with"
    assert (
        f"A plain dense network of our size is level with it there ({percent('equal-size')} %, "
        f"p {values['ag_news/default-equal-size:p']}), and behind on 20 Newsgroups ({theirs} against {ours} %, "
        f"p {values['20newsgroups/default-equal-size:p']})"
    ) in readme
    alone = {
        (dataset, name): f"{100 * float(rows[dataset, name]['mean']):.1f} %"
        for dataset in ("ag_news", "20newsgroups")
        for name in ("backbone", "backbone-random")
    }
    assert (
        f"it is {alone['ag_news', 'backbone']} against {alone['ag_news', 'backbone-random']} over random links there, "
        f"and {alone['20newsgroups', 'backbone']} against {alone['20newsgroups', 'backbone-random']} on 20 Newsgroups"
    ) in readme
    assert f"The paper's own recipe has {percent('tsenet-paper')} %" in readme
    assert float(table["random-paper"]["p"]) > 0.05  # random links do as well
    assert f"half a point less ({percent('logistic')} against {percent('tsenet')} %)" in readme
    assert 0.4 < float(percent("tsenet")) - float(percent("logistic")) < 0.6
    assert 7.5 < sizes["tsenet"] / sizes["logistic"] < 8.5  # an eighth of the parameters


def test_runs_are_taken_over_once(tmp_path: Path) -> None:
    """A later run takes the place of an earlier one of the same settings; others stay."""

    def result(score: float, commit: str) -> Result:
        return Result(score, score, 1, 1.0, 1.0, {"commit": commit})

    first, second, third = (Run("table3", "d", "fnn", {}, seed) for seed in range(3))
    here, there = tmp_path / "here", tmp_path / "there"
    stored = RunStore(here / "runs" / "table3.jsonl")
    for run in (first, second):
        stored.add(run, result(0.1, "aaa"))
    new = RunStore(there / "runs" / "table3.jsonl")
    for run in (second, third):
        new.add(run, result(0.2, "bbb"))
    assert pages.take_runs(there, here) == 2
    found = RunStore(here / "runs" / "table3.jsonl")
    assert [(run.seed, r.versions["commit"]) for run, r in found.items()] == [
        (0, "aaa"),
        (1, "bbb"),
        (2, "bbb"),
    ]
    assert len((here / "runs" / "table3.jsonl").read_text("utf-8").splitlines()) == 3
    new.add(first, result(0.3, "ccc+"))
    with pytest.raises(DataError, match="differed from its commit"):
        pages.take_runs(there, here)
