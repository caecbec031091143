"""The kernels are plain Python: with numba's compiler switched off they learn the same tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.skeleton.learning import learn, planted_rows
from tsenet.expansion.expand import expand

ROOT = Path(__file__).parents[2]


def outcome() -> str:
    """Digits of a small tree, its wiring and its answers."""
    X = planted_rows(0, 100).astype(float)
    tree = learn(X, refine_steps=2)
    wiring = expand(tree, X, density=0.2, n_jobs=1)
    answers = tree.posterior(X[:5], n_jobs=1), tree.log_likelihood(X[:5], n_jobs=1)
    links = [layer.indices for layer in wiring.layers]
    numbers = np.concatenate([part.ravel() for part in (tree.parent, tree.cpt, *answers, *links)])
    return " ".join(f"{number:.9e}" for number in numbers)


def test_the_same_tree_without_the_compiler() -> None:
    code = "from tests.skeleton.test_without_jit import outcome; print(outcome())"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],  # uint64 arithmetic overflows on purpose
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == outcome()
