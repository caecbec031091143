"""A data set and what its runs share: its parts, which rows keep their labels, and the structures learned from it.

A structure is learned without labels, so one serves all methods, label counts and settings of a seed. It is kept in
memory and on disk; what it cost is charged to every run that uses it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import reproduce
from reproduce.files import write_whole
from reproduce.runs import canonical
from tsenet.errors import DataError, ModelFileError

if TYPE_CHECKING:
    from tsenet.datasets.dataset import Dataset, Part
    from tsenet.expansion.wiring import Wiring
    from tsenet.skeleton.tree import LatentTree

__all__ = ["DatasetContext", "QuickSize", "TooFewRowsError", "label_order", "shrink"]

logger = logging.getLogger("tsenet")
T = TypeVar("T")
Structure = TypeVar("Structure", "LatentTree", "Wiring")


@dataclass(frozen=True)
class QuickSize:
    """Sizes of a data set for ``--quick``."""

    n_words: int = 2_000
    n_train: int = 6_000
    n_validation: int = 2_000
    n_test: int = 2_000


class TooFewRowsError(DataError):
    """There are too few rows to draw that many labels."""


class DatasetContext:
    """A data set and what its runs share.

    Parameters
    ----------
    dataset : Dataset
    folder : path or None
        Where structures are kept; None: in memory only.
    n_jobs : int or None
        Threads; the results do not depend on it.
    """

    def __init__(
        self,
        dataset: Dataset,
        folder: Path | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.dataset = dataset
        self.n_jobs = n_jobs
        self.spent = 0.0  # CPU seconds spent so far on what runs share
        self._folder = folder
        self._cache: dict[str, tuple[Any, float]] = {}
        self._orders: dict[int, NDArray[np.int64]] = {}
        self._fingerprint = fingerprint(dataset.train)

    # ---- labels

    def labelled(self, n_labels: int | None, seed: int) -> NDArray[np.int64]:
        """Numbers of the training rows that keep their labels, ascending; with more labels the same ones and others.

        Raises
        ------
        TooFewRowsError
            If there are fewer labels than classes, or fewer rows than labels.
        """
        n_rows = len(self.dataset.train)
        if n_labels is None:
            return np.arange(n_rows)
        if self.dataset.task != "classes":
            raise DataError(f"{self.dataset.name}: labels can be drawn for one class per row only")
        if not self.dataset.n_classes <= n_labels <= n_rows:
            raise TooFewRowsError(
                f"{self.dataset.name}: {n_labels} labels cannot be drawn; it has {n_rows} training rows in "
                f"{self.dataset.n_classes} classes, and each class needs one"
            )
        if seed not in self._orders:
            self._orders[seed] = label_order(self.dataset.train.y, seed)
        return np.sort(self._orders[seed][:n_labels])

    # ---- structures

    def tree(self, seed: int, **settings: Any) -> tuple[LatentTree, float]:
        """The skeleton of all training rows and the CPU seconds it cost."""
        from tsenet.skeleton.hlta import learn_tree

        def make() -> LatentTree:
            return learn_tree(
                self.dataset.train.X, **settings, random_state=seed, n_jobs=self.n_jobs
            )

        return self._structure("LatentTree", {**settings, "seed": seed}, make)

    def wiring(
        self, seed: int, density: float | None, link_rule: str | None, **settings: Any
    ) -> tuple[Wiring, float]:
        """The skeleton, expanded, and the CPU seconds both cost; None is what the library usually takes."""
        from tsenet import Table
        from tsenet.expansion.expand import expand
        from tsenet.expansion.structure import usual_density, usual_link_rule

        def make() -> Wiring:
            tree, _ = self.tree(seed, **settings)
            table = Table.of(self.dataset.train.X)
            return expand(
                tree,
                self.dataset.train.X,
                density=usual_density(table, tree) if density is None else density,
                link_rule=link_rule or usual_link_rule(table),  # type: ignore[arg-type]  # expand itself refuses other names
                random_state=seed,
                n_jobs=self.n_jobs,
            )

        _, tree_cost = self.tree(seed, **settings)
        recipe = {**settings, "seed": seed, "density": density, "link_rule": link_rule}
        wiring, cost = self._structure("Wiring", recipe, make)
        return wiring, tree_cost + cost

    def cached(self, name: str, make: Callable[[], T]) -> tuple[T, float]:
        """The value of ``make()``, computed once, and its CPU seconds without those of other cached values it used."""
        if name not in self._cache:
            before, began = self.spent, time.process_time()
            value = make()
            cost = time.process_time() - began - (self.spent - before)
            self.spent += cost
            self._cache[name] = (value, cost)
        return self._cache[name]

    def _structure(
        self, kind: str, settings: dict[str, Any], make: Callable[[], Structure]
    ) -> tuple[Structure, float]:
        """A shared structure that is also kept on disk, beside a note of its settings and cost."""
        import tsenet

        about = {"kind": kind, "data": self._fingerprint, "recipe": reproduce.RECIPE}
        about |= settings
        name = f"{kind} {canonical(about)}"
        if self._folder is None or name in self._cache:
            return self.cached(name, make)
        label = self.dataset.name.replace("/", "-")
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        file = self._folder / f"{label}-{digest}.tsenet"
        note = file.with_suffix(".json")
        if file.exists() and note.exists():
            try:
                known = json.loads(note.read_text("utf-8"))
                self._cache[name] = (tsenet.load(file), float(known["cpu_seconds"]))
                return self.cached(name, make)
            except (ModelFileError, ValueError, KeyError) as error:
                logger.warning("%s cannot be used (%s): it is learned again", file, error)
        value, cost = self.cached(name, make)
        self._folder.mkdir(parents=True, exist_ok=True)
        tsenet.save(value, file)
        write_whole(note, canonical({**about, "cpu_seconds": cost}) + "\n")
        return value, cost


def label_order(y: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """An order of the rows in which labels are given away: (N,).

    Every beginning of it holds the classes in their shares, as nearly as whole rows allow, and as soon as it is long
    enough a row of each class.
    """
    rng = np.random.default_rng([seed, 20_180_314])
    place = np.empty(y.size)
    first = np.zeros(y.size, bool)
    for label in np.unique(y):
        own = rng.permutation(np.flatnonzero(y == label))
        # Spread evenly over 0 … 1, from a random start: the next label goes to the class that lags most.
        place[own] = (np.arange(own.size) + rng.random()) / own.size
        first[own[0]] = True
    return np.lexsort((place, ~first))


def shrink(dataset: Dataset, size: QuickSize) -> Dataset:
    """The data set with at most so many rows in each part, drawn at random and always the same."""
    rng = np.random.default_rng(0)
    wanted = {"train": size.n_train, "validation": size.n_validation, "test": size.n_test}
    rows = {
        name: np.sort(rng.permutation(len(part))[: wanted[name]])
        for name, part in dataset.parts.items()
    }
    card = replace(
        dataset.card,
        n_train=rows["train"].size,
        n_validation=rows["validation"].size,
        n_test=rows["test"].size,
        in_training=dataset.card.in_training[rows["test"]],
    )
    return replace(
        dataset,
        train=dataset.train.rows(rows["train"]),
        validation=dataset.validation.rows(rows["validation"]),
        test=dataset.test.rows(rows["test"]),
        card=card,
    )


def fingerprint(part: Part) -> str:
    """A short hash of the features: a structure is never used for other data."""
    X = part.X
    arrays = (X.indptr, X.indices, X.data) if sp.issparse(X) else (np.ascontiguousarray(X),)
    digest = hashlib.blake2b(repr(X.shape).encode(), digest_size=8)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()
