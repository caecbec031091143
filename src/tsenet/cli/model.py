"""The commands around a model: ``fit``, ``predict`` and ``evaluate``. Each is a thin call into the library."""

from __future__ import annotations

import csv
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from tsenet.cli._console import remember_debug, shown_progress
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data.files import DataFile
    from tsenet.progress import Progress

__all__ = ["evaluate", "fit", "predict"]

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="Rows: csv, tsv, jsonl, parquet or npz.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by tsenet fit.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Jobs = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Threads; the result does not depend on it.")
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error.", callback=remember_debug)
]


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
    words: Annotated[int, typer.Option(metavar="N", min=2, help="Keep so many words.")] = 10_000,
    stop_words: Annotated[
        str,
        typer.Option(
            metavar="WHICH", help="Words to leave out: english, none, or a file of words."
        ),
    ] = "english",
    min_documents: Annotated[
        int, typer.Option(metavar="N", min=1, help="Leave out words in fewer documents.")
    ] = 2,
    density: Annotated[
        float,
        typer.Option(
            metavar="X", min=1e-6, max=1.0, help="Links of a unit, as a share of the layer below."
        ),
    ] = 0.05,
    link_rule: Annotated[
        LinkRule, typer.Option(help="How links are added to the tree.")
    ] = LinkRule.balanced,
    max_top: Annotated[
        int, typer.Option(metavar="N", min=1, help="At most so many units in the top layer.")
    ] = 500,
    skip_units: Annotated[
        int, typer.Option(metavar="N", min=0, help="Units of each skip-path; 0: the Backbone.")
    ] = 100,
    dropout: Annotated[
        float,
        typer.Option(metavar="X", min=0.0, max=0.99, help="Share of units left out in a step."),
    ] = 0.5,
    learning_rate: Annotated[float, typer.Option(metavar="X", min=1e-9, help="Of Adam.")] = 1e-3,
    batch_size: Annotated[int, typer.Option(metavar="N", min=1, help="Rows in a step.")] = 256,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 100,
    patience: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Stop after so many epochs that brought nothing."),
    ] = 5,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Same seed, same model.")] = 0,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn to predict columns of a table, or of documents, and write the model.

    The structure of the network is learned from the rows without their target. A tenth of the rows is
    held out to tell when to stop.
    """
    from tsenet.cli._model_data import columns_of_file, targets_of, words_of_file

    _refuse_existing(out, force)
    with shown_progress(quiet) as progress:
        file = _read(data, progress)
        wanted, classifies = targets_of(file, target, task.value)
        if text is not None:
            table, source = words_of_file(file, text, words, stop_words, min_documents, progress)
        else:
            table, source = columns_of_file(file, {*target, *(ignore or ())})
        import tsenet

        progress.start("kernels (the first use on a machine compiles them)", None)
        tsenet.warmup()
        progress.finish()
        kind = tsenet.TSENetClassifier if classifies else tsenet.TSENetRegressor
        model = kind(
            density=density,
            link_rule=link_rule.value,
            max_top=max_top,
            skip_units=skip_units,
            dropout=dropout,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=epochs,
            patience=patience,
            random_state=seed,
            n_jobs=jobs,
            verbose=progress,
        ).fit(table, wanted)
        model.source_ = {"targets": target, **source}
        model.save(out)
    sizes = "-".join(map(str, model.wiring_.layer_sizes))
    typer.echo(
        f"{table.n_rows:,} rows, {table.n_columns:,} {'columns' if text is None else 'words'}; "
        f"network {sizes}, {model.n_parameters_:,} parameters\n"
        f"{model.history_.n_epochs} epochs{_best_of(model)}; written to {out}"
    )


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
    from tsenet.cli._model_data import answers_of, model_rows

    if out is not None:
        _refuse_existing(out, force)
    fitted = _load(model, jobs)
    with shown_progress(quiet) as progress:
        file = _read(data, progress)
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
    from tsenet.cli._model_data import model_rows, scores_of, truth_of

    fitted = _load(model, jobs)
    names = target or (fitted.source_ or {}).get("targets")
    if not names:
        raise DataError(f"{model} does not say which column holds the truth: give --target")
    with shown_progress(quiet) as progress:
        file = _read(data, progress)
        table = model_rows(fitted, file)
        truth = truth_of(fitted, file, names)
    width = 10
    typer.echo(f"{'rows':<{width}} {table.n_rows:,}")
    for name, value in scores_of(fitted, table, truth).items():
        typer.echo(f"{name:<{width}} {value:.4f}")


def _refuse_existing(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: choose another name, or add --force to replace it")


def _write_csv(stream: IO[str], names: list[str], columns: list[list[Any]]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))


def _read(path: Path, progress: Progress) -> DataFile:
    from tsenet.data.files import read_data

    progress.start("reading rows", None)
    file = read_data(path)
    progress.finish(f"{file.n_rows:,} rows")
    return file


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
