"""``tsenet fit``, ``tsenet predict`` and ``tsenet evaluate``."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsenet.cli._console import check_output, shown_progress, warm_up
from tsenet.cli._options import (
    AsJson,
    Checkpoint,
    Config,
    Data,
    Debug,
    Encoding,
    FittedTokenizer,
    Force,
    Jobs,
    MaxDf,
    MinDocuments,
    Model,
    Ngrams,
    Processes,
    Quiet,
    Seed,
    StopWords,
    Tokenizer,
    Unlabeled,
    Words,
    checked_memory,
    given,
    library_option,
)
from tsenet.cli._results import say, write_csv, write_json_lines
from tsenet.cli._sharded import is_folder_of_shards
from tsenet.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tsenet.cli._model_data import Wanted
    from tsenet.data.table import Table

__all__ = ["evaluate", "fit", "load_model", "predict"]


# With fewer labelled rows a score of a tenth of them says nothing.
_FEWEST_TO_HOLD_OUT = 100

# Up to so many rows, numpy has answered before the compiled kernels are loaded.
_FEW_TO_PREDICT = 1000

# Names under which nobody would look for a csv.
_OTHER_FORMATS = (".json", ".npz", ".ods", ".parquet", ".pq", ".tsv", ".xls", ".xlsx")


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
    unlabeled: Unlabeled = None,
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
    words: Words = None,
    stop_words: StopWords = None,
    min_documents: MinDocuments = None,
    max_df: MaxDf = None,
    ngrams: Ngrams = None,
    tokenizer: Tokenizer = None,
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
    held_out: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.0,
            max=0.5,
            help="Share of the labelled rows to score the model on, which it does not learn from; 0: none.",
        ),
    ] = 0.1,
    keep_on_interrupt: Annotated[
        bool,
        typer.Option(
            "--keep-on-interrupt",
            help="Write the best network so far if Ctrl-C stops the training, and end with 0.",
        ),
    ] = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    processes: Processes = None,
    streams: Annotated[
        int | None,
        library_option(
            *("ShardOptions", "n_streams"),
            metavar="N",
            min=1,
            help="Parts of DIR that every batch draws from, and most processes; the result depends on it.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Most memory to use, such as 2GB: what is estimated to need more is refused before any work.",
        ),
    ] = None,
    checkpoint: Checkpoint = None,
    config: Config = None,
    force: Force = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show a table of the epochs at the end.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn to predict columns of a table, or of documents, and write the model.

    The structure of the network is learned from the rows without their target. Rows whose target is blank have no
    label: they teach structure and first weights. A tenth of the labelled rows, if these are 100 or more, is kept
    from training; the score on it is printed at the end.

    DATA may be a folder of shards, which tsenet shard writes: then the rows need not fit into memory, several
    processes can share the training, and the target is a label column of the folder.
    """
    import tsenet
    from tsenet._system.packages import need_torch
    from tsenet.cli._model_data import (
        columns_of_file,
        read_rows,
        scores_of,
        targets_of,
        word_counts,
    )

    chosen = given(
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
        memory_limit=checked_memory(memory),
    )
    _refuse_roles(target, text, id_column)
    if is_folder_of_shards(data):
        from tsenet.cli._shards import fit_folder

        if preset is Preset.paper:
            raise DataError(f"{data} is a folder of shards: --preset is for rows in memory")
        fit_folder(
            *(context, data, target, out, task.value, {"random_state": seed, **chosen}),
            unlabeled=unlabeled,
            processes=processes,
            options=given(n_streams=streams),
            checkpoint=checkpoint,
            force=force,
            table=verbose,
            as_json=as_json,
            quiet=quiet,
        )
        return
    if processes is not None or streams is not None:
        raise DataError(
            f"{data} is not a folder of shards: --processes and --streams are for those, "
            "which tsenet shard makes"
        )
    check_output(out, force)
    need_torch("training")
    with shown_progress(quiet) as progress:
        file = read_rows(data, progress, encoding)
        wanted = targets_of(file, target, task.value, unlabeled)
        if id_column is not None:
            file.column(id_column)  # its error names the columns there are
        if text is not None:
            source: dict[str, Any] = {"text": text}
            counter, table = word_counts(
                *(file.texts(text), progress, words, stop_words, min_documents),
                max_df=max_df,
                ngrams=ngrams,
                tokenizer=tokenizer,
            )
        else:
            table, source = columns_of_file(
                file, {*target, *(ignore or ()), *([] if id_column is None else [id_column])}
            )
        kept, held = _split(table, wanted, held_out, seed)
        warm_up(progress)
        kind = tsenet.TSENetClassifier if wanted.classifies else tsenet.TSENetRegressor
        make = kind.paper if preset is Preset.paper else kind
        model = make(random_state=seed, verbose=progress, **chosen)
        model.fit(table.take(kept), wanted.values[kept], **given(checkpoint=checkpoint))
        if model.history_.stopped == "interrupted" and not keep_on_interrupt:
            raise KeyboardInterrupt
        model.source_ = {"targets": target, **source, **given(unlabeled=unlabeled, id=id_column)}
        scores = scores_of(model, table.take(held), wanted.values[held]) if held.size else {}
        model.word_counter_ = None if text is None else counter
        model.save(out)
    if verbose:
        typer.echo(model.history_.table(), err=as_json)
    n_unlabelled = int((~wanted.known).sum())
    resumes = checkpoint is not None
    _say_fitted(model, table, n_unlabelled, held.size, scores, out, resumes, as_json)


def _refuse_roles(target: list[str], text: str | None, id_column: str | None) -> None:
    """Raise a DataError if a column is named twice."""
    for name in target:
        if target.count(name) > 1:
            raise DataError(f"--target names {name!r} twice")
        for option, other in (("--text", text), ("--id", id_column)):
            if name == other:
                raise DataError(f"{option} and --target name the same column, {name!r}")


def _say_fitted(
    model: Any,
    table: Table,
    n_unlabelled: int,
    n_held: int,
    scores: dict[str, float],
    out: Path,
    resumes: bool,
    as_json: bool,
) -> None:
    """Say what a model was fitted to, how large it is, and how it does on the rows held out."""
    fields = {
        "model": out,
        "rows": table.n_rows,
        "unlabelled": n_unlabelled,
        "columns": table.n_columns,
        "layers": model.wiring_.layer_sizes,
        "parameters": model.n_parameters_,
        "epochs": model.history_.n_epochs,
        "stopped": model.history_.stopped,
        "held_out": {"rows": n_held, **_by_key(scores)},
    }
    from tsenet.data.columns import count_of

    sizes = "-".join(map(str, model.wiring_.layer_sizes))
    lines = [
        f"{table.n_rows:,} rows, {table.n_columns:,} {'words' if model.word_counter_ else 'columns'}; "
        f"network {sizes}, {model.n_parameters_:,} parameters"
    ]
    if n_unlabelled:
        names = " and ".join(map(repr, model.source_["targets"]))
        lines.append(
            f"{n_unlabelled:,} of {table.n_rows:,} rows have no {names}: they are unlabelled rows"
        )
    epochs = count_of(model.history_.n_epochs, "epoch")
    lines.append(f"{epochs}{_best_of(model)}; written to {out}")
    if scores:
        shown = ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
        lines.append(f"held out {n_held:,} labelled rows: {shown}")
    elif table.n_rows - n_unlabelled < _FEWEST_TO_HOLD_OUT:
        lines.append(
            f"no score: fewer than {_FEWEST_TO_HOLD_OUT} rows have a label; tsenet evaluate tells it on other rows"
        )
    if resumes and model.history_.stopped == "interrupted":
        lines.append("to continue, give the same command with --force")
    say(as_json, fields, *lines)


def _split(
    table: Table, wanted: Wanted, share: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from, and labelled rows to score the model on; classes keep their shares."""
    import numpy as np

    from tsenet.data.order import duplicate_groups
    from tsenet.training.split import split_rows

    labelled = np.flatnonzero(wanted.known)
    if share == 0 or labelled.size < _FEWEST_TO_HOLD_OUT:
        return np.arange(table.n_rows), labelled[:0]
    classes = None
    if wanted.classifies and wanted.values.ndim == 1:
        classes = np.unique(wanted.values[labelled].astype(str), return_inverse=True)[1]
    groups = duplicate_groups(table.take(labelled).values)
    _, chosen = split_rows(labelled.size, share, seed, classes, groups)
    return np.setdiff1d(np.arange(table.n_rows), labelled[chosen]), labelled[chosen]


def predict(
    context: typer.Context,
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="csv or jsonl file to write; default: csv to stdout. For a folder of shards, a folder.",
        ),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column to repeat beside the predictions; default: the --id of fit, if DATA has it; of a folder "
            "of txt files, their names.",
        ),
    ] = None,
    encoding: Encoding = None,
    tokenizer: FittedTokenizer = None,
    jobs: Jobs = None,
    processes: Processes = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Dask scheduler whose workers predict a folder of shards."
        ),
    ] = None,
    config: Config = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the target of each row: a csv of predictions and probabilities, in the order of the rows.

    DATA may be a folder of shards: then each shard gets a Parquet file of predictions in the folder --out, and a
    command that was stopped continues with the next one.

    With --json and without --out, one JSON object for each row. Texts that a spreadsheet would run as a formula,
    such as =A1, get a leading ' in the csv.
    """
    from tsenet._system.atomic import atomic_write
    from tsenet.cli._model_data import answers_of, model_rows, read_rows
    from tsenet.store.runtime import LightModel

    if is_folder_of_shards(data):
        from tsenet.cli._shards import predict_folder

        predict_folder(
            *(context, model, data, out),
            id_column=id_column,
            processes=processes,
            cluster=cluster,
            tokenizer=tokenizer,
            jobs=jobs,
            force=force,
            as_json=as_json,
            quiet=quiet,
        )
        return
    if processes is not None or cluster is not None:
        raise DataError(
            f"{data} is not a folder of shards: --processes and --cluster are for those"
        )
    if out is not None:
        if out.suffix.lower() in _OTHER_FORMATS:
            raise DataError(
                f"predictions are written as csv or jsonl: {out} has the name of neither"
            )
        check_output(out, force)
    fitted = _load_to_predict(model, jobs, tokenizer)
    with shown_progress(quiet) as progress:
        file = read_rows(data, progress, encoding)
        if isinstance(fitted, LightModel) and file.n_rows <= _FEW_TO_PREDICT:
            fitted.jit = False
        known = (fitted.source_ or {}).get("id")
        if id_column is None and known in file.columns:
            id_column = known
        elif id_column is None and data.is_dir():
            id_column = "file"
        ids = None if id_column is None else file.texts(id_column)
        names, columns = answers_of(fitted, model_rows(fitted, file))
    if id_column is not None and ids is not None:
        names, columns = [id_column, *names], [ids, *columns]
    if out is None:
        write = write_json_lines if as_json else write_csv
        try:
            write(sys.stdout, names, columns)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    write = write_json_lines if out.suffix in (".jsonl", ".ndjson") else write_csv
    with atomic_write(out, "w") as stream:
        write(stream, names, columns)
    fields = {"out": out, "rows": file.n_rows, "columns": names}
    say(as_json, fields, f"{file.n_rows:,} predictions written to {out}")


def evaluate(
    model: Model,
    data: Data,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of the truth; default: as in the model."),
    ] = None,
    unlabeled: Unlabeled = None,
    encoding: Encoding = None,
    tokenizer: FittedTokenizer = None,
    jobs: Jobs = None,
    config: Config = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare predictions with the truth and print how good they are; rows without a truth are left out."""
    import numpy as np

    from tsenet.cli._model_data import Wanted, model_rows, read_rows, scores_of, truth_of

    fitted = load_model(model, jobs, tokenizer)
    names = target or (fitted.source_ or {}).get("targets")
    if not names:
        raise DataError(f"{model} does not say which column holds the truth: give --target")
    with shown_progress(quiet) as progress:
        file = read_rows(data, progress, encoding)
        truth = truth_of(fitted, file, names, unlabeled)
        known = np.flatnonzero(Wanted(truth, hasattr(fitted, "classes_")).known)
        table = model_rows(fitted, file).take(known)
    scores = scores_of(fitted, table, truth[known])
    counts = {"rows": known.size, "unlabelled": len(truth) - known.size}
    if hasattr(fitted, "classes_") and truth.ndim == 1:
        classes = set(fitted.classes_.tolist())
        counts["unknown"] = sum(value not in classes for value in truth[known])
    width = 10
    lines = [f"{name:<{width}} {count:,}" for name, count in counts.items() if count]
    lines += [f"{name:<{width}} {value:.4f}" for name, value in scores.items()]
    say(as_json, {**counts, **_by_key(scores)}, *lines)


def _by_key(scores: dict[str, float]) -> dict[str, float]:
    """Scores under names without spaces."""
    return {name.replace(" ", "_"): value for name, value in scores.items()}


def load_model(path: Path, jobs: int | None, tokenizer: str | None) -> Any:
    """Read a model that predicts."""
    import tsenet
    from tsenet.cli._model_data import tokenizer_of

    fitted = tsenet.load(path, tokenizer=tokenizer_of(tokenizer))
    if not isinstance(fitted, tsenet.TSENetClassifier | tsenet.TSENetRegressor):
        raise DataError(_predicts_nothing(path, type(fitted).__name__))
    return fitted.set_params(n_jobs=jobs)


def _predicts_nothing(path: Path, kind: str) -> str:
    """What to say of a file that is no classifier or regressor, and what it is for."""
    use = "tsenet fit writes a model that predicts"
    if kind == "TopicModel":
        use = f"tsenet topics DATA --model {path} --out DIR finds its topics in new documents"
    return f"{path} holds a {kind}, which predicts nothing: {use}"


def _load_to_predict(path: Path, jobs: int | None, tokenizer: str | None) -> Any:
    """The model without torch; with it only if it has batch normalisation."""
    import tsenet
    from tsenet.cli._model_data import tokenizer_of

    try:
        fitted = tsenet.load(path, tokenizer=tokenizer_of(tokenizer), runtime="light")
    except MissingDependencyError:
        return load_model(path, jobs, tokenizer)
    except DataError:
        if tokenizer is not None:
            raise
        return load_model(path, jobs, None)  # its error says what the file is for
    fitted.n_jobs = jobs
    return fitted


def _best_of(model: Any) -> str:
    history = model.history_
    stopped = ", stopped by Ctrl-C" if history.stopped == "interrupted" else ""
    if history.best_epoch is None:
        return stopped
    best = history.validation_loss[history.best_epoch]
    return f"{stopped}, best validation loss {best:.4f} in epoch {history.best_epoch + 1}"
