"""Small documents about three subjects, and models of them, for the tests of the explorer."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tsenet
from tsenet.data.table import Table
from tsenet.data.text import vectorize, word_vectorizer

SUBJECTS = {
    "sport": ("football", "goal", "referee", "stadium", "striker", "league"),
    "politics": ("election", "senate", "ballot", "candidate", "voters", "congress"),
    "space": ("galaxy", "telescope", "orbit", "comet", "planet", "nebula"),
}
N_ROWS = 240


@cache
def documents() -> tuple[list[str], NDArray[np.str_]]:
    """Texts, each of its own subject with the odd word of another, and their subjects."""
    rng = np.random.default_rng(0)
    texts, subjects = [], []
    for _ in range(N_ROWS):
        own = str(rng.choice(list(SUBJECTS)))
        words = [
            word
            for subject, vocabulary in SUBJECTS.items()
            for word in vocabulary
            if rng.random() < (0.6 if subject == own else 0.06)
        ]
        texts.append(f"The {' '.join(words)}.")
        subjects.append(own)
    return texts, np.array(subjects)


@cache
def table() -> Table:
    return vectorize(documents()[0], word_vectorizer(stop_words="english", min_documents=2))


def model(targets: NDArray[Any], kind: Any = tsenet.TSENetClassifier, **options: Any) -> Any:
    """A network of a few epochs; its tree has two levels."""
    settings = {
        "density": 0.7,
        "max_top": 2,
        "tree_options": {"max_island": 4, "correlation_test": False},
        "skip_units": 4,
        "feature_units": 4,
    }
    settings |= {"max_epochs": 3, "random_state": 0, "n_jobs": 1}
    made = kind(**{**settings, "init": "random", **options})
    return made.fit(table(), targets)


@cache
def classifier() -> Any:
    return model(documents()[1])


@cache
def tree() -> Any:
    options = {"max_top": 2, "max_island": 4, "correlation_test": False, "refine_steps": 3}
    return tsenet.learn_tree(table(), **options, random_state=0)
