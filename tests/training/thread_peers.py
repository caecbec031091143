"""Processes that train together, played by threads: the sums are real, only the transport is not gloo's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from tsenet.training.peers import Peers

Value = TypeVar("Value")


@dataclass
class Meeting:
    """Where the threads meet and exchange what they have."""

    size: int
    barrier: threading.Barrier = field(init=False)
    values: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.size, timeout=120)
        self.values = [None] * self.size

    def exchange(self, rank: int, value: Any) -> list[Any]:
        self.values[rank] = value
        self.barrier.wait()
        found = list(self.values)
        self.barrier.wait()
        return found


@dataclass(frozen=True)
class ThreadPeers(Peers):
    """Peers among threads; sums run in the order of the ranks."""

    meeting: Meeting = field(default_factory=lambda: Meeting(1))

    def add_up_tensor(self, values: torch.Tensor) -> None:
        parts = self.meeting.exchange(self.rank, values.clone())
        values.copy_(torch.stack(parts).sum(dim=0))

    def gather(self, value: Value) -> list[Value]:
        return self.meeting.exchange(self.rank, value)

    def from_first(self, make: Callable[[], Value]) -> Value:
        found: Value = self.meeting.exchange(self.rank, make() if self.is_first else None)[0]
        return found


def run_together(size: int, work: Callable[[Peers], Value]) -> list[Value]:
    """What ``work`` returns in each of ``size`` threads, by rank."""
    meeting = Meeting(size)
    with ThreadPoolExecutor(size) as pool:
        runs = [pool.submit(work, ThreadPeers(rank, size, meeting)) for rank in range(size)]
        for run in runs:  # one that failed must not leave the others waiting
            run.add_done_callback(
                lambda done: meeting.barrier.abort() if done.exception() else None
            )
        return [run.result() for run in runs]
