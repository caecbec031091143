"""Answers of fitted models: rows per CPU second, one row alone, and size of the file."""

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
from scipy.sparse import csr_matrix

from benchmarks.measure import in_own_process
from reproduce.data import count_words, load
from reproduce.markdown import table
from tsenet import Table, TSENetClassifier

LABELS = 400
PRUNED = (200_000, 20_000)  # parameters
ROUNDS = 7
TURNS = 3
#: What two checkouts are compared by.
UNITS = {"row of many": "µs", "one row": "ms", "one text": "ms", "start": "s", "memory": "MB"}


def run(
    rows: Annotated[int, typer.Option(help="Rows to fit on, and as many to predict.")] = 20_000,
    against: Annotated[
        Path | None, typer.Option(help="Another checkout; without it, logistic regression.")
    ] = None,
) -> str:
    """Predictions on AG's News next to logistic regression or another checkout: rows per CPU second, one row, file."""
    if against is not None:
        return _compare(rows, against)

    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    warnings.simplefilter("ignore")  # rows without names, which a service would send
    train, test, labels = _documents(rows)
    few = np.where(np.arange(rows) < LABELS, labels, -1)
    tfidf = TfidfTransformer().fit(train.values)
    scaled = csr_matrix(tfidf.transform(test))
    rival = LogisticRegression(max_iter=200).fit(
        tfidf.transform(train.values)[:LABELS], few[:LABELS]
    )
    size = f"{rival.coef_.size:,}"
    body = [["logistic regression", size, "–", "–", *_speed(rival.predict, scaled)]]
    model = TSENetClassifier(random_state=0, n_jobs=1, unlabeled=-1).fit(Table.of(train), few)
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "model.tsenet")
        for n_parameters in (None, *PRUNED):
            name = "TSE-Net" if n_parameters is None else f"… prune({n_parameters:_})"
            if n_parameters is not None:
                model.prune(n_parameters, train)
            model.save(path)
            n_bytes, n = path.stat().st_size, model.n_parameters_
            files = [f"{n:,}", f"{n_bytes / 1e3:,.0f}", f"{n_bytes / (4 * n):.2f}"]
            body.append([name, *files, *_speed(model.predict, test)])
    head = ["", "parameters", "file, kB", "… / 4 bytes", "rows per CPU s", "one row, ms"]
    return table(head, body)


def _compare(n_rows: int, against: Path) -> str:
    """One model of texts in this checkout and in another, turn by turn; the best of some turns counts."""
    train = load("ag_news", "train")
    order = np.random.default_rng(0).permutation(train.y.size)
    first, second = (train.take(order[k * n_rows : (k + 1) * n_rows]) for k in (0, 1))
    few = np.where(np.arange(n_rows) < LABELS, first.y.astype(int), -1)
    warnings.simplefilter("ignore")
    model = TSENetClassifier(random_state=0, n_jobs=1, unlabeled=-1).fit(list(first.X), few)

    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "model.tsenet")
        model.save(path)
        counts = model.vectorizer_.transform(second.X)
        joblib.dump((counts, list(second.X[:100])), Path(home, "rows.joblib"))
        joblib.dump((counts[:1], list(second.X[:1])), Path(home, "one.joblib"))
        sides: list[list[dict[str, float]]] = [[], []]
        for _ in range(TURNS):
            for side, checkout in zip(sides, ({}, {"checkout": against}), strict=True):
                turn = in_own_process("benchmarks.predict:measure", folder=home, **checkout)
                alone = in_own_process(
                    "benchmarks.measure:memory_of_a_service", folder=home, **checkout
                )
                side.append(turn | alone)

    body = []
    for name, unit in UNITS.items():
        ours, theirs = (min(turn[name] for turn in side) for side in sides)
        body.append([f"{name}, {unit}", f"{theirs:.2f}", f"{ours:.2f}", f"{ours / theirs:.2f}"])
    return table(["", against.name, "this", "ratio"], body)


def measure(folder: str) -> dict[str, float]:
    """CPU time of predictions in this process, with any version of tsenet."""
    import tsenet

    warnings.simplefilter("ignore")
    model = tsenet.load(Path(folder, "model.tsenet"))
    model.n_jobs = 1
    counts, texts = joblib.load(Path(folder, "rows.joblib"))
    one, text = counts[:1], texts[:1]
    few = {"one row": 1e3 * _cpu(model.predict, one), "one text": 1e3 * _cpu(model.predict, text)}
    return {"row of many": 1e6 * _cpu(model.predict, counts) / counts.shape[0], **few}


def _cpu(predict: Callable[[Any], Any], rows: Any) -> float:
    """Least CPU seconds of a call."""
    predict(rows)
    seconds = []
    for _ in range(ROUNDS):
        n_calls = 1 if len(getattr(rows, "indptr", rows)) > 2 else 50
        start = time.process_time()
        for _ in range(n_calls):
            predict(rows)
        seconds.append((time.process_time() - start) / n_calls)
    return min(seconds)


def _speed(predict: Callable[[Any], Any], rows: Any) -> list[str]:
    """Rows per CPU second of all rows together, and wall milliseconds of one row; medians."""
    one = rows[:1]
    predict(rows), predict(one)
    together, alone = [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        predict(rows)
        together.append(rows.shape[0] / (time.process_time() - start))
        for _ in range(20):
            begin = time.perf_counter()
            predict(one)
            alone.append(time.perf_counter() - begin)
    return [f"{statistics.median(together):,.0f}", f"{1e3 * statistics.median(alone):.2f}"]


def _documents(n_rows: int) -> tuple[Any, Any, np.ndarray]:
    """Counts of the 10,000 most frequent words in two random parts of AG's training rows, and classes of the first."""
    train = load("ag_news", "train")
    order = np.random.default_rng(0).permutation(train.y.size)
    first, second = (train.take(order[k * n_rows : (k + 1) * n_rows]) for k in (0, 1))
    counts, other, words = count_words(first.X, second.X)
    return Table.of(counts, words), csr_matrix(other), first.y.astype(int)
