"""Counts of words as ONNX nodes: what lets an exported model read texts.

ONNX itself has no operator that splits a text at its punctuation. onnxruntime has one, ``com.microsoft.Tokenizer``,
which finds all matches of a regular expression (of RE2, so in linear time). The rest is ONNX: ``StringNormalizer`` for
lower case, ``LabelEncoder`` for the numbers of words, ``TfIdfVectorizer`` to count them and their n-grams.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tsenet.data.words import stands_between_spaces, words_of
from tsenet.errors import DataError, listed

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

    from tsenet.store.onnx_export import Graph

# Two or more letters, digits and marks that are not all decimal digits: `words_of`, without its rules for scripts.
_SIGN = r"[\p{L}\p{N}\p{M}]"
_NO_DIGIT = r"[\p{L}\p{Nl}\p{No}]"
_WORD = rf"\p{{Nd}}*{_NO_DIGIT}{_SIGN}+|\p{{Nd}}+{_NO_DIGIT}"
#: Patterns that RE2 reads as Python does, by the ``token_pattern`` of a vectorizer without a tokenizer.
_PATTERNS = {r"(?u)\b\w\w+\b": r"[\p{L}\p{N}_]{2,}", r"\S+": r"[^\s\p{Z}]+"}
_MAX_LOST = 0.01  # share of the words that may be out of reach, with a warning

_REMOVED, _UNKNOWN = -1, 0  # numbers of tokens; those of words begin with 1


def word_counts(graph: Graph, texts: str, vectorizer: CountVectorizer, words: Sequence[str]) -> str:
    """Counts (N, V) of words, some of which may be n-grams, in texts (N,).

    Raises
    ------
    DataError
        If a vectorizer splits texts in a way that no operator has.
    """
    pattern = _token_pattern(vectorizer)
    ngrams = [word.split(" ") for word in words]
    _check_words(words, ngrams, pattern)

    if vectorizer.lowercase:  # of ASCII letters: other locales than C need not be there
        texts = graph.node(
            "StringNormalizer", texts, case_change_action="LOWER", is_case_sensitive=1, locale="C"
        )
    tokens = graph.node(
        "Tokenizer",
        texts,
        domain="com.microsoft",
        tokenexp=pattern,
        mark=0,
        mincharnum=1,
        pad_value="",
    )  # (N, T), with empty ones at the end of shorter texts

    # The number of each word; stop words and empty tokens are no part of n-grams, unknown words are.
    number: dict[str, int] = {}
    for ngram in ngrams:
        for part in ngram:
            number.setdefault(part, len(number) + 1)
    stops = vectorizer.get_stop_words() or ()
    key_of = {"": _REMOVED, **dict.fromkeys(_cases(stops, vectorizer), _REMOVED)}
    for part, of_part in number.items():
        for variant in _cases([part], vectorizer):
            key_of.setdefault(variant, of_part)
    numbers = graph.node(
        "LabelEncoder",
        tokens,
        domain="ai.onnx.ml",
        keys_strings=list(key_of),
        values_int64s=list(key_of.values()),
        default_int64=_UNKNOWN,
    )

    numbers = _one_more(graph, numbers)
    if vectorizer.ngram_range[1] > 1:
        numbers = _without_removed(graph, numbers)
    counts = _counted(graph, numbers, [[number[part] for part in ngram] for ngram in ngrams])
    if vectorizer.binary:
        counts = graph.node("Min", counts, graph.constant(np.float32(1)))
    return counts


def _token_pattern(vectorizer: CountVectorizer) -> str:
    """The pattern of a token, in the language of RE2."""
    wrong = ""
    if vectorizer.tokenizer not in (None, words_of):
        name = getattr(vectorizer.tokenizer, "__name__", repr(vectorizer.tokenizer))
        wrong = f"they are split by {name}, a Python function"
    elif vectorizer.tokenizer is None and vectorizer.token_pattern not in _PATTERNS:
        wrong = f"token_pattern={vectorizer.token_pattern!r} is none of {list(_PATTERNS)}"
    elif vectorizer.analyzer != "word":
        wrong = f"analyzer={vectorizer.analyzer!r} does not split them into words"
    elif vectorizer.preprocessor is not None or vectorizer.strip_accents is not None:
        wrong = "their vectorizer changes them before it splits them (preprocessor, strip_accents)"
    if wrong:
        raise DataError(
            f"ONNX cannot count the words of texts as this model does: {wrong}. Export it without texts=True; the ONNX "
            "model then reads counts of words"
        )
    return _WORD if vectorizer.tokenizer is words_of else _PATTERNS[vectorizer.token_pattern]


def _check_words(words: Sequence[str], ngrams: Sequence[Sequence[str]], pattern: str) -> None:
    """Refuse or warn of words that the pattern never finds: those of scripts without spaces, and emoji."""
    import regex

    has_rules = pattern == _WORD  # of scripts, such as bigrams of Chinese

    def is_found(word: str) -> bool:
        is_plain = not has_rules or stands_between_spaces(word)
        return is_plain and regex.fullmatch(pattern, word) is not None

    pairs = zip(words, ngrams, strict=True)
    lost = [word for word, ngram in pairs if not all(map(is_found, ngram))]
    if not lost:
        return

    what = (
        f"{len(lost):,} of the model's {len(words):,} words, such as {listed(lost, 3)}, are of a script without spaces "
        "between words, hold an apostrophe, or are emoji: ONNX has no operator that finds them"
    )
    if len(lost) > _MAX_LOST * len(words):
        raise DataError(
            f"{what}. Export without texts=True; the ONNX model then reads counts of words"
        )
    warnings.warn(f"{what}; in texts they count as unknown words", stacklevel=4)


def _cases(words: Iterable[str], vectorizer: CountVectorizer) -> Iterable[str]:
    """Words as they are once ASCII letters are in lower case: other letters small, capital, or only the first so."""
    for word in words:
        yield word
        if not word.isascii() and vectorizer.lowercase:
            yield "".join(sign if sign.isascii() else sign.upper() for sign in word)
            first = next((place for place, sign in enumerate(word) if sign.isalpha()), 0)
            if not word[first].isascii():
                yield word[:first] + word[first].upper() + word[first + 1 :]


def _one_more(graph: Graph, numbers: str) -> str:
    """Numbers of tokens (N, T + 1) with a removed one at the end: there may be no token at all."""
    zero = graph.constant(np.array([0]))
    one = graph.constant(np.array([1]))
    n_rows = graph.node("Slice", graph.node("Shape", numbers), zero, one)  # (1,)
    shape = graph.node("Concat", n_rows, one, axis=0)
    column = graph.node("Expand", graph.constant(np.array([[_REMOVED]])), shape)
    return graph.node("Concat", numbers, column, axis=1)


def _without_removed(graph: Graph, numbers: str) -> str:
    """Numbers (N, T) with the removed tokens at the end, and the others in their order, so that neighbours meet."""
    # The place of each token: 0, 1, …, T − 1.
    first = graph.constant(np.array([1]))
    last = graph.constant(np.array([2]))
    n_tokens = graph.node("Slice", graph.node("Shape", numbers), first, last)  # (1,)
    zero = graph.constant(np.array(0))
    step = graph.constant(np.array(1))
    place = graph.node("Range", zero, graph.node("Squeeze", n_tokens), step)

    # Sorted by it, after T was added to those of removed tokens.
    is_removed = graph.node("Less", numbers, graph.constant(np.array(_UNKNOWN)))
    late = graph.node("Where", is_removed, n_tokens, graph.constant(np.array([0])))
    key = graph.node("Add", late, place)  # (N, T)
    _, order = graph.nodes_of("TopK", 2, key, n_tokens, axis=1, largest=0, sorted=1)
    return graph.node("GatherElements", numbers, order, axis=1)


def _counted(graph: Graph, numbers: str, ngrams: Sequence[Sequence[int]]) -> str:
    """How often each n-gram occurs: (N, V) in float32."""
    lengths = [len(ngram) for ngram in ngrams]
    order = sorted(range(len(ngrams)), key=lengths.__getitem__)  # the pool has the shortest first
    longest = max(lengths)
    starts = [sum(n for n in lengths if n < length) for length in range(1, longest + 1)]
    return graph.node(
        "TfIdfVectorizer",
        numbers,
        mode="TF",
        min_gram_length=min(lengths),
        max_gram_length=longest,
        max_skip_count=0,
        pool_int64s=[part for column in order for part in ngrams[column]],
        ngram_counts=starts,
        ngram_indexes=order,
    )
