"""Pruning a fitted TSE-Net to a number of parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import tsenet
from tests.network.wirings import random_wiring
from tsenet import TSENetClassifier
from tsenet.explain import describe_units, explain_prediction
from tsenet.network.compact import UnitGraph, n_used_parameters
from tsenet.network.inputs import Inputs
from tsenet.network.tsenet import TSENet
from tsenet.store import load_parts
from tsenet.training.pruning import strengths, weights_on_outputs

X, Y = load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def model() -> TSENetClassifier:
    made = TSENetClassifier(random_state=0, max_epochs=15, skip_units=10, feature_units=10)
    return made.fit(X[:1200], Y[:1200]).prune(1500, X[:1200])


def non_zero(model: TSENetClassifier) -> int:
    return sum(
        p.numel() if name.endswith("bias") else int((p != 0).sum())
        for name, p in model.net_.named_parameters()
    )


def test_as_many_are_left_as_asked_for_and_they_know_their_trade(model: TSENetClassifier) -> None:
    assert 1450 < model.n_parameters_ <= 1500
    assert non_zero(model) <= 1500 + 10 * model.net_.units_per_latent  # biases of unused units
    assert model.net_.n_parameters < 10 * 1500
    assert model.score(X[1200:], Y[1200:]) > 0.85


def test_removed_weights_stay_removed(model: TSENetClassifier) -> None:
    before = {name: (p == 0).numpy() for name, p in model.net_.named_parameters()}
    model.partial_fit(X[:300], Y[:300])
    for name, p in model.net_.named_parameters():
        if not name.endswith("bias"):
            assert (p[before[name]] == 0).all()


def test_a_file_keeps_it(model: TSENetClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "pruned.tsenet")
    again = tsenet.load(tmp_path / "pruned.tsenet")

    assert abs(again.n_parameters_ - model.n_parameters_) < 20  # a weight may be trained to 0
    assert again.wiring_.names == model.wiring_.names == again.net_.wiring.names
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_the_strongest_are_kept() -> None:
    """Without training the outputs change least among ways to remove as many of the input's direct weights."""
    fitted = TSENetClassifier(random_state=0, skip_units=0, max_epochs=3).fit(X[:300], Y[:300])
    before = fitted.decision_function(X)
    n_half = fitted.n_parameters_ // 2
    fitted.prune(n_half, X[:300])

    assert np.corrcoef(fitted.decision_function(X).ravel(), before.ravel())[0, 1] > 0.95


def test_a_latent_keeps_its_name_and_can_be_explained(
    model: TSENetClassifier, tmp_path: Path
) -> None:
    units = describe_units(model, X[:300])
    name = model.wiring_.names[1][0]

    assert units[name].name == name
    assert len(model.get_feature_names_out()) == model.transform(X[:3]).shape[1]
    found = explain_prediction(model, X[3:4])
    *_, second, first = np.sort(model.decision_function(X[3:4])[0])
    assert found.output == pytest.approx(first - second, abs=1e-4)
    model.report(tmp_path / "page.html", X[:100], Y[:100])


def test_the_file_holds_the_kept_weights(tmp_path: Path) -> None:
    fitted = TSENetClassifier(random_state=0, max_epochs=1, skip_units=60, linear_skip=False).fit(
        X[:200], Y[:200]
    )
    fitted.save(tmp_path / "whole.tsenet")
    fitted.prune(2000, X[:200])
    fitted.save(tmp_path / "pruned.tsenet")
    _, _, arrays = load_parts(tmp_path / "pruned.tsenet")
    network = [array.nbytes for name, array in arrays.items() if name.startswith("net.")]
    links = [array.nbytes for name, array in arrays.items() if name.startswith("wiring.")]

    assert sum(network) + sum(links) < 2.1 * 4 * fitted.n_parameters_  # values and positions
    assert (tmp_path / "pruned.tsenet").stat().st_size < (tmp_path / "whole.tsenet").stat().st_size


def test_impossible_numbers_are_refused() -> None:
    fitted = TSENetClassifier(random_state=0, max_epochs=1, skip_units=0).fit(X[:200], Y[:200])
    for wrong in (3, 10**9):
        with pytest.raises(ValueError, match="n_parameters must lie between"):
            fitted.prune(wrong, X)


def test_what_has_no_weight_on_the_outputs_goes_first() -> None:
    """Without the feature units whose output weights are 0, the answers are the same."""
    fitted = TSENetClassifier(random_state=0, max_epochs=2, linear_skip=True).fit(X[:300], Y[:300])
    net = fitted.net_
    with torch.no_grad():
        net.output.weight[5:] = 0.0
    before = fitted.decision_function(X)
    fitted.prune(n_used_parameters(net.predictor()), X[:300])

    assert fitted.net_.n_parameters < net.n_parameters / 2
    assert np.corrcoef(fitted.decision_function(X).ravel(), before.ravel())[0, 1] > 0.99


@pytest.mark.parametrize("linear_skip", [True, False])
@pytest.mark.parametrize("skip_units", [0, 7])
def test_strengths_are_sums_over_paths(linear_skip: bool, skip_units: int) -> None:
    """Against a network without non-linearities, and every path by brute force: squared weights, multiplied through."""
    rng = np.random.default_rng(0)
    options = {"linear_skip": linear_skip, "skip_units": skip_units, "feature_units": 5}
    wiring = random_wiring(rng, (12, 6, 3), 0.4)
    net = TSENet(wiring, 2, **options).eval()
    if net.linear_skip is not None:
        torch.nn.init.normal_(net.linear_skip)
    squared = TSENet(wiring, 2, **options).double().eval()
    for name, parameter in squared.named_parameters():
        given = dict(net.named_parameters())[name].detach().double()
        parameter.data.copy_(torch.zeros_like(given) if name.endswith("bias") else given**2)
    graph = UnitGraph(net.predictor())
    on_outputs = weights_on_outputs(graph)
    expected = squared(torch.eye(12, dtype=torch.float64)).sum(dim=1).detach().numpy()
    assert on_outputs[:12] ** 2 == pytest.approx(expected)
    inputs = Inputs(rng.normal(size=(50, 12)).astype(np.float32))
    strength = strengths(net, inputs, graph)
    size = np.sqrt(np.square(inputs.values).mean(axis=0))
    layer = next(iter(net.layers))
    k = 4
    read, moved = layer.links.input_of_weight()[k], layer.links.unit_of_weight()[k]
    found = abs(layer.weight[k].item()) * size[read] * on_outputs[12 + moved]
    assert strength[k] == pytest.approx(found, rel=1e-5)


def test_every_output_keeps_a_path() -> None:
    """Also where its weights are the smallest of all."""
    fitted = TSENetClassifier(random_state=0, max_epochs=3, linear_skip=False).fit(X[:300], Y[:300])
    with torch.no_grad():
        fitted.net_.output.weight[:, 3] *= 1e-4
    fitted.prune(400, X[:300])

    assert (np.ptp(fitted.decision_function(X), axis=0) > 0).all()
