"""How time and memory grow with the data; and rows beyond memory: streamed from a folder, and with Dask workers."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
import typer

from benchmarks.corpora import zipf_blocks, zipf_corpus
from benchmarks.measure import StageClock, in_own_process, peak_bytes, reset_peak, warm_up
from reproduce.markdown import table

N_WORDS = 10_000
N_ROWS = 10_000
ROW_LENGTH = 40
N_CLASSES = 8
N_TOPICS = 50
WAYS = ("memory", "streamed", "1 worker", "2 workers")
#: What grows: its sizes, what else there is of the corpus, and the methods that are measured.
GROWTH: dict[str, tuple[tuple[int, ...], dict[str, int], tuple[str, ...]]] = {
    "documents": (
        (1_000, 10_000, 100_000, 1_000_000),
        {"words": N_WORDS},
        ("tree", "topics", "NMF", "LDA", "fit", "LR"),
    ),
    "words": (
        (1_000, 10_000, 100_000, 1_000_000),
        {"documents": N_ROWS},
        ("tree", "topics", "NMF", "fit", "LR"),
    ),
    "topics": ((12, 50, 200), {"documents": N_ROWS}, ("topics", "NMF", "LDA")),
    "labels": ((300, 3_000, 30_000), {"documents": 30_000}, ("fit", "LR")),
}


def run(
    what: Annotated[
        str, typer.Argument(help="documents, words, topics or labels; or beyond-memory.")
    ] = "",
    most: Annotated[int, typer.Option(help="Largest size of what grows.")] = 100_000,
    only: Annotated[list[str] | None, typer.Option(help="Methods; default: all.")] = None,
    rows: Annotated[int, typer.Option(help="Documents beyond memory.")] = 200_000,
    words: Annotated[int, typer.Option(help="Words of a document beyond memory.")] = 40,
    sample: Annotated[int, typer.Option(help="Of them, to learn groups from; 0: all.")] = 100_000,
) -> str:
    """Exponents of CPU time and memory over documents, words, topics and labels, next to others; or beyond memory."""
    if what == "beyond-memory":
        return beyond_memory(rows, words, sample)
    if what and what not in GROWTH:
        known = ", ".join([*GROWTH, "beyond-memory"])
        raise SystemExit(f"unknown {what!r}: choose from {known}")
    chosen = [what] if what else list(GROWTH)
    return "\n\n".join(f"## {one}\n\n{growth(one, most, only)}" for one in chosen)


# ---- growth


def growth(what: str, most: int, only: list[str] | None = None) -> str:
    """CPU seconds and memory of each method at each size, and the exponents from the last size but one to the last.

    Memory is what a process holds at most beyond what it held before the rows were read.
    """
    every, rest, methods = GROWTH[what]
    sizes = [size for size in every if size <= most]
    body = []
    for method in methods:
        if only and method not in only:
            continue
        runs = []
        for size in sizes:
            corpus = {"documents": N_ROWS, "words": N_WORDS, **rest, what: size}
            runs.append(in_own_process("benchmarks.scale:measure", method=method, **corpus))
            print(what, size, method, runs[-1], file=sys.stderr, flush=True)
        cpu, memory = (np.array([one[part] for one in runs]) for part in ("cpu", "memory"))
        body.append(
            [
                method,
                *(f"{c:.1f} s, {m / 1e6:.0f} MB" for c, m in zip(cpu, memory, strict=True)),
                f"{exponent(sizes, cpu):.2f}",
                f"{exponent(sizes, memory):.2f}",
            ]
        )
    head = ["", *(f"{size:,} {what}" for size in sizes), "exponent, CPU", "exponent, memory"]
    return table(head, body)


def exponent(sizes: list[int], cost: Any) -> float:
    """Power of the size with which a cost grows from the last size but one to the last; NaN of one size."""
    if len(sizes) < 2:
        return float("nan")
    return float(np.log(cost[-1] / cost[-2]) / np.log(sizes[-1] / sizes[-2]))


def measure(
    method: str,
    documents: int,
    words: int,
    topics: int | None = None,
    labels: int | None = None,
) -> dict[str, float]:
    """CPU seconds and memory of one method on made-up documents, after a small run that loads the kernels.

    Parameters
    ----------
    method : str
    documents, words : int
    topics : int, optional
        Topics of the lowest level; default: 50 for the others, for tsenet what the documents say.
    labels : int, optional
        Labelled documents; default: all.
    """
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    corpus = zipf_corpus(words, documents, ROW_LENGTH)
    X = corpus.to_csr().astype(np.float32)
    y = _classes(corpus)
    if labels is not None:
        y[np.random.default_rng(0).permutation(documents)[labels:]] = -1
    learn = METHODS[method]

    with threadpool_limits(1):
        warm_up()
        learn(X[:400, :600], np.where(y[:400] < 0, 0, y[:400]), 5)
        reset_peak()
        before, start = peak_bytes(), time.process_time()
        learn(X, y, topics)
        return {"cpu": time.process_time() - start, "memory": peak_bytes() - before}


def _classes(corpus: Any) -> Any:
    """A class for each document: that of its words that is most frequent, where words are dealt out in turn."""
    of_word = corpus.indices % N_CLASSES
    row = np.repeat(np.arange(corpus.n_rows), np.diff(corpus.indptr))
    votes = np.bincount(row * N_CLASSES + of_word, minlength=corpus.n_rows * N_CLASSES)
    return votes.reshape(-1, N_CLASSES).argmax(axis=1)


def _learn_tree(X: Any, y: Any, n_topics: int | None) -> None:
    import tsenet

    tsenet.learn_tree(X, random_state=0, n_jobs=1)


def _learn_topics(X: Any, y: Any, n_topics: int | None) -> None:
    import tsenet

    tsenet.TopicModel(n_topics=n_topics).fit(X)


def _fit(X: Any, y: Any, n_topics: int | None) -> None:
    import tsenet

    tsenet.TSENetClassifier(random_state=0, n_jobs=1, unlabeled=-1).fit(X, y)


def _fit_lr(X: Any, y: Any, n_topics: int | None) -> None:
    from benchmarks.fit import _model

    _model("lr").fit(X[y >= 0], y[y >= 0])


def _learn_nmf(X: Any, y: Any, n_topics: int | None) -> None:
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    NMF(n_topics or N_TOPICS, random_state=0).fit(TfidfTransformer().fit_transform(X))


def _learn_lda(X: Any, y: Any, n_topics: int | None) -> None:
    from sklearn.decomposition import LatentDirichletAllocation

    LatentDirichletAllocation(n_topics or N_TOPICS, learning_method="online", random_state=0).fit(X)


METHODS: dict[str, Callable[[Any, Any, int | None], None]] = {
    "tree": _learn_tree,
    "topics": _learn_topics,
    "fit": _fit,
    "LR": _fit_lr,
    "NMF": _learn_nmf,
    "LDA": _learn_lda,
}


# ---- beyond memory


def beyond_memory(rows: int, words: int, sample: int) -> str:
    """Rows beyond memory: in memory, streamed, one and two Dask workers; are all trees and wirings equal?"""
    runs = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_folder(Path(scratch) / "rows", rows, words)
        for way in WAYS:
            arguments = {"folder": folder, "way": way, "n_sampled": sample}
            runs[way] = in_own_process("benchmarks.scale:learn", **arguments)
            print(f"{way}: {runs[way]}", file=sys.stderr, flush=True)
    body = [
        [
            *(way, f"{report['cpu']:.0f}", f"{report['cpu_workers']:.0f}", f"{report['wall']:.0f}"),
            f"{report['wall'] / runs['memory']['wall']:.2f}",
            f"{report['peak'] / 1e9:.2f}",
            f"{report['peak_worker'] / 1e9:.2f}" if report["peak_worker"] else "–",
        ]
        for way, report in runs.items()
    ]
    head = ["way", "CPU here", "CPU workers", "wall", "wall / memory's", "peak GB", "worker's"]
    same = len({report["digest"] for report in runs.values()}) == 1
    return table(head, body) + (
        f"\n\n{rows:,} documents of {words} of {N_WORDS:,} words; groups from {sample or rows:,} of them; one thread "
        f"each. Equal trees and wirings: {'yes' if same else 'NO'}."
    )


def make_folder(folder: Path, n_rows: int, row_length: int) -> Path:
    """Write the documents a block at a time."""
    from tsenet.data import Table, write_batches

    names = [f"w{j}" for j in range(N_WORDS)]
    blocks = zipf_blocks(N_WORDS, n_rows, row_length)
    write_batches(folder, ((Table.of(rows.to_csr(), names), {}) for rows in blocks))
    return folder


def learn(folder: str, way: str, n_sampled: int) -> dict[str, Any]:
    """Learn a tree and expand it in one of the ways."""
    import tsenet
    from tsenet.data import Blocks

    warm_up()
    n_workers = int(way.partition(" ")[0]) if way.endswith(("worker", "workers")) else None
    with Blocks(folder, n_workers=n_workers) as blocks:
        X = blocks.take() if way == "memory" else blocks
        client = None if blocks.cluster is None else blocks.cluster.client
        if client is not None:
            client.run(warm_up, network=False)
        before = _worker_cpu(client)
        clock = StageClock()
        cpu, wall = time.process_time(), time.perf_counter()
        shared = {"random_state": 0, "n_jobs": 1, "progress": clock}
        tree = tsenet.learn_tree(X, structure_samples=n_sampled or None, **shared)
        wiring = tsenet.expand(tree, X, density=0.01, **shared)
        links = [array for layer in wiring.layers for array in (layer.indptr, layer.indices)]
        return {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "cpu_workers": _worker_cpu(client) - before,
            "peak": peak_bytes(),
            "peak_worker": max(client.run(peak_bytes).values()) if client else 0,
            "digest": joblib.hash([tree.parent, tree.cpt, *links]),
            "stages": {stage: round(seconds, 1) for stage, seconds in clock.cpu.items()},
        }


def _worker_cpu(client: Any) -> float:
    return sum(client.run(time.process_time).values()) if client else 0.0
