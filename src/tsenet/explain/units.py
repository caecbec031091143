"""What each hidden unit means: the features it correlates with, the rows that activate it, the classes it affects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.data.blocks import is_outside_memory
from tsenet.data.ranks import top_of_rows
from tsenet.data.table import Table
from tsenet.data.text import as_counts
from tsenet.errors import DataError
from tsenet.explain.affine import AffineNetwork
from tsenet.network.inputs import Inputs
from tsenet.progress import Progress, as_progress
from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

_LABEL_FEATURES = 3
# Products of this many pairs of unit and feature (256 MB) are summed at a time.
_MAX_PAIRS = 1 << 25
# Rows whose activations are in memory at a time.
_BATCH_ROWS = 1024
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

        units = self.units
        frame = pd.DataFrame(
            {
                "unit": [unit.name for unit in units],
                "level": [unit.level for unit in units],
                "label": [unit.label for unit in units],
                "mean": [unit.mean for unit in units],
                "active": [unit.active for unit in units],
                "features": [_names(unit.features) for unit in units],
            }
        )
        n_outputs = len(units[0].classes or ()) if units else 0
        outputs = self.class_names or [f"output {k}" for k in range(n_outputs)]
        for k, name in enumerate(outputs):
            frame[f"effect on {name}"] = [(unit.classes or ())[k] for unit in units]
        return frame

    def __repr__(self) -> str:
        levels = sorted({unit.level for unit in self.units})
        counts = ", ".join(f"{len(self.level(k))} of level {k}" for k in levels)
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
) -> Units:
    """Describe every hidden unit: correlated features, most active rows, effect on the outputs.

    Parameters
    ----------
    model : fitted TSENetClassifier, TSENetRegressor or LatentTreeTransformer, or LatentTree
        The units are the columns of ``transform``; those of a tree are its latents, and their activations are
        P(latent on | row).
    X : array, sparse matrix, dataframe or Table, (N, V); or N texts
        Rows to describe the units by, such as the training rows; a sparse table stays sparse. Texts if the model was
        fitted on texts.
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
    if n_features < 1 or n_rows < 0:
        raise DataError(
            f"n_features must be at least 1 and n_rows at least 0, not {n_features} and {n_rows}"
        )
    if order not in ("absolute", "signed"):
        raise ValueError(f"order must be 'absolute' or 'signed', not {order!r}")

    rule = rule_of(model)
    table = table_for(model, X)
    names = rule.input_names if feature_names is None else tuple(map(str, feature_names))
    if len(names) != len(rule.names):
        raise DataError(f"{len(names)} feature_names were given for {len(rule.names)} features")

    if is_network(model):
        network = AffineNetwork(model.net_.predictor())
        class_names = model.targets_.output_names
        unit_names = tuple(map(str, model.get_feature_names_out()))
        levels = np.repeat(np.arange(1, network.n_layers), network.hidden_sizes).tolist()
        effects = _effects(model, table, network)  # (U, C)
        weights = network.input_weights()  # (D, U)
    else:
        tree = tree_of(model)
        class_names = None
        unit_names = tree.latent_names
        levels = tree.level[tree.n_observed :].tolist()
        effects = None
        weights = sp.csc_array((len(names), len(unit_names)))

    # Each pass over the rows serves as many units as fit in memory.
    step = max(1, min(len(unit_names), _MAX_PAIRS // len(names)))
    passes = [range(len(unit_names))[k : k + step] for k in range(0, len(unit_names), step)]
    described: list[Unit] = []
    with as_progress(progress) as report:
        report.start("describing units", len(passes) * -(-table.n_rows // _BATCH_ROWS))
        for units in passes:
            statistics = _measure(model, table, units, n_rows, report)
            for k, of_unit in zip(units, statistics, strict=True):
                features = _top_features(
                    of_unit.correlation, weights[:, [k]], names, n_features, order == "signed"
                )
                classes = None
                if effects is not None:
                    classes = tuple((effects[k] * of_unit.deviation).tolist())
                unit = Unit(
                    name=unit_names[k],
                    level=levels[k],
                    label=_names(features[:_LABEL_FEATURES]) or "(constant)",
                    features=features,
                    mean=of_unit.mean,
                    active=of_unit.active,
                    rows=of_unit.rows,
                    classes=classes,
                )
                described.append(unit)

        report.finish()

    return Units(tuple(described), class_names, table.n_rows, names)


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
    rule: BinaryRule | None = getattr(model, "binary_rule_", None)
    return tree_of(model).rule if rule is None else rule


def table_for(model: Any, X: Any) -> Table:
    """Rows as a model was fitted on them, a table or texts, as a table with its columns."""
    if is_outside_memory(X):
        raise DataError(
            f"rows in memory are needed here, such as a part of {X}: give texts, or a table of the words' counts"
        )
    if isinstance(X, str):
        raise DataError("expected many rows, got one text: give a list of texts")
    reader = getattr(model, "reader_", None) or getattr(model, "vectorizer_", None)
    rows = as_counts(X, reader)
    return Table.of(rows, columns=rule_of(model).names_in)


# ---- statistics


class _Statistics(NamedTuple):
    """What the rows say about a unit: its correlation with each input (D,), and moments and rows of its activation."""

    correlation: Floats
    mean: float
    deviation: float
    active: float
    rows: tuple[ActiveRow, ...]


def _measure(
    model: Any, table: Table, units: range, n_rows: int, report: Progress
) -> Iterator[_Statistics]:
    """The statistics of K of the units, from one pass over the rows."""
    from sklearn.preprocessing import StandardScaler

    threshold = 0.0 if is_network(model) else 0.5  # a unit is on above it
    n_inputs = len(rule_of(model).names)
    selected = slice(units.start, units.stop)

    unit_moments = StandardScaler(with_mean=False)
    input_moments = StandardScaler(with_mean=False)
    products = np.zeros((n_inputs, len(units)))  # Σ input · activation, (D, K)
    n_active = np.zeros(len(units), np.int64)
    # The highest activations of each unit so far, and their rows: (K, n_rows).
    highest = np.empty((len(units), 0))
    highest_rows = np.empty((len(units), 0), np.int64)

    for start in range(0, table.n_rows, _BATCH_ROWS):
        rows = table.take(slice(start, min(start + _BATCH_ROWS, table.n_rows)))
        inputs, activations = _activations(model, rows)
        activations = activations[:, selected]  # (B, K)

        unit_moments.partial_fit(activations)
        input_moments.partial_fit(inputs)
        products += inputs.T @ activations
        n_active += (activations > threshold).sum(axis=0)

        numbers = np.broadcast_to(start + np.arange(len(activations)), activations.T.shape)
        highest = np.hstack([highest, activations.T])
        highest_rows = np.hstack([highest_rows, numbers])
        best = top_of_rows(highest, n_rows)
        highest = np.take_along_axis(highest, best, axis=1)
        highest_rows = np.take_along_axis(highest_rows, best, axis=1)
        report.advance()

    # Pearson: (E[xh] − E[x]·E[h]) / (σ_x · σ_h), 0 where one does not vary.
    deviation = _deviation(unit_moments)
    covariance = products / table.n_rows - np.outer(input_moments.mean_, unit_moments.mean_)
    scale = np.outer(_deviation(input_moments), deviation)
    correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    correlation = np.clip(correlation, -1.0, 1.0)

    for k in range(len(units)):
        is_on = highest[k] > threshold
        pairs = zip(highest_rows[k, is_on].tolist(), highest[k, is_on].tolist(), strict=True)
        yield _Statistics(
            correlation=correlation[:, k],
            mean=float(unit_moments.mean_[k]),
            deviation=float(deviation[k]),
            active=float(n_active[k] / table.n_rows),
            rows=tuple(ActiveRow(row, activation) for row, activation in pairs),
        )


def _activations(model: Any, rows: Table) -> tuple[Any, Floats]:
    """The inputs (B, D) and the activations of all units (B, U), in float64."""
    inputs = _inputs(model, rows)
    if is_network(model):
        activations = model.net_.predictor().hidden(inputs, model.n_jobs)
    else:
        activations = tree_of(model).posterior(rows)
    return inputs.values.astype(np.float64), activations.astype(np.float64)


def _inputs(model: Any, rows: Table) -> Any:
    """Rows as the network, or one over the tree, reads them."""
    if is_network(model):
        (inputs,) = model.network_inputs(rows)
        return inputs
    return Inputs.of(rows, rule_of(model))


def _deviation(moments: Any) -> Floats:
    """Standard deviations, of the rows as a population; 0 for a column that varies by rounding alone."""
    noise = (_NOISE * moments.mean_) ** 2
    return np.asarray(np.sqrt(np.where(moments.var_ > noise, moments.var_, 0.0)))


def _effects(model: Any, table: Table, network: AffineNetwork) -> Floats:
    """Mean over rows of d output / d activation, (U, C), in units of a regressor's target."""
    n_rows = min(table.n_rows, _EFFECT_ROWS)
    sample = np.linspace(0, table.n_rows - 1, n_rows).round().astype(np.int64)
    inputs = _inputs(model, table.take(sample))
    rows = network.forward(inputs.values)

    n_outputs = rows.values[-1].shape[1]
    of_outputs = []
    for gradients in network.output_gradients(rows, np.eye(n_outputs), lowest=1):
        means = [gradients[k].mean(axis=0) for k in range(1, network.n_layers)]
        of_outputs.append(np.concatenate(means))  # (U,)
    return np.asarray(np.stack(of_outputs, axis=1) * model.targets_.output_scale)


def _top_features(
    correlation: Floats, weights: Any, names: Sequence[str], n: int, signed: bool
) -> tuple[Feature, ...]:
    """The features of highest correlation (D,) with a unit, and the weights (D, 1) of its links to them."""
    strength = correlation if signed else np.abs(correlation)
    links = weights.tocoo()
    weight = dict(zip(links.row.tolist(), links.data.tolist(), strict=True))
    strongest = top_of_rows(strength[None], n)[0].tolist()
    return tuple(
        Feature(names[j], float(correlation[j]), weight.get(j))
        for j in strongest
        if strength[j] > 0
    )


def _names(features: Sequence[Feature]) -> str:
    """Names of features; those of negative correlation have a minus."""
    names = [f"{'' if f.correlation > 0 else '−'}{f.name}" for f in features]
    return ", ".join(names)
