"""What each hidden unit means: the features it correlates with, the rows that activate it, the classes it affects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet._system.notebook import Bar, paragraph, table, titled
from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain._sources import unit_source
from tsenet.explain._unit_source import UnitSource
from tsenet.explain.correlation import Moments, correlation_blocks
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ActiveRow", "Feature", "Unit", "Units", "describe_units"]

_LABEL_FEATURES = 3


class Feature(NamedTuple):
    """A feature that correlates with a unit.

    Attributes
    ----------
    name : str
        Name of the feature; a category is ``colour=red``.
    correlation : float
        Pearson correlation of the feature, as the network reads it, with the unit's activation.
    weight : float or None
        Signed weight of the link from the feature to the unit, over scaled inputs; None if there is no link.

    Examples
    --------
    >>> from tsenet.explain import Feature
    >>> Feature("petal width", 0.93, None).correlation
    0.93
    """

    name: str
    correlation: float
    weight: float | None


class ActiveRow(NamedTuple):
    """A row that activates a unit.

    Attributes
    ----------
    row : int
        Number of the row, from 0.
    activation : float
        The unit's activation in that row.

    Examples
    --------
    >>> from tsenet.explain import ActiveRow
    >>> ActiveRow(row=17, activation=2.5).row
    17
    """

    row: int
    activation: float


@dataclass(frozen=True)
class Unit:
    """One hidden unit.

    Attributes
    ----------
    name : str
        Name of the unit's column in ``transform``: ``"Z1.0"``, ``"skip0.3"``, ``"top.3"``.
    level : int
        1 … L for latents, L + 1 for units of the feature layer; layers of other networks are numbered from 1.
    label : str
        The names of its first features, at most three.
    features : tuple of Feature
        Features that correlate with the activation, strongest first.
    mean : float
        Mean activation.
    active : float
        Share of rows with an activation above 0; for activations that are never exactly 0 (tanh, sigmoid), above the
        mean.
    rows : tuple of ActiveRow
        The rows that activate it most, most active first.
    classes : tuple of float, or None
        For each output: by how much the raw output rises if the unit's activation rises by its standard deviation,
        to first order, mean over rows. None where the model has no outputs that depend on the units.

    Examples
    --------
    >>> from tsenet.explain import Feature, Unit
    >>> unit = Unit("Z1.0", 1, "goal", (Feature("goal", 0.9, 1.2),), 0.4, 0.25, (), None)
    >>> unit.features[0].name
    'goal'
    """

    name: str
    level: int
    label: str
    features: tuple[Feature, ...]
    mean: float
    active: float
    rows: tuple[ActiveRow, ...]
    classes: tuple[float, ...] | None

    def _repr_html_(self) -> str:
        """Features, effects and rows, for notebooks."""
        most = max((abs(feature.correlation) for feature in self.features), default=0.0)
        features = table(
            ["feature", "correlation", "", "weight"],
            [
                [
                    f.name,
                    f.correlation,
                    Bar(f.correlation, most),
                    "–" if f.weight is None else f.weight,
                ]
                for f in self.features
            ],
        )
        notes = []
        if self.classes is not None:
            notes.append("effect on the outputs: " + ", ".join(f"{e:+.3g}" for e in self.classes))
        if self.rows:
            notes.append("most active rows: " + ", ".join(str(row.row) for row in self.rows))
        about = f"{self.name}, level {self.level}, active in {100 * self.active:.3g} % of the rows"
        return titled(self.label, about, features, *(paragraph(note) for note in notes))


@dataclass(frozen=True)
class Units:
    """The units of a network, in the order of the columns of ``transform``.

    Attributes
    ----------
    units : tuple of Unit
        The units.
    class_names : tuple of str, or None
        What the entries of ``Unit.classes`` are about; one for each output, so for two classes only the second
        (its log-odds are the one output). None for regression.
    n_rows : int
        Number of rows the description was made from.
    feature_names : tuple of str
        Names of all features, in the order of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.explain import describe_units
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> units = describe_units(lambda rows: np.maximum(rows[:, :2], 0), X)
    >>> units
    Units(2 units: 2 of level 1; 50 rows)
    >>> units["unit.1"].features[0].name
    'x1'
    """

    units: tuple[Unit, ...]
    class_names: tuple[str, ...] | None
    n_rows: int
    feature_names: tuple[str, ...] = ()

    def level(self, k: int) -> tuple[Unit, ...]:
        """Return the units of one level; none if there is no such level."""
        return tuple(unit for unit in self.units if unit.level == k)

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels there are, ascending."""
        return tuple(sorted({unit.level for unit in self.units}))

    def __getitem__(self, name: str) -> Unit:
        """A unit, or a latent as one unit, by its name."""
        return self.latent(name)

    def latent(self, name: str) -> Unit:
        """Return a latent as one unit, also where it has several: its leading unit, with the effects of all of them.

        Parameters
        ----------
        name : str
            As the wiring names the latent; its units are ``name``, or ``name/1``, ``name/2``, ….

        Returns
        -------
        Unit
        """
        if name in self._by_name:
            return self._by_name[name]
        units = [self._by_name[f"{name}/1"]]
        while (following := f"{name}/{len(units) + 1}") in self._by_name:
            units.append(self._by_name[following])
        effects = [unit.classes for unit in units if unit.classes is not None]
        summed = tuple(np.sum(effects, axis=0).tolist()) if effects else None
        return replace(units[0], name=name, classes=summed)

    def __len__(self) -> int:
        return len(self.units)

    @cached_property
    def _by_name(self) -> dict[str, Unit]:
        return {unit.name: unit for unit in self.units}

    def words(self, level: int | None = None) -> list[list[str]]:
        """Return the names of each unit's features, strongest first: the input of the scores of topics.

        Parameters
        ----------
        level : int, optional
            Only the units of this level; default: all units.

        Returns
        -------
        list of list of str
            Units without features are left out.
        """
        chosen = self.units if level is None else self.level(level)
        return [[feature.name for feature in unit.features] for unit in chosen if unit.features]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one line per unit: its fields, and its effect on each output."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError("to_frame needs pandas: pip install pandas") from error
        columns: dict[str, list[Any]] = {
            "unit": [unit.name for unit in self.units],
            "level": [unit.level for unit in self.units],
            "label": [unit.label for unit in self.units],
            "mean": [unit.mean for unit in self.units],
            "active": [unit.active for unit in self.units],
            "features": [", ".join(_signed(feature) for feature in u.features) for u in self.units],
        }
        n_outputs = len(self.units[0].classes or ()) if self.units else 0
        names = self.class_names or tuple(f"output {k}" for k in range(n_outputs))
        for k in range(n_outputs):
            columns[f"effect on {names[k]}"] = [(unit.classes or ())[k] for unit in self.units]
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self.level(k))} of level {k}" for k in self.levels)
        return f"Units({len(self)} units: {counts}; {self.n_rows} rows)"


def describe_units(
    model: Any,
    X: Any,
    *,
    n_features: int = 10,
    n_rows: int = 5,
    layers: Mapping[str, Any] | None = None,
    feature_names: Sequence[str] | None = None,
    order: Literal["absolute", "signed"] = "absolute",
    progress: bool | Progress | Callable[..., None] | None = None,
    batch_size: int = 1024,
) -> Units:
    """Describe every hidden unit: correlated features, most active rows, effect on the outputs.

    Parameters
    ----------
    model : fitted estimator, torch module, or function
        An estimator's units are the columns of its ``transform``. A torch module needs ``layers``. A function maps rows
        (B, V) to activations (B, U).
    X : array, sparse matrix, dataframe or Table, (N, V)
        Rows to describe the units by, such as the training rows; a sparse table stays sparse. For a torch module also
        arrays of more dimensions, such as images (N, channels, rows, columns): their numbers are the features.
    n_features : int, default=10
        Features kept for each unit. Set it to the number of columns for a complete picture, as
        ``plot_receptive_field`` needs it.
    n_rows : int, default=5
        Rows kept for each unit; 0 keeps none.
    layers : dict of str to torch module, optional
        Submodules whose outputs are the units of level 1, 2, …: the module *after* the activation function, such as
        ``nn.ReLU``. Only for torch modules.
    feature_names : sequence of str, optional
        Names for the features; default: those of the columns.
    order : {"absolute", "signed"}, default="absolute"
        Sort features by the size of their correlation, or, as in the paper, from the highest correlation down, which
        keeps only features that are high where the unit is active.
    progress : None, bool, Progress or callable, default=None
        How to report progress: True draws a bar, a callable gets ``(stage, done, total)``, None is silent.
    batch_size : int, default=1024
        Rows read at a time; lower it if a batch of activations does not fit in memory.

    Returns
    -------
    Units
        One entry per unit.

    Raises
    ------
    DataError
        If ``n_features`` or ``n_rows`` is too small, ``layers`` does not fit the model, or the names do not fit.

    Notes
    -----
    Features that do not vary are left out. The effects on the outputs are the network's derivatives, along all paths
    from the unit to the output, at up to 1,024 rows evenly spaced in ``X``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tsenet.baselines import DenseClassifier
    >>> from tsenet.explain import describe_units
    >>> iris = load_iris(as_frame=True)
    >>> model = DenseClassifier(hidden=(4,), max_epochs=5, random_state=0).fit(iris.data, iris.target)
    >>> units = describe_units(model, iris.data, n_features=2)
    >>> len(units), units.class_names
    (4, ('0', '1', '2'))
    >>> len(units["hidden1.0"].features)
    2
    """
    if n_features < 1 or n_rows < 0:
        raise DataError(
            f"n_features must be at least 1 and n_rows at least 0, not {n_features} and {n_rows}"
        )
    if order not in ("absolute", "signed"):
        raise ValueError(f"order must be 'absolute' or 'signed', not {order!r}")
    source = unit_source(
        model, X, layers=layers, feature_names=feature_names, batch_size=batch_size
    )
    with as_progress(progress) as report:
        activity = _activity(source, n_rows, report)
        features = _top_features(source, n_features, order == "signed", report)
    effects = source.effects()
    scaled = None if effects is None else effects * activity.deviation[:, None]
    units = tuple(
        Unit(
            name,
            level,
            _label(features[k]),
            features[k],
            float(activity.mean[k]),
            float(activity.active[k]),
            activity.rows[k],
            None if scaled is None else tuple(scaled[k].tolist()),
        )
        for k, (name, level) in enumerate(zip(source.unit_names, source.unit_levels, strict=True))
    )
    return Units(units, source.class_names, source.n_rows, source.feature_names)


class _Activity(NamedTuple):
    """Mean, standard deviation and share of active rows of each unit, each (U,), and its most active rows."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    active: NDArray[np.float64]
    rows: list[tuple[ActiveRow, ...]]


def _activity(source: UnitSource, n_rows: int, report: Progress) -> _Activity:
    """One pass over the rows; one more where being active means being above the mean."""
    n_batches = -(-source.n_rows // source.batch_size)
    report.start("reading activations", n_batches)
    count = 0
    best = _BestRows(n_rows)
    moments = Moments()
    lowest, positive = np.inf, np.zeros(len(source.unit_names))
    for _, activations in source.blocks():
        moments.add(activations)
        positive += (activations > 0).sum(axis=0)
        lowest = min(lowest, float(activations.min()))
        best.add(activations, count)
        count += len(activations)
        report.advance()
    report.finish()
    rectified = lowest == 0.0 if source.rectified is None else source.rectified
    mean = moments.mean
    if not rectified:
        positive[:] = 0.0
        for _, activations in source.blocks():
            positive += (activations > mean.astype(np.float32)).sum(axis=0)
    return _Activity(mean, moments.deviation, positive / count, best.rows(above_zero=rectified))


class _BestRows:
    """The rows with the highest activation of each unit, kept while batches go by."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.values: NDArray[np.float32] | None = None  # (U, kept), beside their numbers
        self.numbers: NDArray[np.int64] | None = None

    def add(self, activations: NDArray[np.float32], first: int) -> None:
        """Look at a batch (B, U) whose first row has the number ``first``."""
        numbers = np.broadcast_to(np.arange(first, first + len(activations)), activations.T.shape)
        values = activations.T
        if self.values is not None and self.numbers is not None:
            values = np.concatenate([self.values, values], axis=1)
            numbers = np.concatenate([self.numbers, numbers], axis=1)
        best = _strongest(values, self.n_rows)
        self.values = np.take_along_axis(values, best, axis=1)
        self.numbers = np.take_along_axis(numbers, best, axis=1)

    def rows(self, above_zero: bool) -> list[tuple[ActiveRow, ...]]:
        """For each unit, most active row first; without rows in which the unit is off, if being off is being 0."""
        assert self.values is not None
        assert self.numbers is not None
        return [
            tuple(
                ActiveRow(row, value)
                for row, value in zip(rows, values, strict=True)
                if value > 0 or not above_zero
            )
            for rows, values in zip(self.numbers.tolist(), self.values.tolist(), strict=True)
        ]


def _strongest(values: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Places of the ``n`` highest values of each line, highest first and equal ones in order: (K, n)."""
    kept = min(n, values.shape[1])
    if kept == 0:
        return np.empty((len(values), 0), np.int64)
    # Partition first: sorting all features of all units would take longer than correlating them.
    chosen = np.argpartition(-values, kept - 1, axis=1)[:, :kept]
    chosen.sort(axis=1)
    order = np.argsort(-np.take_along_axis(values, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


def _top_features(
    source: UnitSource, n_features: int, signed: bool, report: Progress
) -> list[tuple[Feature, ...]]:
    """Best features of every unit."""
    names = source.feature_names
    found = []
    for units, block in correlation_blocks(source, report):
        strength = block if signed else np.abs(block)
        for k, columns in enumerate(_strongest(strength, n_features).tolist()):
            kept = [j for j in columns if strength[k, j] > 0]
            links = source.link_weights(units.start + k, kept)
            found.append(
                tuple(
                    Feature(names[j], float(block[k, j]), weight)
                    for j, weight in zip(kept, links, strict=True)
                )
            )
    return found


def _label(features: Sequence[Feature]) -> str:
    """The first features; a negative correlation has a minus."""
    return ", ".join(_signed(feature) for feature in features[:_LABEL_FEATURES]) or "(constant)"


def _signed(feature: Feature) -> str:
    return feature.name if feature.correlation > 0 else f"−{feature.name}"
