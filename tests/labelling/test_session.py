"""Classes, labels, undo: the state is what the journal says, however it came about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsenet.errors import DataError
from tsenet.labelling.documents import Documents
from tsenet.labelling.journal import Journal
from tsenet.labelling.session import FROM_FILE, ConflictError, Session
from tsenet.labelling.state import NONE, State

TEXTS = ["a goal", "a ballot", "an orbit", "a match", "a vote", "a moon"]

NUMBERS = st.lists(st.integers(-1, 6), min_size=1, max_size=3)
CLASSES = st.sampled_from(["c1", "c2", "c3", "c4", NONE])
ACTIONS = st.one_of(
    st.fixed_dictionaries(
        {
            "do": st.just("label"),
            "documents": NUMBERS,
            "classes": st.lists(CLASSES, max_size=2, unique=True),
        }
    ),
    st.fixed_dictionaries(
        {
            "do": st.just("topic"),
            "documents": NUMBERS,
            "class": CLASSES | st.none(),
            "topic": st.just("space"),
        }
    ),
    st.fixed_dictionaries({"do": st.just("skip"), "documents": NUMBERS}),
    st.fixed_dictionaries(
        {"do": st.just("note"), "documents": NUMBERS, "note": st.text(max_size=3)}
    ),
    st.fixed_dictionaries(
        {"do": st.just("class"), "name": st.sampled_from(["sport", "politics", "space", "other"])}
    ),
    st.fixed_dictionaries({"do": st.just("class"), "class": CLASSES, "name": st.text(max_size=3)}),
    st.fixed_dictionaries({"do": st.just("merge"), "class": CLASSES, "into": CLASSES}),
    st.fixed_dictionaries({"do": st.just("several"), "on": st.booleans()}),
    st.just({"do": "undo"}),
)


@contextmanager
def session(
    path: Path, texts: list[str] = TEXTS, labels: list[str] | None = None
) -> Iterator[Session]:
    journal = Journal(path)
    try:
        yield Session(journal, Documents.of(texts, labels))
    finally:
        journal.close()


def labels_of(own: Session) -> list[tuple[list[str], str]]:
    found = (own.label_of(i) for i in range(len(own.documents)))
    return [([own.state.name_of(chosen) for chosen in ids], who) for ids, who in found]


@given(steps=st.lists(st.tuples(ACTIONS, st.sampled_from(["a", "b"])), max_size=25), data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_actions_killed_at_any_byte_and_reopened_are_the_replay_of_what_was_written(
    steps: list[tuple[Any, str]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("session") / "docs.labels.jsonl"
    labels = ["sport", "", "", "", "old", ""]
    states = []  # after each event
    with session(path, labels=labels) as own:
        sizes = [path.stat().st_size]
        states.append(State.of(own.journal.events))
        for action, by in steps:
            before = own.revision
            try:
                own.do(action, by)
            except DataError:
                assert own.revision == before
                continue
            # Kept up to date or replayed from the first event on: the same.
            assert own.state == State.of(own.journal.events)
            assert all(ids is not None for ids, _ in labels_of(own))  # every class has a name
            sizes.append(path.stat().st_size)
            states.append(State.of(own.journal.events))

    content = path.read_bytes()
    cut = data.draw(st.integers(sizes[0], len(content)))
    path.write_bytes(content[:cut])
    with session(path, labels=labels) as again:
        whole = sum(size <= cut for size in sizes) - 1
        # The half line is gone, or it lacked its newline alone.
        assert again.state in (states[whole], states[min(whole + 1, len(states) - 1)])
        own_state = again.state
        again.do({"do": "skip", "documents": [0]}, "c")
        assert again.state != own_state or 0 in [
            again.documents.number[k] for k in own_state.skipped
        ]


def test_an_undo_takes_back_the_last_action_of_its_window(tmp_path: Path) -> None:
    with session(tmp_path / "a.jsonl") as own:
        own.do({"do": "class", "name": "sport"}, "a")
        own.do({"do": "class", "name": "space"}, "b")
        own.do({"do": "label", "documents": [0, 3], "classes": ["c1"]}, "a")
        own.do({"do": "label", "documents": [2], "classes": ["c2"]}, "b")
        own.do({"do": "undo"}, "a")
        assert [who for _, who in labels_of(own)] == ["", "", "you", "", "", ""]
        own.do({"do": "undo"}, "b")
        own.do({"do": "undo"}, "b")
        assert [label.name for label in own.state.classes.values()] == ["sport"]
        with pytest.raises(DataError, match="nothing to undo"):
            own.do({"do": "undo"}, "b")
    with session(tmp_path / "a.jsonl") as own:  # the next day, in a new window
        own.do({"do": "undo"}, "c")
        assert own.state.classes == {}


def test_two_windows_do_not_overwrite_each_other(tmp_path: Path) -> None:
    with session(tmp_path / "a.jsonl") as own:
        for name in ("sport", "space"):
            own.do({"do": "class", "name": name}, "a")
        seen = own.revision
        own.do({"do": "label", "documents": [1], "classes": ["c1"]}, "a", seen)
        with pytest.raises(ConflictError, match="another window"):
            own.do({"do": "label", "documents": [0, 1], "classes": ["c2"]}, "b", seen)
        assert labels_of(own)[:2] == [([], ""), (["sport"], "you")]
        own.do({"do": "label", "documents": [0, 2], "classes": ["c2"]}, "b", seen)  # others
        own.do({"do": "label", "documents": [1], "classes": ["c2"]}, "a", seen)  # its own
        own.do({"do": "label", "documents": [1], "classes": ["c1"]}, "b", own.revision)  # it looked
        assert labels_of(own)[:3] == [(["space"], "you"), (["sport"], "you"), (["space"], "you")]


def test_labels_follow_texts_to_other_rows(tmp_path: Path) -> None:
    with session(tmp_path / "a.jsonl") as own:
        own.do({"do": "class", "name": "space"}, "a")
        own.do({"do": "label", "documents": [2, 5], "classes": ["c1"]}, "a")
        own.do({"do": "note", "documents": [2], "note": "far away"}, "a")
    with session(tmp_path / "a.jsonl", ["new", " an orbit\n", "a goal"]) as own:
        assert [who for _, who in labels_of(own)] == ["", "you", ""]
        assert own.state.notes == {own.documents.keys[1]: "far away"}
        assert own.n_elsewhere == 1
    with session(tmp_path / "a.jsonl") as own:
        assert own.n_elsewhere == 0


def test_a_single_label_overrules_a_topic_and_the_file(tmp_path: Path) -> None:
    labels = ["sport", "", "sport", "", "", ""]
    with session(tmp_path / "a.jsonl", labels=labels) as own:
        space = own.state.apply and own.do({"do": "class", "name": "space"}, "a")
        assert own.journal.events[space]["class"] == "c2"
        own.do({"do": "topic", "documents": [0, 1, 2, 3], "class": "c2", "topic": "moon"}, "a")
        own.do({"do": "label", "documents": [2], "classes": ["c2"]}, "a")
        own.do({"do": "label", "documents": [3], "classes": [NONE]}, "a")
        expected = [
            (["sport"], "file"),
            (["space"], "topic"),
            (["space"], "you"),
            (["none of these"], "you"),
            ([], ""),
            ([], ""),
        ]
        assert labels_of(own) == expected
        own.do({"do": "label", "documents": [2, 3], "classes": []}, "a")
        assert labels_of(own)[2:4] == [(["space"], "topic"), (["space"], "topic")]
        own.do({"do": "topic", "documents": [1, 2, 3], "class": None, "topic": "moon"}, "a")
        assert [who for _, who in labels_of(own)] == ["file", "", "", "", "", ""]


def test_classes_of_the_file_keep_what_was_done_to_them(tmp_path: Path) -> None:
    labels = ["sport", "football", " sport", "", "", ""]
    path = tmp_path / "a.jsonl"
    with session(path, labels=labels) as own:
        own.do({"do": "class", "class": "c1", "name": "Sports", "colour": 7}, "a")
        own.do({"do": "merge", "class": "c2", "into": "c1"}, "a")
    with session(path, labels=labels) as own:
        assert labels_of(own)[:3] == [(["Sports"], "file")] * 3
        assert len(own.state.classes) == 1
        assert sum(event["by"] == FROM_FILE for event in own.journal.events) == 2
        own.do({"do": "undo"}, "b")
        assert labels_of(own)[1] == (["football"], "file")


def test_several_classes_when_allowed(tmp_path: Path) -> None:
    with session(tmp_path / "a.jsonl") as own:
        for name in ("sport", "space"):
            own.do({"do": "class", "name": name}, "a")
        both = {"do": "label", "documents": [0], "classes": ["c1", "c2"]}
        with pytest.raises(DataError, match="one class"):
            own.do(both, "a")
        own.do({"do": "several", "on": True}, "a")
        own.do(both, "a")
        with pytest.raises(DataError, match="1 texts have several"):
            own.do({"do": "several", "on": False}, "a")
        own.do({"do": "merge", "class": "c2", "into": "c1"}, "a")
        assert labels_of(own)[0] == (["sport"], "you")


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ({}, "do is one of"),
        ({"do": ["label"]}, "do is one of"),
        ([], "an action is an object"),
        ({"do": "label", "documents": [0], "classes": ["c9"]}, "no class 'c9'"),
        ({"do": "label", "documents": [0], "classes": [{}]}, "no class"),
        ({"do": "label", "documents": [6], "classes": []}, "no document 6"),
        ({"do": "label", "documents": [True], "classes": []}, "no document True"),
        ({"do": "label", "documents": [], "classes": []}, "not empty"),
        ({"do": "label", "documents": [0], "classes": "c1"}, "list of different ids"),
        ({"do": "class", "name": " "}, "needs a name"),
        ({"do": "class", "name": "x" * 101}, "at most 100"),
        ({"do": "class", "name": "none of these"}, "already"),
        ({"do": "class", "name": "a", "colour": 10}, "from 0 to 9"),
        ({"do": "merge", "class": "c1", "into": "c1"}, "no class"),
        ({"do": "note", "documents": [0, 1], "note": "a"}, "one document"),
        ({"do": "note", "documents": [0], "note": "a" * 2001}, "at most 2,000"),
    ],
)
def test_what_cannot_be_done_is_refused_and_not_written(
    tmp_path: Path, action: Any, says: str
) -> None:
    with session(tmp_path / "a.jsonl") as own:
        with pytest.raises(DataError, match=says):
            own.do(action, "a")
        assert own.journal.events == []


def test_a_column_of_too_many_labels_is_no_column_of_classes(tmp_path: Path) -> None:
    texts = [f"text {i}" for i in range(101)]
    with (
        pytest.raises(DataError, match="101 different values"),
        session(tmp_path / "a.jsonl", texts, labels=texts),
    ):
        pass
