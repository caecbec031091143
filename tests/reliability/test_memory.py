"""Training on a large sparse table never makes it dense: asserted under a limit of the operating system.

The program first measures what Python with torch and numba needs at rest, then allows itself ``ROOM`` more: a fifth of
what a dense float32 copy of the table needs, and less than one with a byte per entry.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

N_ROWS, N_COLUMNS, PER_ROW = 100_000, 10_000, 25
DENSE_BYTES = 4 * N_ROWS * N_COLUMNS
ROOM = 800_000_000
FEW_THREADS = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}  # a thread's stack counts too

LIMIT = """
import json, resource, sys

def in_use(field):
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field))

def limit(room):
    # RLIMIT_DATA: private memory that can be written, so not the libraries torch maps
    allowed = in_use("VmData:") + room
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
"""

TABLE = """
import numpy as np, scipy.sparse as sp

def table(n_rows, n_columns, per_row):
    rng = np.random.default_rng(0)
    columns = rng.integers(n_columns, size=n_rows * per_row, dtype=np.int32)
    start = np.arange(0, n_rows * per_row + 1, per_row)
    values = rng.integers(1, 4, size=columns.size).astype(np.float32)
    return sp.csr_array((values, columns, start), shape=(n_rows, n_columns))
"""

TRAIN = """
import torch
from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.network.inputs import Inputs
from tsenet.network.tsenet import TSENet
from tsenet.training.loop import Engine
from tsenet.training.examples import Examples
from tsenet.training.losses import MulticlassLoss

n_rows, n_columns, per_row, room = json.load(sys.stdin)
limit(room)

X = table(n_rows, n_columns, per_row)
y = np.arange(n_rows) % 4
rng = np.random.default_rng(1)

def layer(n_lower, n_upper, per_unit):
    links = [np.sort(rng.choice(n_lower, per_unit, replace=False)) for _ in range(n_upper)]
    n_links = n_upper * per_unit
    start = np.arange(0, n_links + 1, per_unit)
    no_tree = np.zeros(n_links, bool)
    return WiringLayer(start, np.concatenate(links), no_tree, n_lower)

sizes = (n_columns, 1300, 250)
wiring = Wiring(
    (layer(sizes[0], sizes[1], 100), layer(sizes[1], sizes[2], 65)),
    [[f"{k}.{j}" for j in range(size)] for k, size in enumerate(sizes)],
    "random",
)
read = Table.of(X)
inputs = Inputs.of(read, BinaryRule.learn(read))
net = TSENet(wiring, 4)
engine = Engine(net, MulticlassLoss(4), n_jobs=2)
everything = Examples(inputs, np.arange(n_rows), y)
losses = []
for step, start in enumerate(range(0, n_rows, n_rows // 10)):
    batch = everything.take(np.arange(start, start + 2000))
    losses.append(engine.step(batch, 1e-3, step))
outputs = engine.outputs(inputs, np.arange(len(inputs)))
print(json.dumps({
    "is_sparse": inputs.is_sparse,
    "n_steps": len(losses),
    "finite": bool(np.isfinite(losses).all() and np.isfinite(outputs).all()),
    "shape": outputs.shape,
    # not ru_maxrss, which a new process inherits from the one that starts it
    "peak_resident": in_use("VmHWM:"),
}))
"""

DENSE = """
import torch, numba
n_rows, n_columns, per_row, room = json.load(sys.stdin)
limit(room)
X = table(n_rows, n_columns, per_row)
part = X[: n_rows // 20].toarray()
try:
    whole = X.toarray()
except MemoryError:
    print(json.dumps({"part": part.nbytes, "whole": "refused"}))
else:
    print(json.dumps({"part": part.nbytes, "whole": whole.nbytes}))
"""


def answer_of(program: str) -> dict[str, Any]:
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", LIMIT + TABLE + program],
        env={**os.environ, **FEW_THREADS},
        input=json.dumps([N_ROWS, N_COLUMNS, PER_ROW, ROOM]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    answer: dict[str, Any] = json.loads(finished.stdout)
    return answer


def test_training_and_prediction_never_hold_a_dense_copy() -> None:
    answer = answer_of(TRAIN)

    assert answer["is_sparse"]
    assert answer["finite"]
    assert answer["n_steps"] == 10
    assert answer["shape"] == [N_ROWS, 4]
    assert answer["peak_resident"] < DENSE_BYTES / 2


def test_the_limit_would_have_caught_a_dense_copy() -> None:
    answer = answer_of(DENSE)

    assert answer == {"part": DENSE_BYTES // 20, "whole": "refused"}
    assert ROOM < N_ROWS * N_COLUMNS < DENSE_BYTES
