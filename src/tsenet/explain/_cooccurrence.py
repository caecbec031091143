"""In how many documents, or windows of documents, words occur alone and together."""

from __future__ import annotations

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


def count_words(
    words: Sequence[str],
    corpus: Any,
    window: int | None,
    feature_names: Sequence[str] | None = None,
) -> Counts:
    """Count words in token lists or in a table.

    Parameters
    ----------
    words : sequence of str, length K
    corpus : sequence of token lists, or table
    window : int or None
        Size of the sliding window; None for documents.
    feature_names : sequence of str or None
        Names of a table's columns.
    """
    index = {word: place for place, word in enumerate(words)}
    together = np.zeros((len(words), len(words)), np.int64)
    total = 0
    if is_table(corpus):
        if window is not None:
            raise DataError(
                f"a window of {window} words needs the words in order: "
                "give lists of tokens, or window=None for whole documents"
            )
        blocks = _table_presence(index, Table.of(corpus, feature_names))
    else:
        blocks = _token_presence(index, corpus, window)
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


def _token_presence(
    index: Mapping[str, int], corpus: Iterable[Sequence[str]], window: int | None
) -> Iterator[_Block]:
    """Windows of documents, a block of documents at a time."""
    positions: list[int] = []
    places: list[int] = []
    documents: list[int] = []
    lengths: list[int] = []
    most = _BLOCK // (2 * window if window else 1)
    for document in corpus:
        if isinstance(document, str):
            raise DataError(
                "each document must be a list of tokens, not a string: split the texts into words"
            )
        for position, token in enumerate(document):
            place = index.get(token)
            if place is not None:
                positions.append(position)
                places.append(place)
                documents.append(len(lengths))
        lengths.append(len(document))
        if len(places) >= most:
            yield _windows(positions, places, documents, lengths, window, len(index))
            for part in (positions, places, documents, lengths):
                part.clear()
    if lengths:
        yield _windows(positions, places, documents, lengths, window, len(index))


def _windows(
    positions: Sequence[int],
    places: Sequence[int],
    documents: Sequence[int],
    lengths: Sequence[int],
    window: int | None,
    n_words: int,
) -> _Block:
    """Presence of words in the windows of some documents.

    A document of n words has max(1, n − window + 1) windows. Windows in a row that see the same words are one row with
    a weight: there are at most two such runs for each token that counts, however long the window.
    """
    token = np.array([positions, places, documents], np.int64).reshape(3, -1)
    if window is None:
        return _presence(token[2], token[1], len(lengths), n_words)
    n_windows = np.maximum(np.array(lengths, np.int64) - window + 1, 1)
    first_window = np.cumsum(n_windows) - n_windows
    own = first_window[token[2]]
    start = own + np.maximum(token[0] - window + 1, 0)
    stop = own + np.minimum(token[0], n_windows[token[2]] - 1) + 1
    edges = np.unique(np.concatenate([start, stop]))
    first, last = np.searchsorted(edges, start), np.searchsorted(edges, stop)
    n_runs = last - first
    before = np.cumsum(n_runs) - n_runs
    rows = np.arange(n_runs.sum()) - np.repeat(before - first, n_runs)
    presence, _, _ = _presence(rows, np.repeat(token[1], n_runs), edges.size, n_words)
    return presence, np.append(np.diff(edges), 0), int(n_windows.sum())


def _presence(rows: NDArray[Any], places: Ints, n_rows: int, n_words: int) -> _Block:
    """A CSR matrix of 0 and 1 whose rows count once each."""
    matrix = sp.coo_array((np.ones(rows.size, np.int64), (rows, places)), shape=(n_rows, n_words))
    matrix = matrix.tocsr()
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix, np.ones(n_rows, np.int64), n_rows
