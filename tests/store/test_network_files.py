"""The file form of networks: links as places, weights without zeros; forged sizes are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tsenet
from tests.network.wirings import random_wiring
from tsenet.errors import ModelFileError
from tsenet.estimators import TSENetClassifier
from tsenet.network.options import NetworkOptions
from tsenet.network.tsenet import TSENet
from tsenet.store import load_parts, manifest
from tsenet.store.network_files import (
    check_size,
    load_weights,
    network_arrays,
    wiring_of_parts,
    wiring_parts,
)

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


@pytest.mark.parametrize("share_kept", [0.0, 0.05, 0.5, 1.0])
def test_weights_come_back(share_kept: float) -> None:
    net, again = network(share_kept), network(1.0)
    arrays = network_arrays(net)
    load_weights(again, arrays)

    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), again.parameters(), strict=True))
    assert ("top.weight.places" in arrays) == (share_kept < 1.0)
    if share_kept == 0.05:
        n_kept = sum(int((p != 0).sum()) for p in net.parameters())
        n_biases = sum(p.numel() for name, p in net.named_parameters() if "bias" in name)
        assert sum(array.nbytes for array in arrays.values()) < 5 * (n_kept + n_biases) + 100


def test_links_come_back() -> None:
    assert wiring_of_parts(*wiring_parts(WIRING)) == WIRING
    bare = WIRING.without_log_odds()
    meta, arrays = wiring_parts(bare)
    assert wiring_of_parts(meta, arrays) == bare
    assert sum(array.nbytes for array in arrays.values()) < WIRING.n_edges


@pytest.mark.parametrize("init", ["tree", "directions"])
def test_a_wiring_without_log_odds_serves_a_new_network(init: Any) -> None:
    net = TSENet(WIRING.without_log_odds(), 3, init=init)

    assert all(bool((layer.weight != 0).all()) for layer in net.layers)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_links": [1]}, "number of links"),
        ({"n_links": [10**15, 18]}, "1000000000000000 places below 480"),
    ],
)
def test_forged_links_are_refused(change: dict[str, Any], message: str) -> None:
    meta, arrays = wiring_parts(WIRING)

    with pytest.raises(ValueError, match=message):
        wiring_of_parts({**meta, **change}, arrays)


def test_a_network_far_larger_than_its_file_is_refused() -> None:
    arrays = network_arrays(network(0.05))
    check_size(WIRING, OPTIONS, 3, arrays)
    large = NetworkOptions(skip_units=10**7)

    with pytest.raises(ValueError, match="but the file holds"):
        check_size(WIRING, large, 3, arrays)


def test_places_of_another_parameter_are_refused() -> None:
    net = network(0.05)
    arrays = network_arrays(net)
    arrays["top.weight.places"] = arrays["output.weight.places"]

    with pytest.raises(ValueError, match="places"):
        load_weights(net, arrays)


def test_the_former_layout_is_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 6))
    model = TSENetClassifier(max_epochs=1, random_state=0).fit(rows, rows[:, 0] > 0)
    monkeypatch.setattr(manifest, "FORMAT_VERSION", 1)
    model.save(tmp_path / "old.tsenet")
    monkeypatch.undo()

    with pytest.raises(ModelFileError, match=r"format version 1.*fit the model again"):
        tsenet.load(tmp_path / "old.tsenet")


def test_other_kinds_of_version_1_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "FORMAT_VERSION", 1)
    WIRING.save(tmp_path / "wiring.tsenet")
    monkeypatch.undo()

    assert tsenet.load(tmp_path / "wiring.tsenet") == WIRING


def test_names_are_written_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"a long name of column {j}" for j in range(8)]
    table = tsenet.Table.of(rng.normal(size=(80, 8)), names=names)
    model = TSENetClassifier(max_epochs=1, random_state=0).fit(table, rng.integers(0, 2, 80))
    model.save(tmp_path / "model.tsenet")
    _, meta, _ = load_parts(tmp_path / "model.tsenet")

    assert meta["feature_names_in"] == 8
    assert meta["tree"]["inputs"] == 8
    assert meta["wiring"]["names"][0] == 8
    again = tsenet.load(tmp_path / "model.tsenet")
    assert again.feature_names_in_.tolist() == names
    assert again.tree_ == model.tree_
    assert again.wiring_.names == model.wiring_.names


def test_the_whole_wiring_can_be_shared_whatever_the_network_uses(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.random((200, 5)) < 0.4, 4, axis=1) ^ (rng.random((200, 20)) < 0.1)
    model = TSENetClassifier(max_epochs=1, random_state=0).fit(rows, rows[:, 0])
    whole = model.learned_wiring_
    model.prune(40, rows)
    model.save(tmp_path / "model.tsenet")

    assert model.wiring_.n_edges < whole.n_edges == model.learned_wiring_.n_edges
    assert whole.layers[0].log_odds.any()
    again = tsenet.load(tmp_path / "model.tsenet")
    assert again.learned_wiring_ == again.wiring_ == model.wiring_
