"""What the options of words mean, and counting words by them."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsenet.cli._options import given
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data.table import Table
    from tsenet.data.text import WordCounter
    from tsenet.progress import Progress

__all__ = ["tokenizer_of", "word_counts", "word_parameters"]


def word_parameters(
    words: int | None,
    stop_words: str | None,
    min_documents: int | None,
    max_df: float | None,
    ngrams: int | None,
    tokenizer: str | None,
) -> dict[str, Any]:
    """The options of words that are given, as parameters of the library."""
    return given(
        n_words=words,
        stop_words=None if stop_words is None else _stop_words_of(stop_words),
        min_documents=min_documents,
        max_df=max_df,
        ngrams=ngrams,
        tokenizer=tokenizer_of(tokenizer),
    )


def tokenizer_of(choice: str | None) -> Any:
    """What ``--tokenizer`` means: the name of a tokenizer, or a function to import."""
    module, colon, path = (choice or "").partition(":")
    if not colon:
        return choice
    try:
        found: Any = _import(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise DataError(f"--tokenizer: {choice} cannot be imported: {error}") from error
    return found


def _import(module: str) -> Any:
    """Import a module that is installed, or a file of the current folder."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module)
    finally:
        sys.path.remove(os.getcwd())


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


def word_counts(
    texts: Iterable[str], progress: Progress, **parameters: Any
) -> tuple[WordCounter, Table]:
    """Count the words of texts; ``parameters`` are those of ``vectorize``."""
    from tsenet.data import text

    progress.start("counting words", None)
    table = text.vectorize(texts, **parameters)
    progress.finish(f"{table.n_columns:,} words")
    splitting = {name: parameters[name] for name in ("tokenizer", "ngrams") if name in parameters}
    return text.WordCounter(table.names, **splitting), table
