"""Dynamic sparse training: links by an oracle, gradients by autograd, sizes that hold throughout."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tsenet.baselines import DynamicSparseClassifier
from tsenet.baselines.dynamic import cosine_share, rewired, spread_links
from tsenet.baselines.dynamic_engine import DynamicEngine
from tsenet.baselines.fnn import FNN
from tsenet.network.batches import Inputs
from tsenet.training.losses import MulticlassLoss

Floats = NDArray[np.float64]


def oracle(
    weight: Any, mask: Any, n: int, gradient: Any
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """RigL as its paper states it, one link at a time: what is left after the drop, what is grown."""
    there = {(int(i), int(j)) for i, j in np.argwhere(mask)}
    n = min(n, len(there), mask.size - len(there))
    left = there - set(sorted(there, key=lambda p: (abs(weight[p]), p))[:n])
    absent = {(int(i), int(j)) for i, j in np.ndindex(mask.shape)} - left
    return left, set(sorted(absent, key=lambda p: (-abs(gradient[p]), p))[:n])


@given(
    st.integers(1, 6), st.integers(1, 6), st.floats(0, 1), st.integers(0, 40), st.integers(0, 99)
)
def test_rigl_drops_the_weakest_and_grows_where_the_gradient_is_largest(
    lower: int, upper: int, density: float, n: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((lower, upper)) < density
    weight = (rng.normal(size=mask.shape) * mask).astype(np.float32)
    gradient = rng.normal(size=mask.shape).astype(np.float32)
    after = rewired(weight, mask, n, gradient, rng)
    left, grown = oracle(weight, mask, n, gradient)
    assert {(int(i), int(j)) for i, j in np.argwhere(after)} == left | grown
    assert after.sum() == mask.sum()


@given(
    st.integers(1, 6), st.integers(1, 6), st.floats(0, 1), st.integers(0, 40), st.integers(0, 99)
)
def test_set_grows_links_that_were_absent(
    lower: int, upper: int, density: float, n: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((lower, upper)) < density
    weight = (rng.normal(size=mask.shape) * mask).astype(np.float32)
    after = rewired(weight, mask, n, None, rng)
    left, _ = oracle(weight, mask, n, np.zeros(mask.shape))
    assert {(int(i), int(j)) for i, j in np.argwhere(after & mask)} == left
    assert after.sum() == mask.sum()


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=4),
    st.floats(0, 1),
)
def test_links_are_spread_as_an_erdos_renyi_graph_does(
    sizes: list[tuple[int, int]], share: float
) -> None:
    most = [lower * upper for lower, upper in sizes]
    wanted = max(len(sizes), round(share * sum(most)))
    found = spread_links(sizes, wanted)
    assert sum(found) == wanted
    assert all(1 <= n <= m for n, m in zip(found, most, strict=True))
    open_layers = [k for k, m in enumerate(most) if found[k] < m and found[k] > 1]
    rates = [found[k] / sum(sizes[k]) for k in open_layers]
    if (
        len(rates) > 1
    ):  # the same for layers that are neither full nor at the floor, up to whole links
        assert max(rates) - min(rates) <= 3 / min(sum(sizes[k]) for k in open_layers) + 1e-9


def test_more_links_than_places_are_refused() -> None:
    with pytest.raises(ValueError, match="change n_parameters or hidden"):
        spread_links([(2, 3)], 7)


def test_the_share_falls_along_a_cosine() -> None:
    shares = [cosine_share(0.3, k, 10) for k in range(11)]
    assert shares[0] == 0.3
    assert shares[5] == pytest.approx(0.15)
    assert shares[10] == pytest.approx(0.0)


@pytest.mark.parametrize("sparse", [True, False])
def test_gradients_of_absent_links_are_those_of_autograd(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    values = (rng.random((40, 30)) * (rng.random((40, 30)) < 0.2)).astype(np.float32)
    net = FNN(30, 3, hidden=(8, 5), dropout=0.3, seed=1)
    net.keep([torch.from_numpy(rng.random(layer.weight.shape) < 0.4) for layer in net.layers])
    loss = MulticlassLoss(3)
    inputs = Inputs(sp.csr_array(values) if sparse else values)
    engine = DynamicEngine(net, inputs, loss, seed=7)
    targets = rng.integers(0, 3, 40)
    mean_loss, found = engine.dense_gradients(np.arange(40), targets, None, 4)
    twin = FNN(
        30, 3, hidden=(8, 5), dropout=0.3, seed=1
    )  # without masks: absent weights are just 0
    twin.load_state_dict(net.state_dict())
    twin.train()
    twin.begin_step(7, 4)
    wanted = loss(twin(torch.from_numpy(values)), torch.from_numpy(targets), None)
    wanted.backward()
    assert mean_loss == pytest.approx(float(wanted.detach()), rel=1e-5)
    for gradient, layer in zip(found, twin.layers, strict=True):
        assert layer.weight.grad is not None
        assert np.allclose(gradient, layer.weight.grad.numpy(), atol=1e-6)


@pytest.mark.parametrize("growth", ["random", "gradient"])
@pytest.mark.parametrize("sparse", [True, False])
def test_a_network_has_its_size_and_learns(
    growth: Literal["random", "gradient"], sparse: bool, rows: Floats, kinds: NDArray[Any]
) -> None:
    X = sp.csr_array(rows) if sparse else rows
    model = DynamicSparseClassifier(
        n_parameters=150, growth=growth, hidden=(20, 10), dropout=0.1, learning_rate=0.01,
        max_epochs=40, random_state=0,
    ).fit(X[:300], kinds[:300])  # fmt: skip
    assert model.n_parameters_ == 150
    for k, layer in enumerate(model.net_.layers):
        mask = model.net_.mask(k)
        assert mask is not None
        assert not layer.weight.detach()[
            ~mask
        ].any()  # also after the best epoch's weights came back
    assert model.score(X[300:], kinds[300:]) > 0.85
    again = DynamicSparseClassifier(**model.get_params()).fit(X[:300], kinds[:300])
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_links_change_in_training_and_stay_without_rewirings(
    rows: Floats, kinds: NDArray[Any]
) -> None:
    quick: dict[str, Any] = {"n_parameters": 150, "hidden": (20,), "max_epochs": 8}

    def links(**changes: Any) -> NDArray[np.bool_]:
        model = DynamicSparseClassifier(**quick, **changes, early_stopping=False, random_state=0)
        mask = model.fit(rows, kinds).net_.mask(0)
        assert mask is not None
        return mask.numpy()

    first = links(rewirings=0)
    assert not np.array_equal(first, links(rewirings=5))
    assert not np.array_equal(links(growth="random"), links(growth="gradient"))
    assert np.array_equal(first, links(drop_share=0.0))


def test_wrong_options_are_refused(rows: Floats, kinds: NDArray[Any]) -> None:
    for wrong, words in (
        ({"growth": "best"}, "growth must be"),
        ({"drop_share": 1.5}, "drop_share must be"),
        ({"n_parameters": 10}, "change n_parameters or hidden"),
        ({"device": "cuda"}, "runs on a CPU"),
    ):
        with pytest.raises(ValueError, match=words):
            DynamicSparseClassifier(**wrong).fit(rows, kinds)  # type: ignore[arg-type]  # wrong on purpose
