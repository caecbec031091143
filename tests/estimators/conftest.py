"""Documents, and topic models of them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from tests.cli.program import make_documents
from tests.estimators.topics import QUICK
from tsenet import TopicModel


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return make_documents(300)


@pytest.fixture(scope="session")
def fitted(texts: list[str]) -> TopicModel:
    return TopicModel(**QUICK).fit(texts)


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
