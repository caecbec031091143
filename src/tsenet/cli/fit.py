"""``tsenet fit``: rows in, a model that predicts some of their columns out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError

_ESTIMATOR = "tsenet.TSENetClassifier"
Task = StrEnum("Task", ["auto", "classification", "regression"])
Preset = StrEnum("Preset", ["default", "paper", "informed"])
Skeleton = StrEnum("Skeleton", ["hlta", "topics"])
Inputs = StrEnum("Inputs", ["words", "both"])
# Options that say how a file is read.
_OF_FILES = (
    "text",
    "with_columns",
    "id_column",
    "ignore",
    "weights",
    "words",
    "stop_words",
    "encoding",
    "no_header",
    "max_size",
)


def fit(
    context: typer.Context,
    data: cli.Data,
    target: Annotated[list[str], cli.option("COLUMN", "Column to predict (repeatable).")],
    out: cli.Out,
    text: Annotated[
        str | None, cli.option("COLUMN", "Learn from the words of this column alone.")
    ] = None,
    with_columns: Annotated[
        bool, typer.Option("--columns", help="With --text: learn from the other columns too.")
    ] = False,
    id_column: cli.IdColumn = None,
    ignore: Annotated[
        list[str] | None, cli.option("COLUMN", "Column to leave out (repeatable).")
    ] = None,
    unlabeled: cli.Unlabeled = None,
    weights: Annotated[
        str | None, cli.option("COLUMN", "Column of weights of the rows; blank counts as 1.")
    ] = None,
    embeddings: cli.Embeddings = None,
    inputs: Annotated[
        Inputs, typer.Option(help="What predictions read: words, or embeddings too (both).")
    ] = Inputs.words,
    task: Annotated[
        Task,
        typer.Option(help="auto: regression for numbers with fractions or more than 20 values."),
    ] = Task.auto,
    preset: Annotated[
        Preset,
        typer.Option(
            help="paper: the recipe of Chen, Li and Zhang (2018). informed: the same, but each unit starts as the "
            "probability of its latent."
        ),
    ] = Preset.default,
    skeleton: Annotated[
        Skeleton | None,
        typer.Option(
            help="The tree that the network grows from: hlta, a latent tree of the columns; topics, of documents."
        ),
    ] = None,
    topics: Annotated[
        Path | None,
        cli.option(
            "FILE", "Grow the network from these topics: the model.tsenet of tsenet topics."
        ),
    ] = None,
    words: cli.Words = None,
    stop_words: cli.StopWords = None,
    settings: cli.Set = None,
    encoding: cli.Encoding = None,
    no_header: cli.NoHeader = False,
    max_size: cli.MaxSize = None,
    seed: cli.Seed = 0,
    jobs: cli.Jobs = None,
    config: cli.Config = None,
    force: cli.Force = False,
    as_json: cli.AsJson = False,
    quiet: cli.Quiet = False,
    help_all: Annotated[bool, cli.help_all(_ESTIMATOR, cli.WORDS)] = False,
) -> None:
    """Fit a classifier or regressor to a table or to documents.

    The structure of the network is learned without the target, so rows with a blank target help too. The model is
    trained on all labelled rows; a cross-validated score is printed at the end.

    DATA may be a folder made by tsenet shard: then the rows need not fit into memory, and the target is a label column
    of the folder.
    """
    import tsenet
    from tsenet.data import open_shards
    from tsenet.errors import need_torch

    # What was asked for, checked before files are read.
    parameters: dict[str, Any] = {"random_state": seed, "n_jobs": jobs}
    parameters |= cli.read_settings(context, settings, _ESTIMATOR, cli.WORDS)
    parameters |= _skeleton(context, skeleton, topics)
    if preset != "default" and stop_words is None and topics is None:
        stop_words = "english"  # as the preset has it, whatever else is chosen
    parameters |= cli.typed(vectorizer=cli.vectorizer_of(parameters, words, stop_words))
    tsenet.TSENetClassifier(**parameters)._validate_params()

    roles = cli.typed(id=id_column, text=text)
    columns = [*target, *roles.values(), *cli.typed(weights=weights).values()]
    if len(set(columns)) < len(columns):
        raise DataError(
            "--target, --text, --id and --weights must name different columns, each only once"
        )
    cli.check_output(out, force, data, config, stop_words, topics)
    need_torch("training")
    vectors = cli.read_array(embeddings)

    X: Any
    y: Any
    of_rows: Any = None
    source: dict[str, Any] = {"targets": target, **cli.typed(unlabeled=unlabeled)}
    with cli.open_progress(quiet) as progress:
        if cli.is_shard_folder(data):
            reason = "a folder of shards has its columns already"
            cli.refuse_options(context, _OF_FILES, reason)
            X = open_shards(data)
            y = target[0] if len(target) == 1 else target
            kinds = [X.labels.get(name, "") for name in target]
            classifies = task == "classification" or (task == "auto" and "double" not in kinds)
            are_whole = unlabeled is not None and kinds[0].startswith("int")
            parameters |= cli.typed(unlabeled=int(unlabeled or 0) if are_whole else unlabeled)
        else:
            from tsenet.cli._model_data import read_file, target_of, training_rows, weights_of

            file = read_file(data, progress, encoding, no_header, max_size=max_size)
            y, classifies = target_of(file, target, task, unlabeled)
            source |= roles
            left_out = [*columns, *(ignore or ())]
            of_rows = weights_of(file, weights)
            for name in left_out:
                file.column(name)  # its error lists the columns
            X = training_rows(file, text, with_columns, left_out)
            parameters |= cli.typed(text=text if with_columns else None)

        kind: Any = tsenet.TSENetClassifier if classifies else tsenet.TSENetRegressor
        make = kind if preset == "default" else getattr(kind, preset)
        model = make(progress=progress, **parameters)
        model.fit(X, y, of_rows, embeddings=vectors, inputs=inputs.value)
        model.source_ = source
        model.save(out)

    _print_fit(model, X, y, out, as_json)


def _skeleton(
    context: typer.Context, learned: Skeleton | None, topics: Path | None
) -> dict[str, Any]:
    """The parameter that says what the network grows from; the topic model of a file, if one is given."""
    import tsenet

    if topics is None:
        return {} if learned is None else {"skeleton": learned.value}

    clashing = ("skeleton", "words", "stop_words")
    cli.refuse_options(context, clashing, "--topics has its own tree and words")
    model = tsenet.load(topics)
    if not isinstance(model, tsenet.TopicModel):
        raise DataError(
            f"--topics {topics} holds a {type(model).__name__}, not topics: "
            "give the model.tsenet that tsenet topics writes"
        )
    return {"skeleton": model}


def _print_fit(model: Any, X: Any, y: Any, out: Path, as_json: bool) -> None:
    """Print what a model was fitted to, its size, and its cross-validated score."""
    from tsenet.cli._model_data import has_target
    from tsenet.errors import count_of

    history = model.history_
    score = model.cv_score_
    n_rows = getattr(X, "n_rows", None) or len(X)
    n_unlabelled = 0 if isinstance(y, str | list) else int((~has_target(y)).sum())
    fields = {
        "out": out,
        "rows": n_rows,
        "unlabelled": n_unlabelled,
        "columns": model.n_features_in_,
        "layers": model.wiring_.layer_sizes,
        "parameters": model.n_parameters_,
        "epochs": history.n_epochs,
        "cross_validated": None if score is None else score._asdict(),
    }

    sizes = "-".join(map(str, model.wiring_.layer_sizes))
    what = "words" if model.vectorizer_ else "columns"
    if model.text is not None:
        what = "words and values of columns"
    lines = [
        f"{n_rows:,} rows, {model.n_features_in_:,} {what}; "
        f"network {sizes}, {model.n_parameters_:,} parameters"
    ]
    if n_unlabelled:
        names = " and ".join(map(repr, model.source_["targets"]))
        lines.append(
            f"{n_unlabelled:,} of {n_rows:,} rows have no {names} and are used as unlabelled rows"
        )
    lines.append(f"{count_of(history.n_epochs, 'epoch')}; written to {out}")

    if score is None:
        lines.append("no cross-validated score; tsenet evaluate scores the model on other rows")
    else:
        how = "held out to tell when to stop,"
        if model.init == "principal":
            how = "cross-validated on"
        n_scored = count_of(score.n_rows, "labelled row")
        lines.append(f"{how} {n_scored}: {score}")
    cli.print_result(as_json, fields, *lines)
