"""Any file of documents as a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.columns import count_of, is_missing
from tsenet.data.documents import read_documents
from tsenet.datasets.cache import Arrays, cached, pack_strings, unpack_strings
from tsenet.datasets.corpora import Labelled
from tsenet.datasets.dataset import Dataset, Task
from tsenet.datasets.split import SEED, hold_out
from tsenet.datasets.text import (
    VALIDATION_SHARE,
    StopWords,
    Weighting,
    check_options,
    count_parts,
    dataset_of,
    digests_of,
    options_of,
    take,
)
from tsenet.errors import DataError
from tsenet.progress import Progress, ProgressCallback, as_progress

__all__ = ["from_documents"]


def from_documents(
    path: str | Path,
    *,
    text: str,
    target: str | Sequence[str],
    test: str | Path | float | None = 0.2,
    validation: float = VALIDATION_SHARE,
    n_words: int = 10_000,
    weighting: Weighting = "tfidf",
    stop_words: StopWords = "english",
    header: bool = True,
    encoding: str = "utf-8",
    seed: int = SEED,
    progress: bool | Progress | ProgressCallback | None = None,
) -> Dataset:
    """Make a data set from a file of documents: csv, tsv, jsonl (plain or compressed) or parquet.

    Parameters
    ----------
    path : path
        The training documents.
    text : str
        The column of the text; without a header the columns are called "1", "2", ...
    target : str or sequence of str
        The column of the class; or several columns of labels 0 and 1, empty where unknown.
    test : path, float or None, default 0.2
        A file of test documents with the same columns; or the share of the rows to take as such; None: no test rows.
    validation : float, default 0.1
        Share of the training rows held out for validation.
    n_words : int, default 10_000
    weighting : {"tfidf", "counts", "binary"}, default "tfidf"
        As in :func:`tsenet.datasets.load`.
    stop_words : "english", sequence of str or None, default "english"
    header : bool, default True
        Whether the first line of a csv or tsv names its columns.
    encoding : str, default "utf-8"
    seed : int
        Of the draws of test and validation rows.
    progress : optional
        As in :func:`tsenet.learn_tree`.

    Raises
    ------
    DataError
        If the file cannot be read, has no such column, a class is missing, or the test file has a class that the
        training file does not have.
    """
    check_options(n_words, weighting)
    path = Path(path)
    files = {"train": path, **({"test": Path(test)} if isinstance(test, str | Path) else {})}
    share = test if isinstance(test, float | int) else None
    for what, value in (("validation", validation), ("test", share)):
        if value is not None and not 0 < value < 1:
            raise DataError(f"{what} must be a share between 0 and 1, got {value}")
    columns = _Columns(text, target, header, encoding)
    stops = stop_words if stop_words is None or isinstance(stop_words, str) else [*stop_words]

    def build() -> Arrays:
        shown.start("reading documents", None)
        train, classes = columns.read(path, None)
        if share is not None:
            taken = hold_out(train.y, max(1, round(share * len(train.y))), seed)
            train, tested = take(train, ~taken), take(train, taken)
        elif "test" in files:
            tested, _ = columns.read(files["test"], classes)
        else:
            tested = Labelled([], train.y[:0])
        shown.finish(f"{len(train.texts):,} training, {len(tested.texts):,} test")
        held = hold_out(train.y, max(1, round(validation * len(train.y))), seed + 1)
        arrays = count_parts(train, held, tested, n_words, stops, shown)
        return arrays | pack_strings("classes", classes)

    made_from = {
        "files": digests_of(files),
        "columns": [text, target if isinstance(target, str) else [*target], header, encoding],
        "split": [share, validation, seed],
        "stop_words": stops,
        **options_of(n_words),
    }
    with as_progress(progress) as shown:
        arrays = cached("documents", made_from, build)
    task: Task = "labels" if columns.several else "classes"
    return dataset_of(
        (path.name, path.name, task, unpack_strings("classes", arrays)),
        arrays,
        weighting,
        (str(path), "as given by the owner of the file", "none"),
        [],
    )


@dataclass(frozen=True)
class _Columns:
    """Which columns of a file hold the text and the target."""

    text: str
    target: str | Sequence[str]
    header: bool
    encoding: str

    @property
    def several(self) -> bool:
        """Whether there are labels instead of one class."""
        return not isinstance(self.target, str)

    def read(self, path: Path, classes: tuple[str, ...] | None) -> tuple[Labelled, tuple[str, ...]]:
        """Read a file; the classes are those given, or else those it holds."""
        columns = [self.target] if isinstance(self.target, str) else list(self.target)
        read = read_documents(
            path, self.text, columns=columns, header=self.header, encoding=self.encoding
        )
        if self.several:
            return Labelled(read.texts, _labels(read.columns, path)), tuple(columns)
        values = read.columns[columns[0]]
        if classes is None:
            classes = _classes(values, path)
        return Labelled(read.texts, _numbers(values, classes, path)), classes


def _classes(values: Sequence[Any], path: Path) -> tuple[str, ...]:
    """The classes there are: those that spell numbers in their order, then the others by the alphabet."""
    found = {str(value) for value in values if not is_missing(value)}
    if len(found) < 2:
        number = "one class" if found else "no class"
        raise DataError(f"{path}: the target holds {number}, not two or more")
    return tuple(sorted(found, key=_by_number))


def _numbers(values: Sequence[Any], classes: Sequence[str], path: Path) -> NDArray[np.int64]:
    numbers = {name: number for number, name in enumerate(classes)}
    n_missing = sum(map(is_missing, values))
    if n_missing:
        raise DataError(
            f"{path}: {count_of(n_missing, 'document')} without a class: leave them out"
        )
    try:
        return np.array([numbers[str(value)] for value in values], dtype=np.int64)
    except KeyError as error:
        raise DataError(f"{path}: the class {error} does not occur in training") from error


def _labels(columns: dict[str, list[Any]], path: Path) -> NDArray[np.float64]:
    """Labels as numbers, shape (N, C), NaN where unknown."""
    known = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "False": 0.0, "True": 1.0}
    read = []
    for name, values in columns.items():
        wrong = [value for value in values if not is_missing(value) and str(value) not in known]
        if wrong:
            raise DataError(f"{path}: column {name!r} holds {wrong[0]!r}, expected 0, 1 or nothing")
        read.append([np.nan if is_missing(value) else known[str(value)] for value in values])
    return np.array(read, dtype=np.float64).T


def _by_number(name: str) -> tuple[int, float, str]:
    """Sorting key: what spells a number by its value, and before the rest."""
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)
