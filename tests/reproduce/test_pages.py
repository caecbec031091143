"""The results pages, and README's table, show what the committed runs give, whatever recipe they were measured with."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import mean

import pytest

from reproduce import RECIPE, pages, render
from reproduce.runs import Result, Run, RunStore
from reproduce.suite import SUITE
from tsenet.errors import DataError

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "results"
README = ROOT / "README.md"


@pytest.fixture(scope="module")
def reports() -> dict[str, render.ExperimentReport]:
    return {report.name: report for report in pages.pages(FOLDER)}


def lines_of(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_pages_are_what_the_stored_runs_give(reports: dict[str, render.ExperimentReport]) -> None:
    """After new runs, or a change of how pages look: make results."""
    of_paper = {"table3", "figure-parameters", "figure-mnist", "interpretability", "verdict"}
    beyond = {"differences", "scoreboard", "few-labels", "small-networks"}
    assert set(reports) == of_paper | beyond
    for name, report in reports.items():
        written = (FOLDER / f"{name}.md").read_text("utf-8")
        assert report.markdown == written, name
        for end, (head, rows) in report.csv.items():
            stored = lines_of(f"{name}{end}.csv")
            shown = [[str(cell) for cell in row] for row in rows]
            assert shown == [list(line.values()) for line in stored], name
            assert not stored or list(stored[0]) == [str(cell) for cell in head]


def test_every_page_says_once_with_which_recipe_it_was_measured(
    reports: dict[str, render.ExperimentReport],
) -> None:
    for name, report in reports.items():
        first = report.markdown.split("\n\n")[1]
        assert {int(n) for n in re.findall(r"recipe (\d+)", first)} == {
            result.recipe for result in report.results
        }, name
        assert report.markdown.count("Measured with recipe") == 1, name


def test_every_page_opens_with_a_picture() -> None:
    opening = re.compile(r"# .+\n\n(?:Measured with .+\n\n)?!\[.+\]\((.+\.png)\)\n\n")
    for page in FOLDER.glob("*.md"):
        found = opening.match(page.read_text("utf-8"))
        assert found is not None, page.name
        assert (FOLDER / found[1]).exists(), page.name


def test_every_stored_run_says_what_it_is() -> None:
    for path in (FOLDER / "runs").glob("*.jsonl"):
        store = RunStore(path)
        assert store.n_torn == 0
        for run, result in store.items():
            assert result.versions["commit"], run
            assert not result.versions["commit"].endswith("+"), f"{run}: the tree was not clean"
            assert 1 <= result.recipe <= RECIPE
            assert result.wall_seconds > 0
            if run.final and result.test is not None:
                regression = run.experiment == "scoreboard" and SUITE[run.dataset].regression
                assert regression or {"right", "areas"} & set(result.extra), run
    assert sum(path.stat().st_size for path in (FOLDER / "runs").iterdir()) < 3_000_000


def test_the_table_in_readme_shows_the_scoreboard() -> None:
    scores: dict[tuple[str, str, str], list[float]] = {}
    for run, result in RunStore(FOLDER / "runs" / "scoreboard.jsonl").items():
        if result.test is not None:
            key = (run.dataset, str(run.n_labels or "all"), run.method)
            scores.setdefault(key, []).append(100 * result.test)
    rows = re.findall(
        r"^\| (.+?)(?: \(.+\))?, (400|all) \| (.+) \|$", README.read_text("utf-8"), re.M
    )
    names = {"StackOverflow titles": "stackoverflow", "part of DBPedia": "dbpedia", "subj": "subj"}
    assert len(rows) == 6
    for name, labels, cells in rows:
        methods = ("backbone", "backbone-random", "default")
        wanted = [f"{mean(scores[names[name], labels, method]):.1f}" for method in methods]
        assert [cell.strip("* ") for cell in cells.split("|")] == wanted


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
