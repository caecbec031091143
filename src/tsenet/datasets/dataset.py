"""The data set that loaders return: training, validation and test rows, and a card with their origin."""

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
    """The training, validation or test rows of a data set.

    Attributes
    ----------
    X : csr_array or ndarray, float32, shape (N, V)
        Features; sparse for documents, dense for molecules and images.
    y : ndarray
        Class numbers from 0, int64 of shape (N,); or labels 0 and 1, float64 of shape (N, C), NaN where unknown.
    texts : tuple of str or None, default=None
        The documents or SMILES strings, one per row.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.datasets import Part
    >>> part = Part(np.eye(3, dtype=np.float32), np.array([0, 1, 0]))
    >>> part
    Part(3 rows × 3 dense features)
    >>> len(part)
    3
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
        """Return some of the rows.

        Parameters
        ----------
        chosen : ndarray of bool, shape (N,), or ndarray of int
            A mask, or row numbers in the wanted order.

        Returns
        -------
        Part

        Examples
        --------
        >>> import numpy as np
        >>> from tsenet.datasets import Part
        >>> part = Part(np.eye(3, dtype=np.float32), np.array([5, 6, 7]))
        >>> part.rows(np.array([2, 0])).y.tolist()
        [7, 5]
        """
        places = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        texts = None if self.texts is None else tuple(self.texts[i] for i in places)
        return Part(self.X[places], self.y[places], texts)


@dataclass(frozen=True, eq=False)
class DataCard:
    """Where a data set comes from and how it was made.

    Attributes
    ----------
    source, licence, citation : str
        Where it comes from, its terms of use, and the publication to cite.
    recipe : str
        How the features were made.
    n_train, n_validation, n_test : int
        Number of rows of each part.
    in_training : ndarray of bool, shape (n_test,)
        Test rows that are duplicates of training or validation rows.
    notes : tuple of str, default=()
        Other facts that matter when results are compared.

    Examples
    --------
    >>> from tsenet.datasets import load
    >>> card = load("digits").card
    >>> card.licence, card.n_test, card.n_duplicates
    ('CC BY 4.0', 359, 0)
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
        """Number of test rows that are duplicates of training or validation rows."""
        return int(np.count_nonzero(self.in_training))

    def report(self) -> str:
        """Return the card as text.

        Returns
        -------
        str
            One ``what: value`` per line.

        Examples
        --------
        >>> from tsenet.datasets import load
        >>> print(load("digits").card.report())
        source: https://archive.ics.uci.edu/dataset/80 (comes with scikit-learn)
        licence: CC BY 4.0
        citation: Alpaydin, Kaynak: Optical recognition of handwritten digits, UCI, 1998
        recipe: grey values divided by 16
        rows: 1,294 training, 144 validation, 359 test
        duplicates: 0 test rows also in training
        note: The paper does not use this set: a tenth of its training rows is held out for validation.
        """
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
    name : str
        Name in the catalog, or the file name.
    title : str
        Name to show to people.
    task : {"classes", "labels"}
        One class per row, or several labels per row, some of which may be unknown (NaN).
    train, validation, test : Part
        The rows.
    feature_names : tuple of str, length V
        Names of the columns of ``X``.
    class_names : tuple of str
        Names of the classes, or of the labels in the order of the columns of ``y``.
    card : DataCard
        Origin and recipe.

    Examples
    --------
    >>> from tsenet.datasets import load
    >>> digits = load("digits")
    >>> digits
    Dataset('digits', 1,294 + 144 + 359 rows × 64 features, 10 classes)
    >>> digits.feature_names[:2], digits.class_names[:2]
    (('row0col0', 'row0col1'), ('0', '1'))
    >>> {name: len(part) for name, part in digits.parts.items()}
    {'train': 1294, 'validation': 144, 'test': 359}
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
        """Number of classes or labels."""
        return len(self.class_names)

    def __repr__(self) -> str:
        rows = " + ".join(f"{len(part):,}" for part in self.parts.values())
        return (
            f"Dataset({self.name!r}, {rows} rows × {self.n_features:,} features, "
            f"{self.n_classes} {self.task})"
        )

    def validate(self) -> None:
        """Check that rows, names and card agree.

        Raises
        ------
        DataError
            Naming the first part or field that is inconsistent.

        Examples
        --------
        >>> from dataclasses import replace
        >>> from tsenet.datasets import load
        >>> replace(load("digits"), feature_names=("pixel",)).validate()
        Traceback (most recent call last):
            ...
        tsenet.errors.DataError: digits: train has shape (1294, 64), not (N, 1)
        """
        for name, part in self.parts.items():
            if part.X.ndim != 2 or part.X.shape[1] != self.n_features:
                wanted = f"(N, {self.n_features})"
                raise DataError(f"{self.name}: {name} has shape {part.X.shape}, not {wanted}")
            if part.X.dtype != np.float32:
                raise DataError(f"{self.name}: {name}.X is {part.X.dtype}, not float32")
            self._check_targets(name, part)
            if part.texts is not None and len(part.texts) != len(part):
                raise DataError(f"{self.name}: {name} has {len(part.texts)} texts of {len(part)}")
            if getattr(self.card, f"n_{name}") != len(part):
                raise DataError(f"{self.name}: the card has another number of rows of {name}")
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
