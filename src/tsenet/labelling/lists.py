"""Lists of documents: which of them, in which order; kept as they were when a window asked for them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.labelling.learner import Prediction
from tsenet.labelling.propose import propose
from tsenet.labelling.session import Session
from tsenet.labelling.text_topics import Topics

__all__ = ["GoneError", "Situation", "View", "Views"]

SORTS = ("proposed", "typical", "uncertain", "disagreement", "random", "file")
SHOWN = ("all", "open", "labelled", "topic", "skipped", "noted")

_PROPOSED = 40  # texts in a list of proposals
_MOST_VIEWS = 50

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class GoneError(DataError):
    """A list of documents that is no longer kept: ask for it again."""


@dataclass(frozen=True, eq=False)
class View:
    """A list of documents as it was when a window asked for it, and why each is proposed, if it is."""

    texts: Ints
    reasons: dict[int, str]

    @classmethod
    def empty(cls) -> View:
        """A list without documents."""
        return cls(np.empty(0, np.int64), {})

    def begun(self, n: int) -> View:
        """The last of its first ``n`` documents: those that stay when what follows is proposed anew."""
        texts = self.texts[max(n - _PROPOSED, 0) : n]
        kept = {i: self.reasons[i] for i in texts.tolist() if i in self.reasons}
        return View(texts, kept)


class Views:
    """The lists that windows looked at last, by name."""

    def __init__(self) -> None:
        self._views: OrderedDict[str, View] = OrderedDict()
        self._n_made = 0

    def keep(self, view: View) -> str:
        """Keep a list; return its name."""
        self._n_made += 1
        name = f"v{self._n_made}"
        self._views[name] = view
        while len(self._views) > _MOST_VIEWS:
            self._views.popitem(last=False)
        return name

    def of(self, name: Any) -> View:
        """Return the list of this name.

        Raises
        ------
        GoneError
            If it is no longer kept.
        """
        view = self._views.get(name) if isinstance(name, str) else None
        if view is None:
            raise GoneError("this list is no longer kept: ask for it again")
        self._views.move_to_end(name)
        return view


@dataclass(frozen=True, eq=False)
class Situation:
    """What texts are chosen and ordered by: their labels, their topics, and what the last model says.

    Attributes
    ----------
    session : Session
    topics : Topics
        None as long as they are not learned.
    prediction : Prediction or None
        None as long as there is no model.
    """

    session: Session
    topics: Topics
    prediction: Prediction | None

    # ---- which documents

    def shown(self, shown: str) -> Flags:
        """The documents that a filter leaves: (N,)."""
        session = self.session
        kind, _, chosen = shown.partition(":")
        if kind == "all":
            return np.ones(len(session.documents), bool)
        if kind == "open":
            return ~(session.is_labelled | session.is_skipped)
        if kind == "labelled":
            return session.is_labelled
        if kind == "skipped":
            return session.is_skipped
        if kind == "noted":
            return np.array([key in session.state.notes for key in session.documents.keys], bool)
        if kind == "topic":
            return self._labelled_as(lambda ids, who: who == "topic")
        if kind == "class":
            return self._labelled_as(lambda ids, who: chosen in ids)
        if kind == "predicted" and self.prediction is not None:
            every = np.arange(len(session.documents))
            return np.array([chosen in ids for ids in self.prediction.answers(every)], bool)
        raise DataError(f"show is one of {', '.join(SHOWN)}, class:ID, predicted:ID")

    def _labelled_as(self, fits: Any) -> Flags:
        """The documents whose classes and giver of labels fit."""
        flags = np.zeros(len(self.session.documents), bool)
        flags[[i for i, (ids, who) in self.session.labels.items() if fits(ids, who)]] = True
        return flags

    # ---- in which order

    def proposals(self, chosen: Flags, begun: View) -> View:
        """The documents to label next among some, and why, after a list that was begun."""
        session = self.session
        closed = session.is_labelled | session.is_skipped
        waiting = begun.texts[~closed[begun.texts]]
        found = propose(
            _PROPOSED,
            closed | ~chosen,
            session.documents.order,
            session.documents.lengths,
            self.topics,
            session.single_labels,
            self.prediction,
            waiting,
        )
        texts = np.array([proposal.text for proposal in found], np.int64)
        reasons = {proposal.text: proposal.reason for proposal in found}
        return View(np.concatenate([begun.texts, texts]), begun.reasons | reasons)

    def in_order(self, texts: Ints, sort: str, topic: int | None) -> Ints:
        """Documents in the order asked for; what is not known yet leaves the order of the file.

        Parameters
        ----------
        texts : int64 (n,)
        sort : str
            One of `SORTS` but proposed.
        topic : int, optional
            The topic that they should be typical of; without it, any.
        """
        if sort == "random":
            rank = np.argsort(self.session.documents.order)  # of each document
            return texts[np.argsort(rank[texts])]
        if sort == "typical" and self.topics.ids:
            return _strongest_first(texts, self._typicality(texts, topic))
        if sort == "uncertain" and self.prediction is not None:
            return _strongest_first(texts, self.prediction.doubt(texts))
        if sort == "disagreement" and self.prediction is not None:
            return _strongest_first(texts, self._disagreement(texts, self.prediction))
        return texts

    def _typicality(self, texts: Ints, topic: int | None) -> Floats:
        """How strong a topic is in each of these texts, or the strongest of all: (n,)."""
        strengths = self.topics.strengths[texts]
        if topic is not None:
            strengths = strengths[:, [topic]]
        return np.asarray(strengths.max(axis=1).toarray().ravel())

    def _disagreement(self, texts: Ints, prediction: Prediction) -> Floats:
        """How sure the model is of another class than a text's label, or than most texts of its topic: (n,).

        A label that the model contradicts counts 1 more than a topic.
        """
        column = {chosen: k for k, chosen in enumerate(prediction.ids)}
        of_topic: dict[int, str | None] = {}
        value = np.zeros(texts.size)
        for place, i in enumerate(texts.tolist()):
            ids, who = self.session.label_of(i)
            has_label = who in ("you", "file")
            expected = ids[0] if has_label else None

            main = int(self.topics.main[i])
            if expected is None and main >= 0:
                if main not in of_topic:
                    of_topic[main], _ = self.class_of_topic(main)
                expected = of_topic[main]

            if expected in column:
                shares = prediction.shares[i]
                k = column[expected]
                if shares.argmax() != k:
                    value[place] = shares.max() - shares[k] + has_label
        return value

    # ---- topics

    def class_of_topic(self, topic: int) -> tuple[str | None, float | None]:
        """The class that the model sees most often among the texts of a topic, and in which share of them."""
        members = self.topics.members(topic)
        if self.prediction is None or not members.size:
            return None, None

        counts = self.prediction.counts(members)
        best = int(counts.argmax())
        return self.prediction.ids[best], float(counts[best] / members.size)


def _strongest_first(texts: Ints, value: Floats) -> Ints:
    return texts[np.argsort(-value, kind="stable")]
