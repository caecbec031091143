"""What the journal says: classes, labels, whole topics, notes; and how it changes.

:class:`State` is what a list of events means; :class:`Session` checks actions and writes them to the journal. An undo
is an event, too: the state is then that of the other events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from tsenet.errors import DataError, listed, quoted
from tsenet.labelling.documents import Documents
from tsenet.labelling.journal import Event, Journal

__all__ = ["NONE", "ConflictError", "LabelClass", "Session", "State", "WeakLabel"]

#: The class of texts that are of none of the classes, and what files call it.
NONE: Final = "none"
NONE_NAME: Final = "none of these"

MAX_CLASSES = 100
MAX_NAME = 100  # characters of a class name
MAX_NOTE = 2_000
N_COLOURS = 10
#: Names of the windows that are no person's: labels that the file has, and what the program measured.
FROM_FILE, PROGRAM = "file", "tsenet"

Key: TypeAlias = str  # of a document
ClassId: TypeAlias = str


class ConflictError(DataError):
    """Another window changed these documents, and this one had not seen it."""


@dataclass(frozen=True)
class LabelClass:
    """A class: its name, and the number of its colour from 0 to 9."""

    name: str
    colour: int


@dataclass(frozen=True)
class WeakLabel:
    """A label that a document has because it belongs to a topic: the class, and the title of the topic."""

    of: ClassId
    topic: str


@dataclass
class State:
    """What a list of events means.

    Attributes
    ----------
    classes : dict of str to LabelClass
        By id, in the order in which they were made.
    labels : dict of str to tuple of str
        The classes that a person gave a document, by its key. Empty: the label that the file has is taken away.
    how : dict of str to str
        How each labelled document was chosen.
    order : list of str
        The keys of labelled documents, in the order of their first labels; some may have none any more.
    weak : dict of str to WeakLabel
        Documents of topics that were labelled as a whole.
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
    how: dict[Key, str] = field(default_factory=dict)
    order: dict[Key, None] = field(default_factory=dict)
    weak: dict[Key, WeakLabel] = field(default_factory=dict)
    skipped: set[Key] = field(default_factory=set)
    notes: dict[Key, str] = field(default_factory=dict)
    several: bool = False
    changed: dict[Key, int] = field(default_factory=dict)
    measured: list[Event] = field(default_factory=list)

    @classmethod
    def of(cls, events: Sequence[Event]) -> State:
        """Replay events from the first on; those that were undone have no effect."""
        undone = {event["event"] for event in events if event.get("do") == "undo"}
        state = cls()
        for number, event in enumerate(events):
            if number not in undone:
                state.apply(number, event)
        return state

    def apply(self, number: int, event: Event) -> None:
        """Add what an event says; one that no longer applies, as after an undo, has no effect."""
        match event:
            case {"do": "label", "documents": keys, "classes": ids}:
                known = tuple(i for i in ids if i == NONE or i in self.classes)
                for key in keys if len(known) == len(ids) else ():
                    self._label(key, known, event.get("how", ""))
            case {"do": "topic", "documents": keys, "class": None}:
                for key in keys:
                    self.weak.pop(key, None)
            case {"do": "topic", "documents": keys, "class": chosen, "topic": title}:
                if chosen == NONE or chosen in self.classes:
                    self.weak.update(dict.fromkeys(keys, WeakLabel(chosen, title)))
            case {"do": "skip", "documents": keys}:
                self.skipped.update(keys)
            case {"do": "note", "documents": [key], "note": text}:
                self.notes[key] = text
                if not text:
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

    def _label(self, key: Key, classes: tuple[ClassId, ...], how: str) -> None:
        self.labels[key] = classes
        self.how[key] = how
        self.order.setdefault(key)
        self.skipped.discard(key)

    def _merge(self, gone: ClassId, kept: ClassId) -> None:
        """Make one class of two."""
        if gone == kept or gone not in self.classes or kept not in self.classes:
            return
        del self.classes[gone]
        for key, ids in self.labels.items():
            if gone in ids:
                renamed = (kept if i == gone else i for i in ids)
                self.labels[key] = tuple(dict.fromkeys(renamed))
        for key, label in self.weak.items():
            if label.of == gone:
                self.weak[key] = replace(label, of=kept)


class Session:
    """A journal, the documents that it is about, and what it says about them.

    Parameters
    ----------
    journal : Journal
    documents : Documents

    Attributes
    ----------
    state : State
    """

    def __init__(self, journal: Journal, documents: Documents) -> None:
        self.journal = journal
        self.documents = documents
        self._opened = len(journal.events)  # events before this one are of windows that are gone
        self.state = State.of(journal.events)
        self._given = {i: name for i, name in enumerate(documents.given) if name}
        self._labels: dict[int, tuple[tuple[ClassId, ...], str]] = {}
        self._labels_of = -1  # the revision that they are of
        self._read_classes_of_file()

    @property
    def revision(self) -> int:
        """The number of events so far."""
        return len(self.journal.events)

    @property
    def class_of_name(self) -> dict[str, ClassId]:
        """The id of each class, and of none of these, by name."""
        named = {label.name: i for i, label in self.state.classes.items()}
        return {NONE_NAME: NONE, **named}

    def name_of(self, chosen: ClassId) -> str:
        """The name of a class."""
        return NONE_NAME if chosen == NONE else self.state.classes[chosen].name

    @property
    def labels(self) -> dict[int, tuple[tuple[ClassId, ...], str]]:
        """The classes of each document that has any, and who says so.

        First those that a person labelled ("you"), in the order of their first labels; then those that the file has
        labels for ("file"); last those of topics that were labelled as a whole ("topic").
        """
        if self._labels_of != self.revision:
            self._labels = self._find_labels()
            self._labels_of = self.revision
        return self._labels

    def label_of(self, i: int) -> tuple[tuple[ClassId, ...], str]:
        """The classes of a document, and who says so; "" for nobody."""
        return self.labels.get(i, ((), ""))

    def is_labelled(self, i: int) -> bool:
        """Whether a person or the file labelled this document itself."""
        return self.label_of(i)[1] in ("you", "file")

    def _find_labels(self) -> dict[int, tuple[tuple[ClassId, ...], str]]:
        number, state = self.documents.number, self.state
        found: dict[int, tuple[tuple[ClassId, ...], str]] = {}
        for key in state.order:
            if key in number and state.labels[key]:
                found[number[key]] = (state.labels[key], "you")
        for i, name in self._given.items():
            if self.documents.keys[i] not in state.labels:
                found[i] = ((self._class_of_file[name],), "file")
        for key, label in state.weak.items():
            if key in number:
                found.setdefault(number[key], ((label.of,), "topic"))
        return found

    @property
    def n_elsewhere(self) -> int:
        """How many labels belong to texts that the file no longer has; the journal keeps them."""
        known = self.documents.number
        return sum(1 for key, ids in self.state.labels.items() if ids and key not in known)

    # ---- actions

    def do(self, action: Event, by: str, seen: int | None = None) -> int:
        """Check an action, write it to the journal, and change the state.

        Parameters
        ----------
        action : dict
            ``do``: what to do, and what it needs; ``documents`` are numbers.
        by : str
            The window that asks for it.
        seen : int, optional
            The revision that the window knows; without it, nothing can conflict.

        Returns
        -------
        int
            The number of the event.

        Raises
        ------
        DataError
            If the action is not possible.
        ConflictError
            If another window has changed one of the documents since.
        """
        event = self._checked(action, by)
        if seen is not None:
            self._refuse_unseen(event, by, seen)
        number = self._write(event, by)
        if event["do"] == "undo":
            self.state = State.of(self.journal.events)
        else:
            self.state.apply(number, event)
        if event["do"] in ("undo", "merge"):
            self._find_classes_of_file()
        return number

    def record(self, result: dict[str, Any]) -> None:
        """Write what was measured to the journal, so that the learning curve goes on another day."""
        event = {"do": "measured", "result": result}
        self.state.apply(self._write(event, PROGRAM), event)

    def last_of(self, by: str) -> int | None:
        """The event that an undo of this window takes back: its own last, else the last of earlier sessions."""
        events = self.journal.events
        undone = {event["event"] for event in events if event["do"] == "undo"}
        earlier = None
        for number in range(len(events) - 1, -1, -1):
            event = events[number]
            if number in undone or event["do"] in ("undo", "measured") or event["by"] == FROM_FILE:
                continue
            if event["by"] == by:
                return number
            if earlier is None and number < self._opened:
                earlier = number
        return earlier

    # ---- private

    def _write(self, event: Event, by: str) -> int:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return self.journal.append({"at": now, "by": by, **event})

    def _checked(self, action: Event, by: str) -> Event:
        """The event of an action, with keys for documents."""
        if not isinstance(action, dict):
            raise DataError("an action is an object with a field do")
        checks: dict[str, Callable[[Event], Event]] = {
            "label": self._check_label,
            "topic": self._check_topic,
            "skip": self._check_skip,
            "note": self._check_note,
            "class": self._check_class,
            "merge": self._check_merge,
            "several": self._check_several,
            "undo": lambda _: {"event": self._undone_by(by)},
        }
        do = action.get("do")
        if not isinstance(do, str) or do not in checks:
            raise DataError(f"do is one of {', '.join(checks)}, not {quoted(do)}")
        return {"do": do, **checks[do](action)}

    def _check_label(self, action: Event) -> Event:
        ids = action.get("classes")
        if not isinstance(ids, list) or len(set(map(str, ids))) < len(ids):
            raise DataError("classes is a list of different ids")
        for chosen in ids:
            if chosen != NONE:
                self._known(chosen)
        if len(ids) > 1 and (NONE in ids or not self.state.several):
            raise DataError("a document has one class, unless several classes are allowed")
        keys = self._keys(action)
        return {"documents": keys, "classes": ids, "how": _text(action.get("how", ""), 40, "how")}

    def _check_topic(self, action: Event) -> Event:
        chosen = action.get("class")
        if chosen not in (None, NONE):
            self._known(chosen)
        title = _text(action.get("topic"), 200, "topic")
        return {"documents": self._keys(action), "class": chosen, "topic": title}

    def _check_skip(self, action: Event) -> Event:
        return {"documents": self._keys(action)}

    def _check_note(self, action: Event) -> Event:
        keys = self._keys(action)
        if len(keys) != 1:
            raise DataError("a note belongs to one document")
        return {"documents": keys, "note": _text(action.get("note"), MAX_NOTE, "note").strip()}

    def _check_class(self, action: Event) -> Event:
        """A new class, or new name or colour of one."""
        classes = self.state.classes
        chosen = action.get("class")
        if chosen is None:
            if len(classes) >= MAX_CLASSES:
                raise DataError(f"there are {MAX_CLASSES} classes already: merge some")
            chosen = f"c{1 + sum(e['do'] == 'class' for e in self.journal.events)}"
            before = LabelClass("", self._next_colour())
        else:
            before = classes[self._known(chosen)]
        name = _text(action.get("name", before.name), MAX_NAME, "name")
        name = " ".join(name.split())
        if not name:
            raise DataError("a class needs a name")
        taken = self.class_of_name.get(name)
        if taken not in (None, chosen):
            raise DataError(f"there is a class {quoted(name)} already: merge the two")
        colour = action.get("colour", before.colour)
        if not isinstance(colour, int) or not 0 <= colour < N_COLOURS:
            raise DataError(f"colour is a number from 0 to {N_COLOURS - 1}")
        return {"class": chosen, "name": name, "colour": colour}

    def _check_merge(self, action: Event) -> Event:
        gone, kept = self._known(action.get("class")), self._known(action.get("into"))
        if gone == kept:
            raise DataError("a class cannot be merged with itself")
        return {"class": gone, "into": kept}

    def _check_several(self, action: Event) -> Event:
        on = action.get("on")
        if not isinstance(on, bool):
            raise DataError("on is true or false")
        n_several = sum(len(ids) > 1 for ids in self.state.labels.values())
        if not on and n_several:
            raise DataError(
                f"{n_several:,} texts have several classes: give each of them one first"
            )
        return {"on": on}

    def _undone_by(self, by: str) -> int:
        number = self.last_of(by)
        if number is None:
            raise DataError("there is nothing to undo")
        return number

    def _known(self, chosen: Any) -> ClassId:
        if not isinstance(chosen, str) or chosen not in self.state.classes:
            raise DataError(f"there is no class {quoted(chosen)}")
        return chosen

    def _keys(self, action: Event) -> list[Key]:
        numbers = action.get("documents")
        n_documents = len(self.documents)
        if not isinstance(numbers, list) or not numbers:
            raise DataError("documents is a list of numbers that is not empty")
        for i in numbers:
            if not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < n_documents:
                raise DataError(f"there is no document {quoted(i)}")
        return [self.documents.keys[i] for i in dict.fromkeys(numbers)]

    def _refuse_unseen(self, event: Event, by: str, seen: int) -> None:
        """Raise ConflictError if another window changed what the event is about, and this one has not seen it."""
        events = self.journal.events
        if event["do"] == "topic":  # it overrules no label of a single document
            return
        for key in event.get("documents", ()):
            last = self.state.changed.get(key, -1)
            if last >= seen and events[last]["by"] != by and events[last]["do"] != "topic":
                raise ConflictError(
                    "another window has changed this text in the meantime: look again, then repeat"
                )

    def _next_colour(self) -> int:
        """The colour that the fewest classes have."""
        used = [label.colour for label in self.state.classes.values()]
        return min(range(N_COLOURS), key=lambda colour: (used.count(colour), colour))

    # ---- labels of the file

    def _read_classes_of_file(self) -> None:
        """Make a class of each label that the file has and the journal does not know yet."""
        names = dict.fromkeys(self._given.values())
        if len(names) > MAX_CLASSES:
            raise DataError(
                f"the column of labels has {len(names):,} different values, such as {listed(names, 3)}; at most "
                f"{MAX_CLASSES} can be classes"
            )
        made = self._made_from_file()
        for name in names:
            if name not in made and name != NONE_NAME:
                same = self.class_of_name.get(name)  # a person made a class of this name before
                self.do({"do": "class", "class": same, "name": name}, by=FROM_FILE)
        self._find_classes_of_file()

    def _find_classes_of_file(self) -> None:
        """What the labels of the file are called now that classes may have been renamed or merged."""
        undone = {event["event"] for event in self.journal.events if event["do"] == "undo"}
        merged = {
            event["class"]: event["into"]
            for number, event in enumerate(self.journal.events)
            if event["do"] == "merge" and number not in undone
        }
        self._class_of_file = {NONE_NAME: NONE}
        for name, first in self._made_from_file().items():
            chosen = first
            while chosen in merged and chosen not in self.state.classes:
                chosen = merged[chosen]
            self._class_of_file[name] = chosen

    def _made_from_file(self) -> dict[str, ClassId]:
        """The classes that were made of the file's labels, by their first names."""
        events = (e for e in self.journal.events if e["do"] == "class" and e["by"] == FROM_FILE)
        return {event["name"]: event["class"] for event in events}


def _text(value: Any, most: int, name: str) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise DataError(f"{name} is a text of at most {most:,} characters")
    return value
