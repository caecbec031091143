"""How time and memory grow with the number of words V, of rows N and of non-zeros."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from benchmarks.corpora import zipf_corpus
from benchmarks.jobs import save_rows
from benchmarks.measure import in_own_process
from benchmarks.report import Figure, figures, table
from tsenet.skeleton.layers import N_PARTNERS

BY_WORDS = [(10_000, 100_000), (30_000, 100_000), (100_000, 100_000)]
BY_ROWS = [(30_000, 30_000), (30_000, 300_000), (30_000, 1_000_000)]
CORNER = (100_000, 1_000_000)
STAGES = ("pairs", "islands", "placing variables")
ROW_LENGTH = 40


def run(full: bool) -> str:
    """One process per size; with ``full`` also 100,000 words × 1,000,000 rows."""
    sizes = sorted(BY_WORDS + BY_ROWS) + ([CORNER] if full else [])
    runs = [_learn(*size) for size in sizes]
    cpu, nnz = (np.array([run[key] for run in runs]) for key in ("cpu", "nnz"))
    per_nnz, per_list, law = _growth(np.array([n_words for n_words, _ in sizes]), nnz, cpu)
    body = []
    for (n_words, n_rows), report, expected in zip(sizes, runs, law.tolist(), strict=True):
        stages = [report["stages"][stage] for stage in STAGES]
        total, pairs = report["cpu"], report["nnz"] * ROW_LENGTH
        body.append(
            [
                *(f"{n_words:,}", f"{n_rows:,}", f"{report['nnz'] / 1e6:.1f}"),
                *(f"{seconds:.1f}" for seconds in (*stages, total - sum(stages), total)),
                *(f"{1e9 * total / pairs:.0f}", f"{expected:.1f}", f"{total / expected:.2f}"),
                f"{report['peak'] / 1e9:.2f}",
                "-".join(str(size) for size in report["layers"]),
            ]
        )
    head = ["V", "N", "non-zeros, M", *STAGES, "other", "CPU s", "ns per pair", "law", "CPU / law"]
    text = table([*head, "peak GB", "layers"], body) + (
        f"\n\nCPU seconds without refinement, rows of {ROW_LENGTH} words. Pairs: non-zeros × {ROW_LENGTH}, the words "
        f"that meet. Law: {1e6 * per_nnz:.2f} s per million non-zeros + {1e6 * per_list:.2f} s per million entries of "
        f"the lists of partners (V × {N_PARTNERS}), fitted to the logarithms."
    )
    if full:
        peak = runs[-1]["peak"] / 1e9
        text += "\n\n" + figures([Figure("100,000 × 1,000,000: peak memory, GB", peak, 8.0)], "")
    return text


def _learn(n_words: int, n_rows: int) -> dict[str, Any]:
    """One size: the figures of the run, and the number of non-zeros."""
    with tempfile.TemporaryDirectory() as scratch:
        rows = zipf_corpus(n_words, n_rows, ROW_LENGTH)
        data, nnz = save_rows(rows, Path(scratch) / "rows.npz"), rows.nnz
        del rows  # the machine may be small
        report = in_own_process("learn", data=data, refine_steps=0, random_state=0)
    print(f"{n_words} × {n_rows}: {report}", file=sys.stderr, flush=True)
    return report | {"nnz": nnz}


def _growth(
    n_words: NDArray[np.int64], nnz: NDArray[np.int64], cpu: NDArray[np.float64]
) -> tuple[float, float, NDArray[np.float64]]:
    """Fit CPU = a · non-zeros + b · V · m, errors counted as ratios; a, b and the fitted seconds."""
    parts = np.stack([nnz, n_words * N_PARTNERS], axis=1).astype(np.float64)

    def error(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log(parts @ np.exp(logs) / cpu)

    a, b = np.exp(least_squares(error, np.log([1e-6, 1e-6])).x)
    return float(a), float(b), parts @ np.array([a, b])
