"""Which texts to label next: each rule against brute force, and the mix of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tsenet.labelling.learner import Prediction
from tsenet.labelling.propose import (
    REASONS,
    class_of_topics,
    is_finding_classes,
    propose,
    pure_topics,
)
from tsenet.labelling.text_topics import Topics


def topics_of(mains: list[int], n_topics: int, seed: int = 0) -> Topics:
    """Topics of one level, of which each text has one (or none: −1), more or less strongly."""
    rng = np.random.default_rng(seed)
    texts = np.flatnonzero(np.array(mains) >= 0)
    strengths = rng.uniform(0.5, 1.0, texts.size)
    columns = np.array(mains)[texts]
    return Topics(
        [f"t{k}" for k in range(n_topics)],
        np.full(n_topics, -1),
        np.ones(n_topics, np.int64),
        [f"topic {k}" for k in range(n_topics)],
        [[] for _ in range(n_topics)],
        sp.csr_array((strengths, (texts, columns)), shape=(len(mains), n_topics)),
    )


@st.composite
def situations(draw: st.DrawFn) -> dict[str, Any]:
    """Texts with topics, of which some are labelled or skipped, with a model or without."""
    n, n_topics = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    mains = rng.integers(-1, n_topics, n)
    state = rng.choice(
        3, n, p=draw(st.sampled_from([[0.9, 0.1, 0], [0.5, 0.4, 0.1], [0, 0.9, 0.1]]))
    )
    labels = {int(i): (f"c{rng.integers(1, 3)}",) for i in np.flatnonzero(state == 1)}
    prediction = None
    if draw(st.booleans()):
        shares = rng.dirichlet([1, 1], n).astype(np.float32)
        prediction = Prediction(["c1", "c2"], shares, rng.permutation(n)[: n // 3])
    return {
        "closed": state > 0,
        "order": rng.permutation(n),
        "lengths": rng.choice([1, 2, 3, 400, 599, 600, 700, 2_000], n),
        "topics": topics_of(mains.tolist(), n_topics),
        "labels": labels,
        "prediction": prediction,
    }


@given(situation=situations(), n=st.integers(0, 40))
def test_as_many_open_texts_as_asked_for_each_once(situation: dict[str, Any], n: int) -> None:
    found = propose(n, **situation)
    texts = [proposal.text for proposal in found]
    assert len(set(texts)) == len(texts) == min(n, int((~situation["closed"]).sum()))
    assert not situation["closed"][texts].any()
    assert {proposal.reason for proposal in found} <= set(REASONS)


@given(situation=situations(), n=st.integers(1, 40))
def test_every_fourth_label_is_of_the_first_open_text_in_random_order(
    situation: dict[str, Any], n: int
) -> None:
    found = propose(n, **situation)
    before: set[int] = set()
    for place, proposal in enumerate(found, len(situation["labels"])):
        is_open = (i for i in situation["order"] if not situation["closed"][i] and i not in before)
        if place % 4 == 0:
            assert (proposal.text, proposal.reason) == (next(is_open), "random")
        elif proposal.reason == "random":  # in place of another, of which there is none
            assert proposal.text == next(is_open)
        before.add(proposal.text)


@given(situation=situations(), n=st.integers(0, 40), n_waiting=st.integers(1, 5))
def test_texts_that_wait_for_a_label_count_as_if_they_had_one(
    situation: dict[str, Any], n: int, n_waiting: int
) -> None:
    situation["prediction"] = (
        None  # a label says more than that a text was proposed only to a model
    )
    waiting = np.flatnonzero(~situation["closed"])[:n_waiting]
    found = propose(n, **situation, waiting=waiting)
    situation["closed"][waiting] = True
    situation["labels"].update({int(i): ("c1",) for i in waiting})
    assert found == propose(n, **situation)


@given(situation=situations())
def test_who_labels_all_that_is_proposed_has_a_quarter_at_random_in_the_fixed_order(
    situation: dict[str, Any],
) -> None:
    """However the lists are cut: each is asked for after the labels of the one before."""
    closed, labels = situation["closed"], dict(situation["labels"])
    start = len(labels)
    drawn = []
    while not closed.all():
        for proposal in propose(3, **{**situation, "labels": labels}):
            if len(labels) % 4 == 0:
                assert proposal.reason == "random"
                drawn.append(proposal.text)
            closed[proposal.text] = True
            labels[proposal.text] = ("c1",)
    rank = {int(text): place for place, text in enumerate(situation["order"])}
    assert [rank[i] for i in drawn] == sorted(rank[i] for i in drawn)
    assert len(drawn) == len([k for k in range(start, len(labels)) if k % 4 == 0])


@given(situation=situations())
def test_typical_texts_are_short_strong_ones_of_topics_without_labels_the_largest_first(
    situation: dict[str, Any],
) -> None:
    situation["prediction"] = None
    topics, closed, labels = situation["topics"], situation["closed"], situation["labels"]
    size = Counter(topics.main.tolist())
    seen = {topics.main[i] for i in labels}
    expected = []
    for topic in sorted(range(len(topics.ids)), key=lambda k: -size[k]):
        texts = [i for i in range(closed.size) if topics.main[i] == topic and not closed[i]]
        strongest = sorted(texts, key=lambda i: -topics.strengths[[i], [topic]][0])[:5]
        if topic not in seen and strongest:
            expected.append(min(strongest, key=lambda i: min(situation["lengths"][i], 600)))
    found = propose(closed.size, **situation)
    typical = [proposal.text for proposal in found if proposal.reason == "typical"]
    at_random = {proposal.text for proposal in found if proposal.reason == "random"}
    # A text may have been drawn at random before its turn as a typical one came.
    assert typical == [i for i in expected if i not in at_random]


def test_with_a_label_of_each_topic_two_of_three_are_uncertain_and_one_disagrees() -> None:
    # Three topics of 20 texts; two texts of each are labelled with the class of the topic's number.
    mains = np.repeat([0, 1, 2], 20)
    names = ["c1", "c2", "c3"]
    shares = np.full((60, 3), 0.05, np.float32)
    shares[np.arange(60), mains] = 0.9
    # Of each topic the model puts two texts into the next class; it is surer of the second.
    for topic in range(3):
        for text, sure in ((20 * topic + 18, 0.6), (20 * topic + 19, 0.8)):
            shares[text] = (1 - sure) / 2
            shares[text, (topic + 1) % 3] = sure
    labelled = [0, 1, 20, 21, 40, 41]
    labels = {i: (names[mains[i]],) for i in labelled}
    closed = np.isin(np.arange(60), labelled)
    unsure = np.array([5, 25, 45, 6, 26, 46])
    order = np.concatenate([np.arange(30, 60), np.arange(30)])
    found = propose(
        10,
        closed,
        order,
        np.ones(60, np.int64),
        topics_of(mains.tolist(), 3),
        labels,
        Prediction(names, shares, unsure),
    )
    assert [(proposal.text, proposal.reason) for proposal in found] == [
        (5, "uncertain"),
        (25, "uncertain"),
        (30, "random"),  # the ninth label
        (19, "disagreement"),
        (45, "uncertain"),
        (6, "uncertain"),
        (31, "random"),
        (39, "disagreement"),
        (26, "uncertain"),
        (46, "uncertain"),
    ]


def test_while_classes_are_being_found_texts_are_typical_then_every_second_one() -> None:
    # Eight narrow topics of ten texts; the model is sure of the texts of topics 4 and 5 alone.
    mains = np.repeat(np.arange(8), 10)
    shares = np.where(np.isin(mains, [4, 5])[:, None], [0.9, 0.1], [0.55, 0.45])
    unsure = np.array([70, 71, 72, 73, 74])
    prediction = Prediction(["c1", "c2"], shares.astype(np.float32), unsure)
    narrow = topics_of(mains.tolist(), 8)
    topics = replace(topics_of([0] * 80, 1), narrower=narrow)
    order = np.arange(80)[::-1]

    def reasons(labels: dict[int, tuple[str, ...]]) -> list[tuple[int, str]]:
        closed = np.isin(np.arange(80), list(labels))
        found = propose(
            6, closed, order, np.arange(80), topics, labels, prediction, waiting=np.array([79])
        )
        return [(int(mains[one.text]), one.reason) for one in found if one.reason != "random"]

    # Two of five labels are the only one of their class.
    labels = {0: ("c1",), 1: ("c1",), 2: ("c1",), 10: ("c2",), 20: ("c3",)}
    assert is_finding_classes(labels)
    typical = [(k, "typical") for k in (3, 4, 5, 6)]
    assert reasons(labels) == typical + [(7, "uncertain")] * (5 - len(typical))

    # One of five.
    labels[20] = ("c2",)
    labels[21] = ("c3",)
    del labels[2]
    assert not is_finding_classes(labels)
    assert reasons(labels) == [
        (3, "typical"),
        (7, "uncertain"),
        (6, "typical"),
        (7, "uncertain"),
        (7, "uncertain"),
    ]


@given(st.lists(st.sampled_from("abcdefgh"), max_size=30))
def test_classes_are_being_found_while_a_fifth_of_the_labels_are_the_only_one_of_theirs(
    classes: list[str],
) -> None:
    only = [chosen for chosen in classes if classes.count(chosen) == 1]
    labels = {i: (chosen,) for i, chosen in enumerate(classes)}
    assert is_finding_classes(labels) == (5 * len(only) > len(classes))


def test_one_label_of_a_topic_or_labels_that_differ_contradict_no_model() -> None:
    mains = [0] * 10 + [1] * 10
    shares = np.tile(np.float32([0.1, 0.9]), (20, 1))  # the model says c2 of all texts
    prediction = Prediction(["c1", "c2"], shares, np.empty(0, np.int64))
    labels = {0: ("c1",), 10: ("c1",), 11: ("c2",), 12: ("c1",)}  # one; two thirds
    closed = np.isin(np.arange(20), list(labels))
    texts = (np.arange(20)[::-1], np.ones(20, np.int64), topics_of(mains, 2))
    found = propose(10, closed, *texts, labels, prediction)
    assert {proposal.reason for proposal in found} == {"random"}
    labels[1] = ("c1",)
    closed[1] = True
    found = propose(10, closed, *texts, labels, prediction)
    (text,) = [proposal.text for proposal in found if proposal.reason == "disagreement"]
    assert mains[text] == 0


@given(situation=situations())
def test_the_class_of_a_topic_is_that_of_most_of_its_labels(situation: dict[str, Any]) -> None:
    topics, labels = situation["topics"], situation["labels"]
    found = class_of_topics(topics, labels)
    pure = pure_topics(topics, labels)
    for topic in range(len(topics.ids)):
        own = [ids[0] for i, ids in labels.items() if topics.main[i] == topic]
        if not own:
            assert topic not in found
            assert topic not in pure
            continue
        chosen, share, n = found[topic]
        most = max(own.count(one) for one in own)
        assert (own.count(chosen), share, n) == (most, most / len(own), len(own))
        # Five labels of which four agree.
        assert (topic in pure) == (len(own) >= 5 and 5 * most >= 4 * len(own))
