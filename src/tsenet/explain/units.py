"""What each hidden unit means: the features it correlates with, the rows that activate it, the classes it affects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet._system.notebook import paragraph, table, titled
from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.explain.affine import AffineNetwork
from tsenet.explain.presence import TopRows
from tsenet.network.batches import Inputs
from tsenet.progress import Progress, as_progress
from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ActiveRow",
    "Feature",
    "Moments",
    "Unit",
    "Units",
    "checked_names",
    "describe_units",
    "input_names",
    "is_network",
    "rule_of",
    "tree_of",
]

Floats = NDArray[np.float64]
#: Features (B, D), dense or CSR, as the network reads them, and activations (B, U) of the same rows.
_Block = tuple[Any, NDArray[np.float32]]

_LABEL_FEATURES = 3
# Products of this many pairs of unit and feature (256 MB) are summed at a time.
_MAX_PAIRS = 1 << 25
# Rows over which the mean effect on the outputs is taken, evenly spaced.
_EFFECT_ROWS = 1024
# Activations and inputs are float32: a deviation below this share of the mean is rounding.
_NOISE = 1e-6


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
        1 … L for latents, L + 1 for units of the feature layer.
    label : str
        The names of its first features, at most three.
    features : tuple of Feature
        Features that correlate with the activation, strongest first.
    mean : float
        Mean activation.
    active : float
        Share of rows in which the unit is on: its activation is above 0; for the latents of a tree their
        probability is above ½.
    rows : tuple of ActiveRow
        The rows that activate it most, most active first; only rows in which it is on.
    classes : tuple of float, or None
        For each output: by how much the raw output rises if the unit's activation rises by its standard deviation,
        to first order, mean over rows. None for the latents of a tree.

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
        features = table(
            ["feature", "correlation", "weight"],
            [[f.name, f.correlation, "–" if f.weight is None else f.weight] for f in self.features],
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
    """The units of a network, or the latents of a tree, in the order of the columns of ``transform``.

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
    >>> from tsenet.explain import Feature, Unit, Units
    >>> unit = Unit("Z1.0", 1, "goal", (Feature("goal", 0.9, 1.2),), 0.4, 0.25, (), None)
    >>> units = Units((unit,), None, n_rows=50)
    >>> units
    Units(1 units: 1 of level 1; 50 rows)
    >>> units["Z1.0"].features[0].name
    'goal'
    """

    units: tuple[Unit, ...]
    class_names: tuple[str, ...] | None
    n_rows: int
    feature_names: tuple[str, ...] = ()

    def level(self, k: int) -> tuple[Unit, ...]:
        """Return the units of one level; none if there is no such level."""
        return tuple(unit for unit in self.units if unit.level == k)

    def __getitem__(self, name: str) -> Unit:
        """Return a unit by its name, or a latent with several units as one: the first of them, with the effects of all.

        A latent ``Z1.3`` is one unit, or the units ``Z1.3/1``, ``Z1.3/2``, ….
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

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one line per unit: its fields, and its effect on each output."""
        import pandas as pd

        frame = pd.DataFrame(
            [
                (unit.name, unit.level, unit.label, unit.mean, unit.active, _names(unit.features))
                for unit in self.units
            ],
            columns=["unit", "level", "label", "mean", "active", "features"],
        )
        n_outputs = len(self.units[0].classes or ()) if self.units else 0
        for k, name in enumerate(self.class_names or [f"output {k}" for k in range(n_outputs)]):
            frame[f"effect on {name}"] = [(unit.classes or ())[k] for unit in self.units]
        return frame

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{len(self.level(k))} of level {k}"
            for k in sorted({unit.level for unit in self.units})
        )
        return f"Units({len(self)} units: {counts}; {self.n_rows} rows)"


def describe_units(
    model: Any,
    X: Any,
    *,
    n_features: int = 10,
    n_rows: int = 5,
    feature_names: Sequence[str] | None = None,
    order: Literal["absolute", "signed"] = "absolute",
    progress: bool | Progress | Callable[..., None] | None = None,
    batch_size: int = 1024,
) -> Units:
    """Describe every hidden unit: correlated features, most active rows, effect on the outputs.

    Parameters
    ----------
    model : fitted TSENetClassifier, TSENetRegressor or LatentTreeTransformer, or LatentTree
        The units are the columns of ``transform``; those of a tree are its latents, and their activations are
        P(latent on | row).
    X : array, sparse matrix, dataframe or Table, (N, V)
        Rows to describe the units by, such as the training rows; a sparse table stays sparse.
    n_features : int, default=10
        Features kept for each unit. Set it to the number of columns for a complete picture, as
        ``plot_receptive_field`` needs it.
    n_rows : int, default=5
        Rows kept for each unit; 0 keeps none.
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
        If ``n_features`` or ``n_rows`` is too small, the model is not one of the above, or the names do not fit.

    Notes
    -----
    Features that do not vary are left out. The effects on the outputs are the network's derivatives, along all paths
    from the unit to the output, at up to 1,024 rows evenly spaced in ``X``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tsenet import LatentTreeTransformer
    >>> from tsenet.explain import describe_units
    >>> X = load_iris(as_frame=True).data
    >>> units = describe_units(LatentTreeTransformer(random_state=0).fit(X), X, n_features=2)
    >>> sorted(feature.name for feature in units["Z1.0"].features)
    ['petal length (cm)', 'petal width (cm)']
    """
    if n_features < 1 or n_rows < 0 or batch_size < 1:
        raise DataError(
            "n_features and batch_size must be at least 1 and n_rows at least 0, "
            f"not {n_features}, {batch_size} and {n_rows}"
        )
    if order not in ("absolute", "signed"):
        raise ValueError(f"order must be 'absolute' or 'signed', not {order!r}")
    source = _Source(model, X, batch_size)
    names = checked_names(feature_names, input_names(source.rule))
    with as_progress(progress) as report:
        activity, features = _describe(source, names, n_features, n_rows, order == "signed", report)
    effects = source.effects()
    scaled = None if effects is None else effects * activity.deviation[:, None]
    units = tuple(
        Unit(
            name,
            level,
            _names(features[k][:_LABEL_FEATURES]) or "(constant)",
            features[k],
            float(activity.mean[k]),
            float(activity.active[k]),
            activity.rows[k],
            None if scaled is None else tuple(scaled[k].tolist()),
        )
        for k, (name, level) in enumerate(zip(source.names, source.levels, strict=True))
    )
    return Units(units, source.class_names, source.table.n_rows, names)


# ---- models


def is_network(model: Any) -> bool:
    """Whether a model is a fitted TSENetClassifier or TSENetRegressor."""
    return hasattr(model, "wiring_") and hasattr(model, "network_inputs")


def tree_of(model: Any) -> LatentTree:
    """A tree, or that of a fitted estimator."""
    tree = model if isinstance(model, LatentTree) else getattr(model, "tree_", None)
    if not isinstance(tree, LatentTree):
        raise DataError(
            f"a {type(model).__name__} cannot be explained: "
            "give a tree, a fitted LatentTreeTransformer, TSENetClassifier or TSENetRegressor"
        )
    return tree


def rule_of(model: Any) -> BinaryRule:
    """How a model reads the columns of a table."""
    rule: BinaryRule = model.binary_rule_ if is_network(model) else tree_of(model).rule
    return rule


def input_names(rule: BinaryRule) -> tuple[str, ...]:
    """Names of the network's inputs: columns of numbers by the name of the column, categories as ``colour=red``."""
    return tuple(
        rule.names_in[source] if rule.levels[source] is None else name
        for name, source in zip(rule.names, rule.sources.tolist(), strict=True)
    )


def checked_names(names: Sequence[str] | None, default: Sequence[str]) -> tuple[str, ...]:
    """The user's names for the features, or the default."""
    if names is None:
        return tuple(default)
    if len(names) != len(default):
        raise DataError(f"{len(names)} feature_names were given for {len(default)} features")
    return tuple(str(name) for name in names)


class _Source:
    """The units of a model, and passes over the rows."""

    def __init__(self, model: Any, X: Any, batch_size: int) -> None:
        self.model, self.batch_size = model, batch_size
        self.rule = rule_of(model)
        self.table = Table.of(X, missing=True, columns=self.rule.names_in)
        self.network: AffineNetwork | None = None
        self.class_names: tuple[str, ...] | None = None
        self.threshold = 0.5  # a unit is on above it
        if is_network(model):
            self.network = AffineNetwork(model.net_.predictor())
            self.names = tuple(str(name) for name in model.get_feature_names_out())
            sizes = self.network.layer_sizes
            self.levels = np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist()
            self.class_names = model.output_names_
            self.threshold = 0.0
        else:
            tree = tree_of(model)
            self.names = tree.latent_names
            self.levels = np.asarray(tree.level)[tree.n_observed :].tolist()

    def blocks(self) -> Iterator[_Block]:
        """Features and activations of all rows, in order."""
        for start in range(0, self.table.n_rows, self.batch_size):
            rows = self.table.take(slice(start, min(start + self.batch_size, self.table.n_rows)))
            inputs = self._inputs(rows)
            if self.network is not None:
                predictor = self.model.net_.predictor()
                yield inputs.values, predictor.hidden(inputs, self.model.n_jobs)
            else:
                yield inputs.values, tree_of(self.model).posterior(rows).astype(np.float32)

    def _inputs(self, rows: Table) -> Inputs:
        """Rows as the network, or one over the tree, reads them."""
        if self.network is None:
            return Inputs.of(rows, self.rule)
        (inputs,) = self.model.network_inputs(rows)
        return cast(Inputs, inputs)

    def effects(self) -> Floats | None:
        """Mean over rows of d output / d activation, (U, C), in units of a regressor's target; None for a tree."""
        if self.network is None:
            return None
        network, n_rows = self.network, self.table.n_rows
        sample = np.linspace(0, n_rows - 1, min(n_rows, _EFFECT_ROWS)).round().astype(np.int64)
        rows = network.forward(self._inputs(self.table.take(sample)).values)
        columns = []
        # One output after another, so that only (rows, units) numbers are in memory.
        for direction in np.eye(rows.outputs.shape[1]):
            start = network.output_gradient(direction, len(rows.outputs))
            gradients = network.backward(start, rows.slopes)
            columns.append(
                np.concatenate(
                    [
                        gradients[k].mean(axis=0) if k in gradients else np.zeros(size)
                        for k, size in enumerate(network.layer_sizes, start=1)
                    ]
                )
            )
        effects: Floats = np.stack(columns, axis=1) * self.model.output_scale_
        return effects


# ---- statistics


@dataclass
class _Activity:
    """Mean, standard deviation and share of active rows of each unit, each (U,); its most active rows."""

    mean: Floats
    deviation: Floats
    active: Floats
    rows: list[tuple[ActiveRow, ...]]


def _describe(
    source: _Source,
    names: Sequence[str],
    n_features: int,
    n_rows: int,
    signed: bool,
    report: Progress,
) -> tuple[_Activity, list[tuple[Feature, ...]]]:
    """Activity and best features of every unit; each pass over the rows serves as many units as fit in memory."""
    n_units, n_all = len(source.names), source.table.n_rows
    step = max(1, min(n_units, _MAX_PAIRS // len(names)))
    starts = range(0, n_units, step)
    mean, deviation, active = np.zeros(n_units), np.zeros(n_units), np.zeros(n_units)
    best = TopRows(n_units, n_rows)
    features: list[tuple[Feature, ...]] = []
    report.start("describing units", len(starts) * -(-n_all // source.batch_size))
    for start in starts:
        units = slice(start, min(start + step, n_units))
        unit, feature, n_seen = Moments(), Moments(), 0
        products = np.zeros((len(names), units.stop - start))
        for values, activations in source.blocks():
            part = activations[:, units].T
            products += feature.add(values).T @ unit.add(part.T)
            active[units] += (part > source.threshold).sum(axis=1) / n_all
            top = _strongest(part, n_rows)
            value = np.take_along_axis(part, top, axis=1)
            which, rank = np.nonzero(value > source.threshold)
            best.add(start + which, n_seen + top[which, rank], value[which, rank])
            n_seen += part.shape[1]
            report.advance()
        mean[units], deviation[units] = unit.mean, unit.deviation
        correlation = _correlations(products, unit, feature)
        features += _top_features(correlation, source.network, start, names, n_features, signed)
    report.finish()
    rows = [
        tuple(ActiveRow(*entry) for entry in zip(*pair, strict=True) if entry[0] >= 0)
        for pair in zip(*(part.tolist() for part in best.table()), strict=True)
    ]
    return _Activity(mean, deviation, active, rows), features


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
    correlation: Floats,
    network: AffineNetwork | None,
    first_unit: int,
    names: Sequence[str],
    n_features: int,
    signed: bool,
) -> Iterator[tuple[Feature, ...]]:
    """The features of highest correlation (U, D) with each unit, and the weights of the units' links to them."""
    strength = correlation if signed else np.abs(correlation)
    for k, columns in enumerate(_strongest(strength, n_features).tolist()):
        kept = [j for j in columns if strength[k, j] > 0]
        weights: Sequence[float | None] = [None] * len(kept)
        if network is not None:
            weights = network.link_weights(first_unit + k, kept)
        yield tuple(
            Feature(names[j], float(correlation[k, j]), weight)
            for j, weight in zip(kept, weights, strict=True)
        )


def _correlations(products: Floats, unit: Moments, feature: Moments) -> Floats:
    """Pearson correlations (U, D) from sums of products (D, U); 0 where a unit or a feature does not vary."""
    covariance = products.T / unit.count - np.outer(unit.mean, feature.mean)
    scale = np.outer(unit.deviation, feature.deviation)
    correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    return np.clip(correlation, -1.0, 1.0)


class Moments:
    """Means and standard deviations of columns, from batches of rows, dense or CSR."""

    def __init__(self) -> None:
        self.count = 0
        self._total: Any = 0.0
        self._square: Any = 0.0

    def add(self, values: Any) -> Any:
        """Include a batch (B, K); return it in float64."""
        exact = values.astype(np.float64)
        squared = exact.power(2) if sp.issparse(exact) else np.square(exact)
        self._total = self._total + np.asarray(exact.sum(axis=0)).ravel()
        self._square = self._square + np.asarray(squared.sum(axis=0)).ravel()
        self.count += int(exact.shape[0])
        return exact

    @property
    def mean(self) -> Floats:
        """(K,)."""
        return np.asarray(self._total / self.count)

    @property
    def deviation(self) -> Floats:
        """Standard deviation, of the rows as a population; 0 for a column that varies by rounding alone: (K,)."""
        variance = self._square / self.count - self.mean**2
        return np.sqrt(np.where(variance > (_NOISE * self.mean) ** 2, variance, 0.0))


def _names(features: Sequence[Feature]) -> str:
    """Names of features; those of negative correlation have a minus."""
    signs = ("" if feature.correlation > 0 else "−" for feature in features)
    return ", ".join(f"{sign}{f.name}" for sign, f in zip(signs, features, strict=True))
