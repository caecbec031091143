"""After `warmup` a first fit and a first prediction compile nothing: counted in a new process with an empty cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tsenet

PROGRAM = """
import json
import numpy as np
import scipy.sparse as sp
from numba.core import event
import tsenet

class Compiled(event.Listener):
    names = []
    def on_start(self, found):
        self.names.append(found.data["dispatcher"].py_func.__qualname__)
    def on_end(self, found):
        pass

event.register("numba:compile", Compiled())
tsenet.warmup()
counts = {"warmup": len(Compiled.names)}
Compiled.names.clear()

rng = np.random.default_rng(1)
cause = rng.random((400, 12)) < 0.3
words = np.repeat(cause, 4, axis=1) & (rng.random((400, 48)) < 0.8)
bag = sp.csr_matrix(words * rng.poisson(2, words.shape))
wide = sp.csr_array((bag.data.astype(float), bag.indices.astype(np.int64), bag.indptr.astype(np.int64)))
table = rng.standard_normal((400, 48)) + 2 * cause[:, :1]
frozen = table.astype(np.float32)
frozen.setflags(write=False)
classes, numbers = cause[:, 0].astype(int) + cause[:, 1], rng.standard_normal(400)

def check(name, kind, X, y, **options):
    model = kind(max_epochs=2, random_state=0, **options).fit(X, y)
    model.predict(X)
    model.predict(X[:1])
    model.transform(X[:3])
    if hasattr(model, "predict_proba"):
        model.predict_proba(X[:1])
    counts[name] = list(Compiled.names)
    Compiled.names.clear()

Classifier, Regressor = tsenet.TSENetClassifier, tsenet.TSENetRegressor
check("sparse, classes", Classifier, bag, classes)
check("sparse with 64-bit indices, two classes", Classifier, wide, classes > 0)
check("sparse, drawn weights", Classifier, bag, classes, init="fan-in", linear_skip=False)
check("sparse, numbers", Regressor, bag, numbers)
check("dense, classes", Classifier, table, classes)
check("dense, few links", Classifier, table, classes, density=0.1, activation="tanh")
check("dense, not writable", Classifier, frozen, classes)
check("dense booleans", Classifier, words, classes)
check("dense, numbers", Regressor, table, numbers)
check("batch normalisation", Classifier, bag, classes, norm="batch")
print(json.dumps(counts))
"""


def run(program: str, **variables: str) -> str:
    source = Path(tsenet.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(source), **variables}
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
def test_after_warmup_a_first_fit_and_prediction_compile_nothing(tmp_path: Path) -> None:
    counts = json.loads(run(PROGRAM, NUMBA_CACHE_DIR=str(tmp_path)))

    assert counts.pop("warmup") > 20  # the cache was empty, and compilations are counted
    assert counts == {name: [] for name in counts}


def test_without_networks_torch_is_not_loaded() -> None:
    program = "import sys, tsenet; tsenet.warmup(network=False); print('torch' in sys.modules)"

    assert run(program).strip() == "False"
