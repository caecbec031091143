"""The engine that streams rows; training over several processes is gone."""

from __future__ import annotations

from tsenet.network.batches import Inputs
from tsenet.training.engine import Engine

__all__ = ["ParallelEngine"]


class ParallelEngine(Engine):
    """An engine whose rows come from one table after another."""

    def take_rows_of(self, inputs: Inputs, first_row: int) -> None:
        """Let the next step read its rows from a table."""
        self.inputs = inputs
