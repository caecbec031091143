"""Why a row got its prediction: what its topics and words, or its columns, add to the answer.

At one row the network is an affine map, because each ReLU is on or off (``"tanh"`` and ``"sigmoid"`` are lines from
their value at 0). So the output is exactly the sum of what each feature adds, gradient × input, along all paths, and of
a start that no feature adds to. Words of one topic are put together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.data.text import are_texts, count_words
from tsenet.errors import DataError
from tsenet.explain.affine import AffineNetwork, strongest
from tsenet.explain.units import is_network
from tsenet.topics.describe import describe_tree

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

_SHOWN_WORDS = 5  # of a topic that is printed
# Words are put together with the topic that they belong to if they are among the first words that describe it, and so
# many times as likely in its documents as elsewhere. Without this, words of general language and rare ones, which must
# belong somewhere, come under topics that they say nothing about.
_TOPIC_WORDS = 30
_LIFT = 2.0


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


class Reason(NamedTuple):
    """What the words of a topic, or a feature alone, add to an output.

    Attributes
    ----------
    topic : str or None
        Title of the topic; None for a feature that is in none.
    contribution : float
        What its features in this row add to the output, together.
    features : tuple of FeatureContribution
        These features, strongest first.

    Examples
    --------
    >>> from tsenet.explain import FeatureContribution, Reason
    >>> words = (FeatureContribution("goal", 2, 0.75), FeatureContribution("team", 1, 0.25))
    >>> Reason("goal, team, match", 1.0, words).features[0].name
    'goal'
    """

    topic: str | None
    contribution: float
    features: tuple[FeatureContribution, ...]


@dataclass(frozen=True, repr=False)
class PredictionExplanation:
    """An output as a start and what each reason adds to it: ``output = start + sum of the contributions``.

    Attributes
    ----------
    target : str
        What is explained: a class, or a column of ``y``.
    against : str or None
        The class it is compared with; None for a number, and for a label that holds or not.
    output : float
        The log-odds of ``target`` against ``against``, or that the label holds; for a regressor the predicted value.
    start : float
        The output of a row without any words; of a dense table, of one in which all columns have their means.
    reasons : tuple of Reason
        Every topic and every other feature with a contribution, strongest first.
    probabilities : tuple of float, or None
        Those of ``target`` and ``against`` among all classes; of a label, that it holds or not. None for a regressor.
    n : int, default=10
        How many reasons are printed.
    of_words : bool, default=False
        Whether the features are counts of words.

    Examples
    --------
    >>> from tsenet.explain import FeatureContribution, PredictionExplanation, Reason
    >>> words = (FeatureContribution("goal", 1.0, 1.5),)
    >>> why = PredictionExplanation("sport", "market", 2.0, 0.5, (Reason(None, 1.5, words),), (0.8, 0.1))
    >>> why
    sport (80.0 %) rather than market (10.0 %)
      62.2 %  start
     +25.8 %  goal = 1
      88.1 %  of these two
    """

    target: str
    against: str | None
    output: float
    start: float
    reasons: tuple[Reason, ...]
    probabilities: tuple[float, float] | None = None
    n: int = 10
    of_words: bool = False

    @property
    def features(self) -> tuple[FeatureContribution, ...]:
        """Every feature with a contribution, strongest first."""
        every = [feature for reason in self.reasons for feature in reason.features]
        return tuple(sorted(every, key=lambda feature: -abs(feature.contribution)))

    @property
    def probability_factor(self) -> float:
        """By what contributions are multiplied to be in probability: one number for all of them.

        Log-odds do not add up to probabilities. So all are multiplied by the factor with which they do: then
        ``expit(start)`` and all contributions sum to ``expit(output)``, the probability of ``target`` among the two.

        Raises
        ------
        ValueError
            For a regressor.
        """
        if self.probabilities is None:
            raise ValueError("a predicted value has no probability")

        rise = self.output - self.start
        if abs(rise) < 1e-9:
            return float(expit(self.output) * expit(-self.output))  # the slope of the curve there
        return float((expit(self.output) - expit(self.start)) / rise)

    def to_frame(self) -> pd.DataFrame:
        """Return all parts as a pandas DataFrame with the columns topic, name, value, contribution and probability.

        The first row is the start. The contributions sum to the output; ``probability``, which a regressor has not, to
        the probability of ``target`` among the two.
        """
        import pandas as pd

        lines: list[tuple[Any, ...]] = [(None, "(start)", np.nan, self.start)]
        lines += [(reason.topic, *part) for reason in self.reasons for part in reason.features]
        frame = pd.DataFrame(lines, columns=["topic", "name", "value", "contribution"])
        if self.probabilities is not None:
            frame["probability"] = frame["contribution"] * self.probability_factor
            frame.loc[0, "probability"] = expit(self.start)
        return frame

    def describe(self, reason: Reason) -> str:
        """One reason in words, without what it adds: the words of a topic in this row, or the feature and its value."""
        shown = reason.features[:_SHOWN_WORDS]
        signs = {part.contribution > 0 for part in reason.features}
        words = [self._named(part) for part in shown]
        if len(signs) == 2:  # words for it, and words against it
            amounts = [self.amount(part.contribution) for part in shown]
            words = [f"{word} {amount}" for word, amount in zip(words, amounts, strict=True)]

        text = ", ".join(words)
        n_more = len(reason.features) - len(words)
        if n_more:
            text += f" and {n_more} more"
        is_plain = reason.topic is None or text == reason.topic
        return text if is_plain else f"{text} [{reason.topic}]"

    def _named(self, part: FeatureContribution) -> str:
        """A word or a category by its name, a number with its value."""
        if part.value == 1 and (self.of_words or "=" in part.name):
            return part.name
        return f"{part.name} = {part.value:.4g}"

    def amount(self, contribution: float) -> str:
        """What a reason adds, as it is printed: in probability, or in units of the predicted value."""
        if self.probabilities is None:
            return f"{contribution:+.{self._decimals}f}"
        return f"{100 * contribution * self.probability_factor:+.1f} %"

    @property
    def _decimals(self) -> int:
        """Decimals of values: five digits of the largest, the same for all, so that what is printed adds up."""
        contributions = [reason.contribution for reason in self.reasons[:1]]
        largest = max(abs(value) for value in (self.output, self.start, *contributions))
        return max(0, 4 - math.floor(math.log10(largest))) if largest > 1e-12 else 4

    def __repr__(self) -> str:
        """The start, the first reasons, what the others add, and the sum."""
        if self.probabilities is None:
            output = f"{self.output:.{self._decimals}f}"
            start = f"{self.start:.{self._decimals}f}"
            head = f"{self.target}: {output}"
            whole = "in all"
        else:
            output = f"{100 * expit(self.output):.1f} %"
            start = f"{100 * expit(self.start):.1f} %"
            share, share_against = (f"({100 * share:.1f} %)" for share in self.probabilities)
            head = f"{self.target} {share}"
            whole = "in all"
            if self.against is not None:
                head += f" rather than {self.against} {share_against}"
                whole = "of these two"

        lines = [(start, "start")]
        shown = self.reasons[: self.n]
        others = self.reasons[self.n :]
        lines += [(self.amount(reason.contribution), self.describe(reason)) for reason in shown]
        if others:
            rest = sum(reason.contribution for reason in others)
            lines.append((self.amount(rest), f"({len(others):,} more)"))
        lines.append((output, whole))

        width = max(len(amount) for amount, _ in lines)
        return "\n".join([head, *(f"  {amount:>{width}}  {text}" for amount, text in lines)])


def explain_prediction(
    model: Any,
    row: Any,
    *,
    target: Any = None,
    against: Any = None,
    level: int = 1,
    n: int = 10,
) -> PredictionExplanation:
    """Say why a row got its prediction, rather than the next class: what its topics, words or columns add to it.

    Parameters
    ----------
    model : fitted TSENetClassifier or TSENetRegressor
        The model.
    row : one row of a table
        1-D or (1, V) array, dense or sparse, or dataframe of one row; for a model fitted on texts also a text. A model
        of a text with columns beside it takes a dataframe of one row, or ``frame.iloc[i]``.
    target : class, or column number of y, optional
        What to explain. Default: the predicted class; of several labels the most probable; of several values the first.
    against : class, or column number of y, optional
        The class, or value, to compare it with. Default: of classes the most probable other one; else none.
    level : int, default=1
        Level of the topics into which words are put together; a higher one has fewer and wider topics.
    n : int, default=10
        Number of reasons to print.

    Returns
    -------
    PredictionExplanation
        Shown as a list of reasons. What they add is printed in probability: of the target, among the two.

    Raises
    ------
    DataError
        If the model has no network, there is not exactly one row, or ``level``, ``target`` or ``against`` is unknown.

    Notes
    -----
    What embeddings add after ``fit(…, inputs="both")`` is left out.

    A reason is relative to the start. The estimators bring dense columns to mean 0, so there a feature's part is what
    it adds by differing from its mean in training. For sparse rows and categories it is what their presence adds: an
    absent word adds nothing; a number beside a text adds nothing in its lowest tenth. Words are put together by the
    topic of the model's tree that they belong to; what they add is what they add along all paths through the network.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tsenet import TSENetClassifier
    >>> from tsenet.explain import explain_prediction
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TSENetClassifier(max_epochs=5, random_state=0).fit(X, y)
    >>> why = explain_prediction(model, X[100], target=2, against=1)
    >>> outputs = model.decision_function(X[100:101])[0]
    >>> total = why.start + sum(reason.contribution for reason in why.reasons)
    >>> bool(abs(total - (outputs[2] - outputs[1])) < 1e-5)
    True
    """
    return PredictionExplainer(model, level=level, n=n).explain(row, target, against)


class PredictionExplainer:
    """What the explanations of all rows share: the network as linear maps, and the topic of each feature.

    Parameters
    ----------
    model : fitted TSENetClassifier or TSENetRegressor
    level, n : int
        As for :func:`explain_prediction`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tsenet import TSENetClassifier
    >>> from tsenet.explain import PredictionExplainer
    >>> flowers, species = load_iris(return_X_y=True, as_frame=True)
    >>> model = TSENetClassifier(max_epochs=5, random_state=0).fit(flowers, species)
    >>> explainer = PredictionExplainer(model)
    >>> reasons = [explainer.explain(flowers[k : k + 1]) for k in range(0, 150, 50)]
    >>> predicted = model.predict(flowers[::50]).tolist()
    >>> [int(why.target) for why in reasons] == predicted
    True
    """

    def __init__(self, model: Any, *, level: int = 1, n: int = 10) -> None:
        if n < 1:
            raise DataError(f"n must be at least 1, not {n}")
        if not is_network(model):
            raise DataError(
                f"predictions of a {type(model).__name__} cannot be explained: "
                "give a fitted TSENetClassifier or TSENetRegressor"
            )

        self.network = AffineNetwork(model.net_.predictor())
        n_levels = self.network.n_layers - 2
        if not 1 <= level <= n_levels:
            raise DataError(f"level {level} is not one of the network's: 1 to {n_levels}")

        self.model = model
        self.n = n
        self.names = model.binary_rule_.input_names
        self.steps = getattr(model.reader_, "steps", None)
        self.topic_of = _topics(model, level)

    def explain(self, row: Any, target: Any = None, against: Any = None) -> PredictionExplanation:
        """Explain one row, in any form that :func:`explain_prediction` takes."""
        inputs, values = _read(self.model, self._table(row))
        layers = self.network.forward(inputs)
        outputs = layers.values[-1][0]  # (C,)
        asked = _question(self.model, outputs, target, against)

        # The output is the sum of gradient × input, and of what the biases add, which is the start.
        gradients = self.network.backward(self.network.n_layers, asked.weights[None], layers)
        added = gradients[0][0] * inputs[0]  # (D,)
        of_biases = float(self.network.bias_contribution(gradients, layers)[0])
        return PredictionExplanation(
            target=asked.target,
            against=asked.against,
            output=float(asked.weights @ outputs) + asked.constant,
            start=asked.constant + of_biases,
            reasons=self._reasons(added, values),
            probabilities=asked.probabilities,
            n=self.n,
            of_words=not self.model.scaling_.centres,
        )

    def _table(self, row: Any) -> Table:
        """The row as a table of the columns that the network reads."""
        model = self.model
        if isinstance(row, Table):
            table = row
        elif self.steps is not None:
            table = _one_row(model.reader_.read(_one_of_frame(row)), model.binary_rule_)
        elif model.vectorizer_ is not None and are_texts(row):
            counts = count_words([row] if isinstance(row, str) else row, model.vectorizer_)
            table = _one_row(counts, model.binary_rule_)
        else:
            table = _one_row(row, model.binary_rule_)

        if table.n_rows != 1:
            raise DataError(
                f"one row can be explained at a time, not {table.n_rows}: give X[i : i + 1]"
            )
        return table

    def _reasons(self, added: Floats, values: Floats) -> tuple[Reason, ...]:
        """What each feature adds, (D,), put together by topics, the strongest first."""
        reasons: list[Reason] = []
        n_words = added.size
        if self.steps is not None:  # columns beside a text, each of which is several inputs
            n_words -= len(self.steps.names)
            of_column = np.bincount(self.steps.sources, added[n_words:])
            for k, name in self.steps.described(values[n_words:] > 0).items():
                if of_column[k]:
                    part = FeatureContribution(name, 1.0, float(of_column[k]))
                    reasons.append(Reason(None, part.contribution, (part,)))

        # By the title of their topic; a word alone by its number.
        of_topic: dict[str | int, list[FeatureContribution]] = {}
        for j in strongest(added[:n_words]):
            part = FeatureContribution(self.names[j], float(values[j]), float(added[j]))
            of_topic.setdefault(self.topic_of[j] or j, []).append(part)

        for topic, parts in of_topic.items():
            title = topic if isinstance(topic, str) else None
            contribution = sum(part.contribution for part in parts)
            reasons.append(Reason(title, contribution, tuple(parts)))
        return tuple(sorted(reasons, key=lambda reason: -abs(reason.contribution)))


def _topics(model: Any, level: int) -> Sequence[str | None]:
    """The title of the topic that each feature belongs to; None for those of none, and for columns of dense tables."""
    tree = model.tree_
    if tree is None or model.scaling_.centres:
        return [None] * len(model.binary_rule_.names)

    described = describe_tree(tree, n_words=_TOPIC_WORDS)
    titles = describe_tree(tree).title  # of the words that are shown everywhere
    words_of = [set(words) for words in described.words.tolist()]
    chance = tree.cpt[: tree.n_observed, :, 1]  # (V, 2): P(word | topic off), P(word | topic on)
    is_frequent = chance[:, 1] >= _LIFT * chance[:, 0]

    found: list[str | None] = [None] * tree.n_observed
    for word, lowest in enumerate(described.member_of.tolist()):
        if lowest < 0 or not is_frequent[word] or word not in words_of[lowest]:
            continue

        topic = lowest
        while topic >= 0 and described.level[topic] < level:
            topic = int(described.parent[topic])
        if topic >= 0:
            found[word] = titles[topic] or None

    return found


def _one_row(row: Any, rule: BinaryRule) -> Table:
    """The row as a table; a 1-D array is one row."""
    if np.ndim(row) == 1 and hasattr(row, "to_frame"):
        row = _one_of_frame(row)
    elif np.ndim(row) == 1:
        row = (row if sp.issparse(row) else np.asarray(row)).reshape((1, -1))
    return Table.of(row, columns=rule.names_in)


def _one_of_frame(row: Any) -> Any:
    """A data frame of one row for ``frame.iloc[i]``, which may hold categories; anything else as it is."""
    is_series = np.ndim(row) == 1 and hasattr(row, "to_frame")
    return row.to_frame().T.infer_objects() if is_series else row


def _read(model: Any, row: Table) -> tuple[Floats, Floats]:
    """The row as the network reads it, (1, D), and as the user gave it, (D,)."""
    (read,) = model.network_inputs(row)
    inputs = (read.values.toarray() if read.is_sparse else read.values).astype(np.float64)
    values = row.values.toarray()[0] if row.is_sparse else np.asarray(row.values[0])
    rule = model.binary_rule_
    is_category = np.array([rule.levels[source] is not None for source in rule.sources])
    shown = np.where(is_category, inputs[0], values.astype(np.float64)[rule.sources])
    return inputs, shown


# ---- what is explained


class _Question(NamedTuple):
    """The quantity to explain: the weights of the outputs (C,), and a constant to add."""

    target: str
    against: str | None
    weights: Floats
    constant: float
    probabilities: tuple[float, float] | None


def _question(model: Any, outputs: Floats, target: Any, against: Any) -> _Question:
    """Why the target rather than the other one, for a row with these outputs (C,)."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return _of_values(model, outputs, target, against)

    keys = np.asarray(classes).tolist()
    chances = np.asarray(model.targets_.loss.predict(outputs[None]))[0]
    are_labels = model.targets_.n_targets > 1
    chosen = int(np.argmax(chances)) if target is None else _index_of(keys, target, "target")

    if are_labels and against is None:  # whether the label holds
        chance = float(chances[chosen])
        weights = np.eye(len(keys))[chosen]
        return _Question(str(keys[chosen]), None, weights, 0.0, (chance, 1.0 - chance))

    if against is None:
        order = np.argsort(-chances, kind="stable").tolist()
        other = next(k for k in order if k != chosen)
    else:
        other = _index_of(keys, against, "against")

    _check_differ(keys, chosen, other)
    if outputs.size == 1:  # two classes share one output, the log-odds of the second
        weights = np.array([1.0 if chosen else -1.0])
    else:
        weights = np.eye(len(keys))[chosen] - np.eye(len(keys))[other]

    shares = float(chances[chosen]), float(chances[other])
    return _Question(str(keys[chosen]), str(keys[other]), weights, 0.0, shares)


def _of_values(model: Any, outputs: Floats, target: Any, against: Any) -> _Question:
    """A predicted value, or the difference of two, in the units of the targets."""
    keys = list(range(outputs.size))
    chosen = 0 if target is None else _index_of(keys, target, "target")
    scale = np.diag(np.broadcast_to(model.targets_.output_scale, outputs.shape))
    shift = np.broadcast_to(model.targets_.output_shift, outputs.shape)
    names = [f"y[{key}]" for key in keys] if len(keys) > 1 else ["y"]
    if against is None:
        return _Question(names[chosen], None, scale[chosen], float(shift[chosen]), None)

    other = _index_of(keys, against, "against")
    _check_differ(keys, chosen, other)
    weights = scale[chosen] - scale[other]
    constant = float(shift[chosen] - shift[other])
    return _Question(f"{names[chosen]} − {names[other]}", names[other], weights, constant, None)


def _check_differ(keys: Sequence[Any], chosen: int, other: int) -> None:
    if other == chosen:
        raise DataError(f"target and against are both {keys[chosen]!r}: there is no difference")


def _index_of(keys: Sequence[Any], key: Any, what: str) -> int:
    for index, candidate in enumerate(keys):
        if candidate == key:
            return index
    shown = ", ".join(repr(candidate) for candidate in keys[:10])
    more = f", … ({len(keys)} in all)" if len(keys) > 10 else ""
    raise DataError(f"{what}={key!r} is not one of {shown}{more}")
