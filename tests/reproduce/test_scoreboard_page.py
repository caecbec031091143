"""The tables of the earlier scoreboard and of README are computed again from the runs that are committed."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, stdev

from reproduce import scoreboard
from reproduce.experiment import Request

ROOT = Path(__file__).parents[2]
COLUMNS = {
    "TSE-Net": "default",
    "TSE-Net, random links": "default-random",
    "Backbone": "backbone",
    "Backbone, random links": "backbone-random",
}


def scores(part: str) -> dict[tuple[str, str, str], list[float]]:
    """Of test or validation rows, in percent, by data set, labels and method."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for line in (ROOT / "docs/results/runs/scoreboard.jsonl").read_text("utf-8").splitlines():
        stored = json.loads(line)
        run = stored["run"]
        labels = "all" if run["n_labels"] is None else str(run["n_labels"])
        key = (run["dataset"], labels, run["method"])
        if run["final"] == (part == "test"):
            found.setdefault(key, []).append(100 * stored["result"][part])
    return found


def table_after(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without the line of dashes."""
    lines = text.split(heading, 1)[1].split("\n|", 1)[1].split("\n\n", 1)[0].split("\n")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [cells[0], *cells[2:]]


def test_the_earlier_page_shows_the_runs() -> None:
    found, page = (
        scores("validation"),
        (ROOT / "docs/results/scoreboard-earlier.md").read_text("utf-8"),
    )
    checked = 0
    for heading in ("## Links by context: text", "## Four latents for a column: tables"):
        head, *lines = table_after(page, heading)
        for setting, *cells in lines:
            dataset, labels = setting.split()
            for title, cell in zip(head[1:], cells, strict=True):
                own = found[dataset, labels, COLUMNS[title]]
                shown = f"{mean(own):.1f}" + (f" ± {stdev(own):.1f}" if len(own) > 1 else "")
                assert cell == shown, (setting, title)
                checked += 1
    assert checked > 40


def test_the_readme_shows_the_runs() -> None:
    found, readme = scores("test"), (ROOT / "README.md").read_text("utf-8")
    names = {"StackOverflow titles": "stackoverflow", "part of DBPedia": "dbpedia", "subj": "subj"}
    _, *lines = table_after(readme, "all figures, rivals included")
    assert len(lines) == 6
    board = scoreboard.make(
        scoreboard.SuiteRunner(ROOT / "docs/results", seeds=3, execute=False),
        Request(tuple(names.values()), ("backbone", "backbone-random"), (400, None), part="test"),
    )
    whole = scoreboard.make(
        scoreboard.SuiteRunner(ROOT / "docs/results", seeds=3, execute=False),
        Request(tuple(names.values()), None, None, part="test"),
    ).values
    leads = [whole[f"board:text@{labels}/default:rival"] for labels in ("100", "400", "all")]
    assert "{} points with 100 labels, {} with 400 and {} with all".format(*leads) in readme
    against = {key: p for key, p in board.values.items() if key.endswith("/backbone:p")}
    weak = {key: p for key, p in against.items() if float(p.split()[-1]) >= 0.005}
    assert (len(against), list(weak)) == (6, ["board:subj@400/backbone:p"])
    p = float(weak["board:subj@400/backbone:p"].removeprefix("= "))
    assert f"p < .005 in five of the six, p = {p:.2f}".replace("= 0", "= ") in readme
    for setting, *cells in lines:
        name, labels = setting.rsplit(", ", 1)
        dataset = names[name.split(" (")[0]]
        methods = ("backbone", "backbone-random", "default")
        assert all(len(found[dataset, labels, method]) == 3 for method in methods)
        wanted = [f"{mean(found[dataset, labels, method]):.1f}" for method in methods]
        assert [cell.strip("*") for cell in cells] == wanted


def test_the_readme_says_where_learned_links_lose() -> None:
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    tables = ("dna", "spam", "satellite", "sonar", "vowel", "acsf1", "tecator")
    values = scoreboard.make(
        scoreboard.SuiteRunner(ROOT / "docs/results", seeds=3, execute=False),
        Request(tables, None, None, part="test"),
    ).values
    learned, random = (values[f"board:acsf1@all/backbone{end}"] for end in ("", "-random"))
    p = values["board:acsf1@all/backbone:p"]
    assert f"Backbone ({random} against {learned} %, p {p})" in readme
    losses = values["board:table/default:rival"].rstrip(")").split("/")[-1]
    assert losses == "4"
    assert "Of seven tables the best of five rivals is ahead on four" in readme
    assert values["board:table/default:level"] == "7 of 7"
    assert "On small tables learned links are no better than random ones." in readme


def test_the_readme_says_whose_lead_over_the_rivals_it_is() -> None:
    readme, found = (ROOT / "README.md").read_text("utf-8"), scores("test")
    own = {"default", "default-random", "backbone", "backbone-random", "start"}
    leads: dict[str, list[float]] = {}
    for dataset in ("stackoverflow", "dbpedia", "subj"):
        for labels in ("100", "400", "all"):
            means = {m: mean(v) for (d, n, m), v in found.items() if (d, n) == (dataset, labels)}
            best = max(score for method, score in means.items() if method not in own)
            leads.setdefault(dataset, []).append(means["default"] - best)
    assert "The lead is mostly StackOverflow's; on subj the network has none." in readme
    assert sum(leads["stackoverflow"]) > sum(map(sum, leads.values())) / 2
    assert max(leads["subj"]) < 0.05
