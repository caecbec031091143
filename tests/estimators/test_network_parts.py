"""The file form of networks: plain links, weights without most zeros; forged sizes and places are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tsenet
from tests.network.wirings import random_wiring
from tsenet import TSENetClassifier
from tsenet.estimators.network_parts import read_network, stored_weights
from tsenet.network.topology import NetworkOptions
from tsenet.network.tsenet import TSENet

WIRING = random_wiring(np.random.default_rng(0), (40, 12, 5), 0.3)
OPTIONS = NetworkOptions(skip_units=3, feature_units=4, linear_skip=True, units_per_latent=2)


def network(share_kept: float) -> TSENet:
    net = TSENet(WIRING, 3, **OPTIONS.to_dict())
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator))
            parameter.mul_(torch.rand(parameter.shape, generator=generator) < share_kept)
    return net


def parts(share_kept: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields and arrays of a model with such a network."""
    wiring, links = WIRING.to_parts()
    wiring["names"][0] = len(wiring["names"][0])
    rule = {"n_columns_in": 40, "names_in": None, "thresholds": {}, "levels": {}}
    meta = {
        "network": OPTIONS.to_dict(),
        "target": {"kind": "labels", "n_labels": 3},
        "rule": rule,
        "wiring": wiring,
        "counts": False,
        "unit_length": False,
        "source": None,
    }
    arrays = {f"wiring.{name}": array for name, array in links.items()}
    arrays |= {
        f"net.{name}": array
        for name, array in stored_weights(network(share_kept).predictor().arrays).items()
    }
    one = np.ones(1)
    arrays |= {"scaling.shift": np.empty(0), "scaling.scale": one, "scaling.limit": one}
    return meta, arrays


@pytest.mark.parametrize("share_kept", [0.0, 0.05, 0.7, 1.0])
def test_weights_come_back(share_kept: float) -> None:
    net = network(share_kept)
    meta, arrays = parts(share_kept)
    _, targets, predictor = read_network(meta, arrays)

    assert predictor.topology.wiring.layers == WIRING.layers
    assert targets.loss.n_outputs == 3
    assert predictor.arrays.keys() == net.state_dict().keys()
    for name, tensor in net.state_dict().items():
        assert np.array_equal(predictor.arrays[name], tensor.numpy())


def test_a_network_far_larger_than_its_file_is_refused() -> None:
    meta, arrays = parts(0.05)
    meta["network"]["skip_units"] = 10**7

    with pytest.raises(ValueError, match="but the file holds"):
        read_network(meta, arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda at: at[::-1].copy(),
        lambda at: at - 1000,
        lambda at: at + 1000,
        lambda at: at[:-1],
        lambda at: at.astype(np.int64),
        lambda at: at[None],
        np.zeros_like,
    ],
    ids=["descending", "negative", "beyond", "too few", "wide", "two dimensions", "repeated"],
)
def test_forged_places_of_weights_are_refused(change: Callable[[Any], Any]) -> None:
    meta, arrays = parts(0.2)
    arrays["net.linear_skip.at"] = change(arrays["net.linear_skip.at"])

    with pytest.raises(ValueError, match=r"linear_skip\.at"):
        read_network(meta, arrays)


@pytest.mark.parametrize("name", ["net.top.weight.at", "net.top.weight", "net.top.bias"])
def test_a_missing_array_is_refused(name: str) -> None:
    meta, arrays = parts(0.2)
    del arrays[name]

    with pytest.raises(ValueError, match=r"top\.(weight|bias)"):
        read_network(meta, arrays)


def test_the_whole_wiring_can_be_shared_whatever_the_network_uses(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.random((200, 5)) < 0.4, 4, axis=1) ^ (rng.random((200, 20)) < 0.1)
    model = TSENetClassifier(max_epochs=1, random_state=0).fit(rows, rows[:, 0])
    whole = model.learned_wiring_
    model.prune(40, rows)
    model.save(tmp_path / "model.tsenet")

    assert model.wiring_.n_edges < whole.n_edges == model.learned_wiring_.n_edges
    again = tsenet.load(tmp_path / "model.tsenet")
    assert again.learned_wiring_ == again.wiring_ == model.wiring_
