"""Pearson correlation of every unit with every feature, over rows that never have to be in memory at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.explain._sources import unit_source
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from tsenet.explain._unit_source import RowBlock, UnitSource

__all__ = ["correlation_blocks", "correlations"]

Floats = NDArray[np.float64]

# Sums of so many pairs of unit and feature (256 MB) are in memory at a time; a batch's share takes as much again.
_PAIRS = 1 << 25
# Activations are float32: a spread below this share of the mean is rounding.
_UNIT_NOISE = 1e-6
_FEATURE_NOISE = 1e-12


def correlations(
    model: Any,
    X: Any,
    *,
    layers: Mapping[str, Any] | None = None,
    batch_size: int = 1024,
    progress: bool | Progress | Callable[..., None] | None = None,
) -> Floats:
    """Correlate every unit of a model with every feature, as the network reads it (counts as tf-idf, numbers scaled).

    Parameters
    ----------
    model : fitted estimator, torch module, or function
        An estimator's units are the columns of its ``transform``. A torch module needs ``layers``. A function maps rows
        (B, V) to activations (B, U).
    X : array, sparse matrix, dataframe or Table, (N, V)
        Read in batches; a sparse one stays sparse.
    layers : dict of str to torch module, optional
        Submodules whose outputs are the units. Only for torch modules.
    batch_size : int, default=1024
        Rows read at a time; lower it if a batch of activations does not fit in memory.
    progress : None, bool, Progress or callable, default=None
        How to report progress: True draws a bar, a callable gets ``(stage, done, total)``, None is silent.

    Returns
    -------
    ndarray of float64, (U, D)
        Pearson correlations; 0 where the unit or the feature does not vary. D is the number of the network's inputs:
        one per column, or one per category of a column of categories.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.explain import correlations
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, -1.0]])
    >>> correlations(lambda rows: rows[:, :1], X).round(2).tolist()
    [[1.0, -1.0]]
    """
    source = unit_source(model, X, layers=layers, batch_size=batch_size)
    answer = np.empty((len(source.unit_names), len(source.feature_names)))
    with as_progress(progress) as report:
        for units, block in correlation_blocks(source, report):
            answer[units] = block
    return answer


def correlation_blocks(
    source: UnitSource, report: Progress, max_pairs: int = _PAIRS
) -> Iterator[tuple[slice, Floats]]:
    """Yield the correlations (units, D) of as many units at a time as fit in memory.

    Each block of units takes a pass over the rows.
    """
    n_units, n_features = len(source.unit_names), len(source.feature_names)
    step = max(1, min(n_units, max_pairs // n_features))
    starts = range(0, n_units, step)
    n_batches = -(-source.n_rows // source.batch_size)
    report.start("correlating units with features", len(starts) * n_batches)
    for start in starts:
        units = slice(start, min(start + step, n_units))
        yield units, _correlate(_advancing(source.blocks(), report), units, n_features)
    report.finish()


def _advancing(blocks: Iterable[RowBlock], report: Progress) -> Iterator[RowBlock]:
    for block in blocks:
        yield block
        report.advance()


def _correlate(blocks: Iterable[RowBlock], units: slice, n_features: int) -> Floats:
    """Correlations from one pass; values are shifted by the means of the first batch to keep precision."""
    joint = np.zeros((n_features, units.stop - units.start))
    unit, feature = Moments(), Moments()
    for values, activations in blocks:
        centred = unit.add(activations[:, units])
        joint += feature.add(values).T @ centred
    joint -= np.outer(feature.total, unit.total) / unit.count
    by_feature = feature.inverse_deviation(_FEATURE_NOISE)
    by_unit = unit.inverse_deviation(_UNIT_NOISE)
    joint *= by_feature[:, None]
    joint *= by_unit
    return np.clip(joint.T, -1.0, 1.0, out=joint.T)


class Moments:
    """Sums and sums of squares of columns, about a shift; a sparse batch is not shifted."""

    def __init__(self) -> None:
        self.count = 0
        self.shift: Any = None

    def add(self, values: Any) -> Any:
        """Count a batch (B, K) in; return it shifted, in float64."""
        exact = values.astype(np.float64)
        if self.shift is None:
            self.shift = 0.0 if sp.issparse(exact) else exact.mean(axis=0)
            self.total: Floats = np.zeros(exact.shape[1])
            self.square: Floats = np.zeros(exact.shape[1])
        if sp.issparse(exact):
            self.square += np.asarray(exact.power(2).sum(axis=0))
        else:
            exact -= self.shift
            self.square += np.square(exact).sum(axis=0)
        self.total += np.asarray(exact.sum(axis=0))
        self.count += int(exact.shape[0])
        return exact

    @property
    def mean(self) -> Floats:
        """(K,)."""
        mean: Floats = self.shift + self.total / self.count
        return mean

    @property
    def deviation(self) -> Floats:
        """Standard deviation, of the rows as a population: (K,)."""
        return np.sqrt(self._spread / self.count)

    @property
    def _spread(self) -> Floats:
        return np.maximum(self.square - self.total**2 / self.count, 0.0)

    def inverse_deviation(self, noise: float) -> Floats:
        """1 / (√N · standard deviation), and 0 for a column that varies by rounding alone: (K,)."""
        spread = self._spread
        least = self.count * (noise * np.abs(self.mean)) ** 2
        varies = spread > least
        inverse: Floats = np.divide(1.0, np.sqrt(spread), out=np.zeros_like(spread), where=varies)
        return inverse
