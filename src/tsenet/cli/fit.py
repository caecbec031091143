"""``tsenet fit``: rows in, a model that predicts some of their columns out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tsenet.cli import _options as shared
from tsenet.cli._console import STDOUT, check_output, shown_progress, warm_up, written_to
from tsenet.cli._options import given, library_option, number_option, whole_option
from tsenet.cli._results import say_fitted
from tsenet.errors import DataError

__all__ = ["fit"]


class Task(StrEnum):
    """What kind of target it is."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class Preset(StrEnum):
    """Which recipe the options that are not given follow."""

    default = "default"
    paper = "paper"


class LinkRule(StrEnum):
    """How links are added to the tree."""

    balanced = "balanced"
    context = "context"
    topk = "top-k"
    random = "random"
    tree = "tree"


def fit(
    context: typer.Context,
    data: shared.Data,
    target: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help="Column to predict; several for several labels."),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="MODEL", help="Model file to write; - for stdout."),
    ],
    text: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Learn from the words of this column alone."),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Key of the rows: nothing is learned from it, and predict repeats it.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out.")
    ] = None,
    unlabeled: shared.Unlabeled = None,
    task: Annotated[
        Task,
        typer.Option(
            help="auto: regression if the target holds numbers that are not whole, or more "
            "than 20 different ones."
        ),
    ] = Task.auto,
    preset: Annotated[
        Preset,
        typer.Option(
            help="paper: the recipe of Chen, Li and Zhang (2018), TSENetClassifier.paper(); other options still count."
        ),
    ] = Preset.default,
    words: shared.Words = None,
    stop_words: shared.StopWords = None,
    min_documents: shared.MinDocuments = None,
    max_df: shared.MaxDf = None,
    ngrams: shared.Ngrams = None,
    tokenizer: shared.Tokenizer = None,
    density: Annotated[
        float | None,
        number_option(
            *("TSENetClassifier.density", "Links per unit, as a share of the layer below."),
            min=1e-6,
            max=1.0,
        ),
    ] = None,
    link_rule: Annotated[
        LinkRule | None,
        library_option("TSENetClassifier.link_rule", "How links are added to the tree."),
    ] = None,
    max_top: Annotated[
        int | None, whole_option("TSENetClassifier.max_top", "Most units in the top layer.", min=1)
    ] = None,
    skip_units: Annotated[
        int | None,
        whole_option("TSENetClassifier.skip_units", "Units of each skip path; 0: none.", min=0),
    ] = None,
    dropout: Annotated[
        float | None,
        number_option(
            *("TSENetClassifier.dropout", "Share of units left out in a step."), min=0.0, max=0.99
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        number_option(
            "TSENetClassifier.learning_rate",
            "Step size of Adam; default: chosen by how the weights are started.",
            min=1e-9,
        ),
    ] = None,
    batch_size: Annotated[
        int | None, whole_option("TSENetClassifier.batch_size", "Most rows in a step.", min=1)
    ] = None,
    max_epochs: Annotated[
        int | None, whole_option("TSENetClassifier.max_epochs", "Most epochs of training.", min=1)
    ] = None,
    patience: Annotated[
        int | None,
        whole_option(
            "TSENetClassifier.patience",
            "Stop after this many epochs without a better validation score.",
            min=1,
        ),
    ] = None,
    encoding: shared.Encoding = None,
    no_header: shared.NoHeader = False,
    seed: shared.Seed = 0,
    jobs: shared.Jobs = None,
    config: shared.Config = None,
    force: shared.Force = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show a table of the epochs at the end.")
    ] = False,
    as_json: shared.AsJson = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Learn to predict columns of a table, or of documents, and write the model.

    The structure of the network is learned from the rows without their target. Rows whose target is blank have no
    label: they teach structure and first weights. The model learns from all labelled rows; a cross-validated score of
    them is printed at the end.

    DATA may be a folder of shards, which tsenet shard writes: then the rows need not fit into memory, and the target is
    a label column of the folder.
    """
    import tsenet
    from tsenet._system.packages import need_torch
    from tsenet.cli._documents import is_folder_of_shards
    from tsenet.cli._model_data import (
        columns_of_file,
        read_rows,
        targets_of,
    )
    from tsenet.cli._words import chosen_vectorizer
    from tsenet.estimators.texts import fit_vectorizer

    chosen = given(
        random_state=seed,
        density=density,
        link_rule=None if link_rule is None else link_rule.value,
        max_top=max_top,
        skip_units=skip_units,
        dropout=dropout,
        learning_rate=learning_rate,
        batch_size=batch_size,
        max_epochs=max_epochs,
        patience=patience,
        n_jobs=jobs,
    )
    _refuse_roles(target, text, id_column)
    if is_folder_of_shards(data):
        from tsenet.cli._shards import fit_folder

        if preset is Preset.paper:
            raise DataError(f"{data} is a folder of shards: --preset is for rows in memory")
        fit_folder(
            *(context, data, target, out, task.value, chosen),
            unlabeled=unlabeled,
            config=config,
            force=force,
            table=verbose,
            as_json=as_json,
            quiet=quiet,
        )
        return
    check_output(out, force, data, config, stop_words)
    need_torch("training")
    with shown_progress(quiet) as progress:
        file = read_rows(data, progress, encoding, no_header)
        wanted = targets_of(file, target, task.value, unlabeled)
        keys = [] if id_column is None else [id_column]
        for name in keys:
            file.column(name)  # its error names the columns there are
        if text is not None:
            options = (words, stop_words, min_documents, max_df, ngrams, tokenizer)
            chosen |= given(vectorizer=chosen_vectorizer({}, *options))
            texts = file.texts(text)
            vectorizer, table = fit_vectorizer(texts, chosen.get("vectorizer"), progress)
            source: dict[str, Any] = {"text": text}
        else:
            vectorizer = None
            table, source = columns_of_file(file, {*target, *(ignore or ()), *keys})
        warm_up(progress)
        kind = tsenet.TSENetClassifier if wanted.classifies else tsenet.TSENetRegressor
        make = kind.paper if preset is Preset.paper else kind
        model = make(verbose=progress, **chosen)
        model.fit(table, wanted.values)
        model.source_ = {"targets": target, **source, **given(unlabeled=unlabeled, id=id_column)}
        model.vectorizer_ = vectorizer
        with written_to(out) as path:
            model.save(path)
    if verbose:
        typer.echo(model.history_.table(), err=as_json or out == STDOUT)
    n_unlabelled = int((~wanted.known).sum())
    say_fitted(model, table, n_unlabelled, out, as_json)


def _refuse_roles(target: list[str], text: str | None, id_column: str | None) -> None:
    """Raise a DataError if a column is named twice."""
    for name in target:
        if target.count(name) > 1:
            raise DataError(f"--target names {name!r} twice")
        for option, other in (("--text", text), ("--id", id_column)):
            if name == other:
                raise DataError(f"{option} and --target name the same column, {name!r}")
