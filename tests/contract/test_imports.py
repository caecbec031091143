"""Which package may import which, and that none uses private names of another, read off the syntax trees."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "tsenet"
MODULES = sorted(PACKAGE.rglob("*.py"))

BASE = "base"
PUBLIC = "public names"  # tsenet/__init__.py
PACKAGES = (  # lowest first: each may import itself and what stands before it
    BASE,
    "data",
    "scale",
    "skeleton",
    "expansion",
    "network",
    "training",
    "explain",
    "store",
    "estimators",
    PUBLIC,
    "cli",
)
BESIDE = {"__main__": "cli"}
# save() hands an object to the public names, which knows the file format: the one step upward of the stages.
UPWARD_BY_DESIGN = {
    ("tsenet.skeleton.tree", "tsenet"),
    ("tsenet.expansion.wiring", "tsenet"),
}
ROOT_MODULES = {path.stem for path in PACKAGE.glob("*.py")}
WITHOUT_TORCH_OR_SKLEARN = {"skeleton", "expansion"}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything a source imports, at any depth and in any branch.

    ``package`` is the package the source lives in; relative imports start there.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield node.lineno, alias.name
            case ast.ImportFrom():
                base = node.module or ""
                if node.level:
                    parents = package.split(".")
                    kept = parents[: len(parents) - node.level + 1]
                    base = ".".join([*kept, base] if base else kept)
                for alias in node.names:
                    yield node.lineno, f"{base}.{alias.name}"
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def package_of(name: str, base: Collection[str]) -> str | None:
    """Name the package a dotted name belongs to; ``None`` if it is not ours."""
    root, *below = name.split(".")
    if root != "tsenet":
        return None
    if not below:
        return PUBLIC
    first = below[0]
    if below[:2] == ["_system", "warmup"]:  # it runs every stage once
        return "estimators"
    if first == "_system":
        return BASE
    if first in BESIDE:
        return BESIDE[first]
    if first in PACKAGES:
        return first
    if first in base or (first.startswith("__") and first != "__init__"):  # __version__
        return BASE
    return PUBLIC  # tsenet.learn_tree and its like


def violations(
    source: str, module: str, *, is_package: bool = False, base: Collection[str] = ROOT_MODULES
) -> list[str]:
    """List what a source imports against the import order, one readable line each."""
    package = module if is_package else module.rpartition(".")[0]
    own = package_of(module, base)
    assert own is not None
    found = []
    for line, name in imports_of(source, package):
        of_name = package_of(name, base)
        if (module, name) in UPWARD_BY_DESIGN:
            continue
        if of_name is not None and PACKAGES.index(of_name) > PACKAGES.index(own):
            found.append(f"{module}:{line} ({own}) imports {name} ({of_name})")
        if own in WITHOUT_TORCH_OR_SKLEARN and name.split(".")[0] in {"torch", "sklearn"}:
            found.append(f"{module}:{line} ({own}) imports {name}")
    return found


OF_NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make"}
OF_PYTHON = {"_exit"}  # os._exit is documented
OF_TORCH = {
    "_version"
}  # a tensor's count of changes in place, which torch documents under this name


def package_folder(path: Path) -> str:
    """The package a module belongs to; the modules of the root are one of their own."""
    first, *rest = path.relative_to(PACKAGE).parts
    return first if rest else ""


def private_names(source: str) -> set[str]:
    """Underscored names that a source defines: functions, classes, variables, attributes."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def foreign_private_access(source: str, module: str, own: Collection[str]) -> list[str]:
    """List where a source uses private names that its own package does not define.

    ``own`` are the private names of its package; modules of other packages that begin with ``_`` are private too.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=name, lineno=line):
                private = name.startswith("_") and not name.startswith("__")
                if private and name not in {*own, *OF_NAMED_TUPLES, *OF_TORCH, *OF_PYTHON}:
                    found.append(f"{module}:{line} uses ._{name.lstrip('_')}")
    package = module.split(".")[1] if "." in module else ""
    for line, name in imports_of(source, module.rpartition(".")[0]):
        root, *parts = name.split(".")
        below = parts[1:] if parts[:1] == ["_system"] else parts
        private = any(part.startswith("_") and not part.startswith("__") for part in below)
        if root == "tsenet" and private and parts[0] != package:
            found.append(f"{module}:{line} imports {name}")
    return found


def test_no_package_uses_private_names_of_another() -> None:
    own: dict[str, set[str]] = {}
    for path in MODULES:
        own.setdefault(package_folder(path), set()).update(private_names(path.read_text("utf-8")))
    found = [
        line
        for path in MODULES
        for line in foreign_private_access(
            path.read_text("utf-8"), module_name(path), own[package_folder(path)]
        )
    ]
    assert not found, "\n".join(found)


def test_imports_go_one_way() -> None:
    found = [
        line
        for path in MODULES
        for line in violations(
            path.read_text("utf-8"), module_name(path), is_package=path.stem == "__init__"
        )
    ]
    assert MODULES
    assert not found, "\n".join(found)


def test_every_folder_has_a_place_in_the_import_order() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in MODULES if path.parent != PACKAGE}
    assert folders
    assert folders <= {*PACKAGES, "_system"}, f"not in the import order: {folders - set(PACKAGES)}"


HEAVY = ("torch", "numba", "sklearn", "pandas", "polars", "matplotlib")


def heavy_modules_after(statement: str) -> list[str]:
    """Which heavy packages a fresh interpreter holds after a statement."""
    report = f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    probe = f"import json, sys\n{statement}\n{report}"
    run = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return list(json.loads(run.stdout))


@pytest.mark.parametrize("module", ["tsenet", "tsenet.data"])
def test_import_is_light(module: str) -> None:
    assert heavy_modules_after(f"import {module}") == []
