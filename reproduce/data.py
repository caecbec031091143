"""The data sets of the experiments, read from the folder ``TSENET_DATA`` (scikit-learn provides ``digits``).

``python -m reproduce data`` prints source, licence and how to obtain each of them, and compares the files with
``checksums.txt`` (the format of ``sha256sum``).
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.progress import BarProgress

__all__ = [
    "DATA",
    "TOX21_LABELS",
    "Fold",
    "Rows",
    "Source",
    "count_words",
    "encoded",
    "fold_of",
    "is_drawn",
    "label_order",
    "load",
]

N_WORDS = 10_000
HELD_OUT = 0.25
TOX21_LABELS = (
    "NR-AhR", "NR-AR", "NR-AR-LBD", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma",
    "SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53",
)  # fmt: skip

#: The subjects of 20 Newsgroups, as its page arranges the groups, and the numbers of their groups.
SUBJECTS = {
    "computers": range(2, 7),
    "for sale": range(7, 8),
    "recreation": range(8, 12),
    "science": range(12, 16),
    "politics": range(17, 20),
    "religion": (1, 16, 20),
}
#: Other labels of the same rows, which follow a slash in the name of a data set.
LABELS = {"tox21": TOX21_LABELS, "20newsgroups": ("subjects",)}

Kind = Literal["text", "table", "image"]
Task = Literal["classes", "labels", "regression"]
Part = Literal["validation", "test"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows before features are made.

    Attributes
    ----------
    X : list of str, or array or csr_array of shape (N, V)
    y : ndarray of shape (N,), or (N, C) for several labels
        Class names or numbers, numbers to predict, or 0, 1 and NaN (not measured) for several labels.
    names : tuple of str
        Column names; empty for texts.
    keys : ndarray of shape (N,) or None
        Equal for equal rows, where a test row may repeat a training row.
    numbers : ndarray of shape (N,) or None
        Of the rows in their file; None for all, in order.
    """

    X: Any
    y: NDArray[Any]
    names: tuple[str, ...] = ()
    keys: NDArray[Any] | None = None
    numbers: NDArray[np.int64] | None = None

    def take(self, chosen: NDArray[np.int64]) -> Rows:
        """Return some of the rows, in the given order."""
        X = [self.X[i] for i in chosen] if isinstance(self.X, list) else self.X[chosen]
        keys = None if self.keys is None else self.keys[chosen]
        numbers = chosen if self.numbers is None else self.numbers[chosen]
        return Rows(X, self.y[chosen], self.names, keys, numbers)


@dataclass(frozen=True)
class Source:
    """A data set: what it is, where it comes from, and how to read it.

    Attributes
    ----------
    title : str
    kind : {"text", "table", "image"}
    task : {"classes", "labels", "regression"}
        One class per row, several labels per row, or a number.
    n_train, n_test : int
        Rows in our files; without official test rows ``n_test`` is 0 and a quarter is drawn per seed.
    origin, licence, how : str
        Where it comes from, its terms of use, and how to obtain our files.
    read : function of "train" or "test"
    n_fit : int or None
        Fit on this many training rows only.
    stop_words : str or None
        Words that are no features, as for :func:`tsenet.data.word_vectorizer`.
    tokenizer : str
        How texts are split into words, likewise.
    """

    title: str
    kind: Kind
    task: Task
    n_train: int
    n_test: int
    origin: str
    licence: str
    how: str
    read: Callable[[str], Rows]
    n_fit: int | None = None
    stop_words: str | None = None
    tokenizer: str = "unicode"


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to fit and rows to be scored on, as features.

    Attributes
    ----------
    name : str
    kind, task
        As in :class:`Source`.
    X, X_held : csr_array of word counts, or float array
    y, y_held : float64 (N,) or (N, C)
        Class numbers from 0; NaN marks a missing label. A class that occurs only in the held-out rows is −1.
    names : tuple of str
        Column names.
    repeated : bool (n_held,)
        Held-out rows that are also among the rows to fit.
    vectors : function without arguments
        Returns the vectors that a pretrained encoder gives to both kinds of rows.
    """

    name: str
    kind: Kind
    task: Task
    X: Any
    y: Floats
    X_held: Any
    y_held: Floats
    names: tuple[str, ...]
    repeated: NDArray[np.bool_]
    vectors: Callable[[], tuple[Floats, Floats]] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes; 2 for several labels, 0 for a regression."""
        if self.task == "classes":
            return int(np.nanmax(self.y)) + 1
        return 2 if self.task == "labels" else 0

    @property
    def metric(self) -> Literal["accuracy", "auc", "r2"]:
        """What is measured: accuracy, R² of a regression, the area under the ROC curve of Tox21's rare labels."""
        if self.task == "regression":
            return "r2"
        return "auc" if self.name.partition("/")[0] == "tox21" else "accuracy"

    def with_labels(self, n_labels: int | None, seed: int) -> Fold:
        """Keep the labels of ``n_labels`` rows, every class in its share; larger numbers include smaller ones."""
        if n_labels is None:
            return self
        known = _known(self.y) if self.task == "classes" else np.empty(0, np.int64)
        if not max(1, self.n_classes) <= n_labels <= known.size:
            raise DataError(
                f"{self.name}: cannot draw {n_labels} labels from {self.y.size} rows in {self.n_classes} classes"
            )
        y = np.full(self.y.shape, np.nan)
        kept = known[label_order(self.y[known], seed)[:n_labels]]
        y[kept] = self.y[kept]
        return replace(self, y=y)


def load(name: str, side: str) -> Rows:
    """Read the training or the test rows of a data set.

    Parameters
    ----------
    name : str
        A key of :data:`DATA`; ``tox21/NR-AR`` for one label of Tox21 as two classes, with NaN where it is not known of
        a training row; ``20newsgroups/subjects`` for the six subjects that the groups belong to.
    side : {"train", "test"}

    Raises
    ------
    DataError
        If the name or the files are missing, or the number of rows is not the documented one.
    """
    base, _, label = name.partition("/")
    source = _source(base)
    if source.n_test == 0 and side == "test":
        raise DataError(f"{name} has no official test rows")
    try:
        rows = source.read(side)
    except FileNotFoundError as error:
        raise DataError(f"{name} needs {error.filename}: {source.how}") from error
    expected = source.n_train if side == "train" else source.n_test
    if rows.y.shape[0] != expected:
        raise DataError(f"{name}: {rows.y.shape[0]:,} {side} rows, expected {expected:,}")
    return _with_label(rows, base, label, side) if label else rows


def _with_label(rows: Rows, base: str, label: str, side: str) -> Rows:
    """The rows of a data set with a label of another kind.

    Test rows without it are left out; training rows are kept, for what is learned without labels: one structure serves
    all kinds.
    """
    labels = LABELS.get(base, ())
    if label not in labels:
        raise DataError(f"{base}/{label}: the labels are {', '.join(labels) or 'of one kind only'}")
    if base == "20newsgroups":
        subject_of = {str(group): name for name, groups in SUBJECTS.items() for group in groups}
        return replace(rows, y=np.array([subject_of[group] for group in rows.y]))
    task = replace(rows, y=rows.y[:, TOX21_LABELS.index(label)])
    return task if side == "train" else task.take(_known(task.y))


def _known(y: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers of the rows that have a label, or some label."""
    missing = pd.isna(y)
    return np.flatnonzero(~(missing if missing.ndim == 1 else missing.all(axis=1)))


def is_drawn(name: str, part: Part) -> bool:
    """Whether the seed draws rows of a fold; if not, the folds of all seeds are the same."""
    base, _, n_rows = name.partition("@")
    source = _source(base.partition("/")[0])
    official = source.n_test > 0 and part == "test"
    return bool(n_rows) or not official or source.n_fit is not None


def fold_of(name: str, part: Part, seed: int) -> Fold:
    """Make the features of a data set for one seed.

    Parameters
    ----------
    name : str
        As for :func:`load`; ``ag_news@5000`` fits on 5,000 of the training rows, drawn by the seed, every class in its
        share.
    part : {"validation", "test"}
        Score on the test rows, or on a quarter of the training rows; ``"validation"`` never reads test rows.
    seed : int
        Draws the held-out rows, and the test rows of data sets without official ones.

    Returns
    -------
    Fold
        Words, frequencies and classes come from the rows to fit alone.
    """
    whole_name = name
    name, _, n_rows = name.partition("@")
    source = _source(name.partition("/")[0])
    if n_rows:
        source = replace(source, n_fit=None)
    task: Task = "classes" if "/" in name else source.task
    train = load(name, "train")
    if n_rows:
        train = _some_rows(train, task, int(n_rows), seed)
    held_side = "train"
    if source.n_test == 0:
        train, test = _two_parts(train, task, seed, None)
    elif part == "test":
        test, held_side = load(name, "test"), "test"
    if part == "test":
        if source.n_fit is not None:
            train = train.take(np.sort(label_order(train.y, seed)[: source.n_fit]))
    else:
        train, test = _two_parts(train, task, seed, source.n_fit)
    X, X_held, names = train.X, test.X, train.names
    if isinstance(X, list):
        X, X_held, names = count_words(
            X, X_held, stop_words=source.stop_words, tokenizer=source.tokenizer
        )
    y, y_held = train.y, test.y
    known = _known(y)
    if task == "classes":
        classes, numbers = np.unique(y[known], return_inverse=True)
        y = np.full(y.size, np.nan)
        y[known] = numbers
        at = np.minimum(np.searchsorted(classes, y_held), classes.size - 1)
        y_held = np.where(classes[at] == y_held, at, -1)
    repeated = np.zeros(y_held.shape[0], bool)
    if train.keys is not None and test.keys is not None:
        repeated = np.isin(test.keys, train.keys[known])

    def vectors() -> tuple[Floats, Floats]:
        return encoded(name, "train", train), encoded(name, held_side, test)

    return Fold(
        whole_name, source.kind, task, X, y.astype(np.float64),
        X_held, y_held.astype(np.float64), names, repeated, vectors,
    )  # fmt: skip


def encoded(name: str, side: str, rows: Rows) -> Floats:
    """Vectors of all-MiniLM-L6-v2 (extra ``encoder``) for texts; each is made once and kept on disk."""
    path = _cache() / f"minilm-{name}-{side}.npy"
    n_rows = _source(name).n_train if side == "train" else _source(name).n_test
    numbers = np.arange(n_rows) if rows.numbers is None else rows.numbers
    kept: Floats = np.load(path) if path.exists() else np.full((n_rows, 1), np.nan)

    is_new = np.isnan(kept[numbers, 0])
    if is_new.any():
        from tsenet.data import embed

        vectors = embed([rows.X[k] for k in np.flatnonzero(is_new)])
        if kept.shape[1] != vectors.shape[1]:
            kept = np.full((n_rows, vectors.shape[1]), np.nan, vectors.dtype)
        kept[numbers[is_new]] = vectors
        np.save(path, kept)

    return kept[numbers]


def _cache() -> Path:
    """Return the folder for what takes long to compute, which ``TSENET_CACHE`` may name."""
    folder = Path(os.environ.get("TSENET_CACHE", "build/reproduce"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def label_order(y: NDArray[Any], seed: int) -> NDArray[np.int64]:
    """Return an order of the rows of which every beginning holds the classes in their shares.

    A beginning of at least as many rows as classes holds every class.
    """
    rng = np.random.default_rng([seed, 20_180_314])
    position = np.empty(y.size)
    first = np.zeros(y.size, bool)
    classes, numbers = np.unique(y, return_inverse=True)  # rows without a label are one class
    for number in range(classes.size):
        members = rng.permutation(np.flatnonzero(numbers == number))
        # evenly spaced from a random start: the next label goes to the class that lags most
        position[members] = (np.arange(members.size) + rng.random()) / members.size
        first[members[0]] = True
    return np.lexsort((position, ~first))


def count_words(
    fit: list[str],
    held: list[str],
    n_words: int = N_WORDS,
    stop_words: str | None = None,
    tokenizer: str = "unicode",
) -> tuple[Any, Any, Any]:
    """Count the most frequent words of the texts to fit in both lists; HTML is removed, as in ``fit(texts)``."""
    from tsenet.data.text import word_vectorizer
    from tsenet.data.words import without_html

    vectorizer = word_vectorizer(
        n_words=n_words, stop_words=stop_words, min_documents=2, tokenizer=tokenizer
    )
    counts = [
        vectorizer.fit_transform([without_html(text) for text in fit]),
        vectorizer.transform([without_html(text) for text in held]),
    ]
    X, X_held = (sp.csr_array(part, dtype=np.float32) for part in counts)
    return X, X_held, tuple(vectorizer.get_feature_names_out())


def _some_rows(rows: Rows, task: Task, n_rows: int, seed: int) -> Rows:
    """Draw rows, each class in its share."""
    if n_rows > rows.y.shape[0]:
        raise DataError(f"{n_rows:,} rows were asked for, and there are {rows.y.shape[0]:,}")
    if task == "classes":
        order = label_order(rows.y, seed)
    else:
        order = np.random.default_rng([seed, 20_180_314]).permutation(rows.y.shape[0])
    return rows.take(np.sort(order[:n_rows]))


def _two_parts(rows: Rows, task: Task, seed: int, size: int | None) -> tuple[Rows, Rows]:
    """Split rows into three quarters and one, or into ``size`` rows and as many others; the second have labels."""
    from sklearn.model_selection import train_test_split

    strata = np.unique(rows.y, return_inverse=True)[1] if task == "classes" else None
    first, second = train_test_split(
        np.arange(rows.y.shape[0]),
        train_size=size,
        test_size=HELD_OUT if size is None else size,
        stratify=strata,
        random_state=seed,
    )
    held = rows.take(np.sort(second))
    return rows.take(np.sort(first)), held.take(_known(held.y))


def _source(name: str) -> Source:
    if name not in DATA:
        raise DataError(f"there is no data set {name!r}: choose from {', '.join(DATA)}")
    return DATA[name]


# ---- files


def data_folder() -> Path:
    """Return the folder that ``TSENET_DATA`` names."""
    folder = os.environ.get("TSENET_DATA")
    if not folder:
        raise DataError("TSENET_DATA is not set: it names the folder with the data sets")
    return Path(folder)


def check_files() -> dict[str, str]:
    """Compare the files in ``TSENET_DATA`` with their SHA-256: "ok", "missing" or "differs" by path."""
    status = {}
    for line in (Path(__file__).parent / "checksums.txt").read_text("ascii").splitlines():
        digest, path = line.split()
        file = data_folder() / path
        if not file.exists():
            status[path] = "missing"
        else:
            same = hashlib.sha256(file.read_bytes()).hexdigest() == digest
            status[path] = "ok" if same else "differs"
    return status


def _frame(path: str, **options: Any) -> Any:
    return pd.read_csv(data_folder() / path, **options)


def _documents(folder: str, columns: tuple[int, ...], side: str) -> Rows:
    """Read a csv without header: the class in the first column, then texts."""
    frame = _frame(f"{folder}/{side}.csv.xz", header=None, dtype=str, keep_default_na=False)
    parts = [frame[column] for column in columns]
    texts = [" ".join(filter(None, row)) for row in zip(*parts, strict=True)]
    return Rows(texts, frame[0].to_numpy(str))


def _newsgroups(side: str) -> Rows:
    """Read 20 Newsgroups without headers, footers and quotes."""
    from sklearn.datasets import _twenty_newsgroups as strip

    raw = _documents("20newsgroups", (2,), side)
    texts = [
        strip.strip_newsgroup_footer(
            strip.strip_newsgroup_quoting(strip.strip_newsgroup_header(text))
        )
        for text in raw.X
    ]
    return Rows(texts, raw.y)


def _suite_text(name: str, side: str) -> Rows:
    frame = _frame(f"suite/{name}-{side}.csv.xz", dtype=str, keep_default_na=False)
    return Rows(frame["text"].tolist(), frame["label"].to_numpy(str))


def _paper_text(name: str, side: str) -> Rows:
    frame = _frame(f"paper/{name}-{side}.csv.xz", dtype=str, keep_default_na=False)
    return Rows(frame["text"].tolist(), frame["label"].to_numpy(str))


def _octis_titles(name: str, side: str) -> Rows:
    """Read the titles of one of OCTIS's parts, without the one for validation."""
    frame = _frame(f"octis/{name}.tsv", sep="\t", header=None, dtype=str, keep_default_na=False)
    frame = frame[frame[1] == side]
    return Rows(frame[0].tolist(), frame[2].to_numpy(str))


def _suite_table(name: str, side: str) -> Rows:
    """Read a table with the target column ``TARGET``; categories become one column per level."""
    del side
    frame = _frame(f"suite/{name}.csv.xz")
    X = pd.get_dummies(frame.drop(columns="TARGET"), dtype=np.float64)
    X = X.fillna(X.median())
    return Rows(X.to_numpy(np.float64), frame["TARGET"].to_numpy(), tuple(X.columns))


def _series(side: str) -> Rows:
    del side
    with np.load(data_folder() / "suite" / "acsf1.npz") as file:
        X = np.asarray(file["X"], np.float64)
        return Rows(X, file["y"], tuple(f"t{k}" for k in range(X.shape[1])))


def _bag_of_words(side: str) -> Rows:
    folder = data_folder() / "nyt"
    counts = sp.csr_array(sp.load_npz(folder / f"{side}_bow.npz"), dtype=np.float32)
    labels = (folder / f"{side}_labels.txt").read_text("utf-8").split()
    words = (folder / "vocab.txt").read_text("utf-8").split()
    return Rows(counts, np.array(labels), tuple(words))


def _images(folder: Callable[[], Path], side: str) -> Rows:
    """Read the idx files of MNIST and its relatives; grey values from 0 to 1."""
    prefix = {"train": "train", "test": "t10k"}[side]
    with gzip.open(folder() / f"{prefix}-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder() / f"{prefix}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return Rows(pixels.astype(np.float32) / np.float32(255), labels, _pixel_names(28))


def _digits(side: str) -> Rows:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    parts = train_test_split(np.arange(y.size), test_size=0.2, stratify=y, random_state=0)
    rows = np.sort(parts[side == "test"])
    return Rows((X[rows] / 16).astype(np.float32), y[rows], _pixel_names(8))


def _pixel_names(side: int) -> tuple[str, ...]:
    return tuple(f"row{i}col{j}" for i in range(side) for j in range(side))


# ---- Tox21

_LEAST_SHARE = 0.05  # of the training compounds that have a substructure, as in the paper
_TAILS = (0.005, 0.995)  # descriptors have extreme outliers


def _tox21(side: str) -> Rows:
    """Read the compounds of the challenge; features of training and leaderboard compounds choose the columns.

    The features are RDKit's descriptors and the substructures (Morgan, atom pairs, torsions, MACCS keys) present in
    at least 5 % of the training compounds.
    """
    frame = _frame("tox21/tox21.csv.gz", keep_default_na=True)
    frame.columns = [name.replace(".", "-") for name in frame.columns]
    readable, descriptors, bits, names = _molecules(frame["smiles"].tolist())
    test = (frame["set"] == "test").to_numpy()
    train = readable & ~test
    with np.errstate(invalid="ignore"):
        known = np.where(np.isfinite(descriptors), descriptors, np.nan)
    dense = np.where(np.isnan(known), np.nanmedian(known[train], axis=0), known)
    low, high = np.quantile(dense[train], _TAILS, axis=0)
    varying = np.flatnonzero(high > low)
    share = bits[np.flatnonzero(train)].mean(axis=0)
    common = np.flatnonzero((share >= _LEAST_SHARE) & (share < 1))
    X = np.hstack([np.clip(dense, low, high)[:, varying], bits[:, common].toarray()])
    chosen = np.flatnonzero(readable & (test if side == "test" else ~test))
    X = (X[chosen] - X[train].mean(axis=0)) / X[train].std(axis=0)
    columns = [*varying, *(descriptors.shape[1] + common)]
    return Rows(
        X.astype(np.float32),
        frame[list(TOX21_LABELS)].to_numpy(np.float64)[chosen],
        tuple(names[column] for column in columns),
        frame["inchikey"].to_numpy(str)[chosen],
    )


def _molecules(smiles: list[str]) -> tuple[NDArray[np.bool_], Floats, Any, list[str]]:
    """Return which molecules RDKit can read, descriptors (N, D), substructures (N, B), and names; kept on disk."""
    import rdkit

    key = hashlib.sha256(f"{rdkit.__version__}\n{chr(10).join(smiles)}".encode()).hexdigest()[:16]
    path = _cache() / f"molecules-{key}.npz"
    if not path.exists():
        np.savez_compressed(path, **_describe_molecules(smiles))
    with np.load(path) as file:
        entries = np.ones(file["indices"].size, np.float32), file["indices"], file["indptr"]
        bits = sp.csr_array(entries, shape=(len(smiles), int(file["n_bits"])))
        return file["readable"], file["descriptors"], bits, file["names"].tolist()


def _describe_molecules(smiles: list[str]) -> dict[str, Any]:
    from rdkit import Chem, rdBase
    from rdkit.Chem import Descriptors, rdFingerprintGenerator
    from rdkit.Chem.rdMolDescriptors import GetMACCSKeysFingerprint

    # Ipc overflows for large molecules; AvgIpc carries the same information in a bounded range
    functions = [(name, function) for name, function in Descriptors.descList if name != "Ipc"]
    generators = {
        "morgan": rdFingerprintGenerator.GetMorganGenerator(radius=3).GetSparseFingerprint,
        "pair": rdFingerprintGenerator.GetAtomPairGenerator().GetSparseFingerprint,
        "torsion": rdFingerprintGenerator.GetTopologicalTorsionGenerator().GetSparseFingerprint,
        "maccs": GetMACCSKeysFingerprint,
    }
    descriptors = np.zeros((len(smiles), len(functions)))
    present: list[set[str]] = []
    readable = np.zeros(len(smiles), bool)
    with rdBase.BlockLogs(), BarProgress() as progress:
        progress.start("describing molecules, once", len(smiles))
        for row, text in enumerate(smiles):
            progress.advance()
            molecule = Chem.MolFromSmiles(text)
            present.append(set())
            if molecule is None:
                continue
            readable[row] = True
            descriptors[row] = [float(function(molecule)) for _, function in functions]
            for kind, fingerprint in generators.items():
                present[-1].update(f"{kind}:{bit}" for bit in fingerprint(molecule).GetOnBits())
    bits = {name: column for column, name in enumerate(sorted(set().union(*present)))}
    return {
        "readable": readable,
        "descriptors": descriptors,
        "indices": np.array([bits[name] for row in present for name in sorted(row)], np.int32),
        "indptr": np.cumsum([0, *map(len, present)]),
        "n_bits": len(bits),
        "names": np.array([*(name for name, _ in functions), *bits]),
    }


# ---- the sources

_UCI = "https://archive.ics.uci.edu"
_OPENML = "download it from OpenML as csv and name the target column TARGET"


def _table(title: str, n_rows: int, origin: str, name: str, task: Task = "classes") -> Source:
    return Source(
        *(title, "table", task, n_rows, 0, origin, "CC BY 4.0", f"suite/{name}.csv.xz: {_OPENML}"),
        partial(_suite_table, name),
    )


def _text(title: str, sizes: tuple[int, int], origin: str, licence: str, name: str) -> Source:
    how = f"suite/{name}-train.csv.xz and -test.csv.xz, columns label,text"
    return Source(
        title, "text", "classes", *sizes, origin, licence, how, partial(_suite_text, name)
    )


def _of_paper(
    title: str, sizes: tuple[int, int], official: str, licence: str, name: str, **options: Any
) -> Source:
    """A part of one of the paper's text sets; stop words are removed, as in the paper."""
    how = f"paper/{name}-train.csv.xz and -test.csv.xz, columns label,text; {official}"
    return Source(
        *(title, "text", "classes", *sizes, _ZHANG, licence, how),
        partial(_paper_text, name),
        **{"stop_words": "english", **options},
    )


def _octis(title: str, sizes: tuple[int, int], name: str) -> Source:
    """Titles of papers, lemmatised, without stop words, from OCTIS."""
    return Source(
        *(title, "text", "classes", *sizes, "https://github.com/MIND-Lab/OCTIS", "not stated"),
        f"octis/{name}.tsv: preprocessed_datasets/{name}/corpus.tsv of OCTIS",
        partial(_octis_titles, name),
    )


def _idx(title: str, origin: str, licence: str, folder: Callable[[], Path], how: str) -> Source:
    return Source(
        *(title, "image", "classes", 60_000, 10_000, origin, licence, how),
        partial(_images, folder),
        n_fit=5_000,
    )


_ZHANG = "Zhang, Zhao, LeCun: Character-level convolutional networks for text classification, 2015"

_AS_DISTRIBUTED: Mapping[str, Source] = {
    "ag_news": Source(
        *("AG's News", "text", "classes", 36_932, 7_600, _ZHANG, "non-commercial use only"),
        "ag_news/train.csv.xz and test.csv.xz; the training file is 36,932 rows of the official 120,000, "
        "assembled from public copies",
        partial(_documents, "ag_news", (1, 2)),
    ),
    "paper-ag_news": _of_paper(
        "AG's News (part)", (59_835, 7_600),
        "59,835 of the 120,000 official training rows from public copies, all 7,600 test rows",
        "non-commercial use only", "ag_news",
    ),
    "paper-dbpedia": _of_paper(
        "DBPedia (part)", (33_446, 11_080),
        "33,446 of the 560,000 official rows from public copies, 11,080 of the 70,000 test rows",
        "CC BY-SA 3.0 and GFDL", "dbpedia",
    ),
    "paper-yelp": _of_paper(
        "Yelp Review Full (part)", (5_789, 2_830),
        "5,789 of the 650,000 official rows from public copies, 2,830 of the 50,000 test rows",
        "research use only", "yelp_review_full",
    ),
    "paper-yahoo": _of_paper(
        "Yahoo! Answers (part)", (12_167, 3_439),
        "12,167 rows from public copies, about 9,200 of them official test rows, and 3,439 other official test rows",
        "research use only", "yahoo_answers",
    ),
    "paper-yahoo_titles": _of_paper(
        "Yahoo! Answers, titles of questions", (49_260, 10_000),
        "59,260 titles of the 60,000 official test rows from a public copy, divided at random",
        "research use only", "yahoo_titles",
    ),
    "paper-sogou_c": _of_paper(
        "Sogou (C)", (2_324, 581),
        "2,905 texts of Sogou Lab's corpus in ten classes, in the paper's pinyin; not its sample of five classes",
        "Sogou Lab's terms", "sogou_c", stop_words=None, tokenizer="whitespace",
    ),
    "20newsgroups": Source(
        *("20 Newsgroups", "text", "classes", 11_314, 7_532, "http://qwone.com/~jason/20Newsgroups"),
        "not stated (public Usenet posts)",
        "20newsgroups/train.csv.xz and test.csv.xz: the texts of sklearn.datasets.fetch_20newsgroups as class,id,text",
        _newsgroups,
    ),
    "stackoverflow": _text(
        "StackOverflow titles", (15_000, 5_000), "https://github.com/jacoxu/StackOverflow", "MIT",
        "stackoverflow",
    ),
    "m10": _octis("Titles of papers (CiteSeer M10)", (5_847, 1_254), "M10"),
    "dblp": _octis("Titles of papers (DBLP)", (38_215, 8_190), "DBLP"),
    "dbpedia": _text(
        "DBPedia (part)", (10_000, 4_000), _ZHANG, "CC BY-SA 3.0 and GFDL", "dbpedia"
    ),
    "subj": _text(
        "Subjectivity", (7_000, 3_000),
        "https://www.cs.cornell.edu/people/pabo/movie-review-data", "not stated", "subj",
    ),
    "imdb": _text(
        "IMDB (part)", (8_000, 5_000), "https://ai.stanford.edu/~amaas/data/sentiment", "not stated",
        "imdb",
    ),
    "nyt": Source(
        *("New York Times", "text", "classes", 8_254, 918),
        *("https://github.com/bobxwu/TopMost (NYT)", "not stated"),
        "nyt/: bag of words, labels and vocabulary as in TopMost; no texts",
        _bag_of_words,
    ),
    "tox21": Source(
        *("Tox21 challenge", "table", "labels", 12_057, 645),
        *("http://bioinf.jku.at/research/DeepTox/tox21.html", "public challenge data"),
        "tox21/tox21.csv.gz: SMILES, the 12 labels and the official split (12,060 and 647 compounds, of which RDKit "
        "reads 12,057 and 645)",
        _tox21,
    ),
    "dna": _table("DNA splice sites", 3_186, f"{_UCI}/dataset/69", "dna"),
    "spam": _table("Spambase", 4_601, f"{_UCI}/dataset/94", "spam"),
    "satellite": _table("Landsat satellite", 6_435, f"{_UCI}/dataset/146", "satellite"),
    "sonar": _table("Sonar", 208, f"{_UCI}/dataset/151", "sonar"),
    "vowel": _table("Vowel", 990, f"{_UCI}/dataset/152", "vowel"),
    "tecator": _table("Tecator", 215, "http://lib.stat.cmu.edu/datasets/tecator", "tecator", "regression"),
    "ames": _table("Ames housing", 2_930, "De Cock 2011, Journal of Statistics Education", "ames", "regression"),
    "acsf1": Source(
        *("ACSF1 series", "table", "classes", 200, 0, "http://www.timeseriesclassification.com", "not stated"),
        "suite/acsf1.npz with X (200, 1460) and y",
        _series,
    ),
    "digits": Source(
        *("Digits 8 × 8", "image", "classes", 1_437, 360, f"{_UCI}/dataset/80", "CC BY 4.0"),
        "comes with scikit-learn",
        _digits,
    ),
    "mnist": _idx(
        "MNIST (5,000)", "http://yann.lecun.com/exdb/mnist", "CC BY-SA 3.0",
        lambda: data_folder() / "mnist", "mnist/: the four official idx files",
    ),
    "fashion_mnist": _idx(
        "Fashion-MNIST (5,000)", "https://github.com/zalandoresearch/fashion-mnist", "MIT",
        lambda: Path("/usr/share/datasets/fashion-mnist"), "Debian package dataset-fashion-mnist",
    ),
}  # fmt: skip

DATA: Mapping[str, Source] = {
    **_AS_DISTRIBUTED,
    # The same texts as the presets read them: stop words are removed, as from the paper's sets.
    **{
        f"paper-{name}": replace(_AS_DISTRIBUTED[name], stop_words="english")
        for name in ("stackoverflow", "20newsgroups", "subj")
    },
}
