"""What a topic model knows of its topics besides the tree: sizes, coherence and typical documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.errors import MissingDependencyError
from tsenet.explain.presence import Presence, topic_activity
from tsenet.explain.scores import coherence
from tsenet.explain.topics import Topic, every_topic, topic_tree
from tsenet.skeleton.tree import LatentTree

_TYPICAL = 3  # typical documents of a topic
_WINDOW = 10
_MAX_DOCUMENTS = 20_000  # coherence is measured on at most so many documents


@dataclass(frozen=True, eq=False)
class Facts:
    """Figures of the L latents of a tree.

    Attributes
    ----------
    presence : Presence
        In how many documents each topic is present, and its words with it.
    coherence : float64 (L,)
        NPMI of the topic's words; NaN where not measured.
    typical : int64 (L, 3)
        The documents that are most about it; −1 where there are fewer.
    """

    presence: Presence
    coherence: NDArray[np.float64]
    typical: NDArray[np.int64]

    @classmethod
    def of(
        cls, tree: LatentTree, rows: BinaryRows, probabilities: Any, n_jobs: int | None
    ) -> Facts:
        """Describe the topics of a tree by documents; coherence is NaN."""
        found = topic_activity(tree, rows, probabilities, n_best=_TYPICAL, n_jobs=n_jobs)
        return cls(found.presence, np.full(tree.n_latents, np.nan), found.rows)

    def mixed_with(self, new: Presence, weight: float) -> Facts:
        """These facts with the shares of new documents, which make up ``weight`` of all."""
        return Facts(self.presence.mixed_with(new, weight), self.coherence, self.typical)

    def measure_coherence(
        self,
        tree: LatentTree,
        table: Table,
        texts: Any,
        split: Callable[[str], Iterable[str]] | None,
        n_words: int,
    ) -> None:
        """Fill in the coherence of topics where it is NaN: within 10 words of the texts, or of whole documents."""
        place = {name: k for k, name in enumerate(tree.latent_names)}
        topics = [
            topic
            for topic in every_topic(topic_tree(tree, n_words=n_words))
            if len(topic.words) > 1 and np.isnan(self.coherence[place[topic.name]])
        ]
        if not topics:
            return
        words = [[word.word for word in topic.words] for topic in topics]
        if split is None:
            found = coherence(words, table, "npmi", n_words=n_words)
        else:
            documents = getattr(texts, "texts", texts)
            step = max(1, -(-len(documents) // _MAX_DOCUMENTS))
            tokens = (split(text) for text in list(documents)[::step])
            found = coherence(words, tokens, "npmi", window=_WINDOW, n_words=n_words)
        for topic, score in zip(topics, found.per_topic, strict=True):
            self.coherence[place[topic.name]] = score

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The file form."""
        return {
            "facts.size": self.presence.size,
            "facts.word": self.presence.word,
            "facts.both": self.presence.both,
            "facts.coherence": self.coherence,
            "facts.typical": self.typical,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], tree: LatentTree) -> Facts:
        """Rebuild and check the facts of a tree."""
        size, word, both, coherence, typical = (
            np.array(arrays[f"facts.{name}"])
            for name in ("size", "word", "both", "coherence", "typical")
        )
        n_latents, n_words = tree.n_latents, tree.n_observed
        if (
            size.shape != (n_latents,)
            or word.shape != (n_words,)
            or both.shape != (tree.n_levels, n_words)
            or coherence.shape != (n_latents,)
            or typical.shape != (n_latents, _TYPICAL)
        ):
            raise ValueError("the description of the topics does not fit the tree")
        for values in (size, word, both):
            if ((values < 0) | (values > 1) | ~np.isfinite(values)).any():
                raise ValueError("a share of documents in the file is not between 0 and 1")
        return cls(Presence(size, word, both), coherence, typical)


def frame_of(topics: Sequence[Topic], facts: Facts, tree: LatentTree) -> Any:
    """The topics as a data frame."""
    above = {child.name: topic.name for topic in every_topic(topics) for child in topic.children}
    shown = list(every_topic(topics))
    column = {name: k for k, name in enumerate(tree.latent_names)}
    return pandas().DataFrame(
        {
            "id": [topic.name for topic in shown],
            "level": [topic.level for topic in shown],
            "parent": [above.get(topic.name) for topic in shown],
            "label": [topic.title for topic in shown],
            "words": [[(word.word, word.weight) for word in topic.words] for topic in shown],
            "size": [topic.size for topic in shown],
            "coherence": [
                np.nan if topic.coherence is None else topic.coherence for topic in shown
            ],
            "documents": [
                [int(d) for d in facts.typical[column[topic.name]] if d >= 0] for topic in shown
            ],
        }
    )


def plain_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON holds them; None for what is no plain value, such as a function."""
    return {name: _plain(value) for name, value in params.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str | None) else None


def pandas() -> Any:
    """Pandas, or an error that says how to get it."""
    try:
        import pandas as module
    except ImportError as error:
        raise MissingDependencyError(
            "data frames of topics need pandas: pip install 'tsenet[text]'"
        ) from error
    return module
