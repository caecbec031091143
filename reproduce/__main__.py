"""``python -m reproduce``: run experiments, print tables, fill pages, check data and stored runs."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduce import RECIPE
from reproduce.runs import FIELDS, RUNS, Cell, measure, read_runs, run_cells, unpack

TOLERANCE = 0.005  # of a repeated score, or one row if that is more


def parser_of_commands() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m reproduce", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure the cells of an experiment that are not stored")
    run.add_argument("experiment", help="a name of `python -m reproduce list`")
    for name in ("data", "rivals", "labels"):
        run.add_argument(f"--{name}", help="only these, separated by commas")
    run.add_argument("--seeds", type=int, help="number of seeds instead of the experiment's")
    run.add_argument("--runs", type=Path, default=RUNS, help="file of the stored runs")
    table = commands.add_parser("table", help="print a table, e.g. `table few-labels 100`")
    table.add_argument("name")
    table.add_argument("arguments", nargs="*")
    commands.add_parser("list", help="list experiments, rivals and tables")
    commands.add_parser(
        "pages", help="fill the tables and numbers of the documentation, draw its pictures"
    )
    data = commands.add_parser("data", help="sources and licences of the data sets, file checks")
    data.add_argument("--check", action="store_true", help="compare files with their SHA-256")
    verify = commands.add_parser("verify", help="repeat random stored cells and compare")
    verify.add_argument("n", type=int, nargs="?", default=5)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    chosen = parser_of_commands().parse_args(arguments)
    try:
        return _COMMANDS[chosen.command](chosen)
    except KeyboardInterrupt:
        print("interrupted: run the command again to continue", file=sys.stderr)
        return 130


def _run(chosen: argparse.Namespace) -> int:
    from dataclasses import replace

    from reproduce.experiments import EXPERIMENTS

    experiment = EXPERIMENTS[chosen.experiment]
    changes: dict[str, Any] = {
        name: tuple(getattr(chosen, name).split(","))
        for name in ("data", "rivals")
        if getattr(chosen, name)
    }
    if chosen.labels:
        counts = [None if text == "all" else int(text) for text in chosen.labels.split(",")]
        experiment = replace(experiment, labels=tuple(counts))
    if chosen.rivals:
        changes["headline"] = tuple(r for r in experiment.headline if r in changes["rivals"])
    if chosen.seeds:
        changes |= {"n_seeds": chosen.seeds, "headline": ()}
    experiment = replace(experiment, **changes)
    return 1 if run_cells(experiment.cells(), chosen.runs) else 0


def _table(chosen: argparse.Namespace) -> int:
    from reproduce.analysis import TABLES, Results

    print(TABLES[chosen.name](Results.stored(), *chosen.arguments))
    return 0


def _list(chosen: argparse.Namespace) -> int:
    from reproduce.analysis import TABLES
    from reproduce.experiments import EXPERIMENTS
    from reproduce.rivals import RIVALS

    for name, experiment in EXPERIMENTS.items():
        n_cells = sum(1 for _ in experiment.cells())
        print(f"experiment {name:18} {experiment.title} ({n_cells:,} cells)")
    for name, rival in RIVALS.items():
        print(f"rival      {name:18} {rival.title}")
    print("tables    ", ", ".join(TABLES))
    return 0


def _pages(chosen: argparse.Namespace) -> int:
    from reproduce.analysis import Results
    from reproduce.pages import write_pages
    from reproduce.pictures import write_pictures

    results = Results.stored()
    for path in [*write_pages(results), *write_pictures(results)]:
        print(f"wrote {path}")
    return 0


def _data(chosen: argparse.Namespace) -> int:
    from reproduce.data import DATA, check_files

    for name, source in DATA.items():
        print(f"{name}: {source.title}, {source.n_train:,} + {source.n_test:,} rows")
        print(f"  source: {source.origin}\n  licence: {source.licence}\n  files: {source.how}")
    if not chosen.check:
        return 0
    status = check_files()
    for path, state in status.items():
        if state != "ok":
            print(f"{path}: {state}")
    print(f"{sum(state == 'ok' for state in status.values())} of {len(status)} files as expected")
    return 0 if set(status.values()) == {"ok"} else 1


def _verify(chosen: argparse.Namespace) -> int:
    from reproduce.data import fold_of

    current = [run for run in read_runs() if run["recipe"] == RECIPE and "@" not in run["rival"]]
    if not current:
        print(f"no run is stored with the present recipe ({RECIPE})")
        return 1
    failed = 0
    for run in random.sample(current, min(chosen.n, len(current))):
        cell = Cell(**{name: run[name] for name in FIELDS})
        again = measure(cell, fold_of(cell.data, cell.part, cell.seed), lambda name: 0)
        one_row = 1.5 / unpack(run["right"]).size if "right" in run else 0.0
        same = abs(again["score"] - run["score"]) <= max(TOLERANCE, one_row)
        failed += not same
        print(f"{'ok  ' if same else 'DIFFERS'} {cell}: {run['score']:.4f}, {again['score']:.4f}")
    return 1 if failed else 0


_COMMANDS = {
    "run": _run,
    "table": _table,
    "list": _list,
    "pages": _pages,
    "data": _data,
    "verify": _verify,
}

if __name__ == "__main__":
    sys.exit(main())
