"""What happened during training, epoch by epoch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

__all__ = ["History"]

_SERIES = ("train_loss", "validation_loss", "validation_score", "learning_rate", "seconds")


@dataclass(frozen=True, repr=False)
class History:
    """One entry per epoch in every series; the validation series are empty without validation rows.

    Attributes
    ----------
    train_loss : tuple of float
        Mean loss of the epoch's batches, dropout included.
    validation_loss, validation_score : tuple of float
        After the epoch, without dropout; a higher score is better.
    learning_rate : tuple of float
        Adam's step size.
    seconds : tuple of float
        Wall-clock time of the epoch, validation included; not compared, and empty in a loaded model, whose file does
        not hold times.
    best_epoch : int or None
        Number, from 0, of the epoch with the best validation score; None if there is none.
    stopped : str or None
        Why training ended: ``"max_epochs"``, ``"early_stopping"`` or ``"diverged"``; None while it continues.
    """

    train_loss: tuple[float, ...] = ()
    validation_loss: tuple[float, ...] = ()
    validation_score: tuple[float, ...] = ()
    learning_rate: tuple[float, ...] = ()
    seconds: tuple[float, ...] = field(default=(), compare=False)
    best_epoch: int | None = None
    stopped: str | None = None

    @property
    def n_epochs(self) -> int:
        """Number of whole epochs."""
        return len(self.train_loss)

    @property
    def best_score(self) -> float | None:
        """Validation score of the best epoch."""
        return None if self.best_epoch is None else self.validation_score[self.best_epoch]

    @property
    def epochs_since_best(self) -> int:
        """Epochs after the best one; all of them if there is none."""
        return self.n_epochs - 1 - (-1 if self.best_epoch is None else self.best_epoch)

    def after_epoch(
        self,
        train_loss: float,
        validation: tuple[float, float] | None,
        learning_rate: float,
        seconds: float,
    ) -> History:
        """Return the history with one more epoch; ``validation`` is its loss and score.

        The epoch becomes the best one if its score beats the best. NaN beats nothing.
        """
        longer = replace(
            self,
            train_loss=(*self.train_loss, train_loss),
            learning_rate=(*self.learning_rate, learning_rate),
            seconds=(*self.seconds, seconds),
        )
        if validation is None:
            return longer
        loss, score = validation
        best = self.best_score
        is_best = not math.isnan(score) if best is None else score > best
        return replace(
            longer,
            validation_loss=(*self.validation_loss, loss),
            validation_score=(*self.validation_score, score),
            best_epoch=self.n_epochs if is_best else self.best_epoch,
        )

    def last_epoch(self) -> str:
        """Describe the last epoch in a line."""
        parts = [f"epoch {self.n_epochs}: train loss {self.train_loss[-1]:.4g}"]
        if self.validation_score:
            parts.append(f"validation loss {self.validation_loss[-1]:.4g}")
            parts.append(f"score {self.validation_score[-1]:.4g}")
        parts.append(f"learning rate {self.learning_rate[-1]:.3g}")
        return ", ".join([*parts, f"{self.seconds[-1]:.2f} s"])

    def table(self) -> str:
        """Describe all epochs, one in a line, with the best one marked."""
        heads = ["epoch", "train loss", "learning rate", "seconds"]
        columns = [self.train_loss, self.learning_rate, self.seconds]
        if self.validation_score:
            heads[2:2] = ["validation loss", "score"]
            columns[1:1] = [self.validation_loss, self.validation_score]
        lines = ["  ".join(heads)]
        for epoch, numbers in enumerate(zip(*columns, strict=True)):
            cells = [f"{epoch + 1:>5}"]
            cells += [
                f"{number:>{len(head)}.4g}" for head, number in zip(heads[1:], numbers, strict=True)
            ]
            lines.append("  ".join(cells) + ("  best" if epoch == self.best_epoch else ""))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able fields; NaN and infinity, which JSON lacks, become strings."""
        plain = asdict(self)
        for name in _SERIES:
            plain[name] = [v if math.isfinite(v) else str(v) for v in plain[name]]
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> History:
        """Rebuild a history from :meth:`to_dict`; raises ValueError if it cannot be one."""
        if set(plain) != {part.name for part in fields(cls)}:
            raise ValueError(f"a history has other fields than {sorted(plain)}")
        series = {name: tuple(float(value) for value in plain[name]) for name in _SERIES}
        rest: dict[str, Any] = {key: plain[key] for key in ("best_epoch", "stopped")}
        made = cls(**{**series, **rest})
        for name, kind in (("best_epoch", int), ("stopped", str)):
            if not isinstance(rest[name], kind | None):
                raise ValueError(f"{name} of a history is {rest[name]!r}")
        lengths = {len(made.train_loss), len(made.learning_rate)}
        if (
            len(lengths) > 1
            or len(made.seconds) not in {0, *lengths}
            or {len(made.validation_loss), len(made.validation_score)} - {0} - lengths
        ):
            raise ValueError("the series of a history have different lengths")
        if made.best_epoch is not None and not 0 <= made.best_epoch < len(made.validation_score):
            raise ValueError(f"the best epoch {made.best_epoch} is not one of the epochs")
        return made

    def __repr__(self) -> str:
        parts = [f"{self.n_epochs} epochs"]
        if self.train_loss:
            parts.append(f"train loss {self.train_loss[-1]:.4g}")
        if self.best_epoch is not None:
            parts.append(f"best score {self.best_score:.4g} in epoch {self.best_epoch + 1}")
        parts.append(f"stopped: {self.stopped}" if self.stopped else "going on")
        return f"History({', '.join(parts)})"
