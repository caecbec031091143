"""Import of HLTA's sparse text data: one ``document, word`` pair per line.

HLTA (arXiv 1605.06650) calls these tuple files ``*.sparse.txt``. A pair says that the word occurs
in the document; there is no header and no count.
"""

from __future__ import annotations

import os
from array import array
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tsenet.data import Table
from tsenet.errors import DataError

__all__ = ["read_hlta_tuples"]

# A longer line is no pair; without a limit a file without line ends would fill the memory.
_LONGEST_LINE = 65_536


def read_hlta_tuples(path: str | os.PathLike[str]) -> Table:
    """Read a file of ``document, word`` lines.

    The file is streamed; memory is 8 bytes per line plus the distinct words and documents.

    Parameters
    ----------
    path : path
        UTF-8, with or without a byte order mark, LF or CRLF. Blank lines and spaces around the two
        fields are ignored; a document may come in several places; a repeated pair counts once.

    Returns
    -------
    Table
        Sparse 0/1 rows. Documents are in the order in which they first occur, words sorted by
        code point, so the columns do not depend on the order of the lines.

    Raises
    ------
    DataError
        If a line is not such a pair (the message has its number), or the file holds none or is
        missing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.store import read_hlta_tuples
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "news.sparse.txt")
    ...     n_characters = path.write_text("d1, goal" + chr(10) + "d2, tax")
    ...     table = read_hlta_tuples(path)
    >>> table.names, table.n_rows
    (('goal', 'tax'), 2)
    """
    document_numbers: dict[str, int] = {}
    word_numbers: dict[str, int] = {}
    rows, columns = array("i"), array("i")
    try:
        with Path(path).open("rb") as file:
            number = 0
            while raw := file.readline(_LONGEST_LINE + 1):
                number += 1
                pair = _parse(raw, number, os.fspath(path))
                if pair is not None:
                    document, word = pair
                    rows.append(document_numbers.setdefault(document, len(document_numbers)))
                    columns.append(word_numbers.setdefault(word, len(word_numbers)))
    except OSError as error:
        raise DataError(f"{os.fspath(path)} cannot be read: {error.strerror or error}") from error
    if not rows:
        raise DataError(f"{os.fspath(path)} holds no 'document, word' line")

    words = sorted(word_numbers)
    place = np.empty(len(words), dtype=np.int32)  # first-seen number -> sorted column
    place[[word_numbers[word] for word in words]] = np.arange(len(words), dtype=np.int32)
    matrix = sp.coo_array(
        (
            np.ones(len(rows), dtype=np.uint8),
            (np.frombuffer(rows, dtype=np.intc), place[np.frombuffer(columns, dtype=np.intc)]),
        ),
        shape=(len(document_numbers), len(words)),
    ).tocsr()
    matrix.sort_indices()
    return Table.of(_each_pair_once(matrix), names=words)


def _each_pair_once(matrix: sp.csr_array) -> sp.csr_array:
    """Set all entries to 1: summing, as ``tocsr`` did, may have turned 256 repeats into zero."""
    return sp.csr_array(
        (np.ones(matrix.nnz, dtype=np.uint8), matrix.indices, matrix.indptr), shape=matrix.shape
    )


def _parse(raw: bytes, number: int, path: str) -> tuple[str, str] | None:
    """Split one line into document and word; None for a blank one."""
    if len(raw) > _LONGEST_LINE:
        raise DataError(f"{path}, line {number}: longer than {_LONGEST_LINE} bytes, so no pair")
    try:
        line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {number}: not UTF-8 text; convert the file to UTF-8"
        ) from error
    document, _, word = line.partition(",")
    document, word = document.strip(), word.strip()
    if document and word and "," not in word:
        return document, word
    if not line.strip():
        return None
    raise DataError(
        f"{path}, line {number}: expected 'document, word' but found {line.strip()[:80]!r}"
    )
