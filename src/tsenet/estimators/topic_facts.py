"""What a topic model knows of its topics besides the tree: sizes, coherence, typical documents, words of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.errors import MissingDependencyError
from tsenet.explain.scores import coherence
from tsenet.explain.shares import WordProfiles, word_profiles
from tsenet.explain.topic_view import TopicView
from tsenet.explain.topics import Topic, every_topic, topic_tree
from tsenet.skeleton.tree import LatentTree

_BLOCK = 1 << 20  # posteriors are dense: about so many numbers at a time
_TYPICAL = 3  # typical documents of a topic
_KEPT = 0.01  # least probability that counts in the words of a topic
_WINDOW = 10
_MAX_DOCUMENTS = 20_000  # coherence is measured on at most so many documents


@dataclass(frozen=True, eq=False)
class Facts:
    """Figures of the L latents of a tree.

    Attributes
    ----------
    sizes : float64 (L,)
        Mean of P(topic on | document).
    coherence : float64 (L,)
        NPMI of the topic's words; NaN where not measured.
    typical : int64 (L, 3)
        The documents that are most about it; −1 where there are fewer.
    profiles : WordProfiles
        The words that are more or less frequent in its documents.
    """

    sizes: NDArray[np.float64]
    coherence: NDArray[np.float64]
    typical: NDArray[np.int64]
    profiles: WordProfiles

    def mixed_with(self, new: Facts, weight: float) -> Facts:
        """These facts with the sizes of new documents, which have the given weight."""
        rate = (1.0 - weight) * self.profiles.rate + weight * new.profiles.rate
        return Facts(
            (1.0 - weight) * self.sizes + weight * new.sizes,
            self.coherence,
            self.typical,
            WordProfiles(rate, self.profiles.inside),
        )

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
            for topic in every_topic(topic_tree(tree, n_words=n_words, sizes=self.sizes))
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
            tokens = (list(split(text)) for text in list(documents)[::step])
            found = coherence(words, tokens, "npmi", window=_WINDOW, n_words=n_words)
        for topic, score in zip(topics, found.per_topic, strict=True):
            self.coherence[place[topic.name]] = score

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The file form."""
        inside = self.profiles.inside
        return {
            "facts.sizes": self.sizes,
            "facts.coherence": self.coherence,
            "facts.typical": self.typical,
            "facts.rate": self.profiles.rate,
            "facts.words": inside.indices.astype(np.int32),
            "facts.words_start": inside.indptr.astype(np.int64),
            "facts.words_inside": inside.data,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], tree: LatentTree) -> Facts:
        """Rebuild and check the facts of a tree."""
        n_latents, n_words = tree.n_latents, tree.n_observed
        start, words = arrays["facts.words_start"], arrays["facts.words"]
        inside = sp.csr_array(
            (arrays["facts.words_inside"], words, start), shape=(n_latents, n_words)
        )
        inside.check_format(full_check=True)
        facts = cls(
            np.array(arrays["facts.sizes"]),
            np.array(arrays["facts.coherence"]),
            np.array(arrays["facts.typical"]),
            WordProfiles(np.array(arrays["facts.rate"]), inside),
        )
        if (
            facts.sizes.shape != (n_latents,)
            or facts.coherence.shape != (n_latents,)
            or facts.typical.shape != (n_latents, _TYPICAL)
            or facts.profiles.rate.shape != (n_words,)
        ):
            raise ValueError("the description of the topics does not fit the tree")
        numbers = (facts.sizes, facts.profiles.rate, inside.data)
        if any(((values < 0) | (values > 1) | ~np.isfinite(values)).any() for values in numbers):
            raise ValueError("a size or share of the topics is no probability")
        return facts


def describe(tree: LatentTree, rows: BinaryRows, n_jobs: int | None) -> Facts:
    """Describe the topics of a tree by documents; coherence is NaN."""
    n_latents = tree.n_latents
    total = np.zeros(n_latents)
    best = np.full((n_latents, _TYPICAL), -1, np.int64)
    score = np.full((n_latents, _TYPICAL), -1.0)
    parts = []
    for start, on in _blocks(tree, rows, n_jobs):
        total += on.sum(axis=0)
        number = np.repeat(np.arange(start, start + len(on))[:, None], n_latents, axis=1)
        all_scores = np.concatenate([score.T, on])
        all_numbers = np.concatenate([best.T, number])
        order = np.argsort(-all_scores, axis=0, kind="stable")[:_TYPICAL]
        score = np.take_along_axis(all_scores, order, axis=0).T
        best = np.take_along_axis(all_numbers, order, axis=0).T
        parts.append(sp.csr_array(np.where(on >= _KEPT, on, 0.0)))
    sparse = sp.vstack(parts) if parts else sp.csr_array((0, n_latents))
    return Facts(
        np.clip(total / max(1, rows.n_rows), 0.0, 1.0),
        np.full(n_latents, np.nan),
        np.ascontiguousarray(best),
        word_profiles(rows, sparse),
    )


def posterior(
    tree: LatentTree,
    rows: BinaryRows,
    n_jobs: int | None,
    columns: NDArray[np.intp] | slice = slice(None),
    least: float = 0.0,
) -> Any:
    """P(topic on | document) of some latents, those of at least ``least``: csr_array."""
    parts = []
    for _, on in _blocks(tree, rows, n_jobs):
        chosen = on[:, columns]
        parts.append(sp.csr_array(np.where(chosen >= least, chosen, 0.0)))
    if not parts:
        return sp.csr_array((0, np.arange(tree.n_latents)[columns].size))
    return sp.csr_array(sp.vstack(parts))


def _blocks(tree: LatentTree, rows: BinaryRows, n_jobs: int | None) -> Iterable[tuple[int, Any]]:
    """First row, and posteriors, of each block of rows."""
    step = max(1, _BLOCK // max(1, tree.n_latents))
    for start in range(0, rows.n_rows, step):
        block = rows.take(slice(start, min(start + step, rows.n_rows)))
        yield start, tree.posterior(block, n_jobs=n_jobs)


def frame_of(view: TopicView, shown: Sequence[Topic], facts: Facts, tree: LatentTree) -> Any:
    """The topics as a data frame."""
    above = {
        child.name: topic.name for topic in every_topic(view.topics) for child in topic.children
    }
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
