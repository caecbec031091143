"""Change modules in small ways and see whether their tests notice: ``make mutation``.

cosmic-ray makes the mutants: another operator, number or comparison, a loop that never runs, and so on. Those that
change annotations only are left out, and of the others a seeded sample is tried. Each is written into a copy of the
tree, and the module's tests run on it in a process forked from one that has loaded the heavy packages already, so that
a mutant takes about a second. Kernels run as plain Python (``NUMBA_DISABLE_JIT=1``), as compiled ones would hide that
they have changed.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "src/tsenet"
#: Modules, and the tests that check them.
TESTED = {
    "data/order": "tests/data/test_order.py",
    "data/scaling": "tests/data/test_scaling.py",
    "skeleton/layers": "tests/skeleton/test_layers.py",
    "skeleton/chow_liu": "tests/skeleton/test_chow_liu.py",
    "expansion/wiring": "tests/expansion/test_wiring.py",
    "training/loop": "tests/training/test_loop.py",
}
_HEAVY = (
    "hypothesis",
    "numba",
    "pandas",
    "pytest",
    "scipy.sparse",
    "scipy.special",
    "sklearn.metrics",
    "torch",
)
_PER_MODULE = 20
# Of CPU time, until a mutant counts as endless; ten times what its tests take, if that is more.
_LEAST_SECONDS = 20
_NEEDED = 0.85
_NOT_RUN = 99


class Mutant(NamedTuple):
    """A module with one change."""

    operator: str
    line: int
    code: str


class Outcome(NamedTuple):
    """What became of the mutants of a module."""

    module: str
    n_mutants: int  # all that cosmic-ray makes, also of annotations
    n_tried: int
    survivors: list[tuple[int, str]]  # line and difference
    seconds: float  # of CPU time


def mutants_of(path: Path, draw: random.Random) -> tuple[int, Iterator[Mutant]]:
    """How many mutants of a module there are; and, in a random order, those whose meaning differs from it."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    source = path.read_text("utf-8")
    nodes = list(ast_nodes(get_ast(source)))
    operators = {
        name.removeprefix("core/"): get_operator(name)()
        for name in sorted(operator_names())
        if not get_operator(name).arguments()
    }
    places = []
    for name, operator in operators.items():
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        places += [(name, occurrence, line) for occurrence, (line, _) in enumerate(starts)]
    draw.shuffle(places)

    def made() -> Iterator[Mutant]:
        meaning = _meaning(source)
        for name, occurrence, line in places:
            code = mutate_code(source, operators[name], occurrence)
            if code is not None and _meaning(code) != meaning:
                yield Mutant(name, line, code)

    return len(places), made()


def _meaning(source: str) -> str:
    """The syntax tree without annotations, which nothing evaluates, and docstrings."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source  # a mutant that does not compile is killed by any test
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def copy_of_tree(folder: Path) -> None:
    """Copy the files that git knows, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("docs/results/"):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)


def passes(tree: Path, tests: str, seconds: int) -> tuple[bool, float]:
    """Whether the tests pass on the tree as it is, within some seconds of CPU time, and how many they took."""
    child = os.fork()
    if child == 0:
        _run_tests(tree, tests, seconds)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == _NOT_RUN:
        raise RuntimeError("the tests could not be started")
    return code == 0, used.ru_utime + used.ru_stime


def _run_tests(tree: Path, tests: str, seconds: int) -> None:
    """Run pytest in this process, a child, and end it."""
    code = _NOT_RUN
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        os.chdir(tree)
        sys.path[:0] = [str(tree / "src"), str(tree)]
        import pytest

        options = (
            "-x -q -p no:cacheprovider -p _hypothesis_pytestplugin -W ignore --hypothesis-seed=0"
        )
        code = int(pytest.main([*options.split(), *tests.split()]))
    finally:
        os._exit(code)


def try_module(tree: Path, module: str, tests: str, n_tried: int, seed: int) -> Outcome:
    """Try a sample of a module's mutants."""
    path = tree / SOURCE / f"{module}.py"
    original = path.read_text("utf-8")
    passes(tree, tests, 600)  # compiles all modules to bytecode
    passed, seconds = passes(tree, tests, 600)
    if not passed:
        sys.exit(f"the tests of {module} fail as it is: {tests}")
    limit = max(_LEAST_SECONDS, round(10 * seconds))
    n_mutants, found = mutants_of(path, random.Random(f"{seed} {module}"))
    sample = list(islice(found, n_tried))
    survivors, used = [], 0.0
    try:
        for mutant in sorted(sample):
            _write(path, mutant.code)
            passed, seconds = passes(tree, tests, limit)
            used += seconds
            if passed:
                survivors.append((mutant.line, _difference(original, mutant.code)))
    finally:
        _write(path, original)
    return Outcome(module, n_mutants, len(sample), survivors, used)


def _write(path: Path, code: str) -> None:
    """Write a module, and delete its bytecode: another mutant of the same second and size would be taken for it."""
    path.write_text(code, "utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()


def _difference(before: str, after: str) -> str:
    """The lines that differ."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))


def _load_heavy_packages() -> None:
    """What a child would load anew for each mutant; nothing of tsenet, which is what changes."""
    for name in _HEAVY:
        import_module(name)


def main(arguments: list[str] | None = None) -> int:
    """Try the modules; 1 if too few mutants are noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help=f"default: {' '.join(TESTED)}")
    parser.add_argument("--tests", help="tests of the one module given, if it is none of these")
    parser.add_argument("--mutants", type=int, default=_PER_MODULE, help="of each module, at most")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--json", type=Path, help="file for the outcomes")
    chosen = parser.parse_args(arguments)
    pairs = {name: chosen.tests or TESTED[name] for name in chosen.modules or TESTED}
    os.environ.update(
        NUMBA_DISABLE_JIT="1", OMP_NUM_THREADS="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )
    _load_heavy_packages()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        tree = Path(folder)
        copy_of_tree(tree)
        os.environ["PYTHONPATH"] = f"{tree / 'src'}{os.pathsep}{tree}"
        for module, tests in pairs.items():
            outcome = try_module(tree, module, tests, chosen.mutants, chosen.seed)
            outcomes.append(outcome)
            _say(outcome)
    if chosen.json is not None:
        fields: list[dict[str, Any]] = [outcome._asdict() for outcome in outcomes]
        chosen.json.write_text(json.dumps(fields, indent=1), "utf-8")
    n_tried = sum(outcome.n_tried for outcome in outcomes)
    n_alive = sum(len(outcome.survivors) for outcome in outcomes)
    share = 1 - n_alive / max(1, n_tried)
    print(f"{n_tried - n_alive} of {n_tried} mutants were noticed ({share:.0%})")
    return 0 if share >= _NEEDED else 1


def _say(outcome: Outcome) -> None:
    n_killed = outcome.n_tried - len(outcome.survivors)
    print(
        f"{outcome.module}: {n_killed} of {outcome.n_tried} noticed, of {outcome.n_mutants} in all, "
        f"{outcome.seconds:.0f} CPU s",
        flush=True,
    )
    for line, difference in outcome.survivors:
        print(f"  line {line}\n    " + difference.replace("\n", "\n    "), flush=True)


if __name__ == "__main__":
    sys.exit(main())
