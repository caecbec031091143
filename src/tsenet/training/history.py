"""`History`: losses and scores of the epochs of a training."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

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
        new = {"train_loss": train_loss, "learning_rate": learning_rate, "seconds": seconds}
        best_epoch = self.best_epoch
        if validation is not None:
            new["validation_loss"], new["validation_score"] = validation
            best = -math.inf if self.best_score is None else self.best_score
            if validation[1] > best:
                best_epoch = self.n_epochs

        longer: dict[str, Any] = {k: (*getattr(self, k), value) for k, value in new.items()}
        return replace(self, **longer, best_epoch=best_epoch)

    def table(self) -> pd.DataFrame:
        """All epochs as a data frame, numbered from 1."""
        import pandas as pd

        series = {name.replace("_", " "): getattr(self, name) for name in _SERIES}
        frame = pd.DataFrame({name: values for name, values in series.items() if values})
        return frame.set_index(pd.RangeIndex(1, self.n_epochs + 1, name="epoch"))

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
        best = plain["best_epoch"]
        stopped = plain["stopped"]
        made = cls(**series, best_epoch=best, stopped=stopped)

        n_epochs = made.n_epochs
        n_scores = len(made.validation_score)
        fits = len(made.learning_rate) == n_epochs and len(made.validation_loss) == n_scores
        fits &= n_scores in (0, n_epochs) and len(made.seconds) in (0, n_epochs)
        if not fits:
            raise ValueError("the series of a history have different lengths")
        if best is not None and (type(best) is not int or not 0 <= best < n_scores):
            raise ValueError(f"the best epoch {best!r} is not one of the epochs")
        if not isinstance(stopped, str | None):
            raise ValueError(f"stopped of a history is {stopped!r}")
        return made

    def __repr__(self) -> str:
        return f"History({self})"

    def __str__(self) -> str:
        parts = [f"{self.n_epochs} epochs"]
        if self.train_loss:
            parts.append(f"train loss {self.train_loss[-1]:.4g}")
        if self.best_epoch is not None:
            parts.append(f"best score {self.best_score:.4g} in epoch {self.best_epoch + 1}")
        parts.append(f"stopped: {self.stopped}" if self.stopped else "not stopped")
        return ", ".join(parts)
