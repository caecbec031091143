"""What a list of events means, and which may be added to it: classes, labels, whole topics, notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tsenet.errors import DataError, quoted
from tsenet.labelling.documents import Documents
from tsenet.labelling.journal import Event

__all__ = [
    "MAX_CLASSES",
    "MAX_TITLE",
    "NONE",
    "NONE_NAME",
    "Actions",
    "ClassId",
    "Key",
    "LabelClass",
    "State",
    "undone_of",
]

#: The class of texts that are of none of the classes, and what files call it.
NONE: Final = "none"
NONE_NAME: Final = "none of these"

MAX_CLASSES = 100
MAX_NAME = 100  # characters of a class name
MAX_NOTE = 2_000
MAX_TITLE = 200  # characters of a topic's title
N_COLOURS = 10

Key: TypeAlias = str  # of a document
ClassId: TypeAlias = str


@dataclass(frozen=True)
class LabelClass:
    """A class: its name, and the number of its colour from 0 to 9."""

    name: str
    colour: int


@dataclass
class State:
    """What a list of events means.

    Attributes
    ----------
    classes : dict of str to LabelClass
        By id, in the order in which they were made.
    labels : dict of str to tuple of str
        The classes that a person gave each document, by key, in the order of their first labels. Empty: the label
        was taken away, also one that the file has.
    weak : dict of str to str
        The class of each document whose topic was labelled as a whole.
    skipped : set of str
    notes : dict of str to str
    several : bool
        Whether a document may have several classes.
    changed : dict of str to int
        The number of the last event that changed each document.
    measured : list of dict
        Accuracies that were measured, for the learning curve.
    """

    classes: dict[ClassId, LabelClass] = field(default_factory=dict)
    labels: dict[Key, tuple[ClassId, ...]] = field(default_factory=dict)
    weak: dict[Key, ClassId] = field(default_factory=dict)
    skipped: set[Key] = field(default_factory=set)
    notes: dict[Key, str] = field(default_factory=dict)
    several: bool = False
    changed: dict[Key, int] = field(default_factory=dict)
    measured: list[Event] = field(default_factory=list)

    @property
    def class_of_name(self) -> dict[str, ClassId]:
        """The id of each class, and of none of these, by name."""
        named = {label.name: i for i, label in self.classes.items()}
        return {NONE_NAME: NONE, **named}

    def name_of(self, chosen: ClassId) -> str:
        """The name of a class."""
        return NONE_NAME if chosen == NONE else self.classes[chosen].name

    @classmethod
    def of(cls, events: Sequence[Event]) -> State:
        """Replay events from the first on; those that were undone have no effect."""
        undone = undone_of(events)

        state = cls()
        for number, event in enumerate(events):
            if number not in undone:
                state.apply(number, event)
        return state

    def apply(self, number: int, event: Event) -> None:
        """Add what an event says; one that no longer applies, as after an undo, has no effect."""
        match event:
            case {"do": "label", "documents": keys, "classes": ids}:
                if all(i == NONE or i in self.classes for i in ids):
                    for key in keys:
                        self._label(key, tuple(ids))

            case {"do": "topic", "documents": keys, "class": None}:
                for key in keys:
                    self.weak.pop(key, None)

            case {"do": "topic", "documents": keys, "class": chosen}:
                if chosen == NONE or chosen in self.classes:
                    self.weak.update(dict.fromkeys(keys, chosen))

            case {"do": "skip", "documents": keys}:
                self.skipped.update(keys)

            case {"do": "note", "documents": [key], "note": text}:
                self.notes[key] = text
                if not text:  # an empty note deletes the one before
                    del self.notes[key]

            case {"do": "class", "class": chosen, "name": name, "colour": colour}:
                self.classes[chosen] = LabelClass(name, colour)

            case {"do": "merge", "class": gone, "into": kept}:
                self._merge(gone, kept)

            case {"do": "several", "on": on}:
                self.several = on

            case {"do": "measured"}:
                self.measured.append(event["result"])

        for key in event.get("documents", ()):
            self.changed[key] = number

    def _label(self, key: Key, classes: tuple[ClassId, ...]) -> None:
        self.labels[key] = classes
        self.skipped.discard(key)

    def _merge(self, gone: ClassId, kept: ClassId) -> None:
        """Make one class of two."""
        if gone == kept or gone not in self.classes or kept not in self.classes:
            return
        del self.classes[gone]

        for key, ids in self.labels.items():
            if gone in ids:
                renamed = (kept if i == gone else i for i in ids)
                self.labels[key] = tuple(dict.fromkeys(renamed))  # once, if it had both

        for key, chosen in self.weak.items():
            if chosen == gone:
                self.weak[key] = kept


def undone_of(events: Sequence[Event]) -> set[int]:
    """The numbers of the events that were undone."""
    return {event["event"] for event in events if event.get("do") == "undo"}


# ---- what may be done


@dataclass(frozen=True)
class Actions:
    """The checks of what may be done to a state.

    Attributes
    ----------
    documents : Documents
    state : State
    events : sequence of dict
        All events so far.
    """

    documents: Documents
    state: State
    events: Sequence[Event]

    def event_of(self, action: Any) -> Event:
        """Return the event of an action, with keys for documents.

        Parameters
        ----------
        action : dict
            ``do``: what to do, and what it needs; ``documents`` are numbers.

        Raises
        ------
        DataError
            If the action is not possible.
        """
        if not isinstance(action, dict):
            raise DataError("an action is an object with a field do")

        checks: dict[str, Callable[[Event], Event]] = {
            "label": self._label,
            "topic": self._topic,
            "skip": self._skip,
            "note": self._note,
            "class": self._class,
            "merge": self._merge,
            "several": self._several,
        }
        do = action.get("do")
        if not isinstance(do, str) or do not in checks:
            raise DataError(f"do is one of {', '.join(checks)}, undo, not {quoted(do)}")

        return {"do": do, **checks[do](action)}

    # ---- of documents

    def _label(self, action: Event) -> Event:
        ids = action.get("classes")
        if not isinstance(ids, list) or len(set(map(str, ids))) < len(ids):
            raise DataError("classes is a list of different ids")

        for chosen in ids:
            if chosen != NONE:
                self._known(chosen)
        if len(ids) > 1 and (NONE in ids or not self.state.several):
            raise DataError("a document has one class, unless several classes are allowed")

        how = _text(action.get("how", ""), 40, "how")
        return {"documents": self._keys(action), "classes": ids, "how": how}

    def _topic(self, action: Event) -> Event:
        chosen = action.get("class")
        if chosen not in (None, NONE):
            self._known(chosen)

        title = _text(action.get("topic"), MAX_TITLE, "topic")
        return {"documents": self._keys(action), "class": chosen, "topic": title}

    def _skip(self, action: Event) -> Event:
        return {"documents": self._keys(action)}

    def _note(self, action: Event) -> Event:
        keys = self._keys(action)
        if len(keys) != 1:
            raise DataError("a note belongs to one document")

        note = _text(action.get("note"), MAX_NOTE, "note")
        return {"documents": keys, "note": note.strip()}

    # ---- of classes

    def _class(self, action: Event) -> Event:
        """A new class, or new name or colour of one."""
        chosen = action.get("class")
        if chosen is None:
            chosen, before = self._new_class()
        else:
            before = self.state.classes[self._known(chosen)]

        name = _text(action.get("name", before.name), MAX_NAME, "name")
        name = " ".join(name.split())
        if not name:
            raise DataError("a class needs a name")
        taken = self.state.class_of_name.get(name)
        if taken not in (None, chosen):
            raise DataError(f"there is a class {quoted(name)} already: merge the two")

        colour = action.get("colour", before.colour)
        if not isinstance(colour, int) or not 0 <= colour < N_COLOURS:
            raise DataError(f"colour is a number from 0 to {N_COLOURS - 1}")
        return {"class": chosen, "name": name, "colour": colour}

    def _new_class(self) -> tuple[ClassId, LabelClass]:
        """An id that no class had before, also none that was undone; no name yet, and the rarest colour."""
        classes = self.state.classes
        if len(classes) >= MAX_CLASSES:
            raise DataError(f"there are {MAX_CLASSES} classes already: merge some")

        n_made = sum(event["do"] == "class" for event in self.events)
        used = [label.colour for label in classes.values()]
        rarest = min(range(N_COLOURS), key=lambda colour: (used.count(colour), colour))
        return f"c{1 + n_made}", LabelClass("", rarest)

    def _merge(self, action: Event) -> Event:
        gone = self._known(action.get("class"))
        kept = self._known(action.get("into"))
        if gone == kept:
            raise DataError("a class cannot be merged with itself")
        return {"class": gone, "into": kept}

    def _several(self, action: Event) -> Event:
        on = action.get("on")
        if not isinstance(on, bool):
            raise DataError("on is true or false")

        n_several = sum(len(ids) > 1 for ids in self.state.labels.values())
        if not on and n_several:
            raise DataError(
                f"{n_several:,} texts have several classes: give each of them one first"
            )
        return {"on": on}

    # ---- what is named

    def _known(self, chosen: Any) -> ClassId:
        if not isinstance(chosen, str) or chosen not in self.state.classes:
            raise DataError(f"there is no class {quoted(chosen)}")
        return chosen

    def _keys(self, action: Event) -> list[Key]:
        """The keys of the documents, each once."""
        numbers = action.get("documents")
        if not isinstance(numbers, list) or not numbers:
            raise DataError("documents is a list of numbers that is not empty")

        n_documents = len(self.documents)
        for i in numbers:
            if not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < n_documents:
                raise DataError(f"there is no document {quoted(i)}")
        return [self.documents.keys[i] for i in dict.fromkeys(numbers)]


def _text(value: Any, most: int, name: str) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise DataError(f"{name} is a text of at most {most:,} characters")
    return value
