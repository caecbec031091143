from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings

# A busy machine must not fail a test: no deadline per example.
settings.register_profile("tsenet", deadline=None)
settings.load_profile("tsenet")


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    """These networks are so small that more threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
