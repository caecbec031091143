"""Why a row got its prediction: what each feature, and each hidden unit, adds to an output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.data.text import are_texts, count_words
from tsenet.errors import DataError
from tsenet.explain.affine import AffineNetwork, strongest
from tsenet.explain.units import is_network

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
_Line = tuple[str, float, float]  # name, value, contribution

_SHOWN_BEHIND = 5  # features shown behind a unit


class FeatureContribution(NamedTuple):
    """What a feature adds to an output.

    Attributes
    ----------
    name : str
        Name of the feature; a category is ``colour=red``.
    value : float
        Its value in the row, as the user gave it.
    contribution : float
        What it adds to the output.

    Examples
    --------
    >>> from tsenet.explain import FeatureContribution
    >>> FeatureContribution("petal width", 2.3, 0.8).contribution
    0.8
    """

    name: str
    value: float
    contribution: float


class UnitContribution(NamedTuple):
    """What a unit adds to an output.

    Attributes
    ----------
    name : str
        Name of the unit's column in ``transform``.
    activation : float
        The unit's activation in the row.
    weight : float
        Its effect on the output, along all paths above it.
    contribution : float
        ``activation`` times ``weight``.
    features : tuple of FeatureContribution
        The features behind the contribution, strongest first; they and ``bias`` sum to it. Computed for the first ``n``
        units, empty for the others.
    bias : float
        What the biases below the unit add.

    Examples
    --------
    >>> from tsenet.explain import UnitContribution
    >>> UnitContribution("Z1.0", activation=2.0, weight=0.5, contribution=1.0).features
    ()
    """

    name: str
    activation: float
    weight: float
    contribution: float
    features: tuple[FeatureContribution, ...] = ()
    bias: float = 0.0


@dataclass(frozen=True, repr=False)
class PredictionExplanation:
    """An output as a sum of contributions, in two ways.

    - by features: ``output = sum of the features' contributions + bias``;
    - by the units of one level: ``output = sum of the units' contributions + bypass + units_bias``.

    Attributes
    ----------
    target : str
        What is explained: a class, or a column of ``y``.
    output : float
        Its raw output, as ``decision_function`` gives it; for a regressor the predicted value.
    features : tuple of FeatureContribution
        Every feature with a contribution, strongest first.
    bias : float
        The output with every feature at its baseline, on the slopes of this row.
    level : int
        The level of the units; the feature layer comes after the last level.
    units : tuple of UnitContribution
        Every unit with a contribution, strongest first.
    bypass : float
        What reaches the output past the level, by skip paths from below it and the linear skip.
    bypass_features : tuple of FeatureContribution
        The features behind the bypass, strongest first; the rest of it comes from biases.
    units_bias : float
        What the biases above the level add.
    n : int, default=10
        How many features and units are printed.

    Examples
    --------
    >>> from tsenet.explain import FeatureContribution, PredictionExplanation
    >>> parts = (FeatureContribution("x0", 2.0, 1.5),)
    >>> why = PredictionExplanation("y", 2.0, parts, 0.5, 1, (), 0.0, (), 2.0)
    >>> why.output == sum(part.contribution for part in why.features) + why.bias
    True
    """

    target: str
    output: float
    features: tuple[FeatureContribution, ...]
    bias: float
    level: int
    units: tuple[UnitContribution, ...]
    bypass: float
    bypass_features: tuple[FeatureContribution, ...]
    units_bias: float
    n: int = 10

    def to_frame(self) -> pd.DataFrame:
        """Return all parts as a pandas DataFrame with the columns view, name, value, contribution.

        ``view`` is ``"feature"`` or ``"unit"``; the contributions of each view sum to the output. ``value`` is a
        feature's value, a unit's activation.
        """
        import pandas as pd

        lines = [
            (view, *line)
            for view, lines in (("feature", self._by_feature), ("unit", self._by_unit))
            for line in lines
        ]
        return pd.DataFrame(lines, columns=["view", "name", "value", "contribution"])

    @property
    def _by_feature(self) -> list[_Line]:
        return [*self.features, ("(bias)", np.nan, self.bias)]

    @property
    def _by_unit(self) -> list[_Line]:
        return [
            *((unit.name, unit.activation, unit.contribution) for unit in self.units),
            (f"(past level {self.level})", np.nan, self.bypass),
            ("(bias)", np.nan, self.units_bias),
        ]

    def __repr__(self) -> str:
        """Both sums: the first parts, what the others add, and the rest."""
        behind = {unit.name: unit.features for unit in self.units}
        behind[f"(past level {self.level})"] = self.bypass_features
        text = [f"{self.target}: output {self.output:+.4g}"]
        for noun, lines, n_parts in (
            ("feature", self._by_feature, len(self.features)),
            (f"unit of level {self.level}", self._by_unit, len(self.units)),
        ):
            parts, rest = lines[:n_parts], lines[n_parts:]
            others = parts[self.n :]
            if others:
                name = f"({len(others):,} more)"
                rest.insert(0, (name, np.nan, sum(contribution for *_, contribution in others)))
            text += ["", f"by {noun}"]
            for name, value, added in (*parts[: self.n], *(line for line in rest if line[2] != 0)):
                is_feature = noun == "feature" and not np.isnan(value)
                shown = f" = {value:.4g}" if is_feature else ""
                text.append(f"  {added:+9.4f}  {_named(name, behind.get(name, ()))}{shown}")
        return "\n".join(text)


def _named(name: str, behind: Sequence[FeatureContribution]) -> str:
    """The name of a part, with the first features behind it."""
    listed = (f"{part.name} {part.contribution:+.3f}" for part in behind[:_SHOWN_BEHIND])
    return f"{name}: {', '.join(listed)}" if behind else name


def explain_prediction(
    model: Any,
    row: Any,
    *,
    target: Any = None,
    against: Any = None,
    level: int = 1,
    n: int = 10,
) -> PredictionExplanation:
    """Split the output for one row into what each feature and each unit adds to it.

    At one row the network is an affine map, because each ReLU is on or off (``"tanh"`` and ``"sigmoid"`` are lines from
    their value at 0). So the contributions sum to the output; that of a feature is gradient × input.

    Parameters
    ----------
    model : fitted TSENetClassifier or TSENetRegressor
        The model.
    row : one row of a table
        1-D or (1, V) array, dense or sparse, or dataframe of one row; for a model fitted on texts also a text.
    target : class, or column number of y, optional
        What to explain. Default: the predicted class; of several labels the most probable; of several values the first.
    against : class, or column number of y, optional
        Explain the difference between the outputs of ``target`` and of this: why the one rather than the other.
    level : int, default=1
        Level of the units, from 1. Level 1 reads the features and has the fewest paths past it; choose a higher one for
        coarser groups.
    n : int, default=10
        Number of units for which to compute the features behind them, and number of parts to print.

    Returns
    -------
    PredictionExplanation
        Shown as a table.

    Raises
    ------
    DataError
        If the model has no network, there is not exactly one row, or ``level``, ``target`` or ``against`` is unknown.

    Notes
    -----
    What embeddings add after ``fit(…, inputs="both")`` is left out.

    Parts are relative to a baseline. The estimators bring dense columns to mean 0, so there a feature's part is what it
    adds by differing from its mean in training. For sparse rows and categories it is what their presence adds: an
    absent word adds nothing. With two classes the output is the log-odds of the class asked for. With more classes only
    differences of outputs matter for the probabilities: see ``against``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tsenet import TSENetClassifier
    >>> from tsenet.explain import explain_prediction
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TSENetClassifier(max_epochs=5, random_state=0).fit(X, y)
    >>> why = explain_prediction(model, X[100], target=2)
    >>> total = sum(part.contribution for part in why.features) + why.bias
    >>> bool(abs(total - model.decision_function(X[100:101])[0, 2]) < 1e-5)
    True
    """
    if n < 1:
        raise DataError(f"n must be at least 1, not {n}")
    if not is_network(model):
        raise DataError(
            f"predictions of a {type(model).__name__} cannot be explained: "
            "give a fitted TSENetClassifier or TSENetRegressor"
        )
    network = AffineNetwork(model.net_.predictor())
    top = network.n_layers
    if not 1 <= level < top:
        raise DataError(f"level {level} is not one of the network's: 1 to {top - 1}")
    vectorizer = getattr(model, "vectorizer_", None)
    if vectorizer is not None and are_texts(row):
        row = count_words([row] if isinstance(row, str) else row, vectorizer)
    names = model.binary_rule_.input_names
    inputs, values = _read(model, _one_row(row, model.binary_rule_))
    layers = network.forward(inputs)
    outputs = layers.values[-1][0]
    name, direction, constant = _target(model, outputs, target, against)

    def by_feature(gradient: Floats) -> tuple[FeatureContribution, ...]:
        """What each feature adds to a quantity with this gradient (D,), strongest first."""
        added = gradient * inputs[0]
        return tuple(
            FeatureContribution(names[j], float(values[j]), float(added[j]))
            for j in strongest(added)
        )

    whole = network.backward(top, direction[None], layers)
    past = network.backward(top, direction[None], layers, without=level)
    below = {k: gradient for k, gradient in past.items() if k < level}
    above = {k: gradient for k, gradient in past.items() if k > level}
    bypass = float(past[0][0] @ inputs[0]) + float(network.bias_contribution(below, layers).sum())

    activation, weight = layers.values[level][0], whole[level][0]
    added = activation * weight
    units = strongest(added)
    start = np.zeros((len(units[:n]), weight.size))
    start[np.arange(len(start)), units[:n]] = weight[units[:n]]
    behind = network.backward(level, start, layers)
    biases = network.bias_contribution(behind, layers)
    unit_names = model.get_feature_names_out()[sum(network.hidden_sizes[: level - 1]) :]
    return PredictionExplanation(
        target=name,
        output=float(direction @ outputs) + constant,
        features=by_feature(whole[0][0]),
        bias=constant + float(network.bias_contribution(whole, layers)[0]),
        level=level,
        units=tuple(
            UnitContribution(
                *(str(unit_names[u]), float(activation[u]), float(weight[u]), float(added[u])),
                *((by_feature(behind[0][k]), float(biases[k])) if k < n else ()),
            )
            for k, u in enumerate(units)
        ),
        bypass=bypass,
        bypass_features=by_feature(past[0][0]),
        units_bias=constant + float(network.bias_contribution(above, layers)[0]),
        n=n,
    )


def _one_row(row: Any, rule: BinaryRule) -> Table:
    """The row as a table; a 1-D array is one row."""
    if np.ndim(row) == 1 and hasattr(row, "to_frame"):
        row = row.to_frame().T.infer_objects()  # frame.iloc[i], which may hold categories
    elif np.ndim(row) == 1:
        row = (row if sp.issparse(row) else np.asarray(row)).reshape((1, -1))
    table = Table.of(row, columns=rule.names_in)
    if table.n_rows != 1:
        raise DataError(
            f"one row can be explained at a time, not {table.n_rows}: give X[i : i + 1]"
        )
    return table


def _read(model: Any, row: Table) -> tuple[Floats, Floats]:
    """The row as the network reads it, (1, D), and as the user gave it, (D,)."""
    (read,) = model.network_inputs(row)
    inputs = (read.values.toarray() if read.is_sparse else read.values).astype(np.float64)
    values = row.values.toarray()[0] if row.is_sparse else np.asarray(row.values[0])
    rule = model.binary_rule_
    is_category = np.array([rule.levels[source] is not None for source in rule.sources])
    shown = np.where(is_category, inputs[0], values.astype(np.float64)[rule.sources])
    return inputs, shown


def _target(model: Any, outputs: Floats, target: Any, against: Any) -> tuple[str, Floats, float]:
    """The quantity to explain: its name, its weights over the outputs, (C,), and a constant to add."""
    scale, shift = model.targets_.output_scale, model.targets_.output_shift
    classes = getattr(model, "classes_", None)
    keys = list(range(outputs.size)) if classes is None else np.asarray(classes).tolist()
    # Two classes share one output: the log-odds of the second.
    two = len(keys) == 2 and outputs.size == 1
    each = np.array([[-1.0], [1.0]]) if two else np.diag(scale)
    if target is None:
        chosen = 0 if classes is None else int(np.argmax(each @ outputs))
    else:
        chosen = _index_of(keys, target, "target")
    labels = [str(key) for key in keys]
    if classes is None:
        labels = [f"y[{key}]" for key in keys] if len(keys) > 1 else ["y"]
    direction, constant = each[chosen], 0.0 if two else float(shift[chosen])
    if against is None:
        return labels[chosen], direction, constant
    other = _index_of(keys, against, "against")
    if other == chosen:
        raise DataError(f"target and against are both {keys[chosen]!r}: there is no difference")
    name = f"{labels[chosen]} rather than {labels[other]}"
    if two:
        return name, direction, 0.0  # log-odds are the difference already
    return name, direction - each[other], constant - float(shift[other])


def _index_of(keys: Sequence[Any], key: Any, what: str) -> int:
    for index, candidate in enumerate(keys):
        if candidate == key:
            return index
    shown = ", ".join(repr(candidate) for candidate in keys[:10])
    more = f", … ({len(keys)} in all)" if len(keys) > 10 else ""
    raise DataError(f"{what}={key!r} is not one of {shown}{more}")
