"""What a loader returns: a data set in three parts, with a card that says where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.columns import count_of
from tsenet.errors import DataError

__all__ = ["DataCard", "Dataset", "Part", "Task"]

Task = Literal["classes", "labels"]


@dataclass(frozen=True, eq=False)
class Part:
    """One split of a data set.

    Attributes
    ----------
    X : csr_array or ndarray, float32, shape (N, V)
        Sparse for text, dense for tables and images.
    y : ndarray
        Shape (N,), int64: class numbers from 0. Or shape (N, C), float64: labels 0 and 1, NaN where unknown.
    texts : tuple of str or None
        The documents or the SMILES strings, one per row.
    """

    X: Any
    y: NDArray[Any]
    texts: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.X) else "dense"
        return f"Part({len(self):,} rows × {self.X.shape[1]:,} {kind} features)"

    def rows(self, chosen: NDArray[Any]) -> Part:
        """The part of the rows that a mask or row numbers choose, in that order."""
        places = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        texts = None if self.texts is None else tuple(self.texts[i] for i in places)
        return Part(self.X[places], self.y[places], texts)


@dataclass(frozen=True, eq=False)
class DataCard:
    """Where a data set comes from and how it was made.

    Attributes
    ----------
    source, licence, citation : str
    recipe : str
        How the features were made.
    n_train, n_validation, n_test : int
        Rows of each part.
    in_training : ndarray of bool, shape (n_test,)
        Test rows whose content also occurs among the training or validation rows.
    notes : tuple of str
        What else a user of the figures should know.
    """

    source: str
    licence: str
    citation: str
    recipe: str
    n_train: int
    n_validation: int
    n_test: int
    in_training: NDArray[np.bool_]
    notes: tuple[str, ...] = ()

    @property
    def n_duplicates(self) -> int:
        """Number of test rows that also occur in training."""
        return int(np.count_nonzero(self.in_training))

    def report(self) -> str:
        """The card as lines of text, each ``what: value``."""
        rows = f"{self.n_train:,} training, {self.n_validation:,} validation, {self.n_test:,} test"
        lines = [
            f"source: {self.source}",
            f"licence: {self.licence}",
            f"citation: {self.citation}",
            f"recipe: {self.recipe}",
            f"rows: {rows}",
            f"duplicates: {count_of(self.n_duplicates, 'test row')} also in training",
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training, validation and test rows of one task.

    Attributes
    ----------
    name, title : str
        As in the catalog, and for people.
    task : {"classes", "labels"}
        One class per row, or several labels of which some may be unknown (NaN).
    train, validation, test : Part
    feature_names : tuple of str, length V
    class_names : tuple of str
        The classes, or the labels in the order of the columns of ``y``.
    card : DataCard
    """

    name: str
    title: str
    task: Task
    train: Part
    validation: Part
    test: Part
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    card: DataCard

    @property
    def parts(self) -> dict[str, Part]:
        """The three parts by name, in the order training, validation, test."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @property
    def n_classes(self) -> int:
        """Number of classes, or of labels."""
        return len(self.class_names)

    def __repr__(self) -> str:
        rows = " + ".join(f"{len(part):,}" for part in self.parts.values())
        return (
            f"Dataset({self.name!r}, {rows} rows × {self.n_features:,} features, "
            f"{self.n_classes} {self.task})"
        )

    def validate(self) -> None:
        """Check that shapes, names and the card agree.

        Raises
        ------
        DataError
            Naming the first part or field that does not fit.
        """
        for name, part in self.parts.items():
            if part.X.ndim != 2 or part.X.shape[1] != self.n_features:
                raise DataError(f"{self.name}: {name} has shape {part.X.shape}, not (N, V)")
            if part.X.dtype != np.float32:
                raise DataError(f"{self.name}: {name}.X is {part.X.dtype}, not float32")
            self._check_targets(name, part)
            if part.texts is not None and len(part.texts) != len(part):
                raise DataError(f"{self.name}: {name} has {len(part.texts)} texts of {len(part)}")
            if getattr(self.card, f"n_{name}") != len(part):
                raise DataError(f"{self.name}: the card counts other rows in {name}")
        if self.card.in_training.shape != (len(self.test),):
            raise DataError(f"{self.name}: the card's mask does not fit the test rows")

    def _check_targets(self, name: str, part: Part) -> None:
        known = part.y[~np.isnan(part.y)] if self.task == "labels" else part.y
        shape = (len(part), self.n_classes) if self.task == "labels" else (len(part),)
        most = 1 if self.task == "labels" else self.n_classes - 1
        kind = np.float64 if self.task == "labels" else np.int64
        if part.y.shape != shape or part.y.dtype != kind:
            raise DataError(f"{self.name}: {name}.y is {part.y.dtype} of shape {part.y.shape}")
        if known.size and (known.min() < 0 or known.max() > most):
            raise DataError(f"{self.name}: {name}.y holds values outside 0 to {most}")
