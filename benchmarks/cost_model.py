"""What structure, expansion and training of many documents cost: fitted to stored runs, checked, extrapolated.

The runs are those of ``python -m benchmarks scale-out`` and ``processes`` on a machine without other programs; they are
stored in docs/results/scale-runs.json.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from benchmarks.report import PAGES, table
from tsenet.scale.plan import COPIES, PROCESS, SHARE

RUNS = PAGES / "scale-runs.json"
PARTNERS = 128  # of each word
STEPS_PER_PASS = 200  # of stepwise EM, whose rows are fetched together


@dataclass(frozen=True)
class Work:
    """What there is to do, and with what.

    ``layers`` are the numbers of words and of latents of each level; memory is in bytes.
    """

    n_rows: float
    row_length: float
    layers: tuple[int, ...]
    n_sampled: float
    n_workers: int
    worker_memory: float
    refine_steps: int = 100

    @property
    def entries(self) -> float:
        """Words of all documents."""
        return self.n_rows * self.row_length

    @property
    def units(self) -> list[float]:
        """Bytes of the counts that the expansion of each level needs."""
        below = self.layers[:-1]
        return [
            4.0 * (2 * lower + upper) * upper
            for lower, upper in zip(below, self.layers[1:], strict=True)
        ]

    @property
    def expansion_passes(self) -> int:
        """Passes over all rows, so that the counts of one fit a worker."""
        room = (SHARE * self.worker_memory - PROCESS - 100e6) / COPIES
        return max(1, -(-int(sum(self.units)) // int(room)))


@dataclass(frozen=True)
class Model:
    """CPU seconds per word of the passes over all rows, per meeting of two words in the sample, and so on."""

    counts: float
    sample: float
    em: float
    expansion: float
    pairs: float
    groups: float
    step: float
    row: float

    @classmethod
    def of(cls, streamed: dict[str, Any], training: list[dict[str, Any]], work: Work) -> Model:
        """Fit to the streamed run, and to training with two batch sizes."""
        stages = streamed["stages"]
        small, large = training
        n_taught = small["rows"] * small["epochs"]
        steps = [n_taught / each["batch"] for each in training]
        step = (small["cpu"] - large["cpu"]) / (steps[0] - steps[1])
        sampled = work.n_sampled * work.row_length
        return cls(
            stages["counts"] / work.entries,
            stages["rows of the structure sample"] / work.entries,
            stages["rows of stepwise EM"] / work.entries,
            stages["counts of units"] / work.entries,
            stages["pairs"] / (sampled * work.row_length),
            (stages["islands"] + stages["placing variables"]) / sampled,
            step / small["parameters"],
            (large["cpu"] - steps[1] * step) / n_taught,
        )

    def passes(self, work: Work) -> dict[str, float]:
        """CPU seconds of the tasks, all workers together."""
        fetches = -(-work.refine_steps // STEPS_PER_PASS)
        sampled = work.n_sampled * work.row_length
        return {
            "counts": self.counts * work.entries,
            "structure sample": self.sample * work.entries,
            "pairs": self.pairs * sampled * work.row_length,
            "rows of stepwise EM": self.em * work.entries * fetches,
            "expansion": self.expansion * work.entries * work.expansion_passes,
        }

    def per_row(self, work: Work) -> float:
        """CPU seconds of the tasks for one document more."""
        return work.row_length * (
            self.counts + self.sample + self.em + self.expansion * work.expansion_passes
        )


def moved(work: Work) -> dict[str, float]:
    """Bytes that tasks return or are sent, all workers together."""
    sampled = work.n_sampled * work.row_length
    spans = max(4, work.n_workers)
    sums = 2 * spans - 1  # the parts and their sums
    return {
        "counts": (2 * 4 * work.n_workers - 1) * 8.0 * work.layers[0],
        "structure sample": 4 * sampled + 8 * work.n_sampled,
        "pairs": work.n_workers * (4 * sampled + 8 * work.n_sampled)
        + 12.0 * PARTNERS * work.layers[0],
        "rows of stepwise EM": work.refine_steps * 1000 * (4 * work.row_length + 8),
        "expansion": sums * sum(work.units),
    }


def driver_memory(work: Work) -> float:
    """Bytes of this process, as the plan estimates them."""
    from tsenet.scale import plan

    return (
        PROCESS
        + plan.DRIVER_PER_ENTRY * work.n_sampled * work.row_length
        + plan.DRIVER_PER_ROW * work.n_sampled
        + plan.DRIVER_PER_VARIABLE * work.layers[0]
        + plan.DRIVER_PER_ROW_OF_ALL * work.n_rows
    )


def run() -> str:
    """Fit, check, extrapolate."""
    runs = json.loads(RUNS.read_text())
    known = {(each["rows"], each["way"]): each for each in runs["scale_out"]}
    streamed = known[200_000, "streamed"]
    fitted = Work(200_000, 40, tuple(streamed["layers"]), 100_000, 1, 2e9)
    training = [each for each in runs["processes"] if each["processes"] == 1]
    model = Model.of(streamed, training, fitted)
    more = known[400_000, "1 worker"]["cpu_workers"] - known[200_000, "1 worker"]["cpu_workers"]
    peaks = [known[size, "1 worker"]["peak_here"] for size in (200_000, 400_000)]
    # the benchmark's process has compiled and loaded the network too, before the work
    checked = [
        ["CPU s of a worker for 200,000 documents more", 200_000 * model.per_row(fitted), more],
        [
            "MB of this process for 200,000 documents more",
            200_000 * 24 / 1e6,
            (peaks[1] - peaks[0]) / 1e6,
        ],
    ]
    large = Work(1e8, 40, (100_000, 14_318, 6_652, 2_802, 844), 1_000_000, 100, 16e9)
    return "\n\n".join(
        [
            table(
                ["CPU time", "", "µs"],
                [
                    ["counts", "per word", f"{1e6 * model.counts:.3f}"],
                    ["structure sample", "per word", f"{1e6 * model.sample:.3f}"],
                    ["rows of stepwise EM", "per word and 200 steps", f"{1e6 * model.em:.3f}"],
                    ["expansion", "per word and pass", f"{1e6 * model.expansion:.3f}"],
                    ["pairs", "per meeting of two words in the sample", f"{1e6 * model.pairs:.4f}"],
                    ["groups", "per word of the sample", f"{1e6 * model.groups:.3f}"],
                    ["training", "per document and epoch", f"{1e6 * model.row:.1f}"],
                    ["training", "per parameter and step", f"{1e6 * model.step:.4f}"],
                ],
            ),
            table(
                ["check", "predicted", "measured"],
                [[name, f"{guess:.1f}", f"{found:.1f}"] for name, guess, found in checked],
            ),
            _extrapolated(model, large),
        ]
    )


def _extrapolated(model: Model, work: Work) -> str:
    seconds, n_bytes = model.passes(work), moved(work)
    body = [
        [
            name,
            f"{cpu:,.0f}",
            f"{cpu / work.n_workers:,.1f}",
            f"{n_bytes[name] / 1e9:,.2f}",
        ]
        for name, cpu in seconds.items()
    ]
    rows = f"{work.n_rows:.0e}".replace("e+0", "·10^").replace("1·", "")
    note = (
        f"{rows} documents of {work.row_length:.0f} words, {work.layers[0]:,} words, {work.n_workers} workers of "
        f"{work.worker_memory / 1e9:.0f} GB, groups from {work.n_sampled:,.0f} documents: the expansion takes "
        f"{work.expansion_passes} passes, this process {driver_memory(work) / 1e9:.1f} GB."
    )
    head = ["pass", "CPU s, all workers", "s on each worker", "GB moved"]
    return f"{table(head, body)}\n\n{note}"
