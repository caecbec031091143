"""After `warmup` a first fit and a first prediction compile nothing: counted in a new process.

A kernel is compiled, or read from the cache, once for each signature. What counts is that a fit needs no signature that
`warmup` has not had; so the cache may hold what other tests have compiled, and nothing is compiled twice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tsenet

PROGRAM = """
import gc
import json
import numpy as np
import scipy.sparse as sp
from numba.core.dispatcher import Dispatcher
import tsenet

def signatures():
    kernels = [found for found in gc.get_objects() if issubclass(type(found), Dispatcher)]
    return {
        f"{kernel.py_func.__qualname__}{signature}"
        for kernel in kernels
        if kernel.py_func.__module__.startswith("tsenet.")
        for signature in kernel.signatures
    }

tsenet.warmup()
known = signatures()
counts = {"warmup": len(known)}

rng = np.random.default_rng(1)
cause = rng.random((150, 12)) < 0.3
words = np.repeat(cause, 4, axis=1) & (rng.random((150, 48)) < 0.8)
bag = sp.csr_matrix(words * rng.poisson(2, words.shape))
wide = sp.csr_array((bag.data.astype(float), bag.indices.astype(np.int64), bag.indptr.astype(np.int64)))
table = rng.standard_normal((150, 48)) + 2 * cause[:, :1]
frozen = table.astype(np.float32)
frozen.setflags(write=False)
classes, numbers = cause[:, 0].astype(int) + cause[:, 1], rng.standard_normal(150)

def check(name, kind, X, y, **options):
    model = kind(max_epochs=2, random_state=0, **options).fit(X, y)
    model.predict(X)
    model.predict(X[:1])
    model.transform(X[:3])
    if hasattr(model, "predict_proba"):
        model.predict_proba(X[:1])
    counts[name] = sorted(signatures() - known)
    known.update(signatures())

Classifier, Regressor = tsenet.TSENetClassifier, tsenet.TSENetRegressor
check("sparse, classes", Classifier, bag, classes)
check("sparse with 64-bit indices, two classes", Classifier, wide, classes > 0)
check("sparse, drawn weights", Classifier, bag, classes, init="random", linear_skip=False)
check("sparse, numbers", Regressor, bag, numbers)
check("dense, classes", Classifier, table, classes)
check("dense, few links", Classifier, table, classes, density=0.1)
check("dense, not writable", Classifier, frozen, classes)
check("dense booleans", Classifier, words, classes)
check("dense, numbers", Regressor, table, numbers)
print(json.dumps(counts))
"""


def run(program: str) -> str:
    source = Path(tsenet.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.slow
def test_after_warmup_a_first_fit_and_prediction_compile_nothing() -> None:
    counts = json.loads(run(PROGRAM))

    assert counts.pop("warmup") > 5
    assert len(counts) == 9
    assert counts == {name: [] for name in counts}


def test_without_networks_torch_is_not_loaded() -> None:
    program = "import sys, tsenet; tsenet.warmup(network=False); print('torch' in sys.modules)"

    assert run(program).strip() == "False"
