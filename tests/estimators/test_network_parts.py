"""The file form of networks: all that was fitted, plain links, few zeros; forged sizes and places are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

import tsenet
from tests.builders import FAST
from tests.network.wirings import random_wiring
from tsenet import TSENetClassifier, TSENetRegressor
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


Floats = NDArray[np.float64]


@pytest.mark.parametrize("form", ["classes", "labels", "sparse", "wiring", "numbers"])
def test_files_hold_everything(
    form: str, rows: Floats, kinds: NDArray[Any], labels: Floats, tmp_path: Path
) -> None:
    options: dict[str, Any] = {**FAST, "max_epochs": 2}
    X: Any = pd.DataFrame(rows, columns=[f"w{j}" for j in range(12)])
    y: Any = kinds
    kind: Any = TSENetClassifier
    if form == "classes":
        options["class_weight"] = {"red": 2.0, "blue": 0.5, "green": 1}
    elif form == "labels":
        y, options["class_weight"] = labels, [{0: 1.0, 1: 2.0}] * 3
    elif form == "sparse":
        X, y = sp.csr_array(rows), kinds.astype(object)
    elif form == "wiring":
        kind, y = TSENetRegressor, rows[:, :3] * 1.5
        options["wiring"] = tsenet.expand(tsenet.learn_tree(rows, random_state=0), rows)
    else:
        kind, y = TSENetRegressor, rows.sum(axis=1)
    model = kind(**options).fit(X, y)
    path = tmp_path / "model.tsenet"
    model.save(path)
    again = tsenet.load(path)
    assert type(again) is kind
    assert again.get_params() == model.get_params()
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            mine, other = getattr(model, method)(X), getattr(again, method)(X)
            assert mine.dtype == other.dtype
            assert np.array_equal(mine, other)
    public = [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]
    assert {"tree_", "wiring_", "net_", "history_", "n_features_in_"} < set(public)
    assert again.n_parameters_ == model.n_parameters_
    for name in public:
        mine, other = getattr(model, name), getattr(again, name)
        if name in ("net_", "targets_"):
            assert repr(mine) == repr(other)
        elif isinstance(mine, np.ndarray):
            assert mine.dtype == other.dtype
            assert np.array_equal(mine, other)
        else:
            assert mine == other, name
    again.save(tmp_path / "again.tsenet")
    assert (tmp_path / "again.tsenet").read_bytes() == path.read_bytes()
