"""What a run took, phase by phase: seconds, bytes moved, and memory of this process and of the workers."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Phase", "Report", "Spent", "bytes_held", "peak_memory"]

#: Work between the passes: groups, steps of EM, the choice of links.
HERE = "in this process"


@dataclass
class Spent:
    """What tasks took.

    Attributes
    ----------
    tasks : int
    cpu : float
        CPU seconds of the tasks in worker processes; those of this process are counted by the report.
    sent : int
        Bytes of arguments that were sent to the cluster.
    returned : int
        Bytes of the results of tasks; they stay with a worker, or move to another or to this process.
    peak : int
        Largest memory of a worker process until then.
    """

    tasks: int = 0
    cpu: float = 0.0
    sent: int = 0
    returned: int = 0
    peak: int = 0

    def add(self, other: Spent) -> None:
        """Count what others took too."""
        self.tasks += other.tasks
        self.cpu += other.cpu
        self.sent += other.sent
        self.returned += other.returned
        self.peak = max(self.peak, other.peak)

    def since(self, before: Spent) -> Spent:
        """What was added after ``before``, an earlier copy."""
        return Spent(
            self.tasks - before.tasks,
            self.cpu - before.cpu,
            self.sent - before.sent,
            self.returned - before.returned,
            self.peak,
        )


@dataclass
class Phase:
    """One phase of a run, all its passes together.

    Attributes
    ----------
    name : str
    seconds : float
        Wall time; for work in this process between the passes, its CPU time.
    cpu_here : float
        CPU seconds of this process.
    spent : Spent
        What the tasks took.
    peak_here : int
        Largest memory of this process until the end of the phase, in bytes.
    """

    name: str
    seconds: float = 0.0
    cpu_here: float = 0.0
    spent: Spent = field(default_factory=Spent)
    peak_here: int = 0


class Report:
    """The phases of a run, in the order in which they first came.

    Examples
    --------
    >>> from tsenet.scale.report import Report
    >>> report = Report()
    >>> with report.phase("counts") as spent:
    ...     spent.tasks = 3
    >>> [(phase.name, phase.spent.tasks) for phase in report.phases if phase.spent.tasks]
    [('counts', 3)]
    """

    def __init__(self) -> None:
        self._phases: dict[str, Phase] = {}
        self._cpu = time.process_time()

    @property
    def phases(self) -> list[Phase]:
        """The phases, what happened between them in this process last."""
        self._close_gap()
        return sorted(self._phases.values(), key=lambda phase: phase.name == HERE)

    def phase(self, name: str) -> _Clock:
        """Measure a phase with ``with``; what its tasks took is to be added to what it gives."""
        return _Clock(self, name)

    def record(self, name: str, seconds: float, cpu: float, spent: Spent) -> None:
        """Add to a phase."""
        phase = self._phases.setdefault(name, Phase(name))
        phase.seconds += seconds
        phase.cpu_here += cpu
        phase.spent.add(spent)
        phase.peak_here = peak_memory()

    def _close_gap(self) -> float:
        now = time.process_time()
        self.record(HERE, now - self._cpu, now - self._cpu, Spent())
        self._cpu = now
        return now

    def to_dict(self) -> list[dict[str, Any]]:
        """The phases as plain values: seconds and bytes."""
        return [
            {
                "phase": phase.name,
                "seconds": phase.seconds,
                "cpu_here": phase.cpu_here,
                "tasks": phase.spent.tasks,
                "cpu_workers": phase.spent.cpu,
                "bytes_sent": phase.spent.sent,
                "bytes_returned": phase.spent.returned,
                "peak_here": phase.peak_here,
                "peak_worker": phase.spent.peak,
            }
            for phase in self.phases
        ]

    def __str__(self) -> str:
        head = ["phase", "tasks", "seconds", "CPU s here", "CPU s workers", "MB sent"]
        head += ["MB returned", "peak MB here", "peak MB worker"]
        rows = [head]
        for each in self.to_dict():
            rows.append(
                [
                    *(each["phase"], f"{each['tasks']:,}"),
                    *(f"{each[name]:.1f}" for name in ("seconds", "cpu_here", "cpu_workers")),
                    *(f"{each[name] / 1e6:,.1f}" for name in ("bytes_sent", "bytes_returned")),
                    f"{each['peak_here'] / 1e6:,.0f}",
                    f"{each['peak_worker'] / 1e6:,.0f}" if each["peak_worker"] else "-",
                ]
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        )


class _Clock:
    """Measures one pass."""

    def __init__(self, report: Report, name: str) -> None:
        self._report, self._name, self._spent = report, name, Spent()

    def __enter__(self) -> Spent:
        self._cpu, self._wall = self._report._close_gap(), time.perf_counter()
        return self._spent

    def __exit__(self, *_: object) -> None:
        now = time.process_time()
        seconds = time.perf_counter() - self._wall
        self._report.record(self._name, seconds, now - self._cpu, self._spent)
        self._report._cpu = now


def peak_memory() -> int:
    """Largest resident memory of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if (
        status.exists()
    ):  # `ru_maxrss` would begin with the peak of the process that started this one
        for line in status.read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def bytes_held(value: Any) -> int:
    """Bytes of the arrays in a value, and 8 for anything else.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.scale.report import bytes_held
    >>> bytes_held({"a": np.zeros(3), "b": [1.0, (np.zeros((2, 2), np.int32),)]})
    48
    """
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, list | tuple):
        return sum(map(bytes_held, value))
    if isinstance(value, Mapping):
        return sum(map(bytes_held, value.values()))
    if sp.issparse(value):
        return sum(getattr(value.tocsr(), name).nbytes for name in ("data", "indices", "indptr"))
    if is_dataclass(value):
        return sum(bytes_held(getattr(value, each.name)) for each in fields(value))
    return 8
