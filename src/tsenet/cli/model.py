"""``tsenet fit``, ``tsenet predict`` and ``tsenet evaluate``."""

from __future__ import annotations

import csv
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from tsenet.cli._console import refuse_existing, shown_progress, warm_up
from tsenet.cli._options import (
    Checkpoint,
    Data,
    Debug,
    Force,
    Jobs,
    MinDocuments,
    Model,
    Quiet,
    Seed,
    StopWords,
    Words,
    given,
    library_option,
)
from tsenet.errors import DataError

__all__ = ["evaluate", "fit", "predict"]


class Task(StrEnum):
    """What kind of target it is."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class LinkRule(StrEnum):
    """How links are added to the tree."""

    balanced = "balanced"
    topk = "top-k"
    random = "random"
    tree = "tree"


def fit(
    data: Data,
    target: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help="Column to predict; several for several labels."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="Model file to write.")],
    text: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Learn from the words of this column alone."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out, such as a key.")
    ] = None,
    task: Annotated[
        Task,
        typer.Option(
            help="auto: regression if the target holds numbers that are not whole, or more "
            "than 20 different ones."
        ),
    ] = Task.auto,
    words: Words = None,
    stop_words: StopWords = None,
    min_documents: MinDocuments = None,
    density: Annotated[
        float | None,
        library_option(
            *("TSENetClassifier", "density"),
            metavar="X",
            min=1e-6,
            max=1.0,
            help="Links per unit, as a share of the layer below.",
        ),
    ] = None,
    link_rule: Annotated[
        LinkRule | None,
        library_option("TSENetClassifier", "link_rule", help="How links are added to the tree."),
    ] = None,
    max_top: Annotated[
        int | None,
        library_option(
            *("TSENetClassifier", "max_top"),
            metavar="N",
            min=1,
            help="Most units in the top layer.",
        ),
    ] = None,
    skip_units: Annotated[
        int | None,
        library_option(
            *("TSENetClassifier", "skip_units"),
            metavar="N",
            min=0,
            help="Units of each skip path; 0: none.",
        ),
    ] = None,
    dropout: Annotated[
        float | None,
        library_option(
            *("TSENetClassifier", "dropout"),
            metavar="X",
            min=0.0,
            max=0.99,
            help="Share of units left out in a step.",
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        library_option(
            *("TSENetClassifier", "learning_rate"),
            metavar="X",
            min=1e-9,
            help="Step size of Adam; default: chosen by how the weights are started.",
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        library_option(
            "TSENetClassifier", "batch_size", metavar="N", min=1, help="Most rows in a step."
        ),
    ] = None,
    max_epochs: Annotated[
        int | None,
        library_option(
            "TSENetClassifier", "max_epochs", metavar="N", min=1, help="Most epochs of training."
        ),
    ] = None,
    patience: Annotated[
        int | None,
        library_option(
            *("TSENetClassifier", "patience"),
            metavar="N",
            min=1,
            help="Stop after this many epochs without a better validation score.",
        ),
    ] = None,
    keep_on_interrupt: Annotated[
        bool,
        typer.Option(
            "--keep-on-interrupt",
            help="Write the best network so far if Ctrl-C stops the training, and end with 0.",
        ),
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    checkpoint: Checkpoint = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn to predict columns of a table, or of documents, and write the model.

    The structure of the network is learned from the rows without their target. A tenth of the rows is
    held out to tell when to stop.
    """
    import tsenet
    from tsenet.cli._model_data import columns_of_file, read_rows, targets_of, word_counts

    refuse_existing(out, force)
    with shown_progress(quiet) as progress:
        file = read_rows(data, progress)
        wanted, classifies = targets_of(file, target, task.value)
        if text is not None:
            source: dict[str, Any] = {"text": text}
            table = word_counts(file.texts(text), progress, words, stop_words, min_documents)
        else:
            table, source = columns_of_file(file, {*target, *(ignore or ())})
        warm_up(progress)
        kind = tsenet.TSENetClassifier if classifies else tsenet.TSENetRegressor
        model = kind(
            random_state=seed,
            verbose=progress,
            **given(
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
            ),
        )
        model.fit(table, wanted, **given(checkpoint=checkpoint))
        if model.history_.stopped == "interrupted" and not keep_on_interrupt:
            raise KeyboardInterrupt
        model.source_ = {"targets": target, **source}
        model.save(out)
    sizes = "-".join(map(str, model.wiring_.layer_sizes))
    typer.echo(
        f"{table.n_rows:,} rows, {table.n_columns:,} {'columns' if text is None else 'words'}; "
        f"network {sizes}, {model.n_parameters_:,} parameters\n"
        f"{model.history_.n_epochs} epochs{_best_of(model)}; written to {out}"
    )
    if checkpoint is not None and model.history_.stopped == "interrupted":
        typer.echo("to continue, give the same command with --force")


def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="csv file to write; default: stdout."),
    ] = None,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the target of each row: a csv of predictions and probabilities."""
    from tsenet._system.atomic import atomic_write
    from tsenet.cli._model_data import answers_of, model_rows, read_rows

    if out is not None:
        refuse_existing(out, force)
    fitted = _load(model, jobs)
    with shown_progress(quiet) as progress:
        file = read_rows(data, progress)
        names, columns = answers_of(fitted, model_rows(fitted, file))
    if out is None:
        try:
            _write_csv(sys.stdout, names, columns)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    with atomic_write(out, "w") as stream:
        _write_csv(stream, names, columns)
    typer.echo(f"{file.n_rows:,} predictions written to {out}")


def evaluate(
    model: Model,
    data: Data,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of the truth; default: as in the model."),
    ] = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare predictions with the truth and print how good they are."""
    from tsenet.cli._model_data import model_rows, read_rows, scores_of, truth_of

    fitted = _load(model, jobs)
    names = target or (fitted.source_ or {}).get("targets")
    if not names:
        raise DataError(f"{model} does not say which column holds the truth: give --target")
    with shown_progress(quiet) as progress:
        file = read_rows(data, progress)
        table = model_rows(fitted, file)
        truth = truth_of(fitted, file, names)
    width = 10
    typer.echo(f"{'rows':<{width}} {table.n_rows:,}")
    for name, value in scores_of(fitted, table, truth).items():
        typer.echo(f"{name:<{width}} {value:.4f}")


def _write_csv(stream: IO[str], names: list[str], columns: list[list[Any]]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))


def _load(path: Path, jobs: int | None) -> Any:
    import tsenet

    fitted = tsenet.load(path)
    if not isinstance(fitted, tsenet.TSENetClassifier | tsenet.TSENetRegressor):
        raise DataError(f"{path} holds a {type(fitted).__name__}, which predicts nothing")
    return fitted.set_params(n_jobs=jobs)


def _best_of(model: Any) -> str:
    history = model.history_
    stopped = ", stopped by Ctrl-C" if history.stopped == "interrupted" else ""
    if history.best_epoch is None:
        return stopped
    best = history.validation_loss[history.best_epoch]
    return f"{stopped}, best validation loss {best:.4f} in epoch {history.best_epoch + 1}"
