"""Words of any script, stop words, and counts in memory, in parts and in files."""

from __future__ import annotations

import json
import re
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from tsenet.data import count_words, load_docstrings, vectorize, word_vectorizer, words_of
from tsenet.data.addresses import without_addresses
from tsenet.data.text import vectorizer_fields, vectorizer_of_fields
from tsenet.data.words import pinyin_words, stop_words_of, without_html
from tsenet.errors import DataError, MissingDependencyError

DOCUMENTS = [
    "apple pie and apple juice",
    "apple juice",
    "banana pie, and 100 bananas",
    "the banana",
    "1 2 3",
]
EVERY = ("and", "apple", "banana", "bananas", "juice", "pie", "the")


def names(documents: Any, **options: Any) -> tuple[str, ...]:
    return vectorize(documents, word_vectorizer(**options)).names


def test_counts() -> None:
    table = vectorize(DOCUMENTS)
    assert table.names == EVERY
    assert table.is_sparse
    assert table.named
    assert table.values.dtype == np.int32
    assert table.values.toarray()[0].tolist() == [1, 2, 0, 0, 1, 1, 0]
    assert vectorize(iter(DOCUMENTS)) == table


def test_stop_words() -> None:
    assert names(DOCUMENTS) == EVERY
    assert set(names(DOCUMENTS, stop_words="english")) == {*EVERY} - {"and", "the"}
    mine = names(DOCUMENTS, stop_words=["Apple", "banana-pie"])
    assert set(mine) == {*EVERY} - {"apple", "banana", "pie"}
    assert names(["don't we'll isn't word"], stop_words="english") == ("word",)


def test_which_words_are_kept() -> None:
    documents = ["zebra bear", "zebra bear ant", "ant cow cow cow", "zebra dog dog"]
    assert names(documents, n_words=2) == ("cow", "zebra")
    assert names(documents, n_words=None, min_documents=2) == ("ant", "bear", "zebra")
    assert names(["all most rare", "all most", "all most", "all rare"], max_df=0.5) == ("rare",)
    assert names(["New_York 42", "a"], tokenizer="whitespace") == ("42", "a", "new_york")


@pytest.mark.parametrize(
    ("documents", "why"),
    [
        (["1 2", "a b"], "no words other than stop words"),
        ([], "there are no documents"),
        ("one text", "got one string"),
        ([b"apple"], "document 0 is a bytes"),
        (["apple", ["pie"]], "document 1 is a list"),
        (pd.DataFrame({"text": DOCUMENTS}), "got a dataframe: give its column of texts"),
    ],
)
def test_nothing_to_count(documents: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        vectorize(documents)


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, 3.5])
def test_missing_texts_are_empty_and_counted(missing: Any) -> None:
    texts = [DOCUMENTS[0], missing, DOCUMENTS[1], missing]
    for count in (vectorize, lambda texts: count_words(texts, EVERY[:2])):
        with pytest.warns(UserWarning, match="2 of 4 texts are missing"):
            table = count(texts)
        assert table == count([DOCUMENTS[0], "", DOCUMENTS[1], ""])


def test_bad_options() -> None:
    for options, why in (
        ({"min_documents": 9}, "no vocabulary for 5 documents"),
        ({"n_words": 0}, "max_features"),
        ({"max_df": 1.5}, "max_df"),
        ({"tokenizer": "spacy"}, r"tokenizer must be 'unicode', .* or 'whitespace'"),
    ):
        with pytest.raises(DataError, match=why):
            names(DOCUMENTS, **options)
    for other in (TfidfVectorizer(), HashingVectorizer()):
        with pytest.raises(DataError, match="CountVectorizer or None"):
            vectorize(DOCUMENTS, other)


def test_other_documents_are_counted_alike() -> None:
    vectorizer = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\w+")
    table = vectorize(DOCUMENTS, vectorizer)
    assert count_words(DOCUMENTS[::-1], vectorizer) == table.take(np.arange(5)[::-1])
    vectorizer = word_vectorizer(ngrams=2)
    table = vectorize(DOCUMENTS, vectorizer)
    assert count_words(DOCUMENTS, table.names) == table


# ---- model files


@pytest.mark.parametrize(
    "vectorizer",
    [
        word_vectorizer(),
        word_vectorizer(ngrams=2, stop_words="english", tokenizer="whitespace"),
        CountVectorizer(analyzer="char_wb", ngram_range=(2, 4)),
        CountVectorizer(token_pattern=r"[a-z]+", lowercase=False, binary=True, max_df=0.9),
        CountVectorizer(stop_words="english", strip_accents="unicode", min_df=np.int64(1)),
        CountVectorizer(vocabulary=["pie", "apple"]),
        CountVectorizer(stop_words=["pie"], max_features=4),
    ],
)
def test_file_form(vectorizer: CountVectorizer) -> None:
    table = vectorize(DOCUMENTS, vectorizer)
    fields = json.loads(json.dumps(vectorizer_fields(vectorizer)))
    again = vectorizer_of_fields(fields, table.names)
    assert count_words(DOCUMENTS, again) == table
    assert vectorizer_fields(again) == fields


class Mine(CountVectorizer):
    pass


@pytest.mark.parametrize(
    ("vectorizer", "named"),
    [
        (CountVectorizer(tokenizer=str.split, token_pattern=None), "tokenizer"),
        (CountVectorizer(analyzer=str.split), "analyzer"),
        (CountVectorizer(ngram_range=(1, 1000)), "ngram_range"),
        (CountVectorizer(token_pattern=r"\w+" + "|q" * 500), "token_pattern"),
        (Mine(), "Mine"),
    ],
)
def test_what_a_file_cannot_hold_is_named(vectorizer: CountVectorizer, named: str) -> None:
    vectorize(DOCUMENTS, vectorizer)
    with pytest.raises(DataError, match=f"a model file cannot hold .*{named}"):
        vectorizer_fields(vectorizer)


@pytest.mark.parametrize(
    "change",
    [
        {"tokenizer": "evil_words:split"},
        {"analyzer": "sentence"},
        {"preprocessor": "evil_words:split"},
        {"ngram_range": [1, 10**9]},
        {"ngram_range": 2},
        {"stop_words": "klingon"},
        {"strip_accents": "all"},
        {"token_pattern": "a?" * 501},
        {"token_pattern": 3},
        {"more": 1},
    ],
)
def test_wrong_fields(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_words.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    fields = vectorizer_fields(CountVectorizer())
    with pytest.raises(DataError):
        vectorizer_of_fields({**fields, **change}, ["ab"])
    del fields["binary"]
    with pytest.raises(DataError, match="has the fields"):
        vectorizer_of_fields(fields, ["ab"])


@pytest.mark.parametrize("words", [[], ["ab", "ab"], ["ab", 1], ["b\ud800"]])
def test_wrong_words(words: list[Any]) -> None:
    with pytest.raises(DataError, match="vocabulary"):
        vectorizer_of_fields(vectorizer_fields(CountVectorizer()), words)


# ---- words


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("The cat; the CAT!", ["the", "cat", "the", "cat"]),
        ("I x 7 42 1,000 3.14 2024", []),
        ("mp3 3d b2b 12ab", ["mp3", "3d", "b2b", "12ab"]),
        ("snake_case __init__", ["snake", "case", "init"]),
        ("don't we’ll #tag @name", ["don", "we", "ll", "tag", "name"]),
        ("Ünïcödé naïve Straße", ["ünïcödé", "naïve", "straße"]),
        ("café cafe\u0301 ﬁsh", ["café", "café", "fish"]),
        ("٣٤٥ ²² १२३ 1\u20e3", []),
        ("", []),
    ],
)
def test_words_of_european_scripts(document: str, words: list[str]) -> None:
    assert words_of(document) == words


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param("भारत सरकार ने घी, माँ।", ["भारत", "सरकार", "ने", "घी", "माँ"], id="Devanagari"),
        pytest.param("বাংলা ভাষা", ["বাংলা", "ভাষা"], id="Bengali"),
        pytest.param("தமிழ்நாடு அரசு", ["தமிழ்நாடு", "அரசு"], id="Tamil"),
        pytest.param("తెలుగు పుస్తకం", ["తెలుగు", "పుస్తకం"], id="Telugu"),
        pytest.param("ශ්‍රී ලංකා", ["ශ්‍රී", "ලංකා"], id="Sinhala with a joiner"),
        pytest.param("الْعَرَبِيَّةُ كِتَابٌ", ["الْعَرَبِيَّةُ", "كِتَابٌ"], id="vocalised Arabic"),
        pytest.param("می‌خواهم، کتاب", ["می‌خواهم", "کتاب"], id="Persian with a non-joiner"),
        pytest.param('שָׁלוֹם צה״ל צה"ל', ["שָׁלוֹם", 'צה"ל', 'צה"ל'], id="Hebrew with points"),
        pytest.param("Москва, м’ята", ["москва", "м'ята"], id="Cyrillic"),
        pytest.param("Αθήνα και", ["αθήνα", "και"], id="Greek"),
        pytest.param("서울 물 대한민국은", ["서울", "물", "대한민국은"], id="Korean"),
        pytest.param(unicodedata.normalize("NFD", "서울"), ["서울"], id="Korean, decomposed"),
        pytest.param("人工智能\uff0c我 2024年", ["人工", "工智", "智能", "我", "年"], id="Chinese"),
        pytest.param(
            "東京に行った。コンピューター らーめん",
            ["東京", "行", "った", "コンピューター", "らー", "ーめ", "めん"],
            id="Japanese",
        ),
        pytest.param("iPhone手机", ["iphone", "手机"], id="Latin beside Han"),
        pytest.param("ไทยง่าย", ["ไท", "ทย", "ยง่", "ง่า", "าย"], id="Thai"),
        pytest.param("ພາສາລາວ", ["ພາ", "າສ", "ສາ", "າລ", "ລາ", "າວ"], id="Lao"),
        pytest.param("ភាសា", ["ភាសា"], id="Khmer"),
        pytest.param("မြန်မာ", ["မြန်", "န်မ", "မာ"], id="Burmese"),
        pytest.param("İstanbul", ["istanbul"], id="Turkish"),
        pytest.param("col·lecció", ["col·lecció"], id="Catalan"),
        pytest.param("co\xadoperate \u202bword\u202c", ["cooperate", "word"], id="invisible"),
    ],
)
def test_words_of_a_script(document: str, words: list[str]) -> None:
    assert words_of(document) == words


def test_emoji_are_words() -> None:
    assert words_of("I ❤️ it ❤ 😂😂") == ["❤", "it", "❤", "😂", "😂"]
    assert words_of("👍🏽👨‍👩‍👧 🇫🇷🇩🇪") == ["👍🏽", "👨‍👩‍👧", "🇫🇷", "🇩🇪"]
    assert words_of("© ® → ½ 😀cat") == ["😀", "cat"]


def _words_before_other_scripts(document: str) -> list[str]:
    text = unicodedata.normalize("NFKC", document).lower()
    return re.findall(r"(?=\d*[^\W\d_])[^\W_]{2,}", text)


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_plain_english_is_as_it_was(document: str) -> None:
    words = _words_before_other_scripts(document)
    assert words_of(document) == words
    # An emoji elsewhere changes nothing.
    assert words_of(document + " 😀") == [*words, "😀"]


@given(st.text(max_size=60))
def test_any_text_has_words_without_white_space(document: str) -> None:
    for word in words_of(document):
        assert word
        assert word.split() == [word]


def test_long_runs_of_digits_and_letters() -> None:
    """A quadratic pattern would take hours."""
    assert words_of("1" * 1_000_000) == []
    assert words_of("1" * 300_000 + "😀") == ["😀"]
    assert len(words_of("人" * 100_000)) == 99_999


# ---- HTML


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<p>Great<br/>film</p><A HREF='x.html'>more</A>", ["Great", "film", "more"]),
        ("Fish &amp; chips&nbsp;for &#8364;5", ["Fish", "&", "chips", "for", "€5"]),
        ("&lt;b&gt;bold&lt;/b&gt; news", ["bold", "news"]),
        ("<style>p {}</style>a<!-- hidden --><script>if (a < b) {}</script>b", ["a", "b"]),
        ("<!DOCTYPE html><html><body class='x'>text", ["text"]),
        ("a < b and c > d", ["a", "<", "b", "and", "c", ">", "d"]),
        ("<ann@example.com> List<String> AT&T; <b and c>", None),
        (
            "<a href=x/> one <br / > two <p\n/> three <B class = 'x' > </p >",
            ["one", "<br", "/", ">", "two", "three"],
        ),
        ("the <script> tag stays open", ["the", "tag", "stays", "open"]),
    ],
)
def test_html_is_removed(text: str, words: list[str] | None) -> None:
    assert without_html(text).split() == (text.split() if words is None else words)


def test_documents_with_html_are_counted() -> None:
    texts = ["<p>fish &amp; chips</p>", "fish soup", "a < b"]
    with pytest.warns(UserWarning, match="HTML was removed from 1 of 3 texts"):
        table = vectorize(texts)
    assert table.names == ("chips", "fish", "soup")
    assert count_words(["<b>fish</b>"], ["fish", "b"]).values.toarray().tolist() == [[1, 0]]


# What makes patterns with two repetitions slow: a beginning, and what is repeated.
HOSTILE = {
    "equals": ("<a ", "="),
    "spaces in a tag": ("<a", " "),
    "slashes in a tag": ("<p ", "/"),
    "open brackets": ("", "<"),
    "open tags": ("", "<a "),
    "open attributes": ("", "<a x="),
    "open comments": ("", "<!--"),
    "open scripts": ("", "<script>"),
    "open ends of scripts": ("", "</script"),
    "an open end of a script": ("<script></script", " "),
    "scripts within scripts": ("", "</script><script>"),
    "ampersands": ("", "&"),
    "open entities": ("", "&a"),
    "open numbers": ("", "&#1"),
    "one long entity": ("&", "a"),
    "spaces": ("", " "),
    "digits": ("", "1"),
    "underscores": ("", "_"),
    "marks": ("a", "\u0301"),
    "marks of two kinds": ("a", "\u0301\u0316"),
    "halfwidth marks of two kinds": ("a", "\uff9e\u0301"),
    "joiners": ("ab", "\u200d"),
    "joined letters": ("", "a\u200d"),
    "half flags": ("", "\U0001f1e6"),
    "tags of a flag": ("\U0001f3f4", "\U000e0067"),
    "families": ("", "\U0001f468\u200d"),
    "Thai vowels": ("", "\u0e35"),
    "Chinese with marks": ("\u4eba", "\u0301"),
    "quotation marks in Hebrew": ("", '\u05d0"'),
    "two scripts": ("", "a \u0430 "),
    "long ligatures": ("", "\ufdfa"),
    "halves of addresses": ("", "a@"),
    "names of a host": ("a@", "b."),
    "beginnings of addresses": ("", "www."),
    "headers of mail": ("", "From: a\n"),
    "a header without an end": ("a", "b-"),
}


@pytest.mark.parametrize("family", [*HOSTILE, "equals and spaces"])
def test_hostile_texts_take_linear_time(family: str) -> None:
    """Eight times the text may take eight times as long, and as much again for caches: not 64 or 512 times."""

    def seconds(function: Callable[[str], object], length: int) -> float:
        if family == "equals and spaces":
            text = "<a " + "=" * length + " " * length
        else:
            start, part = HOSTILE[family]
            text = start + part * length
        times = []
        for _ in range(5):
            before = time.thread_time()
            function(text)
            times.append(time.thread_time() - before)
        return min(times)

    for function in (without_html, without_addresses, words_of, pinyin_words):
        assert seconds(function, 8 * 1200) < 24 * seconds(function, 1200) + 1e-4


# ---- Chinese and Japanese

CHINESE = ["我来到北京清华大学", "iPhone手机在北京很贵", "清华大学的手机"]
JAPANESE = ["東京に行った", "猫はコンピューターより速い", "東京の猫"]


def test_a_missing_segmenter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for texts, package in ((CHINESE, "jieba"), (JAPANESE, "janome")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.warns(UserWarning, match=f"3 of 3 texts are .*pip install {package}"):
            names = vectorize(texts).names
        assert {"北京", "京清"} <= set(names) or {"東京", "った"} <= set(names)
        with pytest.raises(MissingDependencyError, match=f"pip install {package}"):
            vectorize(
                texts, word_vectorizer(tokenizer={"jieba": "chinese"}.get(package, "japanese"))
            )
    assert vectorize(["plain English"] * 30 + ["北京"]).names == ("english", "plain", "北京")


@pytest.mark.parametrize(
    ("package", "tokenizer", "texts", "words"),
    [
        ("jieba", "chinese", CHINESE, {"北京", "清华大学", "iphone", "手机", "来到"}),
        ("janome", "japanese", JAPANESE, {"東京", "行っ", "猫", "コンピューター", "より", "速い"}),
    ],
)
def test_segmenters(package: str, tokenizer: str, texts: list[str], words: set[str]) -> None:
    pytest.importorskip(package)
    vectorizer = word_vectorizer()
    table = vectorize(texts, vectorizer)
    assert set(table.names) == words
    assert vectorize(texts, word_vectorizer(tokenizer=tokenizer)) == table
    fields = json.loads(json.dumps(vectorizer_fields(vectorizer)))
    assert fields["tokenizer"] == tokenizer
    assert count_words(texts, vectorizer_of_fields(fields, table.names)) == table
    stops = ["北京", "東京"]
    assert set(vectorize(texts, word_vectorizer(stop_words=stops)).names) == words - {*stops}


def test_syllables_of_pinyin_are_words_in_pairs() -> None:
    texts = ["qu4 be3i ji1ng, ha3o zhe4", "wo3 de IBM da4 xue2", "a plain text"]
    table = vectorize(texts, vectorizer := word_vectorizer())
    expected = {"qu4be3i", "be3iji1ng", "ha3ozhe4", "wo3", "de", "ibm", "da4xue2"}
    assert set(table.names) == expected | {"plain", "text"}
    fields = json.loads(json.dumps(vectorizer_fields(vectorizer)))
    assert fields["tokenizer"] == "pinyin"
    assert count_words(texts, vectorizer_of_fields(fields, table.names)) == table
    # the digit may also be at the end; words with digits in other texts are no syllables
    assert vectorize(["bei3 jing1 da4 xue2"]).names == ("bei3jing1", "da4xue2", "jing1da4")
    assert vectorize(["mp3 and a1 sauce on the m25"]).names == (
        "a1",
        "and",
        "m25",
        "mp3",
        "on",
        "sauce",
        "the",
    )


# ---- stop words


def test_stop_words_of_a_language(monkeypatch: pytest.MonkeyPatch) -> None:
    german = ["Der Hund und die Katze", "die Katze und der Hund"]
    assert vectorize(german, word_vectorizer(stop_words="de")).names == ("hund", "katze")
    hindi = ["यह भारत सरकार की है", "वह भारत सरकार की है"]
    assert vectorize(hindi, word_vectorizer(stop_words="hi")).names == ("भारत", "सरकार")
    with pytest.raises(DataError, match=r"no stop words for the language 'klingon'.*de"):
        stop_words_of("klingon")
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    assert {"the", "wasn"} <= set(stop_words_of("english"))
    with pytest.raises(MissingDependencyError, match="pip install stopwordsiso"):
        stop_words_of("de")


def test_a_file_of_stop_words(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffHund\r\nund\n".encode())
    assert vectorize(["Hund und Katze"], word_vectorizer(stop_words=path)).names == ("katze",)
    path.write_bytes(b"\xff")
    with pytest.raises(DataError, match="is not UTF-8"):
        stop_words_of(path)


def test_docstrings_are_prose_once_with_their_origin() -> None:
    docs = load_docstrings("scipy.fft", "scipy.linalg", "scipy.fft")
    assert set(docs["module"]) == {"scipy.fft", "scipy.linalg"}
    assert docs["text"].is_unique
    assert docs.index.tolist() == list(range(len(docs)))
    fft = docs.set_index("name")["text"]["scipy.fft.fft"]
    assert fft.startswith("Compute the 1-D discrete Fourier Transform.")
    assert "Parameters" not in fft
    assert docs["text"].str.split().str.len().min() >= 12
    assert load_docstrings()["module"].nunique() == 18
    with pytest.raises(ImportError):
        load_docstrings("no_such_module")
