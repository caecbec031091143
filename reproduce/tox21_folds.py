"""Tox21 by the challenge's own five folds: the test has 645 compounds, the folds 7,900 of the training compounds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tsenet.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tsenet.datasets.dataset import Dataset

__all__ = ["FOLDS", "is_fold", "tox21_fold"]

_BEGINNING = "fold"
#: Names of the data sets in which a fold of the training compounds takes the place of the test rows.
FOLDS = tuple(f"tox21:{_BEGINNING}{number}" for number in range(5))


def is_fold(part: str) -> bool:
    """Whether what follows the colon in a data set's name is a fold."""
    return part.startswith(_BEGINNING)


def tox21_fold(dataset: Dataset, part: str, folds: NDArray[np.float64] | None = None) -> Dataset:
    """Tox21 with one fold of its training compounds as test rows; the official test rows are not looked at.

    Features, their scales among them, are those that all training compounds gave. Compounds without a fold stay in
    training.

    Parameters
    ----------
    dataset : Dataset
        All of Tox21.
    part : str
        ``"fold0"`` … ``"fold4"``, as the file numbers them.
    folds : float (N,), optional
        Number of the fold of each training compound, NaN for none. Default: from the file of the data set.
    """
    if f"tox21:{part}" not in FOLDS:
        raise DataError(f"there is no data set tox21:{part}: there are {', '.join(FOLDS)}")
    own = _folds_of(dataset) if folds is None else folds
    held = own == float(part.removeprefix(_BEGINNING))
    train, test = (
        dataset.train.rows(np.flatnonzero(~held)),
        dataset.train.rows(np.flatnonzero(held)),
    )
    known = set(train.texts or ())
    again = np.array([text in known for text in test.texts or [""] * len(test)], bool)
    card = replace(dataset.card, n_train=len(train), n_test=len(test), in_training=again)
    return replace(dataset, name=f"{dataset.name}:{part}", train=train, test=test, card=card)


def _folds_of(dataset: Dataset) -> NDArray[np.float64]:
    """The column CVfold for the training compounds, which are in the order of the file."""
    from tsenet.data.files import read_data
    from tsenet.datasets import entry_of
    from tsenet.datasets.places import find

    found = find(entry_of("tox21"))
    if found is None or "tox21.csv" not in found:
        raise DataError("the folds of Tox21 are a column of tox21.csv, which is not there")
    columns = read_data(found["tox21.csv"]).columns
    if "CVfold" not in columns:
        raise DataError(f"{found['tox21.csv']} has no column CVfold")
    lines = zip(columns["smiles"], columns["set"], columns["CVfold"], strict=True)
    listed = ((smiles, fold) for smiles, kind, fold in lines if kind == "training")
    folds = []
    for wanted in dataset.train.texts or ():
        fold = next(
            (fold for smiles, fold in listed if smiles == wanted), None
        )  # some are left out
        if fold is None:
            raise DataError("the training compounds of Tox21 are not those of tox21.csv")
        folds.append(float(fold) if fold not in ("", "NA") else np.nan)
    return np.array(folds)
