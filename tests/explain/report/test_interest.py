"""What a report shows first: topics that set their words apart, not those of the commonest words."""

from __future__ import annotations

import pytest

from tests.explain.report import newswire
from tsenet.explain import Topic, TopicWord, topic_tree
from tsenet.explain.report import ReportOptions, report_payload
from tsenet.explain.report.interest import gain, interest, label_of

SAID = TopicWord("said", information=0.3, inside=0.95, outside=0.35)
OIL = TopicWord("oil", information=0.05, inside=0.5, outside=0.01)


def topic(words: tuple[TopicWord, ...], size: float) -> Topic:
    return Topic("Z1.0", 1, "", size, words)


def test_a_common_word_gains_less_than_a_rare_one() -> None:
    assert gain(SAID, 0.75) < 0.3 < gain(OIL, 0.1)
    assert gain(TopicWord("never", 0.0, 0.0, 0.0), 0.5) == 0.0


def test_interest_weighs_words_and_size() -> None:
    assert interest(topic((OIL,), 0.1)) > interest(topic((SAID,), 0.75))
    assert interest(topic((OIL,), 0.1)) > interest(topic((OIL,), 0.0005))  # hardly ever on
    assert interest(topic((), 0.1)) == 0.0
    assert interest(topic((OIL,), 0.0)) == interest(topic((OIL,), 1.0)) == 0.0


def test_a_label_takes_from_each_subtopic_before_it_takes_twice() -> None:
    words = [
        TopicWord(name, 0.1, inside, 0.01) for name, inside in (("a", 0.6), ("b", 0.5), ("c", 0.4))
    ]
    made = topic(tuple(words), 0.2)
    assert label_of(made, {"a": "x", "b": "x", "c": "y"}) == "a, c, b"
    assert label_of(made, {}) == "a, b, c"
    assert label_of(topic((), 0.2), {}) == ""


def test_newswire_is_dominated_by_said() -> None:
    """The corpus shows the problem: by size and information "said" comes first on every level."""
    first = topic_tree(newswire.tree())[0]
    while first.children:
        assert first.words[0].word == "said"
        first = first.children[0]
    assert first.words[0].word == "said"


def test_newswire_opens_on_other_topics() -> None:
    payload = report_payload(newswire.tree())
    units, n_top = payload["units"], payload["layers"][-1]
    top = sorted(zip(units["interest"][-n_top:], units["label"][-n_top:], strict=True))
    assert top[0][1].startswith("said")  # the least interesting
    assert not any("said" in label for _, label in top[1:])
    areas = {label for _, label in top}
    assert "crude, gas, nuclear" in areas  # one word from each subject
    assert units["interest"][0] == pytest.approx(min(units["interest"][:32]), abs=0.05)


def test_given_titles_are_the_labels() -> None:
    options = ReportOptions(titles={"Z3.1": "Energy"})
    labels = report_payload(newswire.tree(), options=options)["units"]["label"][-6:]
    assert labels[1] == "Energy"
    assert labels[3] == "wheat, coffee, cattle"
