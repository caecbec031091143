"""Code outside the wheel uses tsenet as its users do: no underscored names, and no type of the same name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OUTSIDE = sorted(path for name in ("reproduce", "examples") for path in (ROOT / name).rglob("*.py"))


def private_names(source: str) -> Iterator[str]:
    """Imports from tsenet that have an underscored part, at any depth of the code."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names):
                found = [f"{module}.{alias.name}" for alias in names]
            case _:
                continue
        for name in found:
            root, *parts = name.split(".")
            if root == "tsenet" and any(p.startswith("_") and p != "__version__" for p in parts):
                yield name


def class_names(folder: Path) -> set[str]:
    return {
        node.name
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    }


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_only_public_names_are_imported(path: Path) -> None:
    assert list(private_names(path.read_text("utf-8"))) == []


def test_the_check_finds_private_names() -> None:
    assert OUTSIDE
    for source in (
        "import tsenet._system.jit",
        "def f():\n    from tsenet.cli._console import PlainErrors",
        "from tsenet.estimators import _network",
        "from tsenet import _system",
    ):
        assert list(private_names(source)), source
    assert list(private_names("from tsenet import __version__, learn_tree\nimport os._a")) == []


def test_no_type_of_reproduce_is_named_like_one_of_tsenet() -> None:
    assert class_names(ROOT / "reproduce") & class_names(ROOT / "src" / "tsenet") == set()
