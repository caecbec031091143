"""Bins of a column, such as the periods of dates, and how often topics are present in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.dates import read_dates
from tsenet.errors import DataError
from tsenet.topics.presence import presence

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]

_MAX_BINS = 60
_MAX_LABELS = 40
_MAX_NUMBER_LABELS = 20  # more different numbers than this are cut into ranges
_RANGES = 10


@dataclass(frozen=True)
class Bins:
    """The bin of each row.

    Attributes
    ----------
    kind : {"dates", "numbers", "labels"}
        The first two have an order.
    names : tuple of str
        A name for each bin.
    of_row : int64 (N,)
        −1 where the column has no value.
    """

    kind: str
    names: tuple[str, ...]
    of_row: Ints

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of rows in each bin."""
        inside = self.of_row[self.of_row >= 0]
        return tuple(np.bincount(inside, minlength=len(self.names)).tolist())


def shares_of_bins(strengths: Any, bins: Bins) -> NDArray[np.float64]:
    """Share of the rows of each bin in which each topic is present; 0 in an empty bin: (L, B).

    Parameters
    ----------
    strengths : csr_array (N, L)
        Of the topics in the rows.
    bins : Bins
        Of the N rows.
    """
    n_bins = len(bins.names)
    row, topic = presence(strengths)
    is_known = bins.of_row[row] >= 0
    cell = bins.of_row[row[is_known]] + n_bins * topic[is_known]
    n_present = np.bincount(cell, minlength=strengths.shape[1] * n_bins).reshape(-1, n_bins)
    return np.asarray(n_present / np.maximum(1, bins.counts))


def bins_of(values: Sequence[Any]) -> Bins:
    """Cut a column into bins.

    Dates (days, months or years; see :func:`tsenet.data.dates.read_dates`) are binned by day, month, year or several
    years: the finest that gives at most 60 bins, including empty ones in between. More than 40 different whole numbers,
    or 20 others, are cut into ten ranges with about equally many rows. Everything else is a label; those beyond the 40
    most frequent share a bin.

    Raises
    ------
    DataError
        If no row has a value.
    """
    import pandas as pd

    column = pd.Series(list(values), dtype=object)
    text = column[column.notna()].astype(str).str.strip().str.removesuffix(".0")
    text = text[text != ""]
    if text.empty:
        raise DataError("the column to show topics along has no values")

    numbers = pd.to_numeric(text, errors="coerce")
    is_number = bool(np.isfinite(numbers).all())
    is_whole = is_number and bool((numbers % 1 == 0).all())
    n_labels = _MAX_LABELS if is_whole else _MAX_NUMBER_LABELS  # whole numbers may be classes

    if (periods := _periods(text)) is not None:
        kind = "dates"
        names = periods.astype(str)
        every = pd.period_range(periods.min(), periods.max(), freq=periods.dtype.freq).astype(str)
    elif is_number and numbers.nunique() > n_labels:
        kind = "numbers"
        ranges = pd.qcut(numbers, _RANGES, duplicates="drop", precision=4)
        least = numbers.min()  # pandas lowers the first limit a little
        limits = [(max(each.left, least), each.right) for each in ranges.cat.categories]
        every = [f"{low:.4g} – {high:.4g}" for low, high in limits]
        names = ranges.cat.rename_categories(every)
    else:
        kind = "labels"
        counts = text.value_counts()
        if counts.size > _MAX_LABELS:
            counts = counts.sort_index().nlargest(_MAX_LABELS - 1, keep="first")
        counts = counts.sort_index(key=pd.to_numeric if is_number else None)
        every = counts.index.tolist()

        n_others = text.nunique() - counts.size
        others = f"{n_others:,} others"
        names = text.where(text.isin(counts.index), others)
        if n_others:
            every.append(others)

    of_row = pd.Categorical(names.reindex(column.index), categories=every).codes
    return Bins(kind, tuple(every), of_row.astype(np.int64))


def _periods(text: pd.Series) -> pd.Series | None:
    """Dates as calendar periods; None if one is not a date."""
    days, n_parts = read_dates(text)
    if not n_parts.all():
        return None

    units = {1: "Y", 2: "MY", 3: "DMY"}[int(n_parts.min())]
    return calendar_periods(days, _MAX_BINS, units)


def calendar_periods(times: pd.Series, n_bins: int, units: str = "DWMQY") -> pd.Series:
    """Dates as calendar periods or as several years: the finest that gives at most ``n_bins``.

    Parameters
    ----------
    times : series of datetimes
    n_bins : int
        Maximum number of periods from the first date to the last, including those without any.
    units : str, default="DWMQY"
        Days, weeks, months, quarters and years, those to try.
    """
    import pandas as pd

    for unit in units:
        periods = times.dt.to_period(unit)
        if periods.max().ordinal - periods.min().ordinal < n_bins:
            return periods

    year = times.dt.year
    size = int(round_step(int(year.max() - year.min()), max(1, n_bins - 1), least=2))
    return (year // size * size).map(lambda first: pd.Period(year=first, freq=f"{size}Y"))


def round_step(span: float, n_bins: int, least: float = 0.0) -> float:
    """The smallest of …, 0.5, 1, 2, 5, 10, … from ``least`` on that divides a span into at most ``n_bins`` parts."""
    steps = (first * 10.0**power for power in range(-12, 20) for first in (1, 2, 5))
    return next(step for step in steps if step >= least and span / step < n_bins)
