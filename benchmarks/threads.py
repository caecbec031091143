"""Speed-up at two threads, phase by phase."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.corpora import zipf_corpus
from benchmarks.jobs import save_rows
from benchmarks.measure import in_own_process
from benchmarks.report import table

N_WORDS, N_ROWS = 20_000, 200_000
TARGET = 1.6


def run(repeats: int) -> str:
    """Best wall time of each phase over ``repeats``, at one and at two threads, in processes of their own."""
    with tempfile.TemporaryDirectory() as scratch:
        data = save_rows(zipf_corpus(N_WORDS, N_ROWS), Path(scratch) / "rows.npz")
        one, two = (
            in_own_process("phases", data=data, n_jobs=n, repeats=repeats, random_state=0)
            for n in (1, 2)
        )
    body = []
    for phase, wall in one.items():
        ratio = wall / two[phase]
        verdict = "under a second" if wall < 1.0 else "met" if ratio >= TARGET else "**not met**"
        row = [phase, f"{wall:.2f}", f"{two[phase]:.2f}", f"{ratio:.2f}", f"≥ {TARGET}", verdict]
        body.append(row)
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return (
        table(["phase", "1 thread, s", "2 threads, s", "speed-up", "target", ""], body)
        + f"\n\nWall seconds, best of {repeats}, {N_WORDS:,} words × {N_ROWS:,} rows of 40; "
        + f"{os.cpu_count()} cores; load average at the end {busy:.1f} (2 is this run alone)."
    )
