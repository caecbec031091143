"""What the options of words mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsenet.cli._options import given
from tsenet.errors import DataError

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["chosen_vectorizer"]


def chosen_vectorizer(
    defaults: dict[str, Any],
    words: int | None,
    stop_words: str | None,
    min_documents: int | None,
    max_df: float | None,
    ngrams: int | None,
    tokenizer: str | None,
) -> CountVectorizer | None:
    """The vectorizer that the options describe, with a command's own defaults; None if no option is given."""
    from tsenet.data.text import word_vectorizer

    options = given(
        n_words=words,
        stop_words=None if stop_words is None else _stop_words_of(stop_words),
        min_documents=min_documents,
        max_df=max_df,
        ngrams=ngrams,
        tokenizer=tokenizer,
    )
    return word_vectorizer(**{**defaults, **options}) if options else None


def _stop_words_of(choice: str) -> str | list[str] | Path:
    """What ``--stop-words`` means: a language, none, or a file of words."""
    path = Path(choice)
    if choice == "none":
        return []
    if path.is_file():
        return path
    if path.suffix or path.name != choice:
        raise DataError(
            f"--stop-words: there is no file {choice}; give a language, none, or a file of words"
        )
    return choice
