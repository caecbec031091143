"""Sizes of dense networks: the paper's grid, and networks of a given number of parameters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.baselines import hidden_for, paper_grid
from tsenet.baselines.fnn import FNN
from tsenet.baselines.grid import parameters_of_fnn

small = st.integers(1, 40)


def test_the_papers_grid() -> None:
    grid = paper_grid(5)
    assert len(grid) == len(set(grid)) == 3 * 4 * 2 - 3
    assert {hidden[0] for hidden in grid} == {512, 1024, 2048}
    assert {len(hidden) for hidden in grid} == {1, 2, 3, 4}
    rectangles = [hidden for hidden in grid if len(set(hidden)) == 1]
    assert len(rectangles) == 12
    for cone in set(grid) - set(rectangles):
        ratio = (5 / cone[0]) ** (1 / len(cone))
        for k, width in enumerate(cone):
            assert width <= cone[0] * ratio**k + 1e-6
            assert width > cone[0] * ratio**k - 1
    assert paper_grid() == paper_grid(2)


def test_the_sizes_the_paper_reports() -> None:
    """Table 3 names no shapes, but the parameters of these are its figures, in millions."""
    sizes = {}
    for n_classes in (4, 5, 10, 14):
        for hidden in paper_grid(n_classes):
            count = parameters_of_fnn(10_000, hidden, n_classes)
            sizes[n_classes, hidden] = round(count / 1e6, 2)
    assert sizes[4, (2048,) * 3] == 28.88  # AG's News
    assert sizes[5, (1024,) * 4] == 13.39  # Sogou News
    assert sizes[10, (512,) * 2] == 5.39  # Yahoo!Answer
    assert sizes[14, (1024, 119)] == 10.36  # DBPedia: conic, rounded down


@given(small, st.lists(small, min_size=1, max_size=4), small)
def test_the_count_is_that_of_the_network(n_inputs: int, hidden: list[int], n_outputs: int) -> None:
    net = FNN(n_inputs, n_outputs, hidden=hidden)
    assert parameters_of_fnn(n_inputs, hidden, n_outputs) == net.n_parameters
    assert net.n_parameters == sum(parameter.numel() for parameter in net.parameters())


@given(st.integers(1, 3000), small, st.integers(1, 10**6), st.integers(1, 4))
def test_the_widest_network_within_a_count(
    n_inputs: int, n_outputs: int, n_parameters: int, n_layers: int
) -> None:
    hidden = hidden_for(n_inputs, n_outputs, n_parameters, n_layers)
    assert len(hidden) == n_layers
    (width,) = set(hidden)
    wider = (width + 1,) * n_layers
    assert parameters_of_fnn(n_inputs, wider, n_outputs) > n_parameters
    assert width == 1 or parameters_of_fnn(n_inputs, hidden, n_outputs) <= n_parameters
    if n_layers == 1 and width > 1:
        assert width == (n_parameters - n_outputs) // (n_inputs + 1 + n_outputs)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="n_outputs"):
        paper_grid(0)
    with pytest.raises(ValueError, match="n_layers"):
        hidden_for(10, 2, 100, 0)
