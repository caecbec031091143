"""Documents and tables, and models of them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import FAST, QUICK, one_latent_rows
from tests.cli.program import make_documents
from tests.estimators.topics import QUICK as QUICK_TOPICS
from tsenet import TopicModel, TSENetClassifier

Floats = NDArray[np.float64]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return make_documents(300)


@pytest.fixture(scope="session")
def fitted(texts: list[str]) -> TopicModel:
    return TopicModel(**QUICK_TOPICS).fit(texts)


@pytest.fixture
def model(fitted: TopicModel) -> TopicModel:
    """A fitted model of the test's own, with its documents."""
    return copy.deepcopy(fitted)


@pytest.fixture(scope="session")
def four_subjects() -> list[str]:
    rng = np.random.default_rng(0)
    subjects = [
        "goal team referee",
        "orbit moon rocket",
        "senate ballot voters",
        "flour oven yeast",
    ]
    return [
        " ".join(word for word in subjects[i % 4].split() if rng.random() < 0.8) for i in range(400)
    ]


# ---- tables, and networks of them


@pytest.fixture(scope="session")
def rows() -> Floats:
    """600 rows of three groups of four columns."""
    return one_latent_rows(np.random.default_rng(0), 600, (4, 4, 4)).astype(np.float64)


@pytest.fixture(scope="session")
def kinds(rows: Floats) -> NDArray[Any]:
    """Which group of a row has most on: three classes."""
    return np.array(["red", "green", "blue"])[rows.reshape(600, 3, 4).sum(axis=2).argmax(axis=1)]


@pytest.fixture(scope="session")
def labels(rows: Floats) -> Floats:
    """Whether each group is on: three labels, a fifth of them unknown."""
    truth = (rows.reshape(600, 3, 4).sum(axis=2) > 1).astype(np.float64)
    truth[np.random.default_rng(1).random(truth.shape) < 0.2] = np.nan
    return truth


@pytest.fixture(scope="session")
def classifier(rows: Floats, kinds: NDArray[Any]) -> TSENetClassifier:
    return TSENetClassifier(**FAST).fit(rows, kinds)


@pytest.fixture(scope="session")
def noisy_rows() -> Floats:
    """400 rows of two groups of four columns, and two of noise."""
    rng = np.random.default_rng(0)
    groups = one_latent_rows(rng, 400, (4, 4))
    return np.column_stack([groups, rng.normal(size=(400, 2))]).astype(np.float64)


@pytest.fixture(scope="session")
def noisy_kinds(noisy_rows: Floats) -> NDArray[Any]:
    """Three classes by how many of the second group are on."""
    return np.array(["few", "some", "many"])[np.digitize(noisy_rows[:, 4:8].sum(axis=1), [1, 3])]


@pytest.fixture(scope="session")
def noisy_classifier(noisy_rows: Floats, noisy_kinds: NDArray[Any]) -> TSENetClassifier:
    return TSENetClassifier(**QUICK, max_epochs=8).fit(noisy_rows, noisy_kinds)
