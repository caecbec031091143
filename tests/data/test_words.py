"""Words of every script, and plain English as it always was."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.data import words_of


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
def test_words(document: str, words: list[str]) -> None:
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


def test_case_can_be_kept() -> None:
    assert words_of("The CAT भारत", lowercase=False) == ["The", "CAT", "भारत"]


def _words_before_other_scripts(document: str) -> list[str]:
    text = unicodedata.normalize("NFKC", document).lower()
    return re.findall(r"(?=\d*[^\W\d_])[^\W_]{2,}", text)


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_plain_english_is_as_it_was(document: str) -> None:
    words = _words_before_other_scripts(document)
    assert words_of(document) == words
    # An emoji elsewhere changes nothing.
    assert words_of(document + " 😀") == [*words, "😀"]


@given(st.text(st.sampled_from("abzé ßØ’“—…ωЖя0189_-.,\n"), max_size=100))
def test_european_scripts_are_as_they_were(document: str) -> None:
    found = [part for word in words_of(document) for part in word.split("'")]
    assert [word for word in found if len(word) > 1] == _words_before_other_scripts(document)


@given(st.text(max_size=60))
def test_any_text_has_words_without_white_space(document: str) -> None:
    for word in words_of(document):
        assert word
        assert word.split() == [word]


def test_a_million_digits_or_letters_take_linear_time() -> None:
    start = time.process_time()
    assert words_of("1" * 1_000_000) == []
    assert words_of("1" * 300_000 + "😀") == ["😀"]
    assert len(words_of("人" * 100_000)) == 99_999
    assert time.process_time() - start < 5  # a quadratic pattern takes hours
