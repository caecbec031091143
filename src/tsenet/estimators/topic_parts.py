"""The file form of a topic model: what is written and how it is read, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.data.cells import Cells
from tsenet.estimators.base import as_json, fill_vectorizer, vectorizer_parts
from tsenet.store.files import arrays_under
from tsenet.topics.describe import TopicDescription
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.likelihood import DocumentFit
from tsenet.topics.limits import FINITE, Limits
from tsenet.topics.starts import Start

Arrays = dict[str, NDArray[Any]]


def to_parts(model: Any) -> tuple[dict[str, Any], Arrays]:
    """The file form: parameters, words, labels, the topics and what describes them."""
    meta = {
        # How it was run is no part of the model: the same topics are the same file.
        "params": as_json({**model.get_params(deep=False), "progress": None}),
        "rule": model.binary_rule_.to_dict(),
        **vectorizer_parts(model, model.vocabulary_),
        "ids": list(model._description.ids),
        "titles": list(model._description.title),
        "phrases": [[*pair, count] for pair, count in model._phrases.items()],
        "labels": dict(model._labels),
        "pins": [[pin.level, pin.label, list(pin.words)] for pin in model._pins],
        "seeded": {name: list(words) for name, words in model._seed_words.items()},
        "selection": None if model._selection is None else list(model._selection),
        "n_documents": int(model.n_documents_),
        "n_outliers": int(model.n_outliers_),
    }

    arrays: Arrays = {}
    parts = {"topics": model._hierarchy, "facts": model._description, "fit": model._fit}
    for prefix, part in parts.items():
        for name, array in part.to_parts().items():
            arrays[f"{prefix}.{name}"] = array
    if model._cells is not None:
        arrays["cells.centres"] = model._cells.centres
        arrays["cells.radius"] = np.array([model._cells.radius])
    return meta, arrays


def fill(model: Any, meta: dict[str, Any], arrays: Arrays) -> None:
    """Fill an estimator of the right parameters from :func:`to_parts`.

    Raises
    ------
    ValueError
        If parts contradict each other.
    """
    # The words.
    model._cells = _read_cells(arrays_under("cells", arrays))
    n_cells = 0 if model._cells is None else model._cells.n_cells
    n_words = arrays["topics.weight"].size - n_cells
    model.binary_rule_ = BinaryRule.from_dict(meta["rule"], n_words)
    fill_vectorizer(model, meta, model.vocabulary_)

    # The topics, and what describes them.
    ids = [str(name) for name in meta["ids"]]
    known = {*ids, *model.vocabulary_}
    if len(known) < len(ids) + len(model.vocabulary_):
        raise ValueError("names of topics and words must be unique")
    model._hierarchy = TopicHierarchy.from_parts(arrays_under("topics", arrays), n_words + n_cells)
    model._description = TopicDescription.from_parts(
        arrays_under("facts", arrays),
        model._hierarchy,
        model.vocabulary_,
        ids,
        [str(title) for title in meta["titles"]],
    )
    model._fit = DocumentFit.from_parts(arrays_under("fit", arrays), len(model.vocabulary_))
    model._phrases = {(int(a), int(b)): int(count) for a, b, count in meta["phrases"]}
    in_phrases = {word for pair in model._phrases for word in pair}
    if not in_phrases <= set(range(len(model.vocabulary_))):
        raise ValueError("a phrase has a word that is not in the vocabulary")

    # What people asked for.
    model._labels = {str(name): str(label) for name, label in meta["labels"].items()}
    model._seed_words = {}
    for name, words in meta["seeded"].items():
        model._seed_words[str(name)] = tuple(map(str, words))
    model._pins = []
    for level, label, words in meta["pins"]:
        model._pins.append(Start(int(level), str(label), tuple(map(str, words))))
    model._selection = None if meta["selection"] is None else tuple(meta["selection"])
    unknown = {*model._labels, *model._seed_words, *(model._selection or ())} - set(ids)
    if unknown:
        raise ValueError(f"there is no topic {sorted(unknown)[0]!r}")

    # The documents, of which a file holds none.
    model.n_documents_ = int(meta["n_documents"])
    model._n_outliers = int(meta["n_outliers"])
    if not 0 <= model._n_outliers <= model.n_documents_:
        raise ValueError(f"{model._n_outliers} outliers do not fit {model.n_documents_} documents")
    model._rows = None
    model._strengths = None


def _read_cells(arrays: Arrays) -> Cells | None:
    """The cells of a model that was learned with embeddings."""
    if not arrays:
        return None
    centres = arrays["centres"]
    if centres.ndim != 2 or not centres.size:
        raise ValueError(f"centres of the shape {centres.shape} are none of embeddings")
    limit = float(np.finfo(np.float32).max)
    (radius,) = Limits(np.float64, (1,), 0, FINITE).check("radius", arrays["radius"])
    centres = Limits(np.float32, centres.shape, -limit, limit).check("centres", centres)
    return Cells(centres, float(radius))
