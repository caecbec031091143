"""The data sets of the scoreboard: text, tables and images, each with training and test rows.

The files of ``suite/`` in ``TSENET_DATA`` are read here; the others come from :mod:`tsenet.datasets`. The test rows of
a data set are read only when they are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError

__all__ = ["SUITE", "Fold", "RawRows", "SuiteEntry", "available", "fold_of"]

Kind = Literal["text", "table", "image"]
Side = Literal["train", "test"]
EvaluationPart = Literal["validation", "test"]
N_WORDS = 10_000
_SHARE = 0.25  # of the rows that are held out
_FASHION = "/usr/share/datasets/fashion-mnist"  # of Debian's package


@dataclass(frozen=True, eq=False)
class RawRows:
    """Rows before features are made: ``X`` is a list of str or a float array (N, V), ``y`` classes or numbers (N,)."""

    X: Any
    y: NDArray[Any]

    def take(self, rows: NDArray[np.int64]) -> RawRows:
        """Some of the rows."""
        X = [self.X[i] for i in rows] if isinstance(self.X, list) else self.X[rows]
        return RawRows(X, self.y[rows])


@dataclass(frozen=True)
class SuiteEntry:
    """A data set of the scoreboard.

    Attributes
    ----------
    name : str
    kind : {"text", "table", "image"}
    n_rows : int
        Training rows, about; it decides which numbers of labels make sense.
    read : function of "train" or "test" and a seed
        The seed draws the test rows of data sets that have no official ones.
    regression : bool
        The target is a number, scored by R².
    n_fit : int or None
        Learn from so many training rows only; as many others are the evaluation part.
    """

    name: str
    kind: Kind
    n_rows: int
    read: Callable[[Side, int], RawRows]
    regression: bool = False
    n_fit: int | None = None


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to learn from and rows to be scored on, as features.

    Attributes
    ----------
    entry : SuiteEntry
    views : mapping of str to (features to learn from, features to be scored on)
        Text has ``counts`` and ``tfidf``, other data ``values``.
    y, y_held : ndarray
        Class numbers from 0, or numbers.
    """

    entry: SuiteEntry
    views: Mapping[str, tuple[Any, Any]]
    y: NDArray[Any]
    y_held: NDArray[Any]

    def view(self, name: str) -> tuple[Any, Any]:
        """The features of that name; of tables and images there is one kind."""
        return self.views[name] if name in self.views else self.views["values"]


def fold_of(
    entry: SuiteEntry,
    part: EvaluationPart,
    seed: int,
    *,
    n_words: int = N_WORDS,
    n_fit: int | None = None,
    n_held: int | None = None,
) -> Fold:
    """Rows of a data set for one seed: a quarter of the training rows is held out, or the test rows are read.

    Parameters
    ----------
    entry : SuiteEntry
    part : {"validation", "test"}
        ``"validation"`` never reads the test rows.
    seed : int
    n_words : int
        Vocabulary, chosen from the rows to learn from.
    n_fit, n_held : int or None
        At most so many rows to learn from and to be scored on.
    """
    train = entry.read("train", seed)
    most = min((n for n in (entry.n_fit, n_fit) if n is not None), default=None)
    if part == "test":
        fit, held = _at_most(train, most, entry, seed), entry.read("test", seed)
    else:
        own = most if entry.n_fit is not None else None  # many rows are left to be scored on
        fit, held = _two(train, entry, seed, own)
        fit = _at_most(fit, most, entry, seed)
    held = _at_most(held, n_held, entry, seed)
    y, y_held = fit.y, held.y
    if not entry.regression:
        classes = np.unique(y)
        at = np.minimum(np.searchsorted(classes, y_held), classes.size - 1)
        y_held = np.where(classes[at] == y_held, at, -1)  # a class never seen is never right
        y = np.searchsorted(classes, y)
    return Fold(entry, _views(fit.X, held.X, n_words), y, y_held)


def available(name: str) -> bool:
    """Whether the files of a data set are there, without a download."""
    from tsenet.datasets import is_available

    return name != "fashion_mnist" or is_available(name, home=_FASHION)


def _views(fit: Any, held: Any, n_words: int) -> dict[str, tuple[Any, Any]]:
    if not isinstance(fit, list):
        return {"values": (fit, held)}
    from tsenet.data.text import count_words, vectorize, word_vectorizer
    from tsenet.datasets.word_features import weigh

    vectorizer = word_vectorizer(n_words=n_words, stop_words="english", min_documents=2)
    table = vectorize(fit, vectorizer)
    counts = (table.values, count_words(held, vectorizer).values)
    weighted = weigh(counts, "tfidf")
    return {"counts": counts, "tfidf": (weighted[0], weighted[1])}


def _two(
    rows: RawRows, entry: SuiteEntry, seed: int, size: int | None = None
) -> tuple[RawRows, RawRows]:
    """Three quarters and one quarter of the rows, or ``size`` rows and as many others; each class in its share."""
    from sklearn.model_selection import train_test_split

    first, second = train_test_split(
        np.arange(rows.y.size),
        train_size=size,
        test_size=_SHARE if size is None else size,
        stratify=None if entry.regression else rows.y,
        random_state=seed,
    )
    return rows.take(np.sort(first)), rows.take(np.sort(second))


def _at_most(rows: RawRows, size: int | None, entry: SuiteEntry, seed: int) -> RawRows:
    if size is None or rows.y.size <= size:
        return rows
    if entry.regression:
        return rows.take(np.sort(np.random.default_rng(seed).permutation(rows.y.size)[:size]))
    from reproduce.dataset_context import label_order

    return rows.take(np.sort(label_order(rows.y, seed)[:size]))


# ---- files


def _suite_file(name: str) -> Path:
    home = os.environ.get("TSENET_DATA")
    if not home:
        raise DataError(f"{name} is in the folder suite of TSENET_DATA, which is not set")
    return Path(home) / "suite" / name


def _suite_text(name: str, side: Side, seed: int) -> RawRows:
    import pandas as pd

    del seed  # it has official test rows
    path = _suite_file(f"{name}-{side}.csv.xz")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return RawRows(frame["text"].tolist(), frame["label"].to_numpy(str))


def _suite_table(name: str, side: Side, seed: int) -> RawRows:
    path = _suite_file(name)
    if path.suffix == ".npz":
        with np.load(path) as file:
            rows = RawRows(np.asarray(file["X"], np.float64), file["y"])
    else:
        import pandas as pd

        frame = pd.read_csv(path)
        X = frame.drop(columns="TARGET").to_numpy(np.float64)
        rows = RawRows(X, frame["TARGET"].to_numpy())
    entry = SUITE[name.partition(".")[0]]
    train, test = _two(rows, entry, seed)
    return train if side == "train" else test


def _catalog(name: str, side: Side, seed: int) -> RawRows:
    """A data set of :mod:`tsenet.datasets`; its validation rows are training rows here."""
    from tsenet.datasets import is_available, load

    del seed
    home = _FASHION if name == "fashion_mnist" and is_available(name, home=_FASHION) else None
    dataset = load(name, home=home, n_words=100, download=False)
    if side == "test":
        return RawRows(_features(dataset.test), dataset.test.y)
    parts = (dataset.train, dataset.validation)
    features = [_features(part) for part in parts]
    text = isinstance(features[0], list)
    X = features[0] + features[1] if text else np.concatenate(features)
    return RawRows(X, np.concatenate([part.y for part in parts]))


def _features(part: Any) -> Any:
    return part.X if part.texts is None else list(part.texts)


def _entries() -> tuple[SuiteEntry, ...]:
    text = (("stackoverflow", 15_000), ("dbpedia", 10_000), ("subj", 7_000))
    tables = (
        ("dna", 3_186), ("spam", 4_601), ("satellite", 6_435), ("sonar", 208), ("vowel", 990),
    )  # fmt: skip
    return (
        SuiteEntry("ag_news", "text", 36_932, partial(_catalog, "ag_news")),
        SuiteEntry("20newsgroups", "text", 11_314, partial(_catalog, "20newsgroups")),
        *(SuiteEntry(name, "text", n, partial(_suite_text, name)) for name, n in text),
        *(
            SuiteEntry(name, "table", n * 3 // 4, partial(_suite_table, f"{name}.csv.xz"))
            for name, n in tables
        ),
        SuiteEntry("acsf1", "table", 150, partial(_suite_table, "acsf1.npz")),
        SuiteEntry(
            "tecator", "table", 161, partial(_suite_table, "tecator.csv.xz"), regression=True
        ),
        SuiteEntry("digits", "image", 1_438, partial(_catalog, "digits")),
        SuiteEntry("mnist", "image", 5_000, partial(_catalog, "mnist"), n_fit=5_000),
        SuiteEntry(
            "fashion_mnist", "image", 5_000, partial(_catalog, "fashion_mnist"), n_fit=5_000
        ),
    )


#: All data sets by name.
SUITE: dict[str, SuiteEntry] = {entry.name: entry for entry in _entries()}
