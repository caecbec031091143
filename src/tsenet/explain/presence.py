"""In which rows the topics of a tree are present, and how often in each class or period.

A topic is *present* in a row if it is more likely on than off, P(topic on | row) ≥ .5, and at least one of the words
below it occurs there. The probability alone is not enough: a latent may be likely on in the model as such, and would
then be on in rows without any of its words, even in an empty one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.progress import Progress
from tsenet.skeleton.tree import PRESENT, LatentTree, strongest_rows

if TYPE_CHECKING:
    import pandas as pd

    from tsenet.data.binary import BinaryRows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BLOCK = 1 << 20  # posteriors are dense: about this many numbers at a time (8 MB)
_MAX_BINS = 60
_MAX_LABELS = 40
_MAX_NUMBER_LABELS = 20  # more different numbers than this are cut into ranges
_RANGES = 10


@dataclass(frozen=True, eq=False)
class Activity:
    """The L topics of a tree over V words, in some rows.

    Attributes
    ----------
    size : float64 (L,)
        Share of the rows in which each topic is present.
    word : float64 (V,)
        Share of the rows in which each word occurs.
    both : float64 (levels, V)
        Share of the rows in which a word occurs and the topic above it is present, for each level from 1 on; 0 for
        words in no group.
    rows : int64 (L, R)
        The rows in which each topic is most certainly present, the first of equals first; −1 where there are fewer.
    probability : float64 (L, R)
        P(topic on | row) there; 0 where there is no row.
    along : float64 (L, B) or None
        Share of the rows of each bin in which the topic is present; 0 in an empty bin.
    """

    size: Floats
    word: Floats
    both: Floats
    rows: Ints
    probability: Floats
    along: Floats | None = None

    def word_shares(self, words: Ints, topics: Ints, level: int) -> Floats:
        """Share of the rows without and with a topic in which a word below it occurs: (W, 2).

        Parameters
        ----------
        words, topics : int64 (W,)
            The words, and the latent of that level above each.
        level : int
            Level of the topics.
        """
        size, both = self.size[topics], self.both[level - 1, words]
        parts = np.stack([np.maximum(self.word[words] - both, 0.0), both], axis=1)
        whole = np.stack([1.0 - size, size], axis=1)
        shares = np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0)
        return np.asarray(np.minimum(shares, 1.0))


def topic_probabilities(
    tree: LatentTree, rows: BinaryRows, progress: Progress | None = None
) -> Any:
    """P(topic on | row) of the topics that are present in the row: csr_array (N, L).

    Parameters
    ----------
    tree : LatentTree
    rows : BinaryRows
        N rows of the tree's variables.
    progress : Progress, optional
    """
    progress = progress or Progress()
    step = max(1, _BLOCK // max(1, tree.n_latents))
    above, parts = _topics_above(tree), [sp.csr_array((0, tree.n_latents))]
    progress.start("rows of each topic", -(-rows.n_rows // step))
    for start in range(0, rows.n_rows, step):
        part = rows.take(slice(start, min(start + step, rows.n_rows)))
        on = tree.posterior(part)
        occurs = np.zeros(on.shape, bool)
        of_row = np.repeat(np.arange(part.n_rows), np.diff(part.indptr))
        for topic_above in above:
            topic = topic_above[part.indices]
            occurs[of_row[topic >= 0], topic[topic >= 0]] = True
        parts.append(sp.csr_array(np.where(occurs & (on >= PRESENT), on, 0.0)))
        progress.advance()
    progress.finish()
    return sp.csr_array(sp.vstack(parts))


def topic_activity(
    tree: LatentTree,
    rows: BinaryRows,
    probabilities: Any = None,
    *,
    n_best: int,
    bins: Bins | None = None,
    progress: Progress | None = None,
) -> Activity:
    """Find how many rows have each topic, and which have it most certainly.

    Parameters
    ----------
    tree : LatentTree
    rows : BinaryRows
        N rows of the tree's variables.
    probabilities : csr_array (N, L), optional
        P(topic on | row), or another strength that is at least .5 where a topic is present; default: those of
        :func:`topic_probabilities`.
    n_best : int
        Rows to name for each topic.
    bins : Bins, optional
        The bin of each row, to find the shares of each.
    progress : Progress, optional
    """
    progress = progress or Progress()
    if probabilities is None:
        probabilities = topic_probabilities(tree, rows, progress)
    found = probabilities.tocoo()
    kept = found.data >= PRESENT
    row, topic = (part[kept].astype(np.int64) for part in (found.row, found.col))
    n_rows, n_latents = max(1, rows.n_rows), tree.n_latents
    of_row, words = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr)), rows.indices
    both = np.zeros((tree.n_levels, tree.n_observed))
    progress.start("words of each topic", tree.n_levels)
    for level, above in enumerate(_topics_above(tree)):
        is_present = np.isin(of_row * n_latents + above[words], row * n_latents + topic)
        is_present &= above[words] >= 0
        both[level] = np.bincount(words[is_present], minlength=tree.n_observed)
        progress.advance()
    progress.finish()
    along = None
    if bins is not None:
        known = bins.of_row[row] >= 0
        cell = bins.of_row[row[known]] + len(bins.names) * topic[known]
        along = np.bincount(cell, minlength=n_latents * len(bins.names)).reshape(n_latents, -1)
    return Activity(
        np.bincount(topic, minlength=n_latents) / n_rows,
        rows.counts() / n_rows,
        both / n_rows,
        *strongest_rows(probabilities, n_best),
        None if bins is None else along / np.maximum(1, bins.counts),
    )


def _topics_above(tree: LatentTree) -> list[Ints]:
    """For each level of latents, the column of the latent above each word, or −1: (V,)."""
    columns = []
    for level in range(1, tree.n_levels + 1):
        ancestor = tree.ancestors(level)
        start = tree.layer(level).start - tree.n_observed
        columns.append(np.where(ancestor >= 0, ancestor + start, -1))
    return columns


# ---- bins


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


def bins_of(values: Sequence[Any]) -> Bins:
    """Cut a column into bins.

    Dates (years, or as ISO 8601 writes them) are binned by day, month, year or several years: the finest that gives at
    most 60 bins, including empty ones in between. More than 40 different whole numbers, or 20 others, are
    cut into ten ranges with about equally many rows. Everything else is a label; those beyond the 40 most frequent
    share a bin.

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
        every = [
            f"{max(each.left, least):.4g} – {each.right:.4g}" for each in ranges.cat.categories
        ]
        names = ranges.cat.rename_categories(every)
    else:
        kind = "labels"
        counts = text.value_counts()
        if counts.size > _MAX_LABELS:
            counts = counts.sort_index().nlargest(_MAX_LABELS - 1, keep="first")
        counts = counts.sort_index(key=pd.to_numeric if is_number else None)
        others = f"{text.nunique() - counts.size:,} others"
        names = text.where(text.isin(counts.index), others)
        every = [*counts.index, *([others] if counts.size < text.nunique() else [])]
    of_row = pd.Categorical(names.reindex(column.index), categories=every).codes
    return Bins(kind, tuple(every), of_row.astype(np.int64))


def _periods(text: pd.Series) -> pd.Series | None:
    """Dates as calendar periods; None if one is not a date."""
    import pandas as pd

    # A bare number is a year only if it can be one: 0042 or 9000 is a code.
    form = r"(?:1\d|20|21)\d\d|\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2}(?:[T ].*)?)?"
    if not text.str.fullmatch(form).all():
        return None
    parts = text.str.replace("[/.]", "-", regex=True).str.split("[T ]").str[0]
    days = pd.to_datetime(parts, format="ISO8601", errors="coerce")
    if days.isna().any():
        return None
    units = {4: "Y", 7: "MY"}.get(int(parts.str.len().min()), "DMY")
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
