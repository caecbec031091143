"""Small fitted models of every kind that has a file form, and forged files made from them.

A forger can recompute every hash: :func:`forged` does, so that only the checks of the content are left to stop it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tests.builders import QUICK
from tsenet import LatentTreeTransformer, TSENetClassifier, TSENetRegressor
from tsenet.store import save_parts

Parts = tuple[dict[str, Any], dict[str, NDArray[Any]]]
SMALL = {**QUICK, "skip_units": 2, "feature_units": 3, "max_epochs": 2}


def rows(n_rows: int = 60) -> NDArray[np.float64]:
    """Two groups of four columns each."""
    rng = np.random.default_rng(0)
    cause = np.repeat(rng.random((n_rows, 2)) < 0.4, 4, axis=1)
    return (cause ^ (rng.random((n_rows, 8)) < 0.15)).astype(np.float64)


@cache
def models() -> dict[str, Any]:
    """Fitted models by name: of dense, sparse and category tables, and each kind of target."""
    import pandas as pd

    X = rows()
    first = X[:, 0].astype(int)
    frame = pd.DataFrame(X[:, :6], columns=list("abcdef")).assign(
        colour=np.where(X[:, 6] > 0, "red", "blue")
    )
    classifier = TSENetClassifier(**SMALL).fit(frame, np.where(first > 0, "yes", "no"))
    return {
        "tree": classifier.tree_,
        "wiring": classifier.wiring_,
        "transformer": LatentTreeTransformer(random_state=0, refine_steps=1, n_jobs=1).fit(X),
        "classifier": classifier,
        "labels": TSENetClassifier(**SMALL, units_per_latent=2).fit(sp.csr_array(X), X[:, :3]),
        "regressor": TSENetRegressor(**SMALL).fit(X, X[:, :2] + 0.1 * X[:, 3:5]),
    }


def parts_of(name: str) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Kind, fields and arrays of a model, to change at will."""
    model = models()[name]
    meta, arrays = model.to_parts()
    copies = {part: np.array(array) for part, array in arrays.items()}
    return type(model).__name__, copy.deepcopy(meta), copies


def forged(path: Any, name: str, change: Callable[[dict[str, Any], Any], None]) -> None:
    """Write a model's file with other content and hashes that fit."""
    kind, meta, arrays = parts_of(name)
    change(meta, arrays)
    save_parts(path, kind, meta, arrays)
