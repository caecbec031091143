"""Modules that wait for their first use."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tsenet._system.deferred import deferred

NAME = "a_module_that_waits"


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that can be imported; none of its name is loaded before or after a test."""
    Path(tmp_path, f"{NAME}.py").write_text("value = 3\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, NAME, raising=False)


def test_it_is_loaded_when_it_is_used() -> None:
    with deferred(NAME):
        waiting = importlib.import_module(NAME)
    assert NAME not in sys.modules

    assert waiting.value == 3
    assert sys.modules[NAME].value == 3
    with pytest.raises(AttributeError, match=NAME):
        _ = waiting.nothing


def test_it_may_be_used_inside_the_block() -> None:
    with deferred(NAME):
        assert importlib.import_module(NAME).value == 3
        real = importlib.import_module(NAME)
    assert sys.modules[NAME] is real
    assert "value" in vars(real)


def test_a_loaded_module_stays() -> None:
    before = importlib.import_module(NAME)
    with deferred(NAME):
        assert importlib.import_module(NAME) is before
    assert sys.modules[NAME] is before


def test_it_is_given_back_after_an_error() -> None:
    with pytest.raises(ValueError, match="inside"), deferred(NAME):
        raise ValueError("inside")
    assert "value" in vars(importlib.import_module(NAME))
