"""Kernels of layers whose links are blocks, against dense NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.network.wirings import layer_of, random_mask
from tsenet.network.kernels import block_kernels
from tsenet.network.kernels.lane_kernels import LANES, WIDE, vectors_of
from tsenet.network.links import BlockLinks, Links

Array = NDArray[Any]
SIZES = [(1, 1), (2, 3)]  # units of a latent below and above; 3 is no multiple of a tile
RNG = np.random.default_rng(0)


def layer(k_in: int, k_out: int) -> tuple[BlockLinks, Array, Array]:
    """Links of 23 latents to 9, of which one reads a single latent; flat weights; dense weights (D·k_in, U·k_out)."""
    mask = random_mask(np.random.default_rng(1), 9, 23, 0.4)
    mask[0] = np.arange(23) == 4
    blocks = BlockLinks(Links.of(layer_of(mask)), k_in, k_out)
    weight = RNG.normal(size=blocks.n_weights)
    dense = np.zeros((blocks.n_inputs, blocks.n_units))
    dense[blocks.units.input_of_link(), blocks.units.in_unit] = weight
    return blocks, weight, dense


def faces(*sizes: int) -> list[tuple[int, ...]]:
    return [(0,) * size for size in sizes]


@pytest.mark.parametrize("n_rows", [LANES, 3 * LANES, 4 * LANES])
@pytest.mark.parametrize(("k_in", "k_out"), SIZES)
def test_activations_go_up(k_in: int, k_out: int, n_rows: int) -> None:
    blocks, weight, dense = layer(k_in, k_out)
    below, bias = RNG.normal(size=(blocks.n_inputs, n_rows)), RNG.normal(size=blocks.n_units)
    packed, out = np.empty_like(weight), np.full((blocks.n_units, n_rows), np.nan)
    places = blocks.unit_weight, blocks.unit_step
    both = faces(k_in, k_out)

    block_kernels.pack_blocks(0, blocks.latents.n_links, *places, *both, weight, packed)
    links = blocks.latents.unit_start, blocks.latents.unit_input
    lanes = (0,) * LANES, vectors_of(k_out)
    block_kernels.units_forward(*links, packed, bias, *both, *lanes, below, out)

    np.testing.assert_allclose(out, dense.T @ below + bias[:, None], atol=1e-12)


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("n_rows", [LANES, 4 * LANES])
@pytest.mark.parametrize(("k_in", "k_out"), SIZES)
def test_gradients_go_down(k_in: int, k_out: int, n_rows: int, adds: bool) -> None:
    blocks, weight, dense = layer(k_in, k_out)
    delta = RNG.normal(size=(blocks.n_units, n_rows))
    before = RNG.normal(size=(blocks.n_inputs, n_rows))
    gradient = before.copy()

    links = blocks.latents.in_start, blocks.latents.in_unit
    lanes = (0,) * LANES, vectors_of(k_in)
    block_kernels.units_input_gradient(
        *links, weight, *faces(k_in, k_out), *lanes, adds, delta, gradient
    )

    np.testing.assert_allclose(gradient, dense @ delta + adds * before, atol=1e-12)


@pytest.mark.parametrize("part", [(0, 23), (5, 14), (4, 5)])
@pytest.mark.parametrize(("k_in", "k_out"), SIZES)
def test_weights_get_their_gradient(k_in: int, k_out: int, part: tuple[int, int]) -> None:
    blocks, _, _ = layer(k_in, k_out)
    below = RNG.normal(size=(2, blocks.n_inputs, LANES))  # two chunks
    delta = RNG.normal(size=(2, blocks.n_units, LANES))
    own = slice(*(blocks.first_weight(latent) for latent in part))
    gradient = np.full(own.stop - own.start, np.nan)

    wide = min(k_out, 2)
    block_kernels.units_weight_gradient(
        *blocks.gathered(*part), *faces(k_out, WIDE // wide, wide), below, delta, gradient
    )

    full = np.einsum("cir,cjr->ij", below, delta)
    links = blocks.units
    np.testing.assert_allclose(
        gradient, full[links.input_of_link(), links.in_unit][own], atol=1e-12
    )
