"""The skeleton: planted trees (are the true groups found?), and time and memory as words and rows grow."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer
from sklearn.metrics import adjusted_rand_score

import tsenet
from benchmarks.corpora import zipf_corpus
from benchmarks.measure import StageClock, in_own_process, peak_bytes, warm_up
from reproduce.data import data_folder
from reproduce.markdown import table

#: The Java program of HLTA, serial, on the rows in TSENET_DATA/planted.
JAVA = (0.964, -162.556, 44, 200, 2.4)
TRUTH = -161.522  # log-likelihood per row of the true tree
GROWTH = ((10_000, 70_000), (10_000, 100_000), (30_000, 100_000), (30_000, 300_000))
ROW_LENGTH = 40


def run(
    what: Annotated[str, typer.Argument(help="planted, completion or growth; default: all.")] = "",
) -> str:
    """A planted tree next to the Java program and by both ways of completion (TSENET_DATA), and growth."""
    parts = {"planted": planted, "completion": completion, "growth": growth}
    return "\n\n".join(f"## {name}\n\n{parts[name]()}" for name in ([what] if what else parts))


def planted(n_seeds: int = 3) -> str:
    """Compare the tree of the planted rows in ``TSENET_DATA`` with the Java program."""
    home = data_folder() / "planted"
    test = sp.load_npz(home / "test.npz")
    with np.load(home / "truth.npz") as truth:
        groups = truth["group1"]
    body = []
    for seed in range(n_seeds):
        tree, report = _learn(home / "train.npz", seed)
        ari = adjusted_rand_score(groups, tree.ancestors(1))
        em = report["stages"]["refine"]
        scores = f"{ari:.3f}", f"{tree.log_likelihood(test).mean():.3f}"
        cost = f"{report['cpu'] - em:.2f}", f"{em:.2f}", f"{report['peak'] / 1e9:.2f}"
        body.append([f"seed {seed}", *scores, *cost])
    head = ["", "ARI 1", "log-likelihood", "structure, CPU s", "EM, CPU s", "peak GB"]
    text = table(head, [*body, ["Java", *JAVA]])
    return f"{text}\n\nThe true tree's log-likelihood is {TRUTH:g} per row."


def completion(n_seeds: int = 3) -> str:
    """Compare trees of the planted rows that complete data by group and by layer, by default and in paper().

    For each level the agreement of its groups with the true ones (adjusted Rand index), and the log-likelihood of a
    held-out row.
    """
    home = data_folder() / "planted"
    train, test = (sp.csr_array(sp.load_npz(home / f"{part}.npz")) for part in ("train", "test"))
    with np.load(home / "truth.npz") as truth:
        groups = [truth["group1"]]  # of each word
        for level in (2, 3):
            groups.append(truth[f"group{level}"][groups[-1]])
    papers = tsenet.TSENetClassifier.paper().tree_options or {}
    body = []
    for name, options in (("default", {}), ("paper()", papers)):
        for way in ("island", "layer"):
            settings = {**options, "completion": way, "max_top": 10}
            trees = [
                tsenet.learn_tree(train, **settings, random_state=seed) for seed in range(n_seeds)
            ]
            found = [[_agreement(tree, k + 1, groups[k]) for k in range(3)] for tree in trees]
            score = np.mean([tree.log_likelihood(test).mean() for tree in trees])
            sizes = "-".join(map(str, trees[0].layer_sizes[1:]))
            row = [f"{value:.3f}" for value in np.mean(found, axis=0)]
            body.append([f"{name}, {way}", sizes, *row, f"{score:.2f}"])
    return table(["", "latents, seed 0", "ARI 1", "ARI 2", "ARI 3", "log-likelihood"], body)


def _agreement(tree: Any, level: int, groups: Any) -> float:
    """Adjusted Rand index of the words' true and found groups of a level, or of the highest one that the tree has."""
    return float(adjusted_rand_score(groups, tree.ancestors(min(level, tree.n_levels))))


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
