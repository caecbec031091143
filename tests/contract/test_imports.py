"""Which package may import which, and that none uses private names of another, read off the syntax trees."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import QUICK
from tsenet import TSENetClassifier

PACKAGE = Path(__file__).parents[2] / "src" / "tsenet"
SOURCES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}

BASE = ("_system", "errors", "progress", "__version__")  # every folder may import these
# Lowest first: each may import itself and what stands before it. "" is tsenet/__init__.py.
ORDER = ["data", "skeleton", "expansion", "network", "training", "topics", "explain", "store"]
ORDER += ["estimators", "", "labelling", "cli"]
# save() hands an object to the public names, which know the file format: the one step upward of the stages.
UPWARD_BY_DESIGN = {("skeleton/tree.py", "tsenet"), ("expansion/wiring.py", "tsenet")}
WITHOUT_TORCH_OR_SKLEARN = {"skeleton", "expansion", "topics"}
# Documented in spite of their names: of named tuples, of Python, and a tensor's count of changes in place.
DOCUMENTED = {"_replace", "_asdict", "_fields", "_make", "_exit", "_version", "_validate_params"}


def place(*parts: str) -> str:
    """The folder of a module of ours, or of an imported name, given by its path below ``tsenet``."""
    if parts[:2] == ("_system", "warmup"):  # it runs every stage once
        return "estimators"
    first = parts[0] if parts else ""
    if first == "__main__":
        return "cli"
    return first if first in (*BASE, *ORDER) else ""  # else tsenet.learn_tree and its like


def rank(folder: str) -> int:
    return -1 if folder in BASE else ORDER.index(folder)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def imports_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything a source imports, at any depth and in any branch."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def test_imports_go_one_way() -> None:
    found = []
    for path, tree in SOURCES.items():
        module = path.relative_to(PACKAGE)
        own = place(*module.with_suffix("").parts)
        for line, name in imports_of(tree):
            root, *below = name.split(".")
            upward = root == "tsenet" and rank(place(*below)) > rank(own)
            heavy = root in {"torch", "sklearn"} and own in WITHOUT_TORCH_OR_SKLEARN
            if (upward or heavy) and (module.as_posix(), name) not in UPWARD_BY_DESIGN:
                found.append(f"{module}:{line} imports {name}")
    assert SOURCES
    assert not found, "\n".join(found)


def test_every_folder_has_a_place_in_the_import_order() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in SOURCES if path.parent != PACKAGE}
    assert folders
    assert folders <= {*ORDER, *BASE}


def test_no_package_uses_private_names_of_another() -> None:
    defined: dict[str, set[str]] = defaultdict(set)  # private names by folder
    used: dict[str, set[tuple[str, str]]] = defaultdict(
        set
    )  # and where attributes of them are read
    found = []
    for path, tree in SOURCES.items():
        module = path.relative_to(PACKAGE)
        own = module.parts[0] if len(module.parts) > 1 else ""
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    defined[own].add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    defined[own].add(name)
                case ast.Attribute(value=ast.Name(id="self" | "cls")):
                    pass
                case ast.Attribute(attr=name, lineno=line) if is_private(name):
                    used[own].add((name, f"{module}:{line} uses .{name}"))
        for line, name in imports_of(tree):
            root, *below = name.split(".")
            private = any(is_private(part) for part in below if part != "_system")
            if root == "tsenet" and private and below[0] != own:
                found.append(f"{module}:{line} imports {name}")
    for own, names in used.items():
        found += [text for name, text in names if name not in defined[own] | DOCUMENTED]
    assert any(used.values())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", ["tsenet", "tsenet.data"])
def test_import_is_light(module: str) -> None:
    """Which heavy packages a fresh interpreter holds afterwards."""
    heavy = ("torch", "numba", "sklearn", "pandas", "polars", "matplotlib")
    report = f"print(json.dumps([name for name in {heavy!r} if name in sys.modules]))"
    probe = f"import json, sys\nimport {module}\n{report}"
    run = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == []


def test_a_topic_model_is_imported_without_numba_and_pandas() -> None:
    """Only learning needs numba; pandas and scipy.stats would come with scikit-learn."""
    assert _loaded_by("from tsenet import TopicModel") == []


def test_a_service_loads_neither_numba_nor_pandas(tmp_path: Path) -> None:
    """Up to 64 rows are predicted with NumPy; the vectorizer is scikit-learn's."""
    path = tmp_path / "model.tsenet"
    texts = ["a good film", "a bad film", "good acting, good plot", "bad acting, bad plot"] * 10
    TSENetClassifier(max_epochs=1, **QUICK).fit(texts, [1, 0] * 20).save(path)
    code = f"import tsenet; tsenet.load({str(path)!r}).predict(['a good film'] * 64)"
    assert _loaded_by(code) == []


def _loaded_by(code: str) -> list[str]:
    """Which heavy packages a fresh interpreter holds after some code."""
    heavy = ("torch", "numba", "pandas", "scipy.stats", "matplotlib")
    probe = f"import sys\n{code}\nprint(*(name for name in {heavy!r} if name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_no_two_modules_have_one_name() -> None:
    """A name in a traceback or an editor's tab says which module it is."""
    names = Counter(path.stem for path in SOURCES if path.stem != "__init__")
    assert [name for name, count in names.items() if count > 1] == []
