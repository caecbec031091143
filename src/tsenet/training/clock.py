"""How long training has taken and may still take."""

from __future__ import annotations

import time

from tsenet.training.checkpoint import Position

__all__ = ["Clock"]


class Clock:
    """Times the epochs of a run, over all parts of an interrupted one, and estimates what is left."""

    def __init__(self, at: Position, n_batches: int, max_epochs: int) -> None:
        self._n_batches = n_batches
        self._max_epochs = max_epochs
        self._batches_before = self._batches(at)
        self._began = self._last_tick = time.perf_counter()

    def tick(self, at: Position) -> None:
        """Add the time since the last tick to the present epoch's."""
        now = time.perf_counter()
        at.seconds += now - self._last_tick
        self._last_tick = now

    def note(self, at: Position, loss: float) -> str:
        """Epoch, loss of the batch just done, last validation score, time left if nothing stops it early."""
        done = self._batches(at)
        per_batch = (self._last_tick - self._began) / (done - self._batches_before)
        left = per_batch * (self._max_epochs * self._n_batches - done)
        scores = at.history.validation_score
        score = f", score {scores[-1]:.4g}" if scores else ""
        epoch = f"epoch {at.history.n_epochs + 1}/{self._max_epochs}"
        return f"{epoch}, loss {loss:.4g}{score}, {left:.0f} s left"

    def _batches(self, at: Position) -> int:
        return at.history.n_epochs * self._n_batches + at.batch
