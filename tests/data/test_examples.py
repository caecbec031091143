"""The examples in the docstrings of ``tsenet.data`` run, and every public name has one."""

from __future__ import annotations

import pytest

import tsenet.data
from tests.docstrings import modules_of, run_examples, without_example


@pytest.mark.parametrize("module", modules_of("tsenet.data"))
def test_examples_run(module: str) -> None:
    assert run_examples(module).failed == 0


def test_every_public_name_has_an_example() -> None:
    assert without_example(tsenet.data) == []
