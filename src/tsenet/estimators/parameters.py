"""What the parameters of the estimators may be; checked at the start of ``fit``, as scikit-learn does."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

__all__ = ["check_parameters"]


class _Rule(NamedTuple):
    """What a parameter has to be: in words, and as a test."""

    words: str
    holds: Callable[[Any], bool]

    def or_none(self) -> _Rule:
        return _Rule(f"{self.words}, or None", lambda value: value is None or self.holds(value))


def _whole(least: int) -> _Rule:
    def holds(value: Any) -> bool:
        return isinstance(value, Integral) and not _is_flag(value) and int(value) >= least

    return _Rule(f"a whole number from {least} on", holds)


def _number(words: str, holds: Callable[[float], bool]) -> _Rule:
    def is_one(value: Any) -> bool:
        return isinstance(value, Real) and not _is_flag(value) and holds(float(value))

    return _Rule(f"a number {words}", is_one)


def _one_of(*choices: Any) -> _Rule:
    words = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
    return _Rule(
        words,
        lambda value: any(value is c or (isinstance(value, str) and value == c) for c in choices),
    )


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


_FLAG = _Rule("True or False", _is_flag)
_JOBS = _Rule(
    "a whole number from 1 on, −1 for all cores, or None",
    lambda value: value is None or value == -1 or _whole(1).holds(value),
)
_RULES = {
    "density": _number("above 0 and up to 1", lambda value: 0 < value <= 1).or_none(),
    "link_rule": _one_of("balanced", "context", "top-k", "random", "tree").or_none(),
    "max_top": _whole(1),
    "max_island": _whole(2),
    "correlation_test": _FLAG,
    "structure_samples": _whole(2).or_none(),
    "weighting": _one_of("tfidf", "counts"),
    "skip_units": _whole(0).or_none(),
    "feature_units": _whole(1),
    "dropout": _number("from 0 on and below 1", lambda value: 0 <= value < 1).or_none(),
    "input_dropout": _number("from 0 on and below 1", lambda value: 0 <= value < 1).or_none(),
    "activation": _one_of("relu", "tanh", "sigmoid"),
    "units_per_latent": _whole(1).or_none(),
    "linear_skip": _Rule(
        "True, False or 'auto'",
        lambda value: _is_flag(value) or (isinstance(value, str) and value == "auto"),
    ),
    "init": _one_of("random", "principal"),
    "learning_rate": _number("above 0", lambda value: 0 < value < np.inf).or_none(),
    "batch_size": _whole(1).or_none(),
    "max_epochs": _whole(1).or_none(),
    "early_stopping": _FLAG,
    "validation_fraction": _number("between 0 and 1", lambda value: 0 < value < 1),
    "patience": _whole(1),
    "top_words": _whole(1),
    "min_size": _number("from 0 on", lambda value: 0 <= value < np.inf),
    "min_coherence": _number("from −1 to 1", lambda value: -1 <= value <= 1),
    "ud_threshold": _number("that is finite", np.isfinite),
    "refine_steps": _whole(0),
    "em_restarts": _whole(1),
    "piece_size": _Rule(
        "a whole number from 2 on, 0 or None for whole documents, or 'auto'",
        lambda value: (
            value is None
            or (isinstance(value, str) and value == "auto")
            or (_whole(0).holds(value) and value != 1)
        ),
    ),
    "leftovers": _one_of("auto", "leave", "attach"),
    "full_depth": _Rule(
        "True, False or 'auto'",
        lambda value: _is_flag(value) or (isinstance(value, str) and value == "auto"),
    ),
    "device": _Rule("a text such as 'cpu' or 'auto'", lambda value: isinstance(value, str)),
    "n_jobs": _JOBS,
}


def check_parameters(parameters: dict[str, Any]) -> None:
    """Raise a ValueError that names the first parameter that cannot be what it is.

    Examples
    --------
    >>> from tsenet.estimators.parameters import check_parameters
    >>> check_parameters({"max_epochs": "10"})
    Traceback (most recent call last):
        ...
    ValueError: max_epochs must be a whole number from 1 on, or None, not '10' (str)
    """
    for name, value in parameters.items():
        rule = _RULES.get(name)
        if rule is not None and not rule.holds(value):
            raise ValueError(f"{name} must be {rule.words}, not {value!r} ({type(value).__name__})")
