"""What a list of events means: classes, labels, whole topics, notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tsenet.labelling.journal import Event

__all__ = ["NONE", "NONE_NAME", "ClassId", "Key", "LabelClass", "State", "undone_of"]

#: The class of texts that are of none of the classes, and what files call it.
NONE: Final = "none"
NONE_NAME: Final = "none of these"

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
