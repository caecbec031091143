"""Make a data set from a file of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.columns import count_of, is_missing
from tsenet.data.files import read_documents
from tsenet.datasets.cache import Arrays, cached, pack_strings, unpack_strings
from tsenet.datasets.corpora import LabelledTexts
from tsenet.datasets.dataset import Dataset, Task
from tsenet.datasets.split import SEED, hold_out
from tsenet.datasets.word_features import (
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
    r"""Make a data set from a file of documents: csv, tsv, jsonl (plain or compressed) or parquet.

    Parameters
    ----------
    path : str or Path
        The training documents.
    text : str
        Name of the column with the text. Without a header the columns are called "1", "2", ...
    target : str or sequence of str
        Name of the column with the class; or of several columns with labels 0 and 1, empty where unknown.
    test : str, Path, float or None, default=0.2
        A file of test documents with the same columns; or the share of rows to hold out for testing; None for no test
        rows.
    validation : float, default=0.1
        Share of the training rows to hold out for validation.
    n_words : int, default=10_000
        Size of the vocabulary: the most frequent words of the training documents.
    weighting : {"tfidf", "counts", "binary"}, default="tfidf"
        How counts become features. ``"tfidf"`` is (1 + ln count) · idf with rows of length 1.
    stop_words : "english", sequence of str or None, default="english"
        Words to leave out. Give your own for other languages; None leaves out none.
    header : bool, default=True
        Whether the first line of a csv or tsv file names the columns.
    encoding : str, default="utf-8"
        Encoding of csv, tsv and JSON lines; change it for files that are not UTF-8.
    seed : int, default=180306120
        Seed of the draws of test and validation rows; change it for another split.
    progress : bool, Progress or callable, default=None
        True shows progress bars on stderr; a callable is called as ``progress(stage, done, total)``.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the file cannot be read, has no such column or a document without class, or if the test file has a class
        that the training file does not have.

    See Also
    --------
    tsenet.data.read_documents : Read texts without making a data set.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.datasets import from_documents
    >>> lines = ["body,animal"] + 10 * ["a cat sleeps,cat", "my dog barks,dog"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pets.csv"
    ...     _ = path.write_text("\n".join(lines))
    ...     pets = from_documents(path, text="body", target="animal")
    >>> pets
    Dataset('pets.csv', 14 + 2 + 4 rows × 4 features, 2 classes)
    >>> pets.feature_names, pets.class_names
    (('barks', 'cat', 'dog', 'sleeps'), ('cat', 'dog'))
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
            tested = LabelledTexts([], train.y[:0])
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
        """Whether there are several labels instead of one class."""
        return not isinstance(self.target, str)

    def read(
        self, path: Path, classes: tuple[str, ...] | None
    ) -> tuple[LabelledTexts, tuple[str, ...]]:
        """Read a file with the given classes, or for None with those that occur in it."""
        columns = [self.target] if isinstance(self.target, str) else list(self.target)
        read = read_documents(
            path, self.text, columns=columns, header=self.header, encoding=self.encoding
        )
        if self.several:
            return LabelledTexts(read.texts, _labels(read.columns, path)), tuple(columns)
        values = read.columns[columns[0]]
        if classes is None:
            classes = _classes(values, path)
        return LabelledTexts(read.texts, _numbers(values, classes, path)), classes


def _classes(values: Sequence[Any], path: Path) -> tuple[str, ...]:
    """Return the classes that occur: numbers in numeric order, then other names alphabetically."""
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
    """Return labels as numbers, shape (N, C), NaN where unknown."""
    known = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "False": 0.0, "True": 1.0}
    read = []
    for name, values in columns.items():
        wrong = [value for value in values if not is_missing(value) and str(value) not in known]
        if wrong:
            raise DataError(f"{path}: column {name!r} holds {wrong[0]!r}, expected 0, 1 or nothing")
        read.append([np.nan if is_missing(value) else known[str(value)] for value in values])
    return np.array(read, dtype=np.float64).T


def _by_number(name: str) -> tuple[int, float, str]:
    """Return a sorting key: numbers by value, before all other names."""
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)
