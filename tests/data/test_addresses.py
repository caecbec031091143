"""What is left of texts with addresses, and that no text takes long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.data import word_vectorizer
from tsenet.data.addresses import without_addresses, without_repeats
from tsenet.data.text import vectorizer_fields, vectorizer_of_fields


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see https://a.org/b?c=d&e#f now", "see now"),
        ("see (http://a.org).", "see ("),
        ("at WWW.Example.com today", "at today"),
        ("mail joe.b+c@cs.mit.edu please", "mail please"),
        ("<joe@b.com> wrote", "< > wrote"),
        ("thanks @joe_b for #Election2020", "thanks for"),
        ("AT&T, C# and R&D; 3 @ 5", "at&t, c# and r&d; 3 @ 5"),
        ("&#65; stays", "&#65; stays"),
        ("asp.net and amazon.com are names", "asp.net and amazon.com are names"),
        ("请看 http://a.cn这里", "请看 这里"),
        ("写信joe@b.cn联系", "写信 联系"),
        ("From: a@b.c (Joe)\nSubject: My bike\nX-Id: 1\n\nIt is red.", "my bike it is red."),
        ("Subject: x\r\nReferences: <a@b>\r\n <c@d>\r\nLines: 2\r\n\r\nText", "x text"),
        (
            "Forwarded:\nFrom: a@b.c\nDate: today\nSubject: Bike\nIt is red.",
            "forwarded: bike it is red.",
        ),
        ("He said\nTo: me\nAnd left", "he said to: me and left"),
        ("Note: this\nIs text", "note: this is text"),
        ("Note: one\nHint: two\nText", "note: one hint: two text"),
        ("Subject: only one", "subject: only one"),
        ("", ""),
        # uuencode, base64, BinHex; a path and code are none
        ("pic:\nM&%L='1R=G%U?7-[=W]P^/3OKV_O'Y]?WS^_?_  @$%#0,+&P<7-R]O0X]3F", "pic:"),
        ("Ng6prxnPuEuSZQEiiusMCVcRcGnWbaVrxFjA1o4yubh01Czcg3ZC9wLJolXlxJn7", ""),
        (
            "/pub/usenet/news.answers/cryptography-faq/part",
            "/pub/usenet/news.answers/cryptography-faq/part",
        ),
        (
            "XtResizeWidget(vertical_bar,bar_width,1,button_width);",
            "xtresizewidget(vertical_bar,bar_width,1,button_width);",
        ),
        (
            "red,green,blue,violet,orange,yellow,purple,brown,pink",
            "red,green,blue,violet,orange,yellow,purple,brown,pink",
        ),
        ("北" * 60, "北" * 60),
    ],
)
def test_what_is_left(text: str, left: str) -> None:
    assert without_addresses(text).split() == left.split()


@given(st.text(alphabet="ab@#:/.w-\n \t北h", max_size=80))
def test_words_far_from_signs_stay(text: str) -> None:
    found = without_addresses(f"{text} \n\nplain words")
    assert found.split()[-2:] == ["plain", "words"]


@pytest.mark.parametrize(
    "unit", ["a", "@", "#", "a@", "www.", "http://", "a.", "x: y\n", "From: a\n", "-", "%a"]
)
def test_long_texts_end(unit: str) -> None:
    text = unit * 200_000  # quadratic time would take minutes here: the run's time limit
    assert len(without_addresses(text)) <= len(text) + 1


def test_repeated_lines_stand_in_few_texts() -> None:
    signature = "Gordon  Banks\tN3JXP"
    texts = [f"text number {number} of its own\n{signature}\nThanks" for number in range(6)]
    assert without_repeats(texts, 4) == [
        *texts[:4],
        *(t.replace(signature + "\n", "") for t in texts[4:]),
    ]
    # whole copies stay, and a line of a text that stands twice in it is not repeated
    assert without_repeats([texts[0]] * 6, 4) == [texts[0]] * 6
    refrain = "la la la\nla la la\none two three"
    assert without_repeats([refrain, None, "no lines here"], 1) == [refrain, None, "no lines here"]


def test_vectorizers_are_stored() -> None:
    texts = ["joe@b.com rides bikes", "bikes on www.bikes.org", "Rides #bike"]
    vectorizer = word_vectorizer(keep_urls=False).fit(texts)
    words = vectorizer.get_feature_names_out().tolist()
    assert words == ["bikes", "on", "rides"]
    assert "joe" in word_vectorizer().fit(texts).vocabulary_
    again = vectorizer_of_fields(vectorizer_fields(vectorizer), words)
    assert (again.transform(texts) != vectorizer.transform(texts)).nnz == 0
