from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tsenet.data import vectorize, word_vectorizer
from tsenet.data.text import _CODES, stop_words_of
from tsenet.errors import DataError, MissingDependencyError


def test_languages() -> None:
    german = ["Der Hund und die Katze", "die Katze und der Hund"]
    assert vectorize(german, word_vectorizer(stop_words="german")).names == ("hund", "katze")
    assert vectorize(german, word_vectorizer(stop_words="de")).names == ("hund", "katze")
    hindi = ["यह भारत सरकार की है", "वह भारत सरकार की है"]
    assert vectorize(hindi, word_vectorizer(stop_words="hindi")).names == ("भारत", "सरकार")
    for name in _CODES:
        assert len(stop_words_of(name)) > 10
    assert "wasn" in stop_words_of("english")


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffHund\r\nund\n".encode())
    assert vectorize(["Hund und Katze"], word_vectorizer(stop_words=path)).names == ("katze",)
    with pytest.raises(DataError, match="no file of stop words"):
        stop_words_of(tmp_path / "none.txt")
    path.write_bytes(b"\xff")
    with pytest.raises(DataError, match="is not UTF-8"):
        stop_words_of(path)


def test_unknown_language() -> None:
    with pytest.raises(DataError, match=r"no stop words for the language 'klingon'.*german"):
        stop_words_of("klingon")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    assert "the" in stop_words_of("english")
    with pytest.raises(MissingDependencyError, match=r"pip install tsenet\[text\]"):
        stop_words_of("german")
