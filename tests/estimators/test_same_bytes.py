"""The same seed gives the same file; a row has the same answer alone and among others."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.store.models import SMALL, rows
from tsenet import TSENetClassifier

X = rows(64)
Y = X[:, 0].astype(int)


def digest(model: Any, path: Path) -> str:
    model.save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_two_fits_give_the_same_file(tmp_path: Path) -> None:
    first = TSENetClassifier(**SMALL).fit(X, Y)
    second = TSENetClassifier(**{**SMALL, "n_jobs": 1}).fit(X, Y)
    assert first.history_.seconds != second.history_.seconds
    assert digest(first, tmp_path / "a.tsenet") == digest(second, tmp_path / "b.tsenet")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("units_per_latent", [1, 2, 8])
def test_a_row_alone_is_answered_as_among_others(sparse: bool, units_per_latent: int) -> None:
    noise = np.random.default_rng(2).random(X.shape)
    values = np.where(X > 0, noise, 0.0) if sparse else X + noise
    table: Any = sp.csr_array(values) if sparse else values
    model = TSENetClassifier(**SMALL, units_per_latent=units_per_latent).fit(table, Y)
    alone = np.concatenate([model.decision_function(table[[i]]) for i in range(64)])
    for n_rows in (1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64):
        for start in range(0, 64 - n_rows + 1, max(1, n_rows // 2)):
            part = slice(start, start + n_rows)
            found = model.decision_function(table[part])
            np.testing.assert_allclose(found, alone[part], rtol=1e-7, atol=1e-7)
