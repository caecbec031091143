"""Planted documents, and their hierarchy of topics."""

from __future__ import annotations

import pytest

from tests.topics.planted import N_THEMES, N_TOPICS, planted
from tsenet.data.binary import BinaryRows
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.mixture import learn_hierarchy


@pytest.fixture(scope="session")
def rows() -> BinaryRows:
    return planted()[0]


@pytest.fixture(scope="session")
def learned(rows: BinaryRows) -> TopicHierarchy:
    return learn_hierarchy(rows, (N_THEMES, N_THEMES * N_TOPICS))
