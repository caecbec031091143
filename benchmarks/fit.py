"""CPU seconds of a fit by phase, beside a cross-validated logistic regression on the same rows."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import StageClock, in_own_process, warm_up
from benchmarks.report import table
from reproduce.suite import SUITE, fold_of

#: Name of a corpus and its number of labels; None: all rows have one.
CASES = (("ag_news", None), ("stackoverflow", None), ("20newsgroups", 400), ("many classes", None))
MANY = ("stackoverflow", "20newsgroups", "dbpedia")  # whose classes together are the many
MANY_ROWS = 6_500
N_WORDS = 10_000
PENALTIES = np.logspace(-1, 3, 5)  # of the logistic regression; three folds


def run() -> str:
    """A row of the table for each corpus; ``× LR`` is the fit without the structure over the logistic regression."""
    body = []
    for name, n_labels in CASES:
        one = in_own_process("fit", name=name, n_labels=n_labels)
        rest = one["fit"] - one["structure"]
        labels = "all" if n_labels is None else f"{n_labels:,}"
        seconds = [f"{one[key]:.1f}" for key in ("structure", "linear start", "training", "fit")]
        body.append(
            [
                name,
                f"{one['rows']:,}",
                one["classes"],
                labels,
                *seconds,
                f"{one['LR']:.1f}",
                f"{one['fit'] / (one['LR'] + one['structure']):.2f}",
                f"{rest / one['LR']:.2f}",
                f"{one['accuracy']:.1f}",
                f"{one['LR accuracy']:.1f}",
            ]
        )
    head = ["", "rows", "classes", "labels", "structure", "linear start", "training", "fit, CPU s"]
    head += ["LR", "fit / (LR + structure)", "rest / LR", "accuracy", "LR's"]
    return table(head, body)


def measure(name: str, n_labels: int | None, seed: int = 0) -> dict[str, Any]:
    """The job behind :func:`run`: both fits on one corpus, one thread, accuracy on validation rows."""
    from sklearn.linear_model import LogisticRegressionCV
    from threadpoolctl import threadpool_limits

    from tsenet import TSENetClassifier

    warnings.simplefilter("ignore")  # rows without names; LR that stops before it converges
    warm_up()
    views, y, y_held = _corpus(name, seed)
    known = np.arange(y.size)
    if n_labels is not None:
        known = np.sort(np.random.default_rng(seed).permutation(y.size)[:n_labels])
    few = np.full(y.size, -1)
    few[known] = y[known]
    clock = StageClock()
    model = TSENetClassifier(random_state=seed, n_jobs=1, unlabeled=-1, verbose=clock)
    rows, held = views["counts"]
    with threadpool_limits(1):
        start = time.process_time()
        model.fit(rows, few)
        seconds = time.process_time() - start
        clock.finish()
        rival = LogisticRegressionCV(
            Cs=PENALTIES, cv=3, max_iter=200, scoring="neg_log_loss", use_legacy_attributes=False
        )
        scaled, scaled_held = views["tfidf"]
        start = time.process_time()
        rival.fit(scaled[known], y[known])
        rival_seconds = time.process_time() - start
    later = {stage: clock.cpu.get(stage, 0.0) for stage in ("linear start", "training")}
    return {
        "rows": int(y.size),
        "classes": int(np.unique(y).size),
        **later,
        "structure": sum(clock.cpu.values()) - sum(later.values()),
        "fit": seconds,
        "LR": rival_seconds,
        "accuracy": 100 * float(np.mean(model.predict(held) == y_held)),
        "LR accuracy": 100 * float(np.mean(rival.predict(scaled_held) == y_held)),
    }


def _corpus(name: str, seed: int) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Features to learn from and to be scored on, by their names, and both parts' classes; no test rows."""
    if name != "many classes":
        fold = fold_of(SUITE[name], "validation", seed)
        return fold.views, fold.y, fold.y_held
    from sklearn.model_selection import train_test_split

    from tsenet.data.text import count_words, vectorize, word_vectorizer
    from tsenet.datasets.word_features import weigh

    texts: list[str] = []
    classes: list[str] = []
    for one in MANY:
        rows = SUITE[one].read("train", seed)
        texts += rows.X
        classes += [f"{one} {label}" for label in rows.y.tolist()]
    y = np.unique(classes, return_inverse=True)[1]
    own, other = train_test_split(
        np.arange(y.size), train_size=MANY_ROWS, test_size=2_000, stratify=y, random_state=seed
    )
    words = vectorize(
        [texts[i] for i in own],
        word_vectorizer(n_words=N_WORDS, stop_words="english", min_documents=2),
    )
    counts = words.values, count_words([texts[i] for i in other], words.names).values
    weighted = weigh(counts, "tfidf")
    return {"counts": counts, "tfidf": weighted}, y[own], y[other]
