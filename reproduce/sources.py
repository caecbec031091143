"""Which source files a piece of work depends on: those whose functions it calls, found by looking on while it is done.

A list of imported modules would be too long (one import loads most of the library) and would depend on what the
process did before; a list of folders stales a result when an unrelated file changes.
"""

from __future__ import annotations

import ast
import cProfile
import inspect
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["note_files", "path_of", "recorded_files"]

#: Files of these packages count; of reproduce only what fits rivals and scores them.
_ROOTS = ("tsenet/", "reproduce/rivals/", "reproduce/scoring.py")
#: Names and version, classes of errors, progress bars: no score depends on them.
_WITHOUT_SAY = ("tsenet/__init__.py", "tsenet/errors.py", "tsenet/progress.py")


class _Recording:
    def __init__(self) -> None:
        self.files: set[str] = set()
        self.profile = cProfile.Profile(subcalls=False, builtins=False)


_under_way: list[_Recording] = []


@contextmanager
def recorded_files() -> Iterator[set[str]]:
    """Record the files that the work within depends on; the set is complete when the work has ended.

    A file counts if one of its functions is called in this thread, or if a file that counts imports a constant, a
    class of mere fields or a compiled kernel from it. Recordings may be nested: the outer has the files of the inner.

    Yields
    ------
    set of str
        ``tsenet/network/links.py`` and the like.
    """
    own = _Recording()
    outer = _under_way[-1] if _under_way else None
    if outer is not None:
        outer.profile.disable()  # a thread has one profiler
    _under_way.append(own)
    own.profile.enable()
    try:
        yield own.files
    finally:
        own.profile.disable()
        _under_way.pop()
        own.files |= _with_imports(_called(own.profile))
        if outer is not None:
            outer.files |= own.files
            outer.profile.enable()


def note_files(files: Iterable[str]) -> None:
    """Add files to the recording under way: something made before is used again."""
    if _under_way:
        _under_way[-1].files.update(files)


def path_of(file: str) -> Path:
    """Where a file of a recording is."""
    package, _, rest = file.partition("/")
    return _home(package) / rest


def _called(profile: cProfile.Profile) -> set[str]:
    """Files of the functions that were called; bodies of modules and classes run when they are imported."""
    codes = (entry.code for entry in profile.getstats())
    functions = (
        code for code in codes if not isinstance(code, str) and code.co_flags & inspect.CO_OPTIMIZED
    )
    return {file for code in functions if (file := _name_of(code.co_filename)) is not None}


def _with_imports(called: set[str]) -> set[str]:
    """These files, and those that they, or these in turn, import constants, fields or kernels from.

    A function that is called has been recorded; those leave no trace, kernels as they are machine code.
    """
    found, new = set(called), set(called)
    while new:
        new = {other for file in new for other in _used_by(file)} - found
        found |= new
    return found


def _used_by(file: str) -> Iterator[str]:
    for module, name in _imports(file):
        home, value = _resolve(module, name)
        if home is None or _leaves_a_trace(value):
            continue
        other = _name_of(home.__file__ or "")
        if other is not None:
            yield other


def _leaves_a_trace(value: Any) -> bool:
    """Whether its use is recorded: a function is called, of a class some method, but for classes of mere fields."""
    if not isinstance(value, type):
        return isinstance(value, FunctionType)
    fields = is_dataclass(value) or issubclass(value, tuple | Enum)
    return not fields and any(isinstance(part, FunctionType) for part in vars(value).values())


@cache
def _imports(file: str) -> tuple[tuple[str, str], ...]:
    """Modules and names that a file imports, but for type checkers."""
    tree = ast.parse(path_of(file).read_text("utf-8"))
    found: list[tuple[str, str]] = []
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            left += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [(node.module, alias.name) for alias in node.names]
        left += ast.iter_child_nodes(node)
    return tuple(found)


def _resolve(module: str, name: str) -> tuple[ModuleType | None, Any]:
    """The module that defines what is imported by this name, and the thing; (None, None) if it is not loaded."""
    whole = sys.modules.get(f"{module}.{name}")
    if whole is not None:
        return whole, whole
    home = sys.modules.get(module)
    file = None if home is None else _name_of(getattr(home, "__file__", None) or "")
    if home is None or file is None:
        return None, None
    for further, other in _imports(file):
        if other == name:  # handed on
            return _resolve(further, name)
    return home, vars(home).get(name)


def _name_of(path: str) -> str | None:
    """``tsenet/network/links.py`` for its path; None for files that do not count."""
    for package in ("tsenet", "reproduce"):
        start = f"{_home(package)}/"
        if path.startswith(start):
            name = f"{package}/{path.removeprefix(start)}"
            counts = name.startswith(_ROOTS) and name not in _WITHOUT_SAY
            return name if counts else None
    return None


@cache
def _home(package: str) -> Path:
    found = sys.modules[package].__file__
    assert found is not None
    return Path(found).parent
