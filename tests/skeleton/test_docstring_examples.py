"""The examples in the docstrings of skeleton and expansion print what they say."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from tsenet.expansion import expand, wiring
from tsenet.skeleton import hlta, tree


@pytest.mark.parametrize(
    ("module", "owners"),
    [
        (hlta, {"learn_tree"}),
        (tree, {"LatentTree"}),
        (expand, {"expand"}),
        (wiring, {"Wiring", "WiringLayer"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_examples(module: ModuleType, owners: set[str]) -> None:
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert {test.name.removeprefix(f"{module.__name__}.") for test in tests} == owners
    for test in tests:
        assert doctest.DocTestRunner().run(test).failed == 0
