"""The examples in the docstrings of scale, skeleton and expansion print what they say."""

from __future__ import annotations

import pytest

from tests.docstrings import run_examples

MODULES = ("scale.blocks", "skeleton.hlta", "skeleton.tree", "expansion.expand", "expansion.wiring")


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    found = run_examples(f"tsenet.{module}")
    assert found.attempted
    assert found.failed == 0
