"""CPU seconds of a default fit, next to logistic regression or next to another checkout of the project.

Every fit runs in a process of its own, on one thread, after an untimed fit on a few rows has loaded or compiled the
kernels. With another checkout the two take turns, so that both meet the same load of the machine.
"""

from __future__ import annotations

import inspect
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).parents[1]
#: Case: data set and number of labels (None: every row has one).
CASES: dict[str, tuple[str, int | None]] = {
    "stackoverflow": ("stackoverflow", None),
    "20newsgroups-400": ("20newsgroups", 400),
    "many-classes": ("many classes", None),
    "ag_news": ("ag_news", None),
    "digits": ("digits", None),
    "mnist": ("mnist", None),
}
MANY = ("stackoverflow", "20newsgroups", "dbpedia")  # their classes together are the many classes
MANY_ROWS = 6_500
WARM_UP_ROWS = 300
PENALTIES = np.logspace(-1, 3, 5)


def run(against: Path | None, only: list[str], repeats: int) -> str:
    """One row per case: CPU seconds of this checkout, of the other side, and their ratio."""
    from reproduce.markdown import table

    unknown = sorted(set(only) - set(CASES))
    if unknown:
        raise SystemExit(f"unknown case {unknown[0]!r}: choose from {', '.join(CASES)}")
    rival = "LR, CPU s" if against is None else f"{against.name}, CPU s"
    head = ["case", "rows", "classes", "this, CPU s", rival, "ratio", "accuracy", "other's", "MB"]
    body = []
    with tempfile.TemporaryDirectory() as scratch:
        for case in only or CASES:
            path = Path(scratch) / f"{case}.npz"
            size = _prepare(case, path)
            ours: list[dict[str, float]] = []
            theirs: list[dict[str, float]] = []
            for _ in range(repeats):
                ours.append(_in_process(ROOT, path, "tsenet"))
                other = (ROOT, path, "lr") if against is None else (against, path, "tsenet")
                theirs.append(_in_process(*other))
            cpu = [statistics.median(one["cpu"] for one in side) for side in (ours, theirs)]
            body.append(
                [
                    *(case, f"{size[0]:,}", size[1], f"{cpu[0]:.2f}", f"{cpu[1]:.2f}"),
                    f"{cpu[0] / cpu[1]:.2f}",
                    *(f"{100 * side[0]['accuracy']:.2f}" for side in (ours, theirs)),
                    f"{ours[0]['peak'] / 1e6:.0f}",
                ]
            )
            print(*body[-1], flush=True)
    return table(head, body)


def _prepare(case: str, path: Path) -> tuple[int, int]:
    """Save the rows of a case for both sides; return the number of rows and of classes."""
    name, n_labels = CASES[case]
    X, y, X_held, y_held = _rows(name)
    known = np.arange(y.size)
    if n_labels is not None:
        known = np.random.default_rng(0).permutation(y.size)[:n_labels]
    few = np.full(y.size, -1)
    few[known] = y[known]
    arrays: dict[str, Any] = {"y": few, "y_held": y_held}
    for part, values in (("X", X), ("X_held", X_held)):
        if sp.issparse(values):
            fields = ("data", "indices", "indptr", "shape")
            arrays |= {f"{part}_{field}": getattr(values, field) for field in fields}
        else:
            arrays[part] = values
    np.savez(path, **arrays)
    return y.size, int(np.unique(y).size)


def _rows(name: str) -> tuple[Any, Any, Any, Any]:
    """Return rows to fit, their classes, rows to score and theirs; no test rows."""
    from sklearn.model_selection import train_test_split

    from reproduce.data import count_words, fold_of, load

    if name != "many classes":
        fold = fold_of(name, "validation", 0)
        return fold.X, fold.y.astype(int), fold.X_held, fold.y_held.astype(int)
    parts = [(one, load(one, "train")) for one in MANY]
    texts = np.array([text for _, part in parts for text in part.X], dtype=object)
    classes = [f"{one} {label}" for one, part in parts for label in part.y.tolist()]
    codes = np.unique(classes, return_inverse=True)[1]
    options = {
        "train_size": MANY_ROWS,
        "test_size": MANY_ROWS,
        "stratify": codes,
        "random_state": 0,
    }
    fit, held = train_test_split(np.arange(codes.size), **options)
    X, X_held, _ = count_words(texts[fit].tolist(), texts[held].tolist())
    return X, codes[fit], X_held, codes[held]


def _in_process(root: Path, path: Path, method: str) -> dict[str, float]:
    """Fit with the code of a checkout in a fresh interpreter."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root.resolve() / "src"), str(ROOT)]),
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    command = [sys.executable, "-m", "benchmarks.fit", str(path), method]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"the fit with {root} ended with status {done.returncode}")
    report: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return report


# ---- in the process of one fit: nothing here may depend on one version of tsenet


def _fit(path: str, method: str) -> dict[str, float]:
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    with np.load(path) as file:
        arrays = dict(file)
    y, y_held = arrays["y"], arrays["y_held"]
    X, X_held = _matrix(arrays, "X"), _matrix(arrays, "X_held")
    if method == "lr":
        X, y = X[y >= 0], y[y >= 0]
    with threadpool_limits(1):
        _model(method).fit(X[:WARM_UP_ROWS], np.arange(min(WARM_UP_ROWS, y.size)) % 3)
        start = time.process_time()
        model = _model(method).fit(X, y)
        cpu = time.process_time() - start
    accuracy = float(np.mean(model.predict(X_held) == y_held))
    return {"cpu": cpu, "accuracy": accuracy, "peak": _peak_bytes()}


def _model(method: str) -> Any:
    if method == "lr":
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.pipeline import make_pipeline

        from reproduce.rivals import Features

        rival = LogisticRegressionCV(
            Cs=PENALTIES, cv=3, max_iter=200, scoring="neg_log_loss", use_legacy_attributes=False
        )
        return make_pipeline(Features(), rival)
    import tsenet

    options: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
    if "unlabeled" in inspect.signature(tsenet.TSENetClassifier).parameters:
        options["unlabeled"] = -1
    return tsenet.TSENetClassifier(**options)


def _matrix(arrays: dict[str, Any], name: str) -> Any:
    if name in arrays:
        return arrays[name]
    values = tuple(arrays[f"{name}_{field}"] for field in ("data", "indices", "indptr"))
    return sp.csr_array(values, shape=tuple(arrays[f"{name}_shape"]))


def _peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    print(json.dumps(_fit(*sys.argv[1:])))
