"""The examples in the docstrings of ``tsenet.scale`` run."""

from __future__ import annotations

import pytest

from tests.docstrings import modules_of, run_examples


@pytest.mark.parametrize("module", modules_of("tsenet.scale"))
def test_examples_run(module: str) -> None:
    assert run_examples(module).failed == 0
