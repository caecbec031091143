"""10,000 words × 70,000 rows of 40 words: the whole skeleton without refinement."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.corpora import zipf_corpus
from benchmarks.jobs import save_rows
from benchmarks.measure import in_own_process
from benchmarks.report import Figure, figures

N_WORDS, N_ROWS = 10_000, 70_000


def run() -> str:
    """Learn in a process of its own that never saw the generator."""
    with tempfile.TemporaryDirectory() as scratch:
        data = save_rows(zipf_corpus(N_WORDS, N_ROWS), Path(scratch) / "rows.npz")
        report = in_own_process("learn", data=data, refine_steps=0, random_state=0)
    stages = [Figure(f"… {name}", cpu) for name, cpu in report["stages"].items()]
    rest = report["cpu"] - sum(report["stages"].values())
    sizes = "-".join(str(size) for size in report["layers"])
    return figures(
        [
            Figure(f"whole skeleton ({sizes}), CPU s", report["cpu"], 20),
            *stages,
            Figure("… everything else", rest),
            Figure("wall s", report["wall"]),
            Figure("peak memory, GB", report["peak"] / 1e9, 1.5),
        ],
        compared="",
    )
