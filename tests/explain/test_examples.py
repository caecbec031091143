"""Every public class and function of explain and store has an example, and the examples are true."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot

import tsenet.explain
import tsenet.explain.plots
import tsenet.explain.report
import tsenet.store

PACKAGES = (tsenet.explain, tsenet.explain.plots, tsenet.explain.report, tsenet.store)
PUBLIC = [
    pytest.param(package, name, id=f"{package.__name__}.{name}")
    for package in PACKAGES
    for name in package.__all__
    if callable(getattr(package, name))
]


@pytest.fixture(autouse=True)
def quiet_pyplot() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
        pyplot.close("all")


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_example(package: ModuleType, name: str) -> None:
    documented = getattr(package, name)
    (test,) = doctest.DocTestFinder(recurse=False).find(documented, name, globs={})
    assert test.examples, f"{name} has no example"
    said: list[str] = []
    runner = doctest.DocTestRunner()
    runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


FUNCTIONS = [
    pytest.param(getattr(package, name), id=f"{package.__name__}.{name}")
    for package in PACKAGES
    for name in package.__all__
    if inspect.isfunction(getattr(package, name))
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_parameter_is_documented(function: Callable[..., Any]) -> None:
    text = inspect.getdoc(function) or ""
    for parameter in inspect.signature(function).parameters.values():
        entry = (
            "\n**options\n" if parameter.kind is parameter.VAR_KEYWORD else f"\n{parameter.name} : "
        )
        assert entry in text, parameter.name
