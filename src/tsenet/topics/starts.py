"""Words that start topics: seed words, and those of topics that are pinned."""

from __future__ import annotations

import warnings
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from tsenet.data.binary import BinaryRows
from tsenet.errors import DataError, listed
from tsenet.topics.ties import contradicted


class Start(NamedTuple):
    """Words that start a topic, which is always shown: its level, a label or "", and the words."""

    level: int
    label: str
    words: tuple[str, ...]


def seeds_of(
    seed_words: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None,
) -> list[Start]:
    """The groups of seed words, with or without labels."""
    if isinstance(seed_words, Mapping):
        return [Start(1, label, tuple(words)) for label, words in seed_words.items()]
    return [Start(1, "", tuple(words)) for words in seed_words or ()]


def known_starts(
    starts: Sequence[Start], vocabulary: Container[str], *, seeds: bool
) -> list[Start]:
    """Seed words or pinned topics with the words that are in the vocabulary, at least two each.

    Raises
    ------
    DataError
        If a group of seed words has fewer; a pinned topic is then left out, with a warning.
    """
    known = []
    for start in starts:
        words = tuple(word for word in start.words if word in vocabulary)
        if len(words) >= 2:
            known.append(start._replace(words=words))
            continue

        found = f"only {words[0]!r}" if words else "none of them"
        message = f"it needs two words that are in the vocabulary, which has {found}"
        if seeds:
            raise DataError(
                f"a topic cannot be learned from the seed words {listed(start.words) or '(none)'}: {message}. "
                "Add more frequent words, or enlarge the vocabulary (n_words, min_documents)"
            )

        warnings.warn(
            f"the pinned topic {start.label or ', '.join(start.words[:3])!r} is not kept: {message}",
            stacklevel=5,  # where fit() was called
        )

    missing = [word for start in starts for word in start.words if word not in vocabulary]
    if seeds and missing:
        warnings.warn(
            f"seed words that are not in the vocabulary are left out: {', '.join(missing)}",
            stacklevel=5,  # where fit() was called
        )

    return known


def warn_if_contradicted(
    seeds: Sequence[Start], rows: BinaryRows, vocabulary: Sequence[str]
) -> None:
    """Warn of seed words that the documents hold apart."""
    column = {word: k for k, word in enumerate(vocabulary)}
    for start in seeds:
        alone = contradicted(rows, [column[word] for word in start.words])
        if alone:
            words = ", ".join(vocabulary[k] for k in alone)
            warnings.warn(
                f"the documents contradict the seed words {listed(start.words)}: {words} hardly ever occur with "
                "the others. They stay together, but the topic may be of several subjects",
                stacklevel=5,  # where fit() was called
            )
