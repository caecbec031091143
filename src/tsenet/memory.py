"""``memory_limit``: what a fit needs, estimated from the size of the table before any work.

The stages of a fit run one after another, so a fit needs the most that one of them needs. The numbers of bytes are
measured; ``tests/estimators/test_memory_limit.py`` compares the estimates with fits (docs/adr/0026-memory-limit.md).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tsenet.errors import TooLargeError

__all__ = [
    "PROCESS",
    "Need",
    "Size",
    "bytes_of",
    "check_memory",
    "memory_here",
    "n_outputs_of",
    "network_need",
    "shown_bytes",
    "topics_need",
    "tree_need",
]

# A process that has loaded the library, and what kernels add to it, which may have to be compiled first.
PROCESS, KERNELS = 260 << 20, 100 << 20
# Learning groups: bytes per variable that is on in the rows, per row, and per variable.
_GROUPS_ENTRY, _GROUPS_ROW, _GROUPS_VARIABLE = 42, 60, 2500
# Rows that the groups are not learned from: the rows, their pieces, and the order of these.
_KEPT_ENTRY, _KEPT_ROW = 12, 24
# A dense value while its column becomes binary, and a binary one of which half are on.
_DENSE_VALUE = 20
# A copy of a table in the order of its content, and one as the network reads it.
_SPARSE_COPY, _DENSE_COPY = 20, 26
# Contexts of columns: directions, bytes of each of them per row, most rows, bytes per entry of these.
_DIRECTIONS, _ALONG, _MOST_ROWS, _WEIGHTED = 110, 16, 100_000, 24
# Links that read a column by default, variables per latent, and bytes of a weight: Adam's two moments, the gradient,
# the best and the first weights.
_READERS, _PER_LATENT, _WEIGHT = 9, 6, 4 * 8
# A linear model's weight: with the steps that its search for the best one remembers.
_LINEAR_WEIGHT = 8 * 25
# Cross-validation of the linear start on at most a thousand rows, and batches.
_TRAINING = 80 << 20
# Topics: their probabilities per entry, from 0.01 on; some of them per row, and per word; and in blocks of rows.
_TOPICS_ENTRY, _TOPICS_ROW, _TOPICS_WORD, _TOPICS_BLOCK = 120, 1200, 24_000, 80 << 20

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def bytes_of(memory: int | str | None) -> int | None:
    """Read an amount of memory such as ``"2GB"`` or ``"500 MiB"``; numbers are bytes.

    Raises
    ------
    ValueError
        If it is no such amount.

    Examples
    --------
    >>> from tsenet.memory import bytes_of
    >>> bytes_of("2GB"), bytes_of("1.5 GiB"), bytes_of(1000)
    (2000000000, 1610612736, 1000)
    """
    if memory is None or isinstance(memory, int):
        if memory is not None and memory < 1:
            raise ValueError(f"memory_limit must be above 0, not {memory}")
        return memory
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", str(memory), re.IGNORECASE)
    if match is None:
        raise ValueError(f"memory_limit must be an amount such as '2GB', not {memory!r}")
    number, unit, binary = match.groups()
    factor = (_BINARY if binary else _UNITS).get(unit.upper())
    if factor is None or float(number) * factor < 1:
        raise ValueError(f"memory_limit must be an amount such as '2GB', not {memory!r}")
    return int(float(number) * factor)


def shown_bytes(n_bytes: float) -> str:
    """An amount of memory as :func:`bytes_of` reads it, with three digits.

    Examples
    --------
    >>> from tsenet.memory import shown_bytes
    >>> shown_bytes(2_000_000_000), shown_bytes(1234)
    ('2GB', '1.23kB')
    """
    value = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}TB"


def memory_here() -> int:
    """Bytes of memory of this machine, or of the container that the process runs in."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # Windows does not say
        total = 16 << 30
    with suppress(OSError, ValueError):
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total


class Size(NamedTuple):
    """Of a table: N rows, V columns, and how many of its values are stored."""

    n_rows: int
    n_columns: int
    n_entries: int
    is_sparse: bool

    @classmethod
    def of(cls, X: Any) -> Size | None:
        """The size of a table as the user gives it, which is not read; None where its shape does not say."""
        if hasattr(X, "is_sparse") and hasattr(X, "values"):  # a Table
            X = X.values
        if hasattr(X, "nnz"):
            return cls(int(X.shape[0]), int(X.shape[1]), int(X.nnz), True)
        shape: tuple[Any, ...] = tuple(getattr(X, "shape", ()))
        if not shape and isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple):
            shape = (len(X), len(X[0]))
        if len(shape) != 2 or not all(isinstance(length, int) for length in shape):
            return None
        return cls(shape[0], shape[1], shape[0] * shape[1], False)

    def with_columns(self, n_columns: int) -> Size:
        """A table of fewer columns; each has its share of the entries."""
        share = n_columns / max(1, self.n_columns)
        return self._replace(n_columns=n_columns, n_entries=int(self.n_entries * share))

    def __str__(self) -> str:
        entries = f" with {self.n_entries:,} entries" if self.is_sparse else ""
        return f"{self.n_rows:,} rows × {self.n_columns:,} columns{entries}"


#: Bytes of each stage of a fit, by its name, for a table of a size and ``structure_samples``.
Need = Callable[[Size, int | None], dict[str, float]]


def tree_need(size: Size, structure_samples: int | None) -> dict[str, float]:
    """Bytes for learning a tree."""
    if not size.is_sparse:
        return {"learning the groups": _DENSE_VALUE * size.n_entries + 2000.0 * size.n_columns}
    share = 1.0
    if structure_samples is not None:
        share = min(1.0, structure_samples / max(1, size.n_rows))
    entry = share * _GROUPS_ENTRY + (1 - share) * _KEPT_ENTRY
    row = share * _GROUPS_ROW + (1 - share) * _KEPT_ROW
    found = entry * size.n_entries + row * size.n_rows + _GROUPS_VARIABLE * size.n_columns
    return {"learning the groups": found}


def topics_need(size: Size, structure_samples: int | None) -> dict[str, float]:
    """Bytes for learning topics and describing them by the documents."""
    described = _TOPICS_ENTRY * size.n_entries + _TOPICS_ROW * size.n_rows
    described += _TOPICS_WORD * size.n_columns + _TOPICS_BLOCK
    return {**tree_need(size, structure_samples), "describing the topics": described}


def network_need(n_outputs: int, n_units: int, density: float | None, n_links: int | None) -> Need:
    """Bytes for a network with so many units for each latent; ``n_links`` of a wiring that is given, else None."""

    def need(size: Size, structure_samples: int | None) -> dict[str, float]:
        copies = float((_SPARSE_COPY if size.is_sparse else _DENSE_COPY) * size.n_entries)
        if n_links is None:
            share = 0.0 if density is None else density
            links = size.n_columns * max(_READERS, share * size.n_columns / _PER_LATENT)
        else:
            links = float(n_links)
        weights = _WEIGHT * n_units * links + _LINEAR_WEIGHT * n_outputs * size.n_columns
        outputs = 8.0 * 8 * size.n_rows * n_outputs
        found = {"training the network": copies + weights + outputs + _TRAINING}
        if n_links is not None:
            return found
        for name, n_bytes in tree_need(size, structure_samples).items():
            found[name] = copies / 2 + n_bytes
        if size.is_sparse:
            rows = min(size.n_rows, _MOST_ROWS)
            entries = size.n_entries * rows / max(1, size.n_rows)
            directions = _DIRECTIONS * _ALONG * (rows + 3 * size.n_columns)
            found["adding links"] = directions + _WEIGHTED * entries + copies / 2
        return found

    return need


def n_outputs_of(y: Any, classifies: bool) -> int:
    """How many outputs a network has for some targets, as their first 10,000 say."""
    try:
        first = np.asarray(y[:10_000])
    except (TypeError, ValueError, KeyError):
        return 1  # targets that are refused when they are read
    if first.ndim == 2:
        return int(first.shape[1])
    return len(set(first.ravel().tolist())) if classifies else 1


def check_memory(
    limit: int | str | None,
    X: Any,
    need: Need,
    structure_samples: int | None,
    *,
    columns: str = "columns",
    otherwise: str,
) -> None:
    """Refuse a fit that would need more memory than this process may use.

    Parameters
    ----------
    limit : int, str or None
        Bytes, or an amount such as "2GB"; None refuses nothing.
    X : table
        As the user gives it, or its size.
    need : Need
        Bytes of the stages.
    structure_samples : int or None
        As the estimator has it.
    columns : str, default="columns"
        What the columns are.
    otherwise : str
        What else would do.

    Raises
    ------
    TooLargeError
        Says which stage would need how much, and what would fit.
    """
    allowed = bytes_of(limit)
    size = X if isinstance(X, Size) else Size.of(X)
    if allowed is None or size is None:
        return
    used = _in_use()

    def total(size: Size, samples: int | None) -> float:
        return used + max(need(size, samples).values())

    wanted = total(size, structure_samples)
    if wanted <= allowed:
        return
    stages = need(size, structure_samples)
    largest = max(stages, key=lambda name: stages[name])
    advice = []
    if "learning the groups" in stages and total(size, 2) <= allowed:
        most = size.n_rows if structure_samples is None else min(structure_samples, size.n_rows)
        fits = _largest(lambda n: total(size, n) <= allowed, 2, most)
        if fits >= 1000:
            advice.append(f"structure_samples={_rounded(fits)} would fit")
    fits = _largest(
        lambda n: total(size.with_columns(n), structure_samples) <= allowed, 0, size.n_columns
    )
    if fits >= 10:
        advice.append(f"{_rounded(fits):,} {columns} would fit")
    advice += [otherwise, f"memory_limit={_above(wanted)!r} would be enough"]
    raise TooLargeError(
        f"{size} need about {shown_bytes(wanted)}, but memory_limit is {shown_bytes(allowed)}: {largest} takes "
        f"{shown_bytes(stages[largest])}, the process without it {shown_bytes(used)}; {'; '.join(advice)}"
    )


def _in_use() -> float:
    """Bytes of this process now, its rows included, and of kernels that it has yet to load."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        used = float(os.sysconf("SC_PAGE_SIZE") * pages)
    except OSError:  # no Linux
        used = float(PROCESS)
    kernels = sys.modules.get("tsenet.skeleton.kernels.pair_kernels")
    compiled = getattr(getattr(kernels, "best_partners", None), "signatures", ())
    return used if compiled else used + KERNELS


def _largest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The largest number from ``low`` to ``high`` that fits, if ``low`` does; needs grow."""
    if not fits(low):
        return -1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _rounded(number: int) -> int:
    """Two digits, rounded down."""
    unit = int(10 ** max(0, len(str(number)) - 2))
    return number // unit * unit


def _above(n_bytes: float) -> str:
    """An amount in whole hundreds of megabytes that is no less."""
    return shown_bytes(100_000_000 * (int(n_bytes // 100_000_000) + 1))
