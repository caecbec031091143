"""A journal and the documents that it is about: which labels there are, who gave them, and how they change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError, listed
from tsenet.labelling.documents import Documents
from tsenet.labelling.journal import Event, Journal
from tsenet.labelling.state import MAX_CLASSES, NONE, NONE_NAME, Actions, ClassId, State, undone_of

__all__ = ["FROM_FILE", "ConflictError", "Session"]

#: Names of the windows that are no person's: labels that the file has, and what the program measured.
FROM_FILE = "file"
PROGRAM = "tsenet"

Labels: TypeAlias = dict[int, tuple[tuple[ClassId, ...], str]]
Flags: TypeAlias = NDArray[np.bool_]


class ConflictError(DataError):
    """Another window changed these documents, and this one had not seen it."""


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
        self.state = State.of(journal.events)
        self._opened = len(journal.events)  # events before this one are of windows that are gone

        self._given = {i: name for i, name in enumerate(documents.given) if name}
        self._labels: Labels = {}
        self._labels_of = -1  # the revision that they are of
        self._read_classes_of_file()

    @property
    def revision(self) -> int:
        """The number of events so far."""
        return len(self.journal.events)

    # ---- labels

    @property
    def labels(self) -> Labels:
        """The classes of each document that has any, and who says so.

        First those that a person labelled ("you"), in the order of their first labels; then those that the file has
        labels for ("file"); last those of topics that were labelled as a whole ("topic").
        """
        if self._labels_of != self.revision:
            self._labels = self._collected_labels()
            self._labels_of = self.revision
        return self._labels

    def _collected_labels(self) -> Labels:
        number = self.documents.number
        keys = self.documents.keys
        state = self.state

        labels: Labels = {}
        for key, ids in state.labels.items():
            if ids and key in number:
                labels[number[key]] = (ids, "you")

        for i, name in self._given.items():
            if keys[i] not in state.labels:
                labels[i] = ((self._class_of_file[name],), "file")

        for key, chosen in state.weak.items():
            if key in number:
                labels.setdefault(number[key], ((chosen,), "topic"))
        return labels

    def label_of(self, i: int) -> tuple[tuple[ClassId, ...], str]:
        """The classes of a document, and who says so; "" for nobody."""
        return self.labels.get(i, ((), ""))

    @property
    def single_labels(self) -> dict[int, tuple[ClassId, ...]]:
        """The classes of the documents that were labelled themselves, by a person or in the file."""
        return {i: ids for i, (ids, who) in self.labels.items() if who != "topic"}

    @property
    def is_labelled(self) -> Flags:
        """Which documents were labelled themselves: (N,)."""
        flags = np.zeros(len(self.documents), bool)
        flags[list(self.single_labels)] = True
        return flags

    @property
    def is_skipped(self) -> Flags:
        """Which documents were skipped: (N,)."""
        number = self.documents.number
        flags = np.zeros(len(self.documents), bool)
        flags[[number[key] for key in self.state.skipped if key in number]] = True
        return flags

    @property
    def n_elsewhere(self) -> int:
        """How many labels belong to texts that the file no longer has; the journal keeps them."""
        number = self.documents.number
        return sum(1 for key, ids in self.state.labels.items() if ids and key not in number)

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
        if isinstance(action, dict) and action.get("do") == "undo":
            event = {"do": "undo", "event": self._undone_by(by)}
        else:
            event = Actions(self.documents, self.state, self.journal.events).event_of(action)
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

    # ---- private

    def _write(self, event: Event, by: str) -> int:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return self.journal.append({"at": now, "by": by, **event})

    def _undone_by(self, by: str) -> int:
        """The event that an undo of this window takes back: its own last, else the last of earlier sessions."""
        events = self.journal.events
        undone = undone_of(events)

        earlier = None
        for number in range(len(events) - 1, -1, -1):
            event = events[number]
            if number in undone or event["do"] in ("undo", "measured") or event["by"] == FROM_FILE:
                continue
            if event["by"] == by:
                return number
            if earlier is None and number < self._opened:
                earlier = number

        if earlier is None:
            raise DataError("there is nothing to undo")
        return earlier

    def _refuse_unseen(self, event: Event, by: str, seen: int) -> None:
        """Raise ConflictError if another window changed what the event is about, and this one has not seen it."""
        if event["do"] == "topic":  # it overrules no label of a single document
            return

        events = self.journal.events
        for key in event.get("documents", ()):
            last = self.state.changed.get(key, -1)
            if last >= seen and events[last]["by"] != by and events[last]["do"] != "topic":
                raise ConflictError(
                    "another window has changed this text in the meantime: look again, then repeat"
                )

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
                # A person may have made a class of this name before.
                same = self.state.class_of_name.get(name)
                self.do({"do": "class", "class": same, "name": name}, by=FROM_FILE)

        self._find_classes_of_file()

    def _find_classes_of_file(self) -> None:
        """What the labels of the file are called now that classes may have been renamed or merged."""
        events = self.journal.events
        undone = undone_of(events)
        merged = {
            event["class"]: event["into"]
            for number, event in enumerate(events)
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
