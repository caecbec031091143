"""``python -m reproduce``: run experiments, print tables, fill pages, check data and stored runs."""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from reproduce.analysis import (
    TABLES,
    Results,
    curves_table,
    interpretability_table,
    paper_table,
    pixels_table,
    tasks_table,
)
from reproduce.data import DATA, check_files, fold_of, load
from reproduce.experiments import EXPERIMENTS, Experiment, quick
from reproduce.networks import shape_of
from reproduce.rivals import RIVALS, split_name
from reproduce.runs import FIELDS, RUNS, Cell, is_current, measure, read_runs, run_cells, unpack
from tsenet.errors import DataError
from tsenet.progress import BarProgress

TOLERANCE = 0.005  # of a repeated score, or one row if that is more


#: Parts of the paper that have a command of their own.
STUDIES = {
    "table3": "Table 3: accuracy and parameters on text",
    "tox21": "Tox21 in Table 3, one network for each task",
    "table4": "Table 4: interpretability of units",
    "curves": "accuracy by the number of training rows",
    "mnist": "the groups of MNIST's pixels",
}
QUICK_RUNS = Path("build/reproduce/quick.jsonl")


def parser_of_commands() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m reproduce", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure the cells of an experiment that are not stored")
    run.add_argument("experiment", help="a name of `python -m reproduce list`")
    _add_changes(run)
    run.add_argument("--runs", type=Path, default=RUNS, help="file of the stored runs")
    for name, help in STUDIES.items():
        study = commands.add_parser(name, help=f"measure and print {help}")
        _add_changes(study)
        study.add_argument("--runs", type=Path, help="file of the stored runs")
        study.add_argument("--quick", action="store_true", help="few rows, one seed, in minutes")
    labelling = commands.add_parser(
        "labelling", help="measure what is not stored of 15 minutes of labelling, print and draw it"
    )
    labelling.add_argument("--data", help="only these sets, separated by commas")
    labelling.add_argument(
        "--strategies", help="only these, separated by commas, such as ours,random"
    )
    labelling.add_argument("--seeds", type=int, default=3, help="number of seeds")
    figures = commands.add_parser(
        "figures", help="draw the pictures of the stored runs next to their file"
    )
    figures.add_argument("--runs", type=Path, help="file of the stored runs")
    figures.add_argument(
        "--quick", action="store_true", help="those of the paper, from `table3 --quick`, in minutes"
    )
    table = commands.add_parser("table", help="print a table, e.g. `table few-labels 100`")
    table.add_argument("name")
    table.add_argument("arguments", nargs="*")
    table.add_argument("--runs", type=Path, default=RUNS, help="file of the stored runs")
    commands.add_parser("list", help="list experiments, rivals and tables")
    commands.add_parser(
        "pages", help="fill the tables and numbers of the documentation, draw its pictures"
    )
    data = commands.add_parser("data", help="sources and licences of the data sets, file checks")
    data.add_argument("--check", action="store_true", help="compare files with their SHA-256")
    verify = commands.add_parser("verify", help="repeat random stored cells and compare")
    verify.add_argument("n", type=int, nargs="?", default=5)
    return parser


def _add_changes(command: argparse.ArgumentParser) -> None:
    """Options that change what an experiment measures."""
    for name in ("data", "rivals", "labels"):
        command.add_argument(f"--{name}", help="only these, separated by commas")
    command.add_argument("--shapes", help="dense shapes of which `best` is one, likewise")
    command.add_argument("--rows", type=int, help="fit to this many of the training rows")
    command.add_argument("--seeds", type=int, help="number of seeds instead of the experiment's")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    chosen = parser_of_commands().parse_args(arguments)
    try:
        return _COMMANDS[chosen.command](chosen)
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: run the command again to continue", file=sys.stderr)
        return 130


def _run(chosen: argparse.Namespace) -> int:
    experiment = _changed(_named(chosen.experiment, EXPERIMENTS, "experiment"), chosen)
    _need_data(experiment)
    return 1 if run_cells(experiment.all_cells(chosen.runs), chosen.runs) else 0


def _study(chosen: argparse.Namespace) -> int:
    """Measure what is not stored of a part of the paper, then print it."""
    experiment = quick(chosen.command) if chosen.quick else EXPERIMENTS[chosen.command]
    experiment = _changed(experiment, chosen)
    path = chosen.runs or (QUICK_RUNS if chosen.quick else RUNS)
    _need_data(experiment)
    failures = run_cells(experiment.all_cells(path), path)
    results = Results.stored(path)
    print()
    if chosen.command == "table3":
        for data in experiment.data:
            print(f"{data}\n\n{paper_table(results, experiment, data)}\n")
    else:
        print(_PRINTED[chosen.command](results, experiment))
    return 1 if failures else 0


def _named(name: str, known: Mapping[str, Any], kind: str) -> Any:
    if name not in known:
        raise DataError(f"there is no {kind} {name!r}: choose from {', '.join(known)}")
    return known[name]


def _changed(experiment: Experiment, chosen: argparse.Namespace) -> Experiment:
    """The experiment with the changes that the command line asks for."""
    changes: dict[str, Any] = {}
    if chosen.data:
        names = chosen.data.split(",")
        for name in names:
            _named(name.partition("@")[0].partition("/")[0], DATA, "data set")
        changes["data"] = tuple(names)
    if chosen.rivals:
        changes["rivals"] = tuple(chosen.rivals.split(","))
        for name in changes["rivals"]:
            split_name(name)
        changes["headline"] = tuple(r for r in experiment.headline if r in changes["rivals"])
    if chosen.labels:
        changes["labels"] = tuple(map(_n_labels, chosen.labels.split(",")))
    if chosen.shapes:
        changes["shapes"] = tuple(chosen.shapes.split(","))
        for shape in changes["shapes"]:
            shape_of(shape, 2)
    if chosen.seeds:
        changes |= {"n_seeds": chosen.seeds, "headline": ()}
    experiment = replace(experiment, **changes)
    return experiment if chosen.rows is None else experiment.with_rows(chosen.rows)


def _n_labels(text: str) -> int | None:
    if text != "all" and not text.isdecimal():
        raise DataError(f"{text!r} is no number of labels: write 100,400 or all")
    return None if text == "all" else int(text)


def _need_data(experiment: Experiment) -> None:
    """Say which files are missing, and how to get them, before anything is measured."""
    missing = {}
    names = list(dict.fromkeys(re.split("[@/]", name)[0] for name in experiment.data))
    with BarProgress() as progress:
        progress.start("reading data sets", len(names))
        for base in names:
            try:
                load(base, "train")
            except DataError as error:
                missing[base] = str(error)
            progress.advance(note=base)
        progress.finish()
    if missing:
        lines = [f"  {name}: {DATA[name].how} ({DATA[name].origin})" for name in missing]
        raise DataError(
            "\n".join(
                [next(iter(missing.values())), "This experiment reads, below TSENET_DATA:", *lines]
            )
        )


def _table(chosen: argparse.Namespace) -> int:
    """Print a table; Table 3 without a data set for each that the runs hold."""
    table = _named(chosen.name, TABLES, "table")
    wanted = list(signature(table).parameters.values())[1:]  # the first are the results
    given = [chosen.arguments]
    if chosen.name in ("table3", "table3-tfidf") and not chosen.arguments:
        rivals = EXPERIMENTS[chosen.name].rivals
        measured = dict.fromkeys(r["data"] for r in read_runs(chosen.runs) if r["rival"] in rivals)
        declared = EXPERIMENTS[chosen.name].data
        given = [[data] for data in (declared if chosen.runs == RUNS else measured or declared)]
    try:
        for arguments in given:
            signature(table).bind(None, *arguments)
    except TypeError as error:
        usage = "".join(
            f" {one.name.upper()}" if one.default is Parameter.empty else f" [{one.name.upper()}]"
            for one in wanted
        )
        raise DataError(f"{error}: write `table {chosen.name}{usage}`") from error
    results = Results.stored(chosen.runs)
    for arguments in given:
        if not chosen.arguments and arguments:
            print(f"{arguments[0]}\n")
        print(table(results, *arguments), end="\n\n" if len(given) > 1 else "\n")
    return 0


def _labelling(chosen: argparse.Namespace) -> int:
    """Measure what is not stored of the time of labelling, print the table and draw the picture."""
    from reproduce import labelling

    names = chosen.data.split(",") if chosen.data else labelling.DATA_SETS
    for name in names:
        _named(name, dict.fromkeys(labelling.DATA_SETS), "data set for labelling")
    strategies = chosen.strategies.split(",") if chosen.strategies else labelling.STRATEGIES
    for name in strategies:
        _named(name, labelling.STRATEGIES, "strategy of labelling")
    labelling.run(names, chosen.seeds, strategies=tuple(strategies))
    print(f"\n{labelling.table()}\n\nwrote {labelling.draw()}")
    return 0


def _figures(chosen: argparse.Namespace) -> int:
    from reproduce.pictures import OF_THE_PAPER, PICTURES, write_pictures

    names, path = tuple(PICTURES), chosen.runs or RUNS
    if chosen.quick:
        names, path = OF_THE_PAPER, chosen.runs or QUICK_RUNS
        experiment = quick("table3")
        _need_data(experiment)
        if run_cells(experiment.all_cells(path), path):
            return 1
    else:
        _need_runs(path, "few-labels", "controls")
    for picture in write_pictures(Results.stored(path), path.parent, names):
        print(f"wrote {picture}")
    return 0


def _need_runs(path: Path, *experiments: str) -> None:
    """Say which experiments the pictures show that a file holds no runs of."""
    stored = {(run["data"], run["rival"]) for run in read_runs(path)}
    for name in experiments:
        if stored.isdisjoint((cell.data, cell.rival) for cell in EXPERIMENTS[name].cells()):
            raise DataError(
                f"{path} holds no runs of {name}, which the pictures show: "
                f"`python -m reproduce run {name} --runs {path}` measures them"
            )


def _list(chosen: argparse.Namespace) -> int:
    for name, experiment in EXPERIMENTS.items():
        n_cells = sum(1 for _ in experiment.cells())
        print(f"experiment {name:18} {experiment.title} ({n_cells:,} cells)")
    for name, rival in RIVALS.items():
        print(f"rival      {name:18} {rival.title}")
    print("tables    ", ", ".join(TABLES))
    return 0


def _pages(chosen: argparse.Namespace) -> int:
    from reproduce.pages import write_pages
    from reproduce.pictures import write_pictures

    results = Results.stored()
    for path in [*write_pages(results), *write_pictures(results)]:
        print(f"wrote {path}")
    return 0


def _data(chosen: argparse.Namespace) -> int:
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
    current = [run for run in read_runs() if is_current(run) and "@" not in run["rival"]]
    if not current:
        print("no current run is stored")
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


_PRINTED = {
    "tox21": tasks_table,
    "table4": interpretability_table,
    "curves": curves_table,
    "mnist": pixels_table,
}
_COMMANDS = {
    "run": _run,
    **dict.fromkeys(STUDIES, _study),
    "labelling": _labelling,
    "figures": _figures,
    "table": _table,
    "list": _list,
    "pages": _pages,
    "data": _data,
    "verify": _verify,
}

if __name__ == "__main__":
    sys.exit(main())
