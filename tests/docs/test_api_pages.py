"""Every public name is on the API pages, and every name on them exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "api.md", *sorted((DOCS / "api").glob("*.md"))]
PACKAGES = [
    "tsenet",
    "tsenet.data",
    "tsenet.errors",
    "tsenet.explain",
    "tsenet.explain.plots",
    "tsenet.explain.report",
    "tsenet.progress",
    "tsenet.store",
]
OF_TRAINING = {
    "tsenet.training.history.History",
}


def names_on(page: str) -> list[str]:
    """What the page's ``:::`` lines name."""
    return re.findall(r"^::: (\S+)$", page, re.MULTILINE)


def named(path: str) -> Any:
    """The object at a dotted path; an attribute of the module in front of the last dot."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def missing(package: str, shown: list[str]) -> list[str]:
    """Names in the package's ``__all__`` whose object no page shows, under this or another path."""
    objects = [named(path) for path in shown]
    public = importlib.import_module(package).__all__
    return [name for name in public if not any(named(f"{package}.{name}") is o for o in objects)]


SHOWN = [name for page in PAGES for name in names_on(page.read_text("utf-8"))]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_on_a_page(package: str) -> None:
    assert missing(package, SHOWN) == [], "add a line `::: package.name` to a page in docs/api/"


def test_every_name_on_a_page_is_public() -> None:
    public = {f"{package}.{name}" for package in PACKAGES for name in _all_of(package)}
    assert sorted(set(SHOWN) - public - OF_TRAINING) == []


def _all_of(package: str) -> list[str]:
    return list(importlib.import_module(package).__all__)
