"""The examples in docstrings print what they say, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot

SOURCE = Path(__file__).parents[1] / "src"
SLOW = {f"tsenet.estimators.{name}" for name in ("network", "classifier", "regressor")}
MODULES = [
    pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
    for name in [".".join(path.relative_to(SOURCE).with_suffix("").parts)]
]
PACKAGES = (
    *("tsenet.data", "tsenet.errors", "tsenet.store"),
    *("tsenet.explain", "tsenet.explain.plots", "tsenet.explain.report"),
)
PUBLIC = [
    pytest.param(getattr(importlib.import_module(package), name), id=f"{package}.{name}")
    for package in PACKAGES
    for name in importlib.import_module(package).__all__
    if callable(getattr(importlib.import_module(package), name))
]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_are_true(module: str) -> None:
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with mpl.rc_context({"backend": "agg"}):
        found = doctest.testmod(importlib.import_module(module), optionflags=options)
        pyplot.close("all")
    assert found.attempted
    assert found.failed == 0


@pytest.mark.parametrize("documented", PUBLIC)
def test_a_public_name_has_an_example(documented: Any) -> None:
    assert ">>> " in (documented.__doc__ or "")


@pytest.mark.parametrize("function", [p for p in PUBLIC if inspect.isfunction(p.values[0])])
def test_every_parameter_is_documented(function: Any) -> None:
    entries = [line for line in inspect.getdoc(function).splitlines() if line[:1].strip()]
    named = {name for line in entries for name in line.partition(" : ")[0].split(", ")}
    for parameter in inspect.signature(function).parameters.values():
        assert {f"{stars}{parameter.name}" for stars in ("", "*", "**")} & named, parameter.name
