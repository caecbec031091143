"""Write the golden files: ``python -m tests.store.golden.make``.

There is one for each kind of model. ``answers.json`` holds what each said when it was written. Write them again
when the format changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.store.models import SMALL, models, rows
from tsenet.store import load, save

FOLDER = Path(__file__).parent
ANSWERS = FOLDER / "answers.json"
TEXTS = ["goal referee goal stadium", "senate ballot voters", "striker goal", "ballot"] * 15
NEW_TEXTS = ["the referee saw a goal", "a ballot", ""]


def answers_of(kind: str, model: Any) -> list[Any]:
    """What a model says about rows, in numbers and classes."""
    import pandas as pd
    import scipy.sparse as sp

    X = rows(5)
    if kind == "LatentTree":
        return [model.posterior(X).tolist(), model.log_likelihood(X).tolist()]
    if kind == "Wiring":
        return [list(model.layer_sizes), [layer.indices.tolist() for layer in model.layers]]
    if kind in ("LatentTreeTransformer", "regressor"):
        ask = model.transform if kind == "LatentTreeTransformer" else model.predict
        return [ask(X).tolist()]
    if kind == "labels":
        return [model.predict_proba(sp.csr_array(X)).tolist()]
    if kind == "topics":
        return [model.transform(NEW_TEXTS).toarray().tolist()]
    if kind == "texts":
        return [model.predict_proba(NEW_TEXTS).tolist(), model.predict(NEW_TEXTS).tolist()]
    frame = pd.DataFrame(X[:, :6], columns=list("abcdef")).assign(
        colour=["red", "blue"] * 2 + ["x"]
    )
    return [model.predict_proba(frame).tolist(), model.predict(frame).tolist()]


def golden_models() -> dict[str, Any]:
    """A model of every kind."""
    from tsenet import TopicModel, TSENetClassifier

    found = models()
    texts = TSENetClassifier(**SMALL).fit(TEXTS, ["sport", "politics"] * 30)
    return {
        "LatentTree": found["transformer"].tree_,
        "Wiring": found["wiring"],
        "LatentTreeTransformer": found["transformer"],
        "classifier": found["classifier"],
        "labels": found["labels"],
        "regressor": found["regressor"],
        "texts": texts,
        "topics": TopicModel(random_state=0).fit(TEXTS),
    }


def main() -> None:
    """Write all files anew."""
    answers = {}
    for kind, model in golden_models().items():
        path = FOLDER / f"{kind}.tsenet"
        save(model, path)
        answers[kind] = answers_of(kind, load(path))
    ANSWERS.write_text(json.dumps(answers, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main()
