"""What windows ask for, checked against what there is, and written as an event of the journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tsenet.errors import DataError, quoted
from tsenet.labelling.documents import Documents
from tsenet.labelling.journal import Event
from tsenet.labelling.state import NONE, ClassId, Key, LabelClass, State

__all__ = ["MAX_CLASSES", "MAX_TITLE", "Actions"]

MAX_CLASSES = 100
MAX_NAME = 100  # characters of a class name
MAX_NOTE = 2_000
MAX_TITLE = 200  # characters of a topic's title
N_COLOURS = 10


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
