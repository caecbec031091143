"""How time and memory grow with the number of words V, of rows N and of non-zeros."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
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
    words, nnz = np.array([n_words for n_words, _ in sizes]), np.array([run["nnz"] for run in runs])
    laws = {
        "pairs": Law.fit(words, nnz, np.array([run["stages"]["pairs"] for run in runs])),
        "in all": Law.fit(words, nnz, np.array([run["cpu"] for run in runs])),
    }
    body = []
    for k, ((n_words, n_rows), report) in enumerate(zip(sizes, runs, strict=True)):
        stages = [report["stages"][stage] for stage in STAGES]
        total, pairs = report["cpu"], report["nnz"] * ROW_LENGTH
        body.append(
            [
                *(f"{n_words:,}", f"{n_rows:,}", f"{report['nnz'] / 1e6:.1f}"),
                *(f"{seconds:.1f}" for seconds in (*stages, total - sum(stages), total)),
                f"{1e9 * total / pairs:.0f}",
                *(f"{law.ratio[k]:.2f}" for law in laws.values()),
                f"{report['peak'] / 1e9:.2f}",
                "-".join(str(size) for size in report["layers"]),
            ]
        )
    head = ["V", "N", "non-zeros, M", *STAGES, "other", "in all", "ns per meeting"]
    head += [*(f"{stage} / law" for stage in laws), "peak GB", "layers"]
    text = table(head, body) + (
        f"\n\nCPU seconds without refinement, rows of {ROW_LENGTH} words. Meetings of two words in a row: non-zeros × "
        f"{ROW_LENGTH}. The laws, seconds per million non-zeros and per million entries of the lists of partners "
        f"(V × {N_PARTNERS}), fitted to the logarithms: "
        + "; ".join(f"{stage} {law.describe()}" for stage, law in laws.items())
        + "."
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


@dataclass(frozen=True)
class Law:
    """CPU = per_entry · non-zeros + per_place · V · m, and measured seconds over the law's, size by size."""

    per_entry: float
    per_place: float
    ratio: NDArray[np.float64]

    @classmethod
    def fit(cls, words: NDArray[np.int64], nnz: NDArray[np.int64], cpu: NDArray[np.float64]) -> Law:
        """Least squares of the logarithms: an error counts by its ratio."""
        parts = np.stack([nnz, words * N_PARTNERS], axis=1).astype(np.float64)

        def error(logs: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(np.log(parts @ np.exp(logs) / cpu))

        found = np.exp(least_squares(error, np.log([1e-6, 1e-6])).x)
        return cls(float(found[0]), float(found[1]), cpu / (parts @ found))

    def describe(self) -> str:
        return f"{1e6 * self.per_entry:.2f} and {1e6 * self.per_place:.2f}"
