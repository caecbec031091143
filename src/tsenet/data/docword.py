"""Read word counts in the format of the UCI "bag of words" collections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.columns import count_of
from tsenet.data.compression import OPENERS, opener_of, report_damage
from tsenet.data.limits import check_size
from tsenet.data.table import Table
from tsenet.errors import DataError

__all__ = ["read_docword"]


def read_docword(path: str | Path, vocabulary: str | Path | None = None) -> Table:
    r"""Read a ``docword`` file: the numbers of documents, words and counts, then lines "document word count".

    Parameters
    ----------
    path : str or Path
        The file, such as ``docword.kos.txt.gz``; documents and words are numbered from 1.
    vocabulary : str or Path, default=None
        The file of the words, one a line. None: beside it, such as ``vocab.kos.txt``.

    Returns
    -------
    Table
        Sparse int32 counts, shape (documents, words).

    Raises
    ------
    DataError
        If a line is not as above, a number is out of range, or the files do not belong together.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.data import read_docword
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "docword.pets.txt").write_text("2\n2\n3\n1 1 2\n1 2 1\n2 2 4\n")
    ...     _ = Path(folder, "vocab.pets.txt").write_text("cat\ndog\n")
    ...     table = read_docword(Path(folder, "docword.pets.txt"))
    >>> table.names, table.values.toarray().tolist()
    (('cat', 'dog'), [[2, 1], [0, 4]])
    """
    path = Path(path)
    words = _read_words(_vocabulary_of(path) if vocabulary is None else Path(vocabulary))
    with report_damage(f"{path} is damaged or not a {path.suffix} file"):
        (n_documents, n_words, n_counts), triples = _read_triples(path)
    if n_words != len(words):
        raise DataError(f"{path} counts {n_words:,} words, but its vocabulary has {len(words):,}")
    if len(triples) != n_counts:
        held = "more" if len(triples) > n_counts else f"{len(triples):,}"
        raise DataError(f"{path} holds {held} counts, not {n_counts:,} as it says")
    # Few documents are empty; so a wrong number cannot ask for much more memory than the file has bytes.
    if not 0 < n_documents <= 2 * n_counts + 1000:
        raise DataError(f"{path} says that {n_counts:,} counts are of {n_documents:,} documents")
    for column, (what, most) in enumerate(
        (("document", n_documents), ("word", n_words), ("count", np.iinfo(np.int32).max))
    ):
        wrong = np.flatnonzero((triples[:, column] < 1) | (triples[:, column] > most))
        if wrong.size:
            value = triples[wrong[0], column]
            raise DataError(f"{path}, line {wrong[0] + 4}: {what} {value} is not from 1 to {most}")
    places = triples[:, 0] - 1, triples[:, 1] - 1
    counts = sp.coo_array((triples[:, 2], places), shape=(n_documents, n_words)).tocsr()
    if counts.nnz < n_counts:
        repeated = count_of(n_counts - counts.nnz, "pair")
        raise DataError(f"{path} counts {repeated} of document and word twice")
    return Table.of(counts.astype(np.int32), names=words)


def _read_triples(path: Path) -> tuple[list[int], npt.NDArray[np.int64]]:
    """Return the three numbers of the head, and the lines after it: (counts, 3)."""
    with opener_of(path)(path, mode="rt", encoding="ascii", errors="replace") as file:
        try:
            sizes = [int(file.readline(100)) for _ in range(3)]
            check_size(path, 8 * 3 * sizes[2])
            most = max(0, sizes[2]) + 1  # one more shows that there are too many
            triples = np.loadtxt(file, np.int64, comments=None, ndmin=2, max_rows=most)
        except ValueError as error:
            raise DataError(
                f"{path} is not in docword format, three numbers and then lines 'document word "
                f"count': {error}"
            ) from error
    if triples.shape[1] != 3:
        raise DataError(f"{path} has lines of {count_of(triples.shape[1], 'number')}, not of three")
    return sizes, triples


def _vocabulary_of(path: Path) -> Path:
    """Return the vocabulary's file beside a docword file, with or without compression."""
    plain = path.name.removesuffix(path.suffix) if path.suffix.lower() in OPENERS else path.name
    name = plain.replace("docword", "vocab")
    found = [path.with_name(name + suffix) for suffix in ("", *OPENERS)]
    for file in found:
        if file != path and file.is_file():
            return file
    raise DataError(f"there is no file of words {found[0]}: give it as vocabulary=")


def _read_words(path: Path) -> list[str]:
    with (
        report_damage(f"{path} is damaged or not a {path.suffix} file"),
        opener_of(path)(path, mode="rt", encoding="utf-8-sig") as file,
    ):
        try:
            words = [line.rstrip("\n") for line in file]
        except UnicodeDecodeError as error:
            raise DataError(f"the file of words {path} is not UTF-8 text") from error
    if not words:
        raise DataError(f"the file of words {path} is empty")
    return words
