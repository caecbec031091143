"""``tsenet suggest``: which rows to label next."""

from __future__ import annotations

from typing import Annotated

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError


def suggest(
    context: typer.Context,
    model: cli.Model,
    data: cli.Data,
    n: Annotated[int, typer.Option("-n", "--number", min=1, help="Rows to suggest.")] = 20,
    encoding: cli.Encoding = None,
    no_header: cli.NoHeader = False,
    max_size: cli.MaxSize = None,
    jobs: cli.Jobs = None,
    as_json: cli.AsJson = False,
    quiet: cli.Quiet = False,
) -> None:
    """Suggest which rows to label next.

    Prints the numbers of these rows, one per line, the most useful first; the first row of DATA is number 1. If the
    model was fitted with --id, the row's key follows. The model is unsure of these rows, they are typical of many
    others, and they differ from each other. Rows that already have a target are left out.
    """
    import numpy as np

    from tsenet.cli._model_data import load_model, model_input, read_file

    cli.check_order(context, model, data)
    fitted = load_model(model, jobs)
    if not hasattr(fitted, "classes_"):
        raise DataError(f"{model} predicts numbers: tsenet suggest needs a classifier")

    source = fitted.source_ or {}
    with cli.open_progress(quiet) as progress:
        file = read_file(data, progress, encoding, no_header, max_size=max_size)
        X = model_input(fitted, file)

    # Rows that have a blank cell, or the marker, in each column of targets.
    blank = ("", source.get("unlabeled"))
    is_open = np.ones(file.n_rows, bool)
    for name in source.get("targets", ()):
        if name in file.columns:
            is_open &= [cell.strip() in blank for cell in file.texts(name)]
    rows = np.flatnonzero(is_open)
    if not rows.size:
        raise DataError(f"every row of {data} already has a target: there is nothing to label")

    numbers = rows[fitted.suggest(X.take(rows), n)]
    lines = [f"{i + 1}" for i in numbers.tolist()]
    if source.get("id") in file.columns:
        keys = file.texts(source["id"])
        lines = [f"{i + 1}\t{keys[i]}" for i in numbers.tolist()]
    cli.print_result(as_json, {"rows": (numbers + 1).tolist()}, *lines)
