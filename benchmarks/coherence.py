"""How well words of a group go together: UMass coherence, from the documents in which words meet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tsenet.data.rows import BinaryRows


class Meetings:
    """Counts of documents with one word, or with two words."""

    def __init__(self, rows: BinaryRows) -> None:
        self.n_rows = rows.n_rows
        self.columns = rows.transpose()
        self.n_on = np.diff(self.columns.indptr)
        self._seen = np.zeros(rows.n_rows, bool)

    def together(self, words: Sequence[int] | NDArray[np.integer]) -> NDArray[np.int64]:
        """Documents with each two of k words: (k, k), on the diagonal those with one."""
        lists = [
            self.columns.indices[self.columns.indptr[w] : self.columns.indptr[w + 1]] for w in words
        ]
        both = np.zeros((len(lists), len(lists)), np.int64)
        for a, own in enumerate(lists):
            self._seen[own] = True
            both[a, a:] = [np.count_nonzero(self._seen[other]) for other in lists[a:]]
            self._seen[own] = False
        return np.maximum(both, both.T)

    def umass(self, words: Sequence[int]) -> float:
        """Σ over pairs of ln((D(w, v) + 1) / D(v)), v being the one named earlier (Mimno et al. 2011)."""
        both = self.together(words)
        earlier, later = np.triu_indices(len(words), 1)
        return float(np.log((both[earlier, later] + 1.0) / np.diagonal(both)[earlier]).sum())
