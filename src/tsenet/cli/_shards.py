"""``tsenet fit`` and ``tsenet predict`` on folders of shards, in one process or several."""

from __future__ import annotations

from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import typer

from tsenet.cli._console import (
    STDOUT,
    check_output,
    refuse_inputs,
    shown_progress,
    warm_up,
    written_to,
)
from tsenet.cli._options import given
from tsenet.cli._processes import (
    is_first_process,
    is_restart,
    leave_if_others_failed,
    rank_and_size,
    run_in_processes,
    started_by_torchrun,
)
from tsenet.cli._results import say
from tsenet.data.columns import count_of
from tsenet.data.shards import ShardFolder, open_shards
from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = ["fit_folder", "predict_folder"]

#: Options of ``fit`` and ``predict`` that say how a file is read.
_OF_FILES = (
    *("text", "ignore", "words", "stop_words", "min_documents", "max_df", "ngrams", "tokenizer"),
    *("encoding", "no_header", "explain", "keep_on_interrupt"),
)


def fit_folder(
    context: typer.Context,
    data: Path,
    target: list[str],
    out: Path,
    task: str,
    parameters: dict[str, Any],
    *,
    unlabeled: str | None,
    processes: int | None,
    options: dict[str, Any],
    checkpoint: Path | None,
    config: Path | None,
    force: bool,
    table: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit a model to a folder of shards and write it; ``--processes`` starts the processes first."""
    leave_if_others_failed()
    _refuse_options_of_files(context)
    folder = open_shards(data)
    classifies = _classifies(folder, target, task)
    marker = _marker(folder, target, unlabeled) if classifies else None
    if unlabeled is not None and not classifies:
        raise DataError("--unlabeled is for classes: the missing values of a folder are nulls")
    if is_first_process() and not is_restart():
        check_output(out, force, data, config)
    model = _estimator(classifies, {**parameters, **given(unlabeled=marker)})
    _refuse_unsupported(model, folder, target, classifies, processes, options)
    if processes is not None and not started_by_torchrun():
        run_in_processes(context, processes, restarts=checkpoint is not None)
        return
    from tsenet.training.shard_recipe import ShardOptions

    with shown_progress(quiet or not is_first_process()) as progress:
        warm_up(progress)
        model.set_params(verbose=progress)
        model.fit_shards(folder, target, checkpoint=checkpoint, options=ShardOptions(**options))
        if not is_first_process():
            return
        model.source_ = {"targets": target, **given(unlabeled=unlabeled)}
        with written_to(out) as path:
            model.save(path)
    _say_fitted(model, folder, out, table, as_json)


def _say_fitted(model: Any, folder: ShardFolder, out: Path, table: bool, as_json: bool) -> None:
    history = model.history_
    n_processes = rank_and_size()[1]
    fields = {
        "model": out,
        "rows": folder.n_rows,
        "columns": folder.n_columns,
        "layers": model.wiring_.layer_sizes,
        "parameters": model.n_parameters_,
        "epochs": history.n_epochs,
        "stopped": history.stopped,
        "processes": n_processes,
        "validation_loss": None if history.best_epoch is None else _best_loss(history),
    }
    if table:
        typer.echo(history.table(), err=as_json or out == STDOUT)
    sizes = "-".join(map(str, model.wiring_.layer_sizes))
    best = "" if history.best_epoch is None else f", best validation loss {_best_loss(history):.4f}"
    many = "" if n_processes == 1 else f" by {n_processes} processes"
    say(
        as_json,
        fields,
        f"{folder.n_rows:,} rows, {folder.n_columns:,} words; network {sizes}, "
        f"{model.n_parameters_:,} parameters",
        f"{count_of(history.n_epochs, 'epoch')}{many}{best}; written to {out}",
    )


def _best_loss(history: Any) -> float:
    return float(history.validation_loss[history.best_epoch])


def _refuse_options_of_files(context: typer.Context, but: str = "") -> None:
    for name in _OF_FILES:
        if name == but:
            continue
        source = context.get_parameter_source(name)
        if source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP"):
            option = "--" + name.replace("_", "-")
            raise DataError(f"{option} is for files: a folder of shards has its columns already")


def _classifies(folder: ShardFolder, target: list[str], task: str) -> bool:
    """Whether the label columns hold classes: as in a file, unless the user says so."""
    from tsenet.cli._model_data import MOST_CLASSES

    if task != "auto":
        return task == "classification"
    for name in target:
        values = folder.classes.get(name, ())
        numbers = values is not None and all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in values
        )
        if values is None or (numbers and len(values) > MOST_CLASSES):
            return False
        if len(target) > 1 and not set(values) <= {0, 1}:
            return False
    return True


def _marker(folder: ShardFolder, target: list[str], unlabeled: str | None) -> Any:
    """The value of the label column that ``--unlabeled`` means."""
    values = folder.classes.get(target[0]) or ()
    return next((value for value in values if str(value) == unlabeled), unlabeled)


def _estimator(classifies: bool, parameters: dict[str, Any]) -> Any:
    import tsenet

    kind = tsenet.TSENetClassifier if classifies else tsenet.TSENetRegressor
    return kind(**parameters)


def _refuse_unsupported(
    model: Any,
    folder: ShardFolder,
    target: list[str],
    classifies: bool,
    processes: int | None,
    options: dict[str, Any],
) -> None:
    """Refuse what will not work in the one process that the user sees, not in all that it starts."""
    from tsenet.training.settings import Recipe
    from tsenet.training.shard_recipe import ShardOptions, refuse_unsupported

    refuse_unsupported(Recipe(linear_skip=model.linear_skip), folder, tuple(target), classifies)
    n_streams, n_groups = ShardOptions(**options).n_streams, len(folder.partitions)
    if processes is not None and processes > min(n_streams, n_groups):
        few = f"{folder.place.url} has {n_groups} row groups: write smaller ones (tsenet shard --rows-per-partition)"
        if n_groups >= processes:
            few = f"rows are read as {n_streams} streams: give --streams {processes} or more"
        raise DataError(f"--processes {processes} is too many, {few}")


# ---- predictions


def predict_folder(
    context: typer.Context,
    model: Path,
    data: Path,
    out: Path | None,
    *,
    id_column: str | None,
    processes: int | None,
    cluster: str | None,
    jobs: int | None,
    config: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the predictions of a folder of shards into another folder, a file for each shard."""
    _refuse_options_of_files(context)
    if out is None:
        raise DataError("give --out: predictions of a folder are written to a folder")
    if cluster is not None and processes is not None:
        raise DataError("give --processes or --cluster, not both")
    folder = open_shards(data)
    files = list(dict.fromkeys(partition.file for partition in folder.partitions))
    for file in ("", *files):
        refuse_inputs(out / file, data, model, config)
    if processes is not None and not started_by_torchrun():
        run_in_processes(context, processes, restarts=False)
        return
    copied = () if id_column is None else (id_column,)
    task = (str(model.resolve()), jobs, folder, str(out.resolve()), copied, force)
    with shown_progress(quiet or not is_first_process()) as progress:
        if cluster is None:
            rank, size = rank_and_size()
            own = files[rank::size]
            progress.start("predicting shards", len(own))
            for file in own:
                _predict_file(*task, file)
                progress.advance(1)
        else:
            progress.start("predicting shards", len(files))
            _predict_on_cluster(cluster, task, files, progress)
        progress.finish()
    if is_first_process():
        fields = {"out": out, "rows": folder.n_rows, "files": len(files)}
        written = (
            f"{folder.n_rows:,} predictions written to {count_of(len(files), 'file')} in {out}"
        )
        say(as_json, fields, written)


def _predict_on_cluster(
    cluster: str, task: tuple[Any, ...], files: list[str], progress: Progress
) -> None:
    """One task for each file; a task that ran on a worker that was lost runs again."""
    from tsenet.scale.cluster import OnCluster
    from tsenet.scale.executor import Reduction

    with OnCluster(cluster) as executor:
        for _ in executor.run((Reduction(_predict_file, [file], task) for file in files), progress):
            pass


def _predict_file(
    model: str,
    jobs: int | None,
    folder: ShardFolder,
    out: str,
    copied: tuple[str, ...],
    force: bool,
    file: str,
) -> None:
    """Predict one shard, in this process or in a worker, which reads the model once."""
    from tsenet.cli._model_data import answers_of
    from tsenet.estimators.shards import predict_shard

    fitted, digest = _model(model, jobs)
    predict_shard(
        *(partial(answers_of, fitted), fitted.binary_rule_.names_in, folder, file, out),
        {"model": digest},
        copied=copied,
        force=force,
    )


@lru_cache(maxsize=1)
def _model(path: str, jobs: int | None) -> tuple[Any, str]:
    """A model, and the SHA-256 of its file."""
    from tsenet.cli._model_data import load_model

    return load_model(Path(path), jobs), sha256(Path(path).read_bytes()).hexdigest()
