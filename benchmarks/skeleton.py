"""The skeleton: planted trees (are the true groups found?), and time and memory as words and rows grow."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

import tsenet
from benchmarks.corpora import zipf_corpus
from benchmarks.measure import StageClock, in_own_process, peak_bytes, warm_up
from reproduce.data import data_folder
from reproduce.markdown import table

#: The Java program of HLTA, serial, on the rows in TSENET_DATA/planted.
JAVA = {"ARI 1": 0.964, "log-likelihood": -162.556, "structure, CPU s": 44.0, "EM, CPU s": 200.0}
JAVA["peak GB"] = 2.4
TRUTH = -161.522  # log-likelihood per row of the true tree
GROWTH = ((10_000, 70_000), (10_000, 100_000), (30_000, 100_000), (30_000, 300_000))
ROW_LENGTH = 40

# A planted tree: layers, and P(v=1 | parent=0), P(v=1 | parent=1) of words, of levels 1 and 2, and of the top chain.
SIZES = (1000, 150, 25, 5)
SMALLEST_GROUP = 4
RANGES = (((0.002, 0.02), (0.2, 0.6)), ((0.01, 0.05), (0.4, 0.65)), ((0.05, 0.1), (0.4, 0.6)))
TOP_RANGES = ((0.15, 0.25), (0.25, 0.4))


def planted(n_seeds: int = 3) -> str:
    """Compare the tree of the planted rows in ``TSENET_DATA`` with the Java program; the worst of several seeds."""
    home = data_folder() / "planted"
    test = sp.load_npz(home / "test.npz")
    with np.load(home / "truth.npz") as truth:
        groups = truth["group1"]
    worst: dict[str, float] = {}
    for seed in range(n_seeds):
        tree, report = _learn(home / "train.npz", seed)
        scores = {
            "ARI 1": float(adjusted_rand_score(groups, tree.ancestors(1))),
            "log-likelihood": float(tree.log_likelihood(test).mean()),
            "structure, CPU s": -(report["cpu"] - report["stages"]["refine"]),
            "EM, CPU s": -report["stages"]["refine"],
            "peak GB": -report["peak"] / 1e9,
        }
        worst = {name: min(value, worst.get(name, np.inf)) for name, value in scores.items()}
    body = []
    for name, value in worst.items():
        ratio = f"{JAVA[name] / -value:.1f}" if value < 0 and name != "log-likelihood" else "–"
        shown = value if name in ("ARI 1", "log-likelihood") else -value
        body.append([name, f"{shown:.3f}", f"{JAVA[name]:g}", ratio])
    text = table(["", "tsenet", "Java", "Java / tsenet"], body)
    return f"{text}\n\nThe true tree's log-likelihood is {TRUTH:g} per row."


def fresh(n_trees: int = 5, n_rows: int = 5_000) -> str:
    """Learn fresh planted trees of the same kind: groups recovered and log-likelihood lost."""
    body = []
    for seed in range(n_trees):
        true = planted_tree(np.random.default_rng(seed))
        rng = np.random.default_rng([seed, 1])
        train, test = (draw_rows(true, n_rows, rng) for _ in range(2))
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "rows.npz"
            sp.save_npz(path, train)
            tree, report = _learn(path, seed)
        lost = float(true.log_likelihood(test).mean() - tree.log_likelihood(test).mean())
        aris = [adjusted_rand_score(true.ancestors(k), tree.ancestors(k)) for k in (1, 2)]
        body.append([seed, f"{lost:.3f}", *(f"{a:.4f}" for a in aris), f"{report['cpu']:.1f}"])
    return table(["seed", "truth − tsenet", "ARI 1", "ARI 2", "CPU s"], body)


def growth() -> str:
    """Measure the skeleton without refinement as words and rows grow, with one and with two threads."""
    body = []
    for n_words, n_rows in GROWTH:
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "rows.npz"
            sp.save_npz(path, sp.csr_matrix(zipf_corpus(n_words, n_rows, ROW_LENGTH).to_csr()))
            one, two = (
                in_own_process(
                    "benchmarks.skeleton:learn", data=path, refine_steps=0, random_state=0, n_jobs=n
                )
                for n in (1, 2)
            )
        per_meeting = 1e9 * one["cpu"] / (n_rows * ROW_LENGTH**2)
        body.append(
            [
                *(f"{n_words:,}", f"{n_rows:,}", f"{one['cpu']:.1f}", f"{per_meeting:.0f}"),
                *(f"{one['wall'] / two['wall']:.2f}", f"{one['peak'] / 1e9:.2f}"),
                "-".join(str(size) for size in one["layers"]),
            ]
        )
    head = ["words", "rows", "CPU s", "ns per pair in a row", "speed-up at 2", "peak GB", "layers"]
    return table(head, body)


def learn(data: str, out: str | None = None, **options: Any) -> dict[str, Any]:
    """Learn a tree of saved rows: CPU and wall seconds in all and by stage, peak memory, layer sizes."""
    warm_up()
    X = sp.csr_array(sp.load_npz(data))
    clock = StageClock()
    cpu, wall = time.process_time(), time.perf_counter()
    tree = tsenet.learn_tree(X, progress=clock, **options)
    report = {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "stages": clock.cpu,
        "peak": peak_bytes(),
        "layers": tree.layer_sizes,
    }
    if out is not None:
        tree.save(out)
    return report


def _learn(data: Path, seed: int) -> tuple[Any, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "tree.tsenet"
        report = in_own_process("benchmarks.skeleton:learn", data=data, out=out, random_state=seed)
        return tsenet.load(out), report


# ---- planted trees


def planted_tree(rng: np.random.Generator, sizes: Sequence[int] = SIZES) -> tsenet.LatentTree:
    """Draw a random tree with layers of the given sizes, observed first; groups have four members or more."""
    parents, rates = [], []
    start = 0
    for (n_below, n_above), (low, high) in zip(pairwise(sizes), RANGES, strict=True):
        start += n_below
        sure = np.repeat(np.arange(n_above), SMALLEST_GROUP)
        owner = np.concatenate([sure, rng.integers(0, n_above, n_below - sure.size)])
        parents.append(start + rng.permutation(owner))
        rates.append(np.stack([rng.uniform(*low, n_below), rng.uniform(*high, n_below)], axis=1))
    n_top = sizes[-1]
    parents.append(np.concatenate([[-1], start + np.arange(n_top - 1)]))
    rates.append(np.stack([rng.uniform(*r, n_top) for r in TOP_RANGES], axis=1))
    parent = np.concatenate(parents).astype(np.int32)
    on = np.concatenate(rates)
    on[start] = on[start].mean()  # the root has one rate
    level = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    names = tuple(f"n{v}" for v in range(parent.size))
    columns = tsenet.Table.of(sp.csr_array((2, sizes[0]), dtype=np.int8), names[: sizes[0]])
    rule = tsenet.BinaryRule.learn(columns)
    return tsenet.LatentTree(parent, level, np.stack([1.0 - on, on], axis=2), names, rule)


def draw_rows(tree: tsenet.LatentTree, n_rows: int, rng: np.random.Generator) -> sp.csr_matrix:
    """Draw rows of the observed variables from a tree, parents before children."""
    state: dict[int, NDArray[np.intp]] = {-1: np.zeros(n_rows, np.intp)}
    waiting = list(range(tree.n_nodes))
    while waiting:
        ready = [v for v in waiting if int(tree.parent[v]) in state]
        for v in ready:
            chance = tree.cpt[v, state[int(tree.parent[v])], 1]
            state[v] = (rng.random(n_rows) < chance).astype(np.intp)
        waiting = [v for v in waiting if v not in state]
    dense = np.stack([state[v] for v in range(tree.n_observed)], axis=1)
    return sp.csr_matrix(dense.astype(np.int8))
