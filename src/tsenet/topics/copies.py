"""Documents that are copies of others, such as a reply that a program sends, or one story in many papers.

Copies are found by minhash in time that grows with the words of the documents; nothing is random. Documents of few
words may have the same words by chance: they are no copies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows
from tsenet.data.ranks import ranks_in_groups
from tsenet.topics.hierarchy import Ints
from tsenet.topics.settings import SETTINGS

# Copies share this part of the words that either has. Of such pairs, .86 agree in one of eight bands of three hashes.
_ALIKE, _BANDS, _HASHES = 0.6, 8, 3


def counted(rows: BinaryRows) -> NDArray[np.bool_]:
    """Which documents count in learning: of many copies the first few: (N,)."""
    source = sources(rows)
    return ranks_in_groups(source, np.zeros(rows.n_rows)) < SETTINGS.copies


def sources(rows: BinaryRows) -> Ints:
    """The first document that each is a copy of, or itself: (N,)."""
    source = np.arange(rows.n_rows)
    length = np.diff(rows.indptr)
    long = np.flatnonzero(length >= SETTINGS.words)
    if long.size < 2:
        return source

    of_long = rows.take(long)
    matrix = of_long.to_csr().astype(np.float32)
    rng = np.random.default_rng(0)
    for _ in range(_BANDS):
        band = np.zeros(long.size, np.uint64)
        for _ in range(_HASHES):
            number = rng.permutation(rows.n_columns).astype(np.uint64)
            smallest = np.minimum.reduceat(number[of_long.indices], of_long.indptr[:-1])
            band = band * np.uint64(rows.n_columns) + smallest  # differs where any of them does
        _, first, group = np.unique(band, return_index=True, return_inverse=True)

        # every document is compared with the first of its group only: linear time
        first = first[group]
        pairs = np.flatnonzero(first < np.arange(long.size))
        of_first = first[pairs]
        shared = np.asarray(matrix[pairs].multiply(matrix[of_first]).sum(axis=1)).ravel()
        either = length[long[pairs]] + length[long[of_first]] - shared
        is_copy = shared >= _ALIKE * either
        copy, original = long[pairs[is_copy]], long[of_first[is_copy]]
        source[copy] = np.minimum(source[copy], original)

    while not np.array_equal(source, source[source]):  # copies of copies
        source = source[source]
    return source
