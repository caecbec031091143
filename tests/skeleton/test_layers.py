"""One layer of latents: what its last step leaves behind, and ties between latents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.skeleton.learning import learn
from tsenet._system.threads import Workers
from tsenet.skeleton import hlta, layers
from tsenet.skeleton.completion import complete
from tsenet.skeleton.kernels.completion_kernels import best_latents
from tsenet.skeleton.kernels.pair_kernels import Csr


@pytest.mark.parametrize("seed", [154, 323])
def test_posteriors_are_those_of_the_layer_after_its_last_change(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In these rows the last step dissolves a group of one variable; the posteriors must follow."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(100, 400)), int(rng.integers(8, 30))
    causes, links = rng.random((n_rows, 4)) < 0.4, rng.random((4, n_columns)) < 0.35
    X = ((causes @ links) > 0) ^ (rng.random((n_rows, n_columns)) < 0.2)
    changes, checked = [], []
    reassign, learn_layer = layers._reassign, layers.learn_layer

    def watched_reassign(layer: Any, *arguments: Any, **options: Any) -> Any:
        found = reassign(layer, *arguments, **options)
        if options.get("only_alone"):
            changes.append(not np.array_equal(found[0].latent_of, layer.latent_of))
        return found

    def checked_layer(rows: Any, *arguments: Any, **options: Any) -> Any:
        found = learn_layer(rows, *arguments, **options)
        if found is not None:
            layer, soft = found
            again = complete(rows, layer, Workers(1))
            for part in ("indptr", "latent", "logodds", "base"):
                np.testing.assert_array_equal(getattr(soft, part), getattr(again, part))
            checked.append(layer)
        return found

    monkeypatch.setattr(layers, "_reassign", watched_reassign)
    monkeypatch.setattr(hlta, "learn_layer", checked_layer)
    learn(X.astype(float), max_top=10)
    assert checked
    assert any(changes)


@pytest.mark.parametrize("first_met", [0, 1])
def test_of_two_equal_latents_the_first_is_taken(first_met: int) -> None:
    """Both are on in two of four rows and once together with the variable, whichever is met first."""
    rows_of_latent = [[0, 2], [1, 3]] if first_met == 0 else [[1, 3], [0, 2]]
    by_row = sorted((row, z) for z, rows in enumerate(rows_of_latent) for row in rows)
    completed = Csr(np.arange(5), np.array([z for _, z in by_row], np.int32))
    columns = Csr(
        np.array([0, 2]), np.array([0, 1], np.int32)
    )  # the variable is on in rows 0 and 1
    n = np.arange(5.0)
    best, joint = np.empty(1, np.int32), np.empty(1, np.int64)
    best_latents(
        0,
        1,
        np.array([0], np.int32),
        columns,
        completed,
        np.array([2, 2]),
        np.array([-1], np.int32),
        n * np.log(np.maximum(n, 1.0)),
        best,
        joint,
    )
    assert (best[0], joint[0]) == (0, 1)
