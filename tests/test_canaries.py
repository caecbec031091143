"""Canaries: a few tiny fits whose outcome is committed. They tell a change of behaviour from a change of spelling.

``python -m tests.test_canaries`` writes ``tests/canaries.json`` anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tsenet import TopicModel, TSENetClassifier, TSENetRegressor, expand, learn_tree

FILE = Path(__file__).with_name("canaries.json")
N_TRAIN, N_TEST, N_FEW = 200, 200, 40


@cache
def documents() -> tuple[list[str], NDArray[np.int64]]:
    """Documents of four classes: a word is of the document's subtopic, of its class, or of any subtopic."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=N_TRAIN + N_TEST)
    texts = []
    for label in y:
        subtopic = 2 * label + rng.integers(2)
        kinds = rng.choice(3, size=14, p=[0.45, 0.15, 0.4])
        words = (f"sub{subtopic}", f"class{label}", f"sub{rng.integers(8)}")
        texts.append(" ".join(f"{words[kind]}word{rng.integers(6)}" for kind in kinds))
    return texts, y


def tree() -> dict[str, Any]:
    """The tree and the wiring of a binary table."""
    texts, _ = documents()
    names = sorted({word for text in texts for word in text.split()})
    X = np.array([[name in text.split() for name in names] for text in texts], float)
    found = learn_tree(X, max_top=3, random_state=0, n_jobs=1)
    wiring = expand(found, X, random_state=0, n_jobs=1)
    return {
        "layers": list(found.layer_sizes),
        "groups": sorted(" ".join(names[j] for j in sorted(group)) for group in found.groups(1)),
        "log_likelihood": float(found.log_likelihood(X).mean()),
        "links": [layer.n_edges for layer in wiring.layers],
    }


def topics() -> dict[str, Any]:
    """The topics of documents."""
    model = TopicModel(random_state=0).fit(documents()[0])
    return {"words": len(model.vocabulary_), "topics": sorted(model.topics_["label"])}


def classification(n_labels: int, model: TSENetClassifier) -> dict[str, Any]:
    """A classifier of documents, some of them without a label."""
    texts, y = documents()
    labels = np.where(np.arange(N_TRAIN) < n_labels, y[:N_TRAIN], -1)
    model.set_params(unlabeled=-1, random_state=0, n_jobs=1).fit(texts[:N_TRAIN], labels)
    proba, test = model.predict_proba(texts[N_TRAIN:]), y[N_TRAIN:]
    return {
        "parameters": model.n_parameters_,
        "accuracy": float(np.mean(proba.argmax(axis=1) == test)),
        "log_loss": float(-np.log(proba[np.arange(N_TEST), test]).mean()),
    }


def regression() -> dict[str, Any]:
    """A regressor of dense columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    X[:, 6:] += X[:, :6]
    y = np.sin(X[:, 0]) + X[:, 7] / 2 + 0.1 * rng.normal(size=300)
    model = TSENetRegressor(random_state=0, n_jobs=1).fit(X[:200], y[:200])
    return {"parameters": model.n_parameters_, "r2": float(model.score(X[200:], y[200:]))}


CANARIES: dict[str, Callable[[], dict[str, Any]]] = {
    "tree": tree,
    "topics": topics,
    "few labels": lambda: classification(N_FEW, TSENetClassifier()),
    "all labels": lambda: classification(N_TRAIN, TSENetClassifier(max_epochs=10)),
    "paper": lambda: classification(N_TRAIN, TSENetClassifier.paper(max_epochs=5)),
    "regression": regression,
}


@pytest.mark.parametrize("name", CANARIES)
def test_behaviour_is_that_of_the_recipe(name: str) -> None:
    wanted, found = json.loads(FILE.read_text("utf-8"))[name], CANARIES[name]()
    # processors round differently, which training magnifies; another seed changes more than this
    close = {
        key: pytest.approx(value, rel=0.005) if isinstance(value, float) else value
        for key, value in wanted.items()
    }
    assert found == close, (
        "behaviour changed: if on purpose, write the next recipe beside what it alters in reproduce/__init__.py "
        "and run `python -m tests.test_canaries`"
    )


if __name__ == "__main__":
    outcome = {
        name: {
            key: round(value, 4) if isinstance(value, float) else value
            for key, value in canary().items()
        }
        for name, canary in CANARIES.items()
    }
    FILE.write_text(json.dumps(outcome, indent=1) + "\n", "utf-8")
