"""Make unique names of binary variables, and compare column names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tsenet.data.columns import quoted

__all__ = ["mismatch_message", "threshold_text", "unique_names"]

# Names listed in a message before it ends with "...".
_SHOWN = 5


def threshold_text(threshold: float) -> str:
    """Write a threshold short enough for a name: ``3``, ``2.45``, ``1.5e-07``."""
    if threshold.is_integer() and abs(threshold) < 1e15:
        return str(int(threshold))
    return f"{threshold:.6g}"


def unique_names(wanted: Sequence[str], columns: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """Return the names, with the number of the column added to all but the first of equal ones.

    Names can be equal if one column is named like the variable of another, such as ``a > 2``.
    """
    if len(set(wanted)) == len(wanted):
        return tuple(wanted)
    taken = set(wanted)
    seen: set[str] = set()
    names = []
    for name, column in zip(wanted, columns, strict=True):
        unique = name
        if name in seen:
            unique = f"{name} (column {column})"
            while unique in taken:
                unique += "'"
            taken.add(unique)
        seen.add(unique)
        names.append(unique)
    return tuple(names)


def mismatch_message(
    learned: Sequence[str], learned_named: bool, now: Sequence[str], now_named: bool, who: str
) -> str | None:
    """Return how the columns of a table differ from those in training, or None if they do not.

    Names are compared only if both tables have names. The wording is scikit-learn's, because its
    estimator checks look for it.
    """
    if learned_named and now_named and tuple(learned) != tuple(now):
        unseen, missing = set(now) - set(learned), set(learned) - set(now)
        message = "The feature names should match those that were passed during fit.\n"
        if unseen:
            message += "Feature names unseen at fit time:\n" + _listed(unseen)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
        if not unseen and not missing:
            j = next(
                j for j, pair in enumerate(zip(learned, now, strict=True)) if len(set(pair)) > 1
            )
            message += (
                "Feature names must be in the same order as they were in fit.\n"
                f"Column {j} was {quoted(learned[j])} and is now {quoted(now[j])}.\n"
            )
        return message
    if len(learned) != len(now):
        return (
            f"X has {len(now)} features, but {who} is expecting {len(learned)} features as input."
        )
    return None


def _listed(names: Iterable[str]) -> str:
    """Write names under each other, sorted, the first few only."""
    ordered = sorted(names)
    lines = [f"- {name if len(name) <= 60 else name[:60] + '…'}\n" for name in ordered[:_SHOWN]]
    return "".join(lines) + ("- ...\n" if len(ordered) > _SHOWN else "")
