"""One layer of latents: what its last step leaves behind, and ties between latents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.skeleton.learning import learn
from tsenet.skeleton import hlta, layers
from tsenet.skeleton.layers import Layer, complete


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
            again = complete(rows, layer)
            np.testing.assert_array_equal(soft.logodds.toarray(), again.logodds.toarray())
            np.testing.assert_array_equal(soft.base, again.base)
            checked.append(layer)
        return found

    monkeypatch.setattr(layers, "_reassign", watched_reassign)
    monkeypatch.setattr(hlta, "learn_layer", checked_layer)
    learn(X.astype(float), max_top=10)
    assert checked
    assert any(changes)


def test_states_are_swapped_where_a_group_is_rarer_when_on() -> None:
    layer = Layer(
        np.array([0, 0, 1, -1], np.int32),
        np.array([0.3, 0.2]),
        np.array([[0.8, 0.1], [0.3, 0.4], [0.1, 0.9], [0.5, 0.2]]),
    )
    found = layers._order_layer_states(layer)
    np.testing.assert_allclose(found.prior, [0.7, 0.2])
    expected = [[0.1, 0.8], [0.4, 0.3], [0.1, 0.9], [0.5, 0.2]]
    np.testing.assert_allclose(found.table, expected)
