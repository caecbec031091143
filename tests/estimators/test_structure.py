"""What a network's structure is if the user does not say, and wirings that are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import tsenet
from tests.builders import FAST, random_tree
from tsenet import DataError, TSENetClassifier
from tsenet.data import Table
from tsenet.estimators.structure import default_density


@pytest.mark.parametrize(
    ("n_latents", "dense", "sparse"),
    [(2, 1.0, 0.2), (16, 0.25, 0.2), (80, 0.05, 0.1), (400, 0.05, 0.02), (4000, 0.05, 0.005)],
)
def test_the_default_density_lets_enough_latents_read_each_column(
    n_latents: int, dense: float, sparse: float
) -> None:
    tree = random_tree(np.random.default_rng(0), (2 * n_latents, n_latents))
    values = np.ones((2, 2 * n_latents))

    assert default_density(Table.of(values), tree) == pytest.approx(dense)
    assert default_density(Table.of(sp.csr_array(values)), tree) == pytest.approx(sparse)


Floats = NDArray[np.float64]


def test_a_wiring_that_does_not_fit_is_refused(rows: Floats, kinds: NDArray[Any]) -> None:
    tree = tsenet.learn_tree(rows[:, :8], random_state=0)
    wiring = tsenet.expand(tree, rows[:, :8])
    with pytest.raises(DataError, match="8 inputs, but the table gives 12"):
        TSENetClassifier(wiring=wiring).fit(rows, kinds)
    frame = pd.DataFrame(rows[:, :8], columns=list("abcdefgh"))
    named = tsenet.expand(tsenet.learn_tree(frame, random_state=0), frame)
    with pytest.raises(DataError, match="column 'h'"):
        TSENetClassifier(wiring=named).fit(frame[list("hgfedcba")], kinds)
    TSENetClassifier(**FAST, wiring=named).fit(frame, kinds)
    TSENetClassifier(**FAST, wiring=wiring).fit(frame, kinds)  # learned without names


def test_tree_options(rows: Floats, kinds: NDArray[Any]) -> None:
    quick = {**FAST, "max_epochs": 1}
    refined = TSENetClassifier(**quick).fit(rows, kinds).tree_
    plain = TSENetClassifier(**quick, tree_options={"refine_steps": 0}).fit(rows, kinds).tree_
    assert np.array_equal(plain.parent, refined.parent)
    assert not np.array_equal(plain.cpt, refined.cpt)
    with pytest.raises(ValueError, match="'island'; it may have max_island"):
        TSENetClassifier(tree_options={"island": 2}).fit(rows, kinds)


def test_constant_columns_only(kinds: NDArray[Any]) -> None:
    for form in (np.ones((600, 3)), sp.csr_array((600, 3))):
        model = TSENetClassifier(**FAST).fit(form, kinds)
        assert model.wiring_.layer_sizes == (3, 1)
        most = pd.Series(kinds).value_counts().index[0]
        assert set(model.predict(form)) == {most}
