"""CPU seconds of a default fit, next to logistic regression or next to another checkout of the project.

Every fit runs in a process of its own, on one thread, after an untimed fit on a few rows has loaded or compiled the
kernels. With another checkout the two take turns, so that both meet the same load of the machine.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
import typer
from sklearn.datasets import load_breast_cancer, load_iris

from benchmarks.measure import in_own_process, peak_bytes
from reproduce.data import count_words, fold_of, load
from reproduce.markdown import table

#: Case: data set and number of labels (None: every row has one).
CASES: dict[str, tuple[str, int | None]] = {
    "iris": ("iris", None),
    "breast-cancer": ("breast cancer", None),
    "stackoverflow": ("stackoverflow", None),
    "20newsgroups-400": ("20newsgroups", 400),
    "many-classes": ("many classes", None),
    # of the size of R8: 5,485 short news and about 6,000 long stories
    "news-400": ("ag_news@7313", 400),
    "news": ("ag_news@7313", None),
    "nyt-400": ("nyt", 400),
    "nyt": ("nyt", None),
    "ag_news": ("ag_news", None),
    "digits": ("digits", None),
    "mnist": ("mnist", None),
}
MANY = ("stackoverflow", "20newsgroups", "dbpedia")  # their classes together are the many classes
MANY_ROWS = 6_500
#: Small tables that come with scikit-learn.
TABLES: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "breast cancer": load_breast_cancer,
}
WARM_UP_ROWS = 300
PENALTIES = np.logspace(-1, 3, 5)


def run(
    against: Annotated[
        Path | None, typer.Option(help="Another checkout; without it, logistic regression.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Cases; default: all.")] = None,
    repeats: Annotated[int, typer.Option(help="Fits of each side; the median counts.")] = 3,
) -> str:
    """CPU seconds of default fits next to logistic regression or another checkout (TSENET_DATA)."""
    only = only or list(CASES)
    unknown = sorted(set(only) - set(CASES))
    if unknown:
        raise SystemExit(f"unknown case {unknown[0]!r}: choose from {', '.join(CASES)}")
    rival = "LR, CPU s" if against is None else f"{against.name}, CPU s"
    head = ["case", "rows", "classes", "this, CPU s", rival, "ratio", "accuracy", "other's", "MB"]
    body = []
    with tempfile.TemporaryDirectory() as scratch:
        for case in only:
            path = Path(scratch) / f"{case}.joblib"
            size = prepare(case, path)
            ours: list[dict[str, float]] = []
            theirs: list[dict[str, float]] = []
            other = {"method": "lr"} if against is None else {"checkout": against}
            for _ in range(repeats):
                ours.append(in_own_process("benchmarks.fit:measure", path=path))
                theirs.append(in_own_process("benchmarks.fit:measure", path=path, **other))
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


def prepare(case: str, path: Path) -> tuple[int, int]:
    """Save the rows of a case for both sides; return the number of rows and of classes."""
    name, n_labels = CASES[case]
    X, y, X_held, y_held = _rows(name)
    known = np.random.default_rng(0).permutation(y.size)[:n_labels]
    few = np.full(y.size, -1)
    few[known] = y[known]
    joblib.dump((X, few, X_held, y_held), path)
    return y.size, int(np.unique(y).size)


def _rows(name: str) -> tuple[Any, Any, Any, Any]:
    """Return rows to fit, their classes, rows to score and theirs; no test rows."""
    if name in TABLES:
        X, y = TABLES[name](return_X_y=True)
        fit, held = np.split(np.random.default_rng(0).permutation(y.size), [3 * y.size // 4])
        return X[fit], y[fit], X[held], y[held]
    if name != "many classes":
        fold = fold_of(name, "validation", 0)
        return fold.X, fold.y.astype(int), fold.X_held, fold.y_held.astype(int)
    parts = [(one, load(one, "train")) for one in MANY]
    texts = np.array([text for _, part in parts for text in part.X], dtype=object)
    classes = [f"{one} {label}" for one, part in parts for label in part.y.tolist()]
    codes = np.unique(classes, return_inverse=True)[1]
    fit, held = np.random.default_rng(0).permutation(codes.size)[: 2 * MANY_ROWS].reshape(2, -1)
    X, X_held, _ = count_words(texts[fit].tolist(), texts[held].tolist())
    return X, codes[fit], X_held, codes[held]


def measure(path: str, method: str = "tsenet") -> dict[str, float]:
    """Fit in this process, with any version of tsenet."""
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    X, y, X_held, y_held = joblib.load(path)
    if method == "lr":
        X, y = X[y >= 0], y[y >= 0]
    with threadpool_limits(1):
        _model(method).fit(X[:WARM_UP_ROWS], np.arange(min(WARM_UP_ROWS, y.size)) % 3)
        start = time.process_time()
        model = _model(method).fit(X, y)
        cpu = time.process_time() - start
    accuracy = float(np.mean(model.predict(X_held) == y_held))
    return {"cpu": cpu, "accuracy": accuracy, "peak": peak_bytes()}


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

    return tsenet.TSENetClassifier(random_state=0, n_jobs=1, unlabeled=-1)
