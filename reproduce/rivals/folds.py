"""How rivals choose a setting: by cross-validation on the labelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit

__all__ = ["folds_of", "tuned"]

_FOLDS = 5
_MANY_ROWS = 5_000  # from which one part held out tells as much as five


def folds_of(y: NDArray[Any], random_state: int | None = None) -> Any:
    """Five stratified folds; fewer if a class has fewer rows, one tenth held out of many rows, None for a lone row."""
    counts = np.unique(y, return_counts=True)[1]
    if counts.min() < 2 or counts.size < 2:
        return None
    if y.size >= _MANY_ROWS:
        return StratifiedShuffleSplit(1, test_size=0.1, random_state=random_state)
    return StratifiedKFold(min(_FOLDS, int(counts.min())), shuffle=True, random_state=random_state)


def tuned(model: Any, grid: dict[str, Any], X: Any, y: NDArray[Any], random_state: int) -> Any:
    """The model fitted to all rows with the settings of best accuracy; as it is where there is nothing to choose by."""
    cv = folds_of(y, random_state)
    if cv is None:
        return model.fit(X, y)
    return GridSearchCV(model, grid, cv=cv, n_jobs=1).fit(X, y).best_estimator_
