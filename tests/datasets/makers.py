"""Small files in the official formats of the data sets."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.io import mmwrite
from scipy.sparse import coo_array

from tsenet.datasets.catalog import TOX21_LABELS

SUBJECTS = (
    ("football", "goal", "referee", "stadium", "striker"),
    ("election", "senate", "ballot", "candidate", "voter"),
    ("galaxy", "telescope", "orbit", "comet", "planet"),
    ("butter", "flour", "oven", "recipe", "sugar"),
)

# Molecules of different kinds, all of which RDKit can read.
SMILES = (
    "CCO", "CCN", "CCC", "CCCl", "c1ccccc1", "Cc1ccccc1", "CC(=O)O", "CC(=O)N", "c1ccncc1",
    "C1CCCCC1", "CC(C)O", "OCCO", "NCCN", "CCOC(=O)C", "c1ccc2ccccc2c1", "Oc1ccccc1", "Nc1ccccc1",
    "CC#N", "C=CC", "CS(=O)C",
)  # fmt: skip


def documents(n_rows: int, n_classes: int, seed: int = 0) -> list[tuple[int, str]]:
    """Class numbers from 1 and texts with words of that class's subject."""
    rng = np.random.default_rng(seed)
    rows = []
    for row in range(n_rows):
        number = row % n_classes
        words = rng.choice(SUBJECTS[number % len(SUBJECTS)], size=6)
        rows.append((number + 1, f"the {' '.join(words)} number{number} row{row} and"))
    return rows


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Zhang's dialect: no header, every field quoted, quotes doubled."""
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, compressed as its name says."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".xz":
        data = lzma.compress(data)
    elif path.suffix == ".bz2":
        data = bz2.compress(data)
    path.write_bytes(data)
    return path


def write_tar(path: Path, files: Mapping[str, str | bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def titled(rows: Iterable[tuple[int, str]]) -> list[tuple[int, str, str]]:
    """Class, title and text: the first word is the title."""
    return [(number, *text.split(" ", 1)) for number, text in rows]  # type: ignore[misc]  # always two


def idx(array: NDArray[np.uint8]) -> bytes:
    """An idx file: magic number, sizes, bytes in C order."""
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return head + array.astype(np.uint8).tobytes()


def write_mnist(folder: Path, n_train: int = 60, n_test: int = 20, suffix: str = ".gz") -> Path:
    rng = np.random.default_rng(0)
    for name, n_rows in (("train", n_train), ("t10k", n_test)):
        images = rng.integers(0, 256, (n_rows, 28, 28), dtype=np.uint8)
        labels = (np.arange(n_rows) % 10).astype(np.uint8)
        write(folder / f"{name}-images-idx3-ubyte{suffix}", idx(images))
        write(folder / f"{name}-labels-idx1-ubyte{suffix}", idx(labels))
    return folder


def tox21_rows(n_train: int = 60, n_validation: int = 10, n_test: int = 12) -> list[dict[str, str]]:
    """Rows as in the compound table of the challenge, with structures."""
    rng = np.random.default_rng(1)
    sets = ["training"] * n_train + ["validation"] * n_validation + ["test"] * n_test
    rows = []
    for number, name in enumerate(sets):
        row = {"ID": f"NCGC{number:08d}-01", "inchikey": f"KEY{number}", "set": name}
        for label in TOX21_LABELS:
            row[label.replace("-", ".")] = ("", "0.0", "1.0")[rng.integers(3)]
        # the length of the chain makes every molecule another one
        row["smiles"] = SMILES[number % len(SMILES)] + "." + "C" * (1 + number // len(SMILES))
        rows.append(row)
    return rows


def dict_csv(rows: Sequence[Mapping[str, str]]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


class DeepToxFiles:
    """The files of DeepTox, of 40 + 8 compounds, 5 dense and 30 sparse features."""

    def __init__(self, n_train: int = 40, n_test: int = 8) -> None:
        rng = np.random.default_rng(2)
        n_rows = n_train + n_test
        self.n_train = n_train
        self.ids = [f"NCGC{number:08d}-01" for number in range(n_rows)]
        self.dense = rng.normal(3.0, 2.0, (n_rows, 5)).round(4)
        # the k-th sparse feature is in about a share of k / 60 of the rows
        self.sparse = (rng.random((n_rows, 30)) < np.arange(30) / 60).astype(float)
        self.labels = rng.integers(0, 2, (n_rows, 12)).astype(float)
        self.labels[rng.random((n_rows, 12)) < 0.3] = np.nan
        self.sets = ["training"] * (n_train - 6) + ["validation"] * 6 + ["test"] * n_test
        self.inchikeys = [f"KEY{number}" for number in range(n_rows)]

    def rows(self, part: str) -> slice:
        return slice(0, self.n_train) if part == "train" else slice(self.n_train, None)

    def contents(self) -> dict[str, bytes]:
        """Content by name, uncompressed."""
        files = {}
        for part in ("train", "test"):
            rows = self.rows(part)
            ids = self.ids[rows]
            files[f"tox21_dense_{part}.csv"] = self._matrix(
                ids, [f"dense{j}" for j in range(5)], self.dense[rows]
            )
            names = [label.replace("-", ".") for label in TOX21_LABELS]
            files[f"tox21_labels_{part}.csv"] = self._matrix(ids, names, self.labels[rows])
            stream = io.BytesIO()
            mmwrite(stream, coo_array(self.sparse[rows]))
            files[f"tox21_sparse_{part}.mtx"] = stream.getvalue()
        files["tox21_sparse_colnames.txt"] = "".join(f"ECFP_{j}\n" for j in range(30)).encode()
        table = [
            {"ID": name, "inchikey": key, "set": which}
            for name, key, which in zip(self.ids, self.inchikeys, self.sets, strict=True)
        ]
        files["tox21_compoundData.csv"] = dict_csv(table).encode()
        return files

    @staticmethod
    def _matrix(ids: Sequence[str], names: Sequence[str], values: NDArray[np.float64]) -> bytes:
        """As R writes it: row names first, NA where missing."""
        lines = [",".join(['""', *(f'"{name}"' for name in names)])]
        for name, row in zip(ids, values, strict=True):
            cells = ["NA" if np.isnan(value) else repr(float(value)) for value in row]
            lines.append(",".join([f'"{name}"', *cells]))
        return "\n".join([*lines, ""]).encode()

    def write(self, folder: Path, leave_out: Sequence[str] = ()) -> Path:
        for name, content in self.contents().items():
            if name not in leave_out:
                suffix = "" if name == "tox21_compoundData.csv" else ".gz"
                write(folder / f"{name}{suffix}", content)
        return folder
