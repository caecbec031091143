"""In how many documents, or windows of documents, words occur alone and together."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.frames import is_frame
from tsenet.data.table import Table
from tsenet.errors import DataError

Ints = NDArray[np.int64]

_BLOCK = 1 << 22  # entries of a presence matrix at a time


@dataclass(frozen=True)
class Counts:
    """In how many of ``total`` windows each of K words occurs, ``alone`` (K,), and each pair, ``together`` (K, K)."""

    alone: Ints
    together: Ints
    total: int

    def of(self, places: Sequence[int]) -> Counts:
        """Counts of some of the words, in the given order."""
        return Counts(self.alone[list(places)], self.together[np.ix_(places, places)], self.total)


@dataclass(frozen=True)
class Tokens:
    """The places at which chosen words stand in documents, document by document.

    Attributes
    ----------
    word, position, document : int64 (T,)
        Number of the word, its position in its document, and the document, for each occurrence.
    lengths : int64 (N,)
        Number of tokens of each document.
    index : mapping of str to int
        Number of each word.
    """

    word: Ints
    position: Ints
    document: Ints
    lengths: Ints
    index: Mapping[str, int]

    @classmethod
    def of(cls, corpus: Iterable[Iterable[str]], words: Iterable[str]) -> Tokens:
        """Find words in documents, which are read once."""
        index = {word: number for number, word in enumerate(words)}
        word, position, document, lengths = (array("q") for _ in range(4))
        for tokens in corpus:
            if isinstance(tokens, str):
                raise DataError(
                    "each document must be a list of tokens, not a string: split the texts into words"
                )
            place = -1
            for place, token in enumerate(tokens):
                number = index.get(token)
                if number is not None:
                    word.append(number)
                    position.append(place)
                    document.append(len(lengths))
            lengths.append(place + 1)
        return cls(
            word=np.asarray(word, np.int64),
            position=np.asarray(position, np.int64),
            document=np.asarray(document, np.int64),
            lengths=np.asarray(lengths, np.int64),
            index=index,
        )


def count_words(
    words: Sequence[str],
    corpus: Any,
    window: int | None,
    feature_names: Sequence[str] | None = None,
) -> Counts:
    """Count words in documents or in a table.

    Parameters
    ----------
    words : sequence of str, length K
    corpus : Tokens of documents in which these words were looked for, or table
    window : int or None
        Size of the sliding window; None for documents.
    feature_names : sequence of str or None
        Names of a table's columns.
    """
    together = np.zeros((len(words), len(words)), np.int64)
    total = 0
    if isinstance(corpus, Tokens):
        blocks = _token_presence(words, corpus, window)
    else:
        if window is not None:
            raise DataError(
                f"a window of {window} words needs the words in order: "
                "give lists of tokens, or window=None for whole documents"
            )
        index = {word: place for place, word in enumerate(words)}
        blocks = _table_presence(index, Table.of(corpus, feature_names))
    for presence, weights, n_windows in blocks:
        weighted = presence.multiply(weights[:, None]).tocsr()
        together += np.asarray((presence.T @ weighted).todense(), np.int64)
        total += n_windows
    if total == 0:
        raise DataError("the corpus holds no documents")
    return Counts(np.diagonal(together).copy(), together, total)


#: Rows of presence (R, K), how many windows each row stands for (R,), and the number of windows in all.
_Block = tuple[Any, Ints, int]


def is_table(corpus: Any) -> bool:
    """Whether the corpus is a table of counts, not lists of tokens."""
    if isinstance(corpus, Table) or sp.issparse(corpus) or is_frame(corpus):
        return True
    return isinstance(corpus, np.ndarray) and corpus.ndim == 2 and corpus.dtype.kind in "fiub"


def _table_presence(index: Mapping[str, int], table: Table) -> Iterator[_Block]:
    """One window per row."""
    column = {name: j for j, name in enumerate(table.names)}
    known = [word for word in index if word in column]
    chosen = [column[word] for word in known]
    step = max(1, _BLOCK // max(1, len(index))) if not table.is_sparse else table.n_rows
    for start in range(0, table.n_rows, step):
        part = sp.csc_array(table.values[start : start + step][:, chosen]).tocoo()
        on = part.data != 0
        places = np.array([index[word] for word in known], np.int64)[part.col[on]]
        yield _presence(part.row[on], places, part.shape[0], len(index))


def _token_presence(words: Sequence[str], tokens: Tokens, window: int | None) -> Iterator[_Block]:
    """Windows of documents, a block of documents at a time."""
    place_of = np.full(len(tokens.index), -1, np.int64)
    place_of[[tokens.index[word] for word in words]] = np.arange(len(words))
    chosen = np.flatnonzero(place_of[tokens.word] >= 0)
    document = tokens.document[chosen]
    most = _BLOCK // (2 * window if window else 1)
    start = 0  # of the documents of a block
    while start < tokens.lengths.size:
        first = int(np.searchsorted(document, start))
        last = tokens.lengths.size
        if first + most < document.size:
            last = max(start + 1, int(document[first + most]))
        part = chosen[first : np.searchsorted(document, last)]
        yield _windows(
            tokens.position[part],
            place_of[tokens.word[part]],
            tokens.document[part] - start,
            tokens.lengths[start:last],
            window,
            len(words),
        )
        start = last


def _windows(
    positions: Ints,
    places: Ints,
    documents: Ints,
    lengths: Ints,
    window: int | None,
    n_words: int,
) -> _Block:
    """Presence of words in the windows of some documents.

    A document of n words has max(1, n − window + 1) windows. Windows in a row that see the same words are one row with
    a weight: there are at most two such runs for each token that counts, however long the window.
    """
    if window is None:
        return _presence(documents, places, len(lengths), n_words)
    n_windows = np.maximum(lengths - window + 1, 1)
    first_window = np.cumsum(n_windows) - n_windows
    own = first_window[documents]
    start = own + np.maximum(positions - window + 1, 0)
    stop = own + np.minimum(positions, n_windows[documents] - 1) + 1
    edges = np.unique(np.concatenate([start, stop]))
    first, last = np.searchsorted(edges, start), np.searchsorted(edges, stop)
    n_runs = last - first
    before = np.cumsum(n_runs) - n_runs
    rows = np.arange(n_runs.sum()) - np.repeat(before - first, n_runs)
    presence, _, _ = _presence(rows, np.repeat(places, n_runs), edges.size, n_words)
    return presence, np.append(np.diff(edges), 0), int(n_windows.sum())


def _presence(rows: NDArray[Any], places: Ints, n_rows: int, n_words: int) -> _Block:
    """A CSR matrix of 0 and 1 whose rows count once each."""
    matrix = sp.coo_array((np.ones(rows.size, np.int64), (rows, places)), shape=(n_rows, n_words))
    matrix = matrix.tocsr()
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix, np.ones(n_rows, np.int64), n_rows
