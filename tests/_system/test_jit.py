"""Kernels work without the compiler, and with a cache that is full or damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.skeleton.learning import learn, planted_rows
from tests.store.models import rows
from tsenet import TSENetClassifier, expand

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # starts processes

ADD = """
from tsenet._system.jit import kernel

@kernel
def add(a, b):
    return a + b

@kernel
def twice(a):
    return add(a, a)

print(twice(3), twice(0.5))
"""


def run(code: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *(["-c", code] if isinstance(code, str) else [str(code)])]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program with two kernels, whose cache is filled."""
    path = tmp_path / "program.py"
    path.write_text(ADD)
    assert run(path, NUMBA_CACHE_DIR=str(tmp_path / "cache")).stdout == "6 1.0\n"
    return path


def test_what_is_compiled_is_logged_once(program: Path, tmp_path: Path) -> None:
    told = "import logging; logging.basicConfig(level=logging.INFO)\n"
    seconds = "\nfrom tsenet._system.jit import compilation; print(compilation.seconds > 0)"
    program.write_text(told + ADD + seconds)

    first = run(program, NUMBA_CACHE_DIR=str(tmp_path / "other"))
    assert first.stdout == "6 1.0\nTrue\n"
    assert first.stderr.count("compiling kernels") == 1

    second = run(program, NUMBA_CACHE_DIR=str(tmp_path / "other"))
    assert second.stdout == "6 1.0\nFalse\n"
    assert "compiling" not in second.stderr


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_a_damaged_cache_is_a_warning_and_is_repaired(program: Path, kind: str) -> None:
    cache = program.parent / "cache"
    files = list(cache.rglob(kind))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:40] + b"damage")
    done = run(program, NUMBA_CACHE_DIR=str(cache))
    assert done.stdout == "6 1.0\n", done.stderr
    assert done.stderr.count("cannot be used") == 1
    again = run(program, NUMBA_CACHE_DIR=str(cache))
    assert (again.stdout, again.stderr) == ("6 1.0\n", "")


def tree_and_wiring() -> str:
    """Digits of a small tree, its wiring and its answers."""
    X = planted_rows(0, 100).astype(float)
    tree = learn(X, refine_steps=2)
    wiring = expand(tree, X, density=0.2, n_jobs=1)
    answers = tree.posterior(X[:5], n_jobs=1), tree.log_likelihood(X[:5], n_jobs=1)
    links = [layer.indices for layer in wiring.layers]
    numbers = np.concatenate([part.ravel() for part in (tree.parent, tree.cpt, *answers, *links)])
    return " ".join(f"{number:.9e}" for number in numbers)


def network(units: int, sparse: bool) -> str:
    """Digits of a small network's answers."""
    X = rows(24)
    table: Any = sp.csr_array(X) if sparse else X
    model = TSENetClassifier(
        skip_units=1,
        feature_units=2,
        max_epochs=1,
        units_per_latent=units,
        random_state=0,
        n_jobs=1,
    ).fit(table, X[:, 0].astype(int))
    answers = np.concatenate([model.decision_function(table), model.decision_function(table[[0]])])
    return " ".join(f"{number:.2f}" for number in answers)


def test_the_same_without_the_compiler() -> None:
    code = """
import warnings
warnings.simplefilter("ignore")  # uint64 arithmetic overflows on purpose
from tests._system.test_jit import network, tree_and_wiring
print(tree_and_wiring())
print(network(1, False), network(2, True), network(2, False))
"""
    done = run(code, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr
    tree, networks = done.stdout.splitlines()
    assert tree == tree_and_wiring()
    ours = f"{network(1, False)} {network(2, True)} {network(2, False)}"
    near = np.abs(np.array(networks.split(), float) - np.array(ours.split(), float))
    assert near.max() < 0.05
