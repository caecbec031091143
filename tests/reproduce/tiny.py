"""Small data sets for the experiments' tests, made in code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet.datasets import DataCard, Dataset, Part

N_CLASSES, WORDS_PER_CLASS = 3, 8


def documents(
    rng: np.random.Generator, n_rows: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Bags of words: those of a row's class are frequent, the others rare."""
    y = rng.integers(N_CLASSES, size=n_rows)
    own = np.arange(N_CLASSES * WORDS_PER_CLASS) // WORDS_PER_CLASS == y[:, None]
    X = rng.random(own.shape) < np.where(own, 0.5, 0.08)
    return X.astype(np.float32), y.astype(np.int64)


def tiny_text(name: str = "tiny", seed: int = 0, n_train: int = 300) -> Dataset:
    """Three kinds of documents; every tenth test row counts as one that was in training."""
    rng = np.random.default_rng(seed)
    parts = {}
    for part, n_rows in (("train", n_train), ("validation", 90), ("test", 120)):
        X, y = documents(rng, n_rows)
        parts[part] = Part(csr_array(X), y)
    return _dataset(name, "classes", parts, tuple(f"class{k}" for k in range(N_CLASSES)))


def tiny_labels(name: str = "tox21", n_labels: int = 7, seed: int = 0) -> Dataset:
    """Dense rows with several labels, a fifth of them unknown."""
    rng = np.random.default_rng(seed)
    parts = {}
    for part, n_rows in (("train", 300), ("validation", 90), ("test", 120)):
        X = rng.normal(size=(n_rows, 16)).astype(np.float32)
        X[:, 8:] += X[:, :8]
        y = (X[:, :n_labels] + 0.3 * rng.normal(size=(n_rows, n_labels)) > 0.8).astype(np.float64)
        y[rng.random(y.shape) < 0.2] = np.nan
        parts[part] = Part(X, y)
    return _dataset(name, "labels", parts, tuple(f"label{k}" for k in range(n_labels)))


def tiny_task(name: str, seed: int = 0) -> Dataset:
    """One of the labels as two classes, as the tasks of Tox21 are."""
    whole = tiny_labels(name, 2, seed)
    parts = {}
    for part, rows in whole.parts.items():
        known = ~np.isnan(rows.y[:, 0])
        parts[part] = Part(rows.X[known], rows.y[known, 0].astype(np.int64))
    return _dataset(name, "classes", parts, ("inactive", "active"))


def _dataset(name: str, task: str, parts: dict[str, Part], classes: tuple[str, ...]) -> Dataset:
    card = DataCard(
        source="made up",
        licence="none",
        citation="none",
        recipe="random numbers",
        n_train=len(parts["train"]),
        n_validation=len(parts["validation"]),
        n_test=len(parts["test"]),
        in_training=np.arange(len(parts["test"])) % 10 == 0,
    )
    names = tuple(f"word{k}" for k in range(parts["train"].X.shape[1]))
    made = Dataset(name, name, task, **parts, feature_names=names, class_names=classes, card=card)  # type: ignore[arg-type]
    made.validate()
    return made
