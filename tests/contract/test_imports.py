"""Who may import whom: the house plan of docs and CONTRIBUTING, read off the syntax trees."""

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
KERNEL_MODULES = [path for path in MODULES if path.stem.endswith("_kernels")]

GROUND = "ground floor"
FACE = "public face"  # tsenet/__init__.py
FLOORS = (  # lowest first: each may import itself and what stands before it
    GROUND,
    "data",
    "datasets",
    "skeleton",
    "expansion",
    "network",
    "training",
    "explain",
    "store",
    "estimators",
    FACE,
    "baselines",
    "scale",
    "cli",
)
BESIDE = {"demo": "cli", "demo_networks": "cli", "__main__": "cli"}
# save() hands an object to the public face, which knows the file format: the one step upward.
UPWARD_BY_DESIGN = {("tsenet.skeleton.tree", "tsenet"), ("tsenet.expansion.wiring", "tsenet")}
ROOT_MODULES = {path.stem for path in PACKAGE.glob("*.py")}
WITHOUT_TORCH_OR_SKLEARN = {"skeleton", "expansion"}
ALLOWED_IN_KERNELS = {"__future__", "numpy", "numba", "typing"}  # typing for NamedTuple


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


def floor_of(name: str, ground: Collection[str]) -> str | None:
    """Name the floor a dotted name stands on; ``None`` if it is not ours."""
    root, *below = name.split(".")
    if root != "tsenet":
        return None
    if not below:
        return FACE
    first = below[0]
    if below[:2] == ["_system", "warmup"]:  # it runs every stage once
        return "estimators"
    if first == "_system":
        return GROUND
    if first in BESIDE:
        return BESIDE[first]
    if first in FLOORS:
        return first
    if first in ground or (first.startswith("__") and first != "__init__"):  # __version__
        return GROUND
    return FACE  # tsenet.learn_tree and its like


def violations(
    source: str, module: str, *, is_package: bool = False, ground: Collection[str] = ROOT_MODULES
) -> list[str]:
    """List what a source imports against the house plan, one readable line each."""
    package = module if is_package else module.rpartition(".")[0]
    own = floor_of(module, ground)
    assert own is not None
    found = []
    for line, name in imports_of(source, package):
        floor = floor_of(name, ground)
        if (module, name) in UPWARD_BY_DESIGN:
            continue
        if floor is not None and FLOORS.index(floor) > FLOORS.index(own):
            found.append(f"{module}:{line} ({own}) imports {name} ({floor})")
        if own in WITHOUT_TORCH_OR_SKLEARN and name.split(".")[0] in {"torch", "sklearn"}:
            found.append(f"{module}:{line} ({own}) imports {name}")
    return found


def foreign_in_kernels(source: str, module: str) -> list[str]:
    """List what a kernel file imports beyond numpy, numba, tsenet._system.jit and other kernel files."""
    found = []
    for line, name in imports_of(source, module.rpartition(".")[0]):
        parts = name.split(".")
        ours = parts[:3] == ["tsenet", "_system", "jit"] or (
            parts[0] == "tsenet" and any(part.endswith("_kernels") for part in parts)
        )
        if parts[0] not in ALLOWED_IN_KERNELS and not ours:
            found.append(f"{module}:{line} imports {name}")
    return found


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


def test_every_folder_has_a_place_in_the_house() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in MODULES if path.parent != PACKAGE}
    assert folders
    assert folders <= {*FLOORS, "_system"}, f"not in the house plan: {folders - set(FLOORS)}"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tsenet.data.table", "from tsenet.skeleton.tree import LatentTree"),
        ("tsenet.data.table", "def f():\n    if True:\n        import tsenet.store.files"),
        ("tsenet.data.table", "from ..skeleton import tree"),
        ("tsenet.data.table", "from tsenet import skeleton"),
        ("tsenet.data.table", "from tsenet import learn_tree"),
        ("tsenet.data.table", "import tsenet"),
        ("tsenet.skeleton.hlta", "import importlib\nimportlib.import_module('tsenet.store')"),
        ("tsenet.skeleton.hlta", "from importlib import import_module as m\n__import__('torch')"),
        ("tsenet.skeleton.hlta", "def f():\n    from sklearn.metrics import mutual_info_score"),
        ("tsenet.expansion.wiring", "import torch.nn as nn"),
        ("tsenet.store.files", "from tsenet.estimators import LatentTreeTransformer"),
        ("tsenet.store.files", "from tsenet.scale import count"),
        ("tsenet.estimators", "import tsenet.scale"),
        ("tsenet.estimators", "from tsenet.demo import main"),
        ("tsenet.errors", "from tsenet.data import Table"),
        ("tsenet._system.jit", "from tsenet.skeleton import tree"),
        ("tsenet", "from tsenet.cli import main"),
    ],
)
def test_checker_catches(module: str, source: str) -> None:
    is_package = module == "tsenet"
    assert violations(source, module, is_package=is_package, ground={"errors", "jit"})


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tsenet.skeleton.hlta", "from tsenet.data import Table\nfrom tsenet import errors, jit"),
        ("tsenet.skeleton.hlta", "from .tree import LatentTree\nfrom ..data import Table"),
        ("tsenet.skeleton.hlta", "from tsenet.skeleton.tree import LatentTree\nimport scipy"),
        (
            "tsenet.store.files",
            "from tsenet import __version__\nfrom tsenet.errors import DataError",
        ),
        ("tsenet.estimators", "import sklearn\nfrom tsenet.store import save"),
        ("tsenet.scale.counts", "from tsenet.store import save\nimport dask"),
        (
            "tsenet.cli",
            "import tsenet\nfrom tsenet import learn_tree\nfrom tsenet.scale import count",
        ),
        ("tsenet._system.threads", "from tsenet.errors import DataError"),
    ],
)
def test_checker_allows(module: str, source: str) -> None:
    assert violations(source, module, ground={"errors", "jit", "threads"}) == []


@pytest.mark.parametrize("path", KERNEL_MODULES, ids=module_name)
def test_kernel_files_import_only_numpy_and_numba(path: Path) -> None:
    found = foreign_in_kernels(path.read_text("utf-8"), module_name(path))
    assert not found, "\n".join(found)


def test_there_are_kernel_files() -> None:
    assert KERNEL_MODULES


def test_kernel_checker_catches_and_allows() -> None:
    allowed = (
        "from __future__ import annotations\nimport numba\nimport numpy.typing as npt\n"
        "from tsenet._system.jit import kernel\nfrom tsenet.data._row_kernels import pack\n"
        "from tsenet.skeleton import _pair_kernels\nfrom . import _em_kernels\n"
    )
    module = "tsenet.skeleton._island_kernels"
    assert foreign_in_kernels(allowed, module) == []
    for foreign in ("import scipy", "from tsenet.data import Table", "from . import tree"):
        assert foreign_in_kernels(foreign, module), foreign


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


@pytest.mark.parametrize("module", ["tsenet", "tsenet.data", "tsenet.datasets"])
def test_import_is_light(module: str) -> None:
    assert heavy_modules_after(f"import {module}") == []


def test_probe_sees_a_heavy_import() -> None:
    assert "numba" in heavy_modules_after("import tsenet, numba")
