"""The linear maps of the forward pass against dense products, with many zeros and with none."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.network.wirings import layer_of, random_mask
from tsenet.network.links import BlockLinks, Links
from tsenet.network.maps import InputMap, UnitMap, padded

RNG = np.random.default_rng(0)
NEAR = {"rtol": 1e-5, "atol": 1e-5}


def layer(
    k_in: int, k_out: int, share_kept: float
) -> tuple[BlockLinks, np.ndarray, np.ndarray, np.ndarray]:
    """Links of 11 latents over 17, weights and biases, and the same as a dense (units, inputs) array."""
    blocks = BlockLinks(Links.of(layer_of(random_mask(RNG, 11, 17, 0.4))), k_in, k_out)
    weight = RNG.normal(size=blocks.n_weights).astype(np.float32)
    weight[RNG.random(weight.size) >= share_kept] = 0
    dense = np.zeros((blocks.n_units, blocks.n_inputs), np.float32)
    dense[blocks.units.in_unit, blocks.units.input_of_link()] = weight
    return blocks, weight, RNG.normal(size=blocks.n_units).astype(np.float32), dense


@pytest.mark.parametrize("n_rows", [1, 64])
@pytest.mark.parametrize("share_kept", [1.0, 0.1, 0.0])
@pytest.mark.parametrize(("k_in", "k_out"), [(1, 1), (1, 2), (2, 2)])
def test_a_layer(k_in: int, k_out: int, share_kept: float, n_rows: int) -> None:
    blocks, weight, bias, dense = layer(k_in, k_out, share_kept)
    below = RNG.normal(size=(blocks.n_inputs, n_rows)).astype(np.float32)
    out = np.full((blocks.n_units, n_rows), np.nan, np.float32)

    found = UnitMap.of_links(blocks, weight, bias)
    found.into(below, out)

    np.testing.assert_allclose(out, dense @ below + bias[:, None], **NEAR)
    if k_out > 1 and share_kept < 0.5:
        assert found.weight.size == np.count_nonzero(weight)


@pytest.mark.parametrize("share_kept", [1.0, 0.1])
@pytest.mark.parametrize(("n_inputs", "n_units"), [(8, 4), (13, 6), (1, 1)])
def test_a_group_is_filled_up_with_zeros(n_inputs: int, n_units: int, share_kept: float) -> None:
    weight = RNG.normal(size=(n_inputs, n_units)).astype(np.float32)
    weight[RNG.random(weight.shape) >= share_kept] = 0
    bias = RNG.normal(size=n_units).astype(np.float32)
    below = np.zeros((padded(n_inputs), 64), np.float32)
    below[:n_inputs] = RNG.normal(size=(n_inputs, 64))
    out = np.full((padded(n_units), 64), np.nan, np.float32)

    UnitMap.of_group(weight, bias).into(below, out)

    np.testing.assert_allclose(out[:n_units], weight.T @ below[:n_inputs] + bias[:, None], **NEAR)
    assert not out[n_units:].any()


@pytest.mark.parametrize("share_kept", [1.0, 0.1, 0.0])
@pytest.mark.parametrize("k_out", [1, 2])
def test_sparse_rows(k_out: int, share_kept: float) -> None:
    blocks, weight, bias, dense = layer(1, k_out, share_kept)
    rows = sp.random_array((5, 17), density=0.3, rng=RNG, dtype=np.float32, format="csr")
    sums = np.full((5, blocks.n_units), np.nan, np.float32)

    found = InputMap.of_links(blocks, weight)
    batch = rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), rows.data
    found.into(batch, bias, sums)

    np.testing.assert_allclose(sums, rows @ dense.T + bias, **NEAR)
    if k_out > 1 and share_kept < 0.5:
        assert found.weight.size == np.count_nonzero(weight)
