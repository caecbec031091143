"""Digests of the source that a result depends on: a stored result is stale once that source has changed."""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from reproduce.sources import path_of

__all__ = ["code_of_method", "code_of_structure", "meaning_of", "packed", "unpacked"]

_STRUCTURE = ("_system", "data", "skeleton", "expansion")


@cache
def code_of_method(experiment: str, name: str, files: frozenset[str]) -> str:
    """Digest of the source that a method's results depend on: files of a recording and the method's own function."""
    made = _function_of(experiment, name)
    digest = hashlib.sha256()
    if made is not None:
        digest.update(meaning_of(textwrap.dedent(inspect.getsource(made))).encode())
    for file in sorted(files):
        digest.update(f"{file} {_digest_of_file(file)}".encode())
    return digest.hexdigest()[:12]


def _function_of(experiment: str, name: str) -> Callable[..., Any] | None:
    """What fits a method; the scoreboard has methods of its own."""
    if experiment == "scoreboard":
        from reproduce.scoreboard_methods import SCOREBOARD_METHODS

        method = SCOREBOARD_METHODS.get(name.partition(":")[0])
        fit = None if method is None else method.fit
        return fit.func if isinstance(fit, partial) else fit
    from reproduce.methods import METHODS

    return METHODS.get(name)


def packed(files: Iterable[str]) -> dict[str, str]:
    """Files of a recording by folder, to be stored: ``{"tsenet/network": "links maps"}``."""
    folders: dict[str, list[str]] = {}
    for file in sorted(files):
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder, []).append(name.removesuffix(".py"))
    return {folder: " ".join(names) for folder, names in folders.items()}


def unpacked(folders: Mapping[str, str]) -> frozenset[str]:
    """The files that :func:`packed` stored."""
    return frozenset(
        f"{folder}/{name}.py" for folder, names in folders.items() for name in names.split()
    )


@cache
def code_of_structure() -> str:
    """Digest of the source that skeletons and wirings depend on."""
    import tsenet

    package = Path(tsenet.__file__).parent
    digest = hashlib.sha256()
    for folder in _STRUCTURE:
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(meaning_of(path.read_text("utf-8")).encode())
    return digest.hexdigest()[:12]


@cache
def _digest_of_file(file: str) -> str:
    path = path_of(file)
    if not path.exists():
        return "gone"
    return hashlib.sha256(meaning_of(path.read_text("utf-8")).encode()).hexdigest()


def meaning_of(source: str) -> str:
    """Source as a tree: comments, docstrings and line breaks do not count."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_docstring(part)]  # type: ignore[attr-defined]  # has a body
    return ast.dump(tree)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
