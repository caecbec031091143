"""Few labels, many rows: rows of class −1 teach the network structure and first weights."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import tsenet
from tsenet import DataError, TSENetClassifier, TSENetRegressor

N_ROWS, N_LABELLED = 900, 9


def documents(seed: int) -> tuple[csr_array, NDArray[np.int64]]:
    """Three subjects of ten groups of four words that go together; a document has three groups of its subject."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(3, size=N_ROWS)
    counts = np.zeros((N_ROWS, 120), np.float32)
    for row, kind in enumerate(subject):
        for group in rng.choice(10, 3, replace=False):
            words = 40 * kind + 4 * group + np.arange(4)
            counts[row, words[rng.random(4) < 0.7]] += 1
        counts[row, rng.integers(120, size=3)] += 1  # noise
    return csr_array(counts), subject


@pytest.fixture(scope="module")
def data() -> tuple[csr_array, NDArray[np.int64], NDArray[np.int64]]:
    rows, subject = documents(0)
    few = np.full(N_ROWS, -1)
    few[:N_LABELLED] = subject[:N_LABELLED]
    return rows, subject, few


@pytest.fixture(scope="module")
def semi(data: tuple[csr_array, NDArray[np.int64], NDArray[np.int64]]) -> TSENetClassifier:
    rows, _, few = data
    return TSENetClassifier(random_state=0).fit(rows, few)


def test_rows_without_labels_pay(
    semi: TSENetClassifier, data: tuple[csr_array, NDArray[np.int64], NDArray[np.int64]]
) -> None:
    rows, _, few = data
    new_rows, new_subject = documents(1)
    alone = TSENetClassifier(random_state=0).fit(rows[:N_LABELLED], few[:N_LABELLED])

    assert semi.classes_.tolist() == [0, 1, 2]
    assert semi.predict_proba(new_rows).shape == (N_ROWS, 3)
    assert semi.score(new_rows, new_subject) > alone.score(new_rows, new_subject) + 0.1
    assert semi.score(new_rows, new_subject) > 0.9
    assert semi.history_.n_epochs > 0  # never left untrained


def test_a_wiring_of_all_rows_serves_few(
    data: tuple[csr_array, NDArray[np.int64], NDArray[np.int64]],
) -> None:
    rows, _, few = data
    wiring = tsenet.expand(tsenet.learn_tree(rows, random_state=0), rows)
    model = TSENetClassifier(wiring=wiring, random_state=0).fit(rows[:N_LABELLED], few[:N_LABELLED])
    new_rows, new_subject = documents(1)

    assert model.wiring_ is wiring
    assert model.score(new_rows, new_subject) > 0.7


def test_the_result_does_not_depend_on_the_order_of_rows(
    semi: TSENetClassifier, data: tuple[csr_array, NDArray[np.int64], NDArray[np.int64]]
) -> None:
    rows, _, few = data
    order = np.random.default_rng(5).permutation(N_ROWS)
    other = TSENetClassifier(random_state=0, n_jobs=1).fit(rows[order], few[order])

    assert np.array_equal(other.decision_function(rows), semi.decision_function(rows))


def test_minus_one_beside_one_other_class_is_a_class() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 4))
    two = np.where(rows[:, 0] > 0, 1, -1)

    assert TSENetClassifier(random_state=0).fit(rows, two).classes_.tolist() == [-1, 1]


def test_a_saved_model_goes_on_alike(semi: TSENetClassifier, tmp_path: object) -> None:
    path = f"{tmp_path}/model.tsenet"
    rows, _ = documents(2)
    semi.save(path)

    assert np.array_equal(tsenet.load(path).decision_function(rows), semi.decision_function(rows))
    assert tsenet.load(path).history_ == semi.history_


def test_partly_known_values_and_labels() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(120, 5))
    values = np.stack([rows[:, 0], rows[:, 1] + rows[:, 2]], axis=1)
    values[30:] = np.nan
    values[5, 0] = np.nan
    model = TSENetRegressor(random_state=0).fit(rows, values)
    assert model.score(rows[:30], values[:30]) > 0.9
    labels = np.where(np.isnan(values), np.nan, values > 0)
    assert TSENetClassifier(random_state=0).fit(rows, labels).score(rows, labels) > 0.8


def test_no_label_at_all_is_an_error() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 4))
    with pytest.raises(DataError):
        TSENetClassifier().fit(rows, np.full((40, 2), np.nan))
