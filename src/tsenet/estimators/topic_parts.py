"""The file form of a topic model: plain fields and arrays, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tsenet.estimators.texts import fill_vectorizer, vectorizer_parts
from tsenet.estimators.topic_facts import Facts, plain_parameters
from tsenet.skeleton.tree import LatentTree
from tsenet.store.network_files import arrays_under

if TYPE_CHECKING:
    from tsenet.estimators.topic_model import TopicModel

__all__ = ["fill_model", "model_parts"]

Arrays = dict[str, NDArray[Any]]


def model_parts(model: TopicModel) -> tuple[dict[str, Any], Arrays]:
    """Everything a fitted model needs to be the same again, but its documents."""
    tree, arrays = model.tree_.to_parts()
    params = plain_parameters(model.get_params(deep=False))
    del params["client"]
    meta = {
        # How it was run is no part of the model: the same topics are the same file.
        "params": {**params, "n_jobs": None, "progress": None},
        "tree": tree,
        **vectorizer_parts(model, model.vocabulary_),
        "labels": dict(model._labels),
        "seeded": list(model._seeded),
        "selection": None if model._selection is None else list(model._selection),
        "n_documents": int(model.n_documents_),
        "n_pieces": int(model._n_pieces),
        "piece_size": model._piece_size,
    }
    arrays = {f"tree.{name}": array for name, array in arrays.items()}
    return meta, {**arrays, **model._facts.to_arrays()}


def fill_model(model: TopicModel, meta: dict[str, Any], arrays: Arrays) -> None:
    """Give a new model what the file holds; refuse parts that do not belong together."""
    tree = model.tree_ = LatentTree.from_parts(meta["tree"], arrays_under("tree", arrays))
    chosen = meta["selection"]
    fill_vectorizer(model, meta, model.vocabulary_)
    model._labels = {str(name): str(label) for name, label in meta["labels"].items()}
    model._seeded = tuple(meta["seeded"])
    model._selection = None if chosen is None else tuple(chosen)
    model.n_documents_ = int(meta["n_documents"])
    model._n_pieces = int(meta["n_pieces"])
    model._piece_size = meta["piece_size"]
    model._rows = model._probabilities = None
    model._facts = Facts.from_arrays(arrays, tree)
    named = {*model._labels, *model._seeded, *(model._selection or ())}
    unknown = named - set(tree.latent_names)
    if unknown:
        raise ValueError(f"there is no topic {sorted(unknown)[0]!r}")
