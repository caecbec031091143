"""Inputs: how tables become batches, and shapes or types that are refused, not read past their end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_matrix, csr_array

from tests.network.wirings import (
    SIZES,
    layer_of,
    network,
    random_mask,
    random_rows,
    sparse_batch,
)
from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.network.inputs import Inputs
from tsenet.network.sparse_linear import SparseBatch, SparseLinear
from tsenet.network.topology import Links
from tsenet.training.examples import Examples
from tsenet.training.loop import Engine
from tsenet.training.losses import MulticlassLoss

ROWS = np.array([3, 0, 3, 4])


def inputs_of(X: Any) -> Inputs:
    table = Table.of(X)
    return Inputs.of(table, BinaryRule.learn(table))


def dense_of(batch: SparseBatch) -> np.ndarray:
    rows = np.zeros((batch.n_rows, batch.n_columns))
    of_value = np.repeat(np.arange(batch.n_rows), np.diff(batch.row_start))
    np.add.at(rows, (of_value, batch.columns.numpy()), batch.values.numpy())
    return rows


@pytest.mark.parametrize("make", [csr_array, csc_matrix, coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, bool])
def test_sparse_rows_stay_sparse_and_keep_their_values(dtype: Any, make: Any) -> None:
    X = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 0, 0], [1, 1, 1, 1], [0, 0, 5, 0]], dtype)
    inputs = inputs_of(make(X))

    batch = inputs.batch(ROWS)

    assert (len(inputs), inputs.n_columns, inputs.is_sparse) == (5, 4, True)
    assert isinstance(batch, SparseBatch)
    assert [part.dtype for part in batch[:3]] == [torch.int64, torch.int32, torch.float32]
    assert (batch.n_rows, batch.n_columns) == (4, 4)
    assert batch.values.numel() == 4 + 2 + 4 + 1  # zeros are not listed
    np.testing.assert_array_equal(dense_of(batch), X[ROWS].astype(float))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_become_one_input_per_level_as_the_rule_names_them(frame: Any) -> None:
    table = Table.of(
        frame(
            {
                "age": [31.5, 2.0, 60.0, 47.0],
                "colour": ["red", "blue", "red", "green"],
                "member": [True, False, True, True],
            }
        )
    )
    rule = BinaryRule.learn(table)

    inputs = Inputs.of(table, rule)

    assert inputs.n_columns == rule.n_variables == 5
    batch = inputs.batch(np.arange(4))
    assert isinstance(batch, torch.Tensor)
    by_name = dict(zip(rule.names, batch.t().tolist(), strict=True))
    age, *_ = rule.names
    assert age.startswith("age > ")
    assert by_name == {
        age: [31.5, 2.0, 60.0, 47.0],  # the value itself, not whether it is above the threshold
        "colour=red": [1, 0, 1, 0],
        "colour=blue": [0, 1, 0, 0],
        "colour=green": [0, 0, 0, 1],
        "member": [1, 0, 1, 1],
    }


def test_a_level_unseen_in_learning_is_no_input_at_all() -> None:
    rule = BinaryRule.learn(Table.of(pd.DataFrame({"c": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})))
    new = Table.of(pd.DataFrame({"c": ["z", "b"], "x": [7.5, -1.0]}))

    batch = Inputs.of(new, rule).batch(np.arange(2))

    assert rule.names[:2] == ("c=a", "c=b")
    np.testing.assert_array_equal(batch, [[0, 0, 7.5], [0, 1, -1.0]])


def test_other_columns_than_the_rules_are_refused() -> None:
    rule = BinaryRule.learn(Table.of(np.eye(3)))

    with pytest.raises(DataError):
        Inputs.of(Table.of(np.eye(4)), rule)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 9),
    n_columns=st.integers(1, 6),
    data=st.data(),
)
def test_dense_and_sparse_batches_hold_the_same_rows(
    seed: int, n_rows: int, n_columns: int, data: st.DataObject
) -> None:
    X = np.abs(random_rows(np.random.default_rng(seed), n_rows, n_columns)).astype(np.float32)
    chosen = np.array(data.draw(st.lists(st.integers(0, n_rows - 1), max_size=12)), np.int64)

    dense, sparse = Inputs(X).batch(chosen), Inputs(csr_array(X)).batch(chosen)

    assert isinstance(sparse, SparseBatch)
    np.testing.assert_array_equal(dense, X[chosen])
    np.testing.assert_array_equal(dense_of(sparse), X[chosen])


# ---- inputs of another shape or type than a layer's own are refused, not read past their end


D = SIZES[0]


RNG = np.random.default_rng(0)


def layer(density: float = 0.1) -> SparseLinear:
    made = SparseLinear(Links.of(layer_of(random_mask(np.random.default_rng(2), 9, D, density))))
    torch.nn.init.normal_(made.weight, generator=torch.Generator().manual_seed(0))
    return made


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("skip_units", [0, 5])
@pytest.mark.parametrize("n_columns", [D - 1, D + 1])
def test_an_engine_refuses_another_number_of_inputs(
    n_columns: int, skip_units: int, is_sparse: bool
) -> None:
    rows = random_rows(RNG, 3, n_columns).astype(np.float32)
    other = Inputs(csr_array(rows) if is_sparse else rows)

    with pytest.raises(ValueError, match=str(n_columns)):
        Engine(network(skip_units=skip_units).float(), MulticlassLoss(3)).step(
            Examples(other, np.arange(3), np.arange(3)), 0.1, 0
        )
    with pytest.raises(ValueError, match=str(n_columns)):
        Engine(network(skip_units=skip_units).float(), MulticlassLoss(3)).outputs(
            other, np.arange(3)
        )


def test_second_derivatives_are_refused_rather_than_lost() -> None:
    """The kernels' backward pass is not differentiable: asking must not give a constant."""
    x = torch.ones((D, 2), requires_grad=True)
    (slope,) = torch.autograd.grad((layer()(x) ** 2).sum(), x, create_graph=True)

    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_derivatives_by_the_values_of_sparse_rows_are_refused_rather_than_lost() -> None:
    x = sparse_batch(np.ones((2, D)), torch.float32)

    with pytest.raises(ValueError, match="make the rows dense"):
        layer()(x._replace(values=x.values.requires_grad_()))
