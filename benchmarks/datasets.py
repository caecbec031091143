"""The real data in the folder that ``TSENET_DATA`` names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import load_npz

from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.data.text import count_words, read_documents, word_vectorizer
from tsenet.estimators.topic_model import learn_words


def folder(name: str) -> Path:
    """Folder of one data set; ends the program with a plain word if there is none."""
    given = os.environ.get("TSENET_DATA")
    if not given:
        raise SystemExit(
            "TSENET_DATA is not set: this benchmark needs real data. Set it to the folder that holds "
            f"{name}/, for example TSENET_DATA=folder"
        )
    path = Path(given) / name
    if not path.is_dir():
        raise SystemExit(f"TSENET_DATA is {given}, which has no folder {name}")
    return path.resolve()


@dataclass(frozen=True)
class Planted:
    """The planted rows, and for each word its true group at levels 1 and 2."""

    train: BinaryRows
    test: BinaryRows
    groups: dict[int, NDArray[np.int64]]


def planted() -> Planted:
    """The planted tree of 150/25/5 latents over 1,000 words."""
    home = folder("planted")
    rows = [BinaryRows.of_csr(load_npz(home / f"{part}.npz")) for part in ("train", "test")]
    with np.load(home / "truth.npz") as truth:
        first, second = truth["group1"], truth["group2"]
    return Planted(rows[0], rows[1], {1: first, 2: second[first]})


@dataclass(frozen=True)
class Corpus:
    """Documents as word counts, on the words chosen from the training rows."""

    title: str
    train: Table
    test: Table


def newsgroups(n_words: int, select: str) -> Corpus:
    """20 Newsgroups by date, without headers, footers and quotes, as scikit-learn strips them."""
    from sklearn.datasets import _twenty_newsgroups as strip

    def body(text: str) -> str:
        text = strip.strip_newsgroup_quoting(strip.strip_newsgroup_header(text))
        return str(strip.strip_newsgroup_footer(text))

    home = folder("20newsgroups")
    parts = [
        [body(text) for text in read_documents(home / f"{part}.csv.xz", "3", header=False).texts]
        for part in ("train", "test")
    ]
    return _count("20 Newsgroups", parts[0], parts[1], n_words, select)


def _count(title: str, train: list[str], test: list[str], n_words: int, select: str) -> Corpus:
    chosen = word_vectorizer(n_words=n_words, stop_words="english", min_documents=2)
    by = "tfidf" if select == "tfidf" else "frequency"
    vectorizer, known, _ = learn_words(train, chosen, by)
    return Corpus(title, known, count_words(test, vectorizer))
