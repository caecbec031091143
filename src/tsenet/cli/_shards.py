"""``tsenet fit`` and ``tsenet predict`` on folders of shards."""

from __future__ import annotations

import json
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
from tsenet.cli._results import say, say_fitted
from tsenet.data.columns import count_of
from tsenet.data.shards import ShardFolder, open_shards
from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = ["fit_folder", "predict_folder"]

#: Options of ``fit`` and ``predict`` that say how a file is read.
_OF_FILES = (
    *("text", "ignore", "words", "stop_words", "min_documents", "max_df", "ngrams", "tokenizer"),
    *("encoding", "no_header", "explain"),
)
_KEY = b"tsenet.predictions"  # of the metadata of a file of predictions


def fit_folder(
    context: typer.Context,
    data: Path,
    target: list[str],
    out: Path,
    task: str,
    parameters: dict[str, Any],
    *,
    unlabeled: str | None,
    config: Path | None,
    force: bool,
    table: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit a model to a folder of shards and write it."""
    import tsenet

    _refuse_options_of_files(context)
    folder = open_shards(data)
    classifies = _classifies(folder, target, task)
    if unlabeled is not None:
        if not classifies:
            raise DataError("--unlabeled is for classes: the missing values of a folder are nulls")
        values = folder.classes.get(target[0]) or ()
        marker = next((value for value in values if str(value) == unlabeled), unlabeled)
        parameters = {**parameters, "unlabeled": marker}
    check_output(out, force, data, config)
    kind = tsenet.TSENetClassifier if classifies else tsenet.TSENetRegressor
    with shown_progress(quiet) as progress:
        warm_up(progress)
        model = kind(**parameters, verbose=progress)
        model.fit(folder, target[0] if len(target) == 1 else target)
        model.source_ = {"targets": target, **given(unlabeled=unlabeled)}
        with written_to(out) as path:
            model.save(path)
    if table:
        typer.echo(model.history_.table(), err=as_json or out == STDOUT)
    say_fitted(model, folder, None, out, as_json)


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


# ---- predictions


def predict_folder(
    context: typer.Context,
    model: Path,
    data: Path,
    out: Path | None,
    *,
    id_column: str | None,
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
    folder = open_shards(data)
    files = list(dict.fromkeys(partition.file for partition in folder.partitions))
    for file in ("", *files):
        refuse_inputs(out / file, data, model, config)
    copied = () if id_column is None else (id_column,)
    task = (str(model.resolve()), jobs, folder, str(out.resolve()), copied, force)
    with shown_progress(quiet) as progress:
        progress.start("predicting shards", len(files))
        if cluster is None:
            for file in files:
                _predict_file(*task, file)
                progress.advance(1)
        else:
            _predict_on_cluster(cluster, task, files, progress)
        progress.finish()
    fields = {"out": out, "rows": folder.n_rows, "files": len(files)}
    written = f"{folder.n_rows:,} predictions written to {count_of(len(files), 'file')} in {out}"
    say(as_json, fields, written)


def _predict_on_cluster(
    cluster: str, task: tuple[Any, ...], files: list[str], progress: Progress
) -> None:
    """One task for each file; a task that ran on a worker that was lost runs again."""
    from tsenet.scale.cluster import Cluster

    with Cluster(cluster) as workers:
        for _ in workers.map(partial(_predict_file, *task), files):
            progress.advance()


def _predict_file(
    model: str,
    jobs: int | None,
    folder: ShardFolder,
    out: str,
    copied: tuple[str, ...],
    force: bool,
    file: str,
) -> None:
    """Write predictions for one shard, in this process or in a worker: a Parquet file with as many rows.

    A partition is in memory at a time. A file that the same model has finished before is left as it is, so a run that
    was stopped continues.
    """
    import pyarrow
    import pyarrow.parquet

    from tsenet._system.atomic import atomic_write
    from tsenet.cli._model_data import answers_of
    from tsenet.estimators.outside_memory import columns_of_words, with_words

    fitted, digest = _model(model, jobs)
    words = fitted.binary_rule_.names_in
    columns = columns_of_words(folder, words)
    path = Path(out) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {"model": digest, "shards": folder.digest, "copied": copied}
    mark = json.dumps(run, sort_keys=True).encode()
    if _is_done(path, mark, force):
        return
    with atomic_write(path) as stream:
        writer = None
        for partition in folder.partitions:
            if partition.file != file:
                continue
            block = folder.read(partition, copied)
            names, answers = answers_of(fitted, with_words(block.table, words, columns))
            table = pyarrow.table({**block.labels, **dict(zip(names, answers, strict=True))})
            if writer is None:
                schema = table.schema.with_metadata({_KEY: mark})
                writer = pyarrow.parquet.ParquetWriter(stream, schema)
            writer.write_table(table.cast(schema))
        assert writer is not None  # a file has at least one partition
        writer.close()


def _is_done(path: Path, mark: bytes, force: bool) -> bool:
    """Whether the same run has written the file."""
    import pyarrow
    import pyarrow.parquet

    if not path.exists():
        return False
    try:
        own = (pyarrow.parquet.read_schema(path).metadata or {}).get(_KEY) == mark
    except (pyarrow.ArrowException, OSError):
        own = False
    if not own and not force:
        raise DataError(
            f"{path} exists and is not of this model and folder: give another folder, or --force"
        )
    return own


@lru_cache(maxsize=1)
def _model(path: str, jobs: int | None) -> tuple[Any, str]:
    """A model, and the SHA-256 of its file."""
    from tsenet.cli._model_data import load_model

    return load_model(Path(path), jobs), sha256(Path(path).read_bytes()).hexdigest()
