"""learn_tree: what must not matter, from the number of threads to the kind of table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from tests.skeleton.learning import groups, learn, planted_rows


def test_same_seed_same_tree() -> None:
    on = planted_rows(0).astype(float)

    first = learn(on, random_state=3)

    assert learn(on, random_state=3) == first
    assert learn(on, random_state=4) != first  # the batches of the refinement differ


@pytest.mark.parametrize("correlation_test", [True, False])
def test_any_thread_count_gives_the_same_bytes(correlation_test: bool) -> None:
    on = planted_rows(1).astype(float)

    one = learn(on, n_jobs=1, correlation_test=correlation_test)

    for n_jobs in (2, 4, -1, None):
        assert learn(on, n_jobs=n_jobs, correlation_test=correlation_test) == one


@pytest.mark.parametrize("seed", range(3))
def test_row_order_does_not_matter(seed: int) -> None:
    on = planted_rows(seed).astype(float)
    shuffled = on[np.random.default_rng(seed).permutation(len(on))]

    first, second = learn(on, refine_steps=0), learn(shuffled, refine_steps=0)

    assert groups(first) == groups(second)
    np.testing.assert_array_equal(first.parent, second.parent)
    np.testing.assert_allclose(first.cpt, second.cpt, rtol=1e-8)


NAMES = [f"word{k}" for k in range(60)]
FORMATS: dict[str, Callable[[np.ndarray], Any]] = {
    "bool array": lambda X: X.astype(bool),
    "float32 array": lambda X: X.astype(np.float32),
    "list of lists": lambda X: X.tolist(),
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
    "csr of counts": lambda X: sp.csr_array(7 * X),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64"),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES, orient="row"),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_kind_of_table_gives_the_same_tree(kind: str) -> None:
    X = planted_rows(3, 500).astype(float)
    expected = learn(X, refine_steps=5)

    table = FORMATS[kind](X)
    found = learn(table, refine_steps=5)

    np.testing.assert_array_equal(found.parent, expected.parent)
    np.testing.assert_array_equal(found.level, expected.level)
    np.testing.assert_array_equal(found.cpt, expected.cpt)
    named = kind.startswith(("pandas", "polars"))
    assert (found.names == expected.names) != named
    if named:
        assert list(found.names[:60]) == NAMES
    np.testing.assert_array_equal(
        found.log_likelihood(table, n_jobs=1), expected.log_likelihood(X, n_jobs=1)
    )


def test_64_bit_indices_give_the_same_tree() -> None:
    csr = sp.csr_array(planted_rows(3, 500).astype(float))
    wide = sp.csr_array(csr)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)

    assert learn(wide, refine_steps=5) == learn(csr, refine_steps=5)


def test_the_callers_data_stay_as_they_were() -> None:
    X = planted_rows(4, 300).astype(float)
    csr = sp.csr_array(X)
    before = X.copy(), csr.data.copy(), csr.indices.copy(), csr.indptr.copy()

    learn(X, refine_steps=2)
    learn(csr, refine_steps=2)

    after = X, csr.data, csr.indices, csr.indptr
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
