"""What the page shows and does: documents, topics, classes, predictions, proposals and estimates, for any window."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tsenet
from tsenet.errors import DataError, quoted
from tsenet.labelling.estimate import (
    LEAST_RANDOM,
    Measurement,
    expected_gain,
    interval,
    random_sample,
)
from tsenet.labelling.learner import TOPIC_WEIGHT, Topics, TrainingLabels, decided
from tsenet.labelling.propose import propose, pure_topics, uncertainty
from tsenet.labelling.search import find
from tsenet.labelling.session import NONE, Session
from tsenet.labelling.worker import Failed, Fitted, Job, Message, Ready, Worker

__all__ = ["GoneError", "View", "Workspace"]

SORTS = ("proposed", "typical", "uncertain", "disagreement", "random", "file")
SHOWN = ("all", "open", "labelled", "topic", "skipped", "noted")

_PROPOSED = 40  # texts in a list of proposals
_SNIPPET = 280  # characters of a text in the list
_MAX_TEXT = 100_000  # characters of a text that is read
_MAX_VIEWS = 50
_MAX_PAGE = 200  # texts that are asked for at once
_MAX_WORDS = 8  # in the reasons of a prediction
_CURVE = 40  # points of the learning curve

Ints = NDArray[np.int64]
Json = dict[str, Any]


class GoneError(DataError):
    """A list of documents that is no longer kept: ask for it again."""


@dataclass(frozen=True, eq=False)
class View:
    """A list of documents as it was when a window asked for it, and why each is proposed, if it is."""

    texts: Ints
    reasons: dict[int, str]


class Workspace:
    """A session, what was learned from it so far, and the lists that windows look at.

    Its methods may be called from any thread.

    Parameters
    ----------
    session : Session
    name : str
        Of the file, for the page's title.
    n_jobs : int or None, default=None
        Threads of the process that learns.
    embeddings : array (N, d), optional
        Vectors of the documents from a pretrained encoder.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        n_jobs: int | None = None,
        embeddings: NDArray[Any] | None = None,
    ) -> None:
        self.session = session
        self.name = name
        self.documents = session.documents
        self.topics: Topics | None = None
        self.fitted: Fitted | None = None
        self.is_ready = False
        self.failure = ""
        #: Called without arguments after each change.
        self.changed: Callable[[], None] = lambda: None
        self.version = 0
        self._model: Any = None
        self._views: OrderedDict[str, View] = OrderedDict()
        self._lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="tsenet-label-")
        self._members: dict[int, Ints] = {}
        self._worker = Worker(
            self.documents.texts,
            self.documents.order,
            Path(self._folder.name),
            self._take,
            n_jobs,
            embeddings,
        )

    def close(self) -> None:
        """End the process that learns, and close the journal."""
        self._worker.close()
        with self._lock:
            self.session.journal.close()
        self._folder.cleanup()

    # ---- what the process says

    def _take(self, message: Message) -> None:
        """Keep what was learned."""
        with self._lock:
            match message:
                case Topics():
                    self.topics = message
                case Ready():
                    self.is_ready = True
                    self._learn()
                case Fitted():
                    self._keep_model(message)
                case Measurement():
                    self.session.record(asdict(message))
                case Failed(reason=reason):
                    self.failure = reason
            self._bump()

    def _keep_model(self, fitted: Fitted) -> None:
        model = tsenet.load(fitted.path)
        fitted.path.unlink()
        self._model, self.fitted, self.failure = model, fitted, ""

    def _learn(self) -> None:
        """Ask for a model of the labels that there are."""
        if self.is_ready:
            labels = self.training_labels()
            sample = random_sample(self.documents.order, *self._labelled_and_skipped())
            self._worker.learn(Job(self.session.revision, labels, sample))

    def touch(self) -> None:
        """Tell all windows that something is new."""
        with self._lock:
            self._bump()

    def _bump(self) -> None:
        self.version += 1
        self.changed()

    # ---- labels

    def training_labels(self) -> TrainingLabels:
        """The labels that a model is fitted to: those of single documents in their order, then those of topics."""
        labels, state = self.session.labels, self.session.state
        by_topic = np.array([who == "topic" for _, who in labels.values()], bool)
        return TrainingLabels(
            np.array(list(labels), np.int64),
            [ids for ids, _ in labels.values()],
            np.where(by_topic, TOPIC_WEIGHT, 1.0),
            list(state.classes),
            state.several,
        )

    def _labelled_and_skipped(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which documents were labelled themselves, and which were skipped: (N,) each."""
        labelled, skipped = np.zeros((2, len(self.documents)), bool)
        labelled[list(self._single_labels())] = True
        number = self.documents.number
        skipped[[number[key] for key in self.session.state.skipped if key in number]] = True
        return labelled, skipped

    def _single_labels(self) -> dict[int, tuple[str, ...]]:
        """The classes of the documents that were labelled themselves."""
        labels = self.session.labels.items()
        return {i: ids for i, (ids, who) in labels if who != "topic"}

    def act(self, action: Any, by: str, seen: int | None) -> Json:
        """Do what a window asks for; ``view`` stands for all documents of a list, ``topic`` for all of a topic."""
        with self._lock:
            if isinstance(action, dict) and action.get("do") == "topic":
                topic = self._topic(action.get("topic"))
                topics = self.topics
                assert topics is not None
                members = self._members_of(topic).tolist()
                action = {**action, "documents": members, "topic": topics.titles[topic][:200]}
            elif isinstance(action, dict) and "view" in action:
                view = self._view(action["view"])
                action = {**action, "documents": view.texts.tolist()}
            number = self.session.do(action, by, seen)
            event = self.session.journal.events[number]
            if event["do"] == "undo":
                event = self.session.journal.events[event["event"]]
                event = {**event, "undone": True}
            if event["do"] in ("label", "topic", "merge", "several", "skip"):
                self._learn()
            self._bump()
            numbers = self.documents.number
            changed = [numbers[key] for key in event.get("documents", ()) if key in numbers]
            return {
                "revision": self.session.revision,
                "did": event["do"],
                "undone": event.get("undone", False),
                "class": event.get("class"),
                "n": len(changed),
                "documents": changed[:1],
            }

    # ---- the whole

    def state(self) -> Json:
        """What the page shows apart from documents and topics."""
        with self._lock:
            state, n = self.session.state, len(self.documents)
            labelled, skipped = self._labelled_and_skipped()
            counts = {"topic": Counter[str](), "you": Counter[str]()}
            for ids, who in self.session.labels.values():
                counts["topic" if who == "topic" else "you"].update(ids)
            predicted = self._predicted_counts()
            sample = random_sample(self.documents.order, labelled, skipped)
            classes = [
                {
                    "id": chosen,
                    "name": self.session.name_of(chosen),
                    "colour": None if chosen == NONE else state.classes[chosen].colour,
                    "labelled": counts["you"][chosen],
                    "topic": counts["topic"][chosen],
                    "predicted": predicted.get(chosen),
                }
                for chosen in [*state.classes, NONE]
            ]
            return {
                "name": self.name,
                "version": self.version,
                "revision": self.session.revision,
                "documents": n,
                "several": state.several,
                "classes": classes,
                "labelled": int(labelled.sum()),
                "by_topic": counts["topic"].total(),
                "skipped": int(skipped.sum()),
                "elsewhere": self.session.n_elsewhere,
                "learner": self._learner_state(),
                "estimate": self._estimate(int(sample.size)),
            }

    def _learner_state(self) -> Json:
        stage = "topics" if self.topics is None else "ready" if self.is_ready else "structure"
        fitted = self.fitted
        return {
            "stage": stage,
            "failure": self.failure,
            "topics": self.topics is not None,
            "fitted": None if fitted is None else fitted.revision,
            "labels": None if fitted is None else int((fitted.labels.weights == 1).sum()),
            "seconds": None if fitted is None else round(fitted.seconds, 1),
        }

    def _predicted_counts(self) -> dict[str, int]:
        """How many texts the model puts into each class."""
        if self.fitted is None:
            return {}
        ids, shares = self.fitted.prediction.ids, self.fitted.prediction.shares
        if self.fitted.labels.several:
            return dict(zip(ids, (shares >= 0.5).sum(axis=0).tolist(), strict=True))
        counts = np.bincount(shares.argmax(axis=1), minlength=len(ids))
        return dict(zip(ids, counts.tolist(), strict=True))

    def _estimate(self, n_random: int) -> Json:
        """Accuracy on random texts, with its interval and what more labels would bring."""
        measured = self.session.state.measured
        found: Json = {"random": n_random, "least": LEAST_RANDOM, "curve": []}
        for result in measured[-_CURVE:]:
            low, high = interval(result["right"], result["n"])
            accuracy = result["right"] / result["n"]
            found["curve"].append([result["n_labels"], accuracy, low, high])
        if measured:
            last = measured[-1]
            low, high = interval(last["right"], last["n"])
            gain, error = expected_gain(last)
            found |= {
                "accuracy": last["right"] / last["n"],
                "low": low,
                "high": high,
                "n": last["n"],
                "labels": last["n_labels"],
                "gain": gain,
                "gain_error": error,
                "per_class": last["per_class"],
            }
        return found

    # ---- topics

    def topic_tree(self) -> list[Json]:
        """The topics in the order of a tree, with their labels and the class that the model sees in them."""
        with self._lock:
            topics = self.topics
            if topics is None:
                return []
            n_topics = len(topics.ids)
            labelled = np.zeros(n_topics, np.int64)
            weak: list[Counter[str]] = [Counter() for _ in range(n_topics)]
            for i, (ids, who) in self.session.labels.items():
                main = int(topics.main[i])
                for topic in topics.chain(main) if main >= 0 else ():
                    if who == "topic":
                        weak[topic].update(ids)
                    else:
                        labelled[topic] += 1
            pure = pure_topics(topics, self._single_labels())
            order = _tree_order(topics)
            return [
                {
                    "topic": topic,
                    "parent": int(topics.parent[topic]),
                    "level": int(topics.level[topic]),
                    "title": topics.titles[topic],
                    "words": topics.words[topic],
                    "n": int(self._members_of(topic).size),
                    "share": self._members_of(topic).size / max(len(self.documents), 1),
                    "labelled": int(labelled[topic]),
                    "weak": dict(weak[topic]),
                    "pure": pure.get(topic),
                    **self._class_of_topic(topic),
                }
                for topic in order
            ]

    def _class_of_topic(self, topic: int) -> Json:
        """The class that the model sees most often among the texts of a topic, and how often."""
        members = self._members_of(topic)
        if self.fitted is None or not members.size:
            return {"class": None, "class_share": None}
        prediction = self.fitted.prediction
        shares = prediction.shares[members]
        if self.fitted.labels.several:
            counts = (shares >= 0.5).sum(axis=0)
        else:
            counts = np.bincount(shares.argmax(axis=1), minlength=len(prediction.ids))
        best = int(counts.argmax())
        return {"class": prediction.ids[best], "class_share": float(counts[best] / members.size)}

    def _members_of(self, topic: int) -> Ints:
        if topic not in self._members:
            assert self.topics is not None
            self._members[topic] = self.topics.members(topic)
        return self._members[topic]

    def _topic(self, topic: Any) -> int:
        n_topics = 0 if self.topics is None else len(self.topics.ids)
        if not isinstance(topic, int) or isinstance(topic, bool) or not 0 <= topic < n_topics:
            raise DataError(f"there is no topic {quoted(topic)}")
        return topic

    # ---- lists of documents

    def view(
        self,
        topic: int | None = None,
        query: str = "",
        sort: str = "proposed",
        shown: str = "all",
    ) -> Json:
        """Make a list of documents that stays as it is; its name, and how many they are."""
        if sort not in SORTS:
            raise DataError(f"sort is one of {', '.join(SORTS)}")
        matching = None
        if query.strip():  # outside the lock: it may take two seconds
            matching = find(query, self.documents.texts, self.documents.folded)
        with self._lock:
            n = len(self.documents)
            chosen = np.ones(n, bool) if matching is None else matching.copy()
            if topic is not None:
                inside = np.zeros(n, bool)
                inside[self._members_of(self._topic(topic))] = True
                chosen &= inside
            chosen &= self._shown(shown)
            reasons: dict[int, str] = {}
            if sort == "proposed":
                texts, reasons = self._proposed(chosen)
            else:
                texts = self._sorted(np.flatnonzero(chosen), sort, topic)
            name = f"v{self.version}.{len(self._views)}.{id(texts):x}"
            self._views[name] = View(texts, reasons)
            while len(self._views) > _MAX_VIEWS:
                self._views.popitem(last=False)
            return {"view": name, "n": int(texts.size)}

    def _shown(self, shown: str) -> NDArray[np.bool_]:
        """The documents that a filter leaves."""
        n, state = len(self.documents), self.session.state
        kind, _, chosen = shown.partition(":")
        if kind == "all":
            return np.ones(n, bool)
        if kind in ("open", "labelled", "skipped"):
            labelled, skipped = self._labelled_and_skipped()
            return {"labelled": labelled, "skipped": skipped, "open": ~(labelled | skipped)}[kind]
        if kind == "noted":
            return np.fromiter((key in state.notes for key in self.documents.keys), bool, n)
        if kind in ("topic", "class"):
            found = np.zeros(n, bool)
            labels = self.session.labels.items()
            found[
                [i for i, (ids, who) in labels if (chosen in ids if chosen else who == "topic")]
            ] = True
            return found
        if kind == "predicted" and self.fitted is not None:
            answers = self._decided(np.arange(n))
            return np.array([chosen in ids for ids in answers], bool)
        raise DataError(f"show is one of {', '.join(SHOWN)}, class:ID, predicted:ID")

    def _proposed(self, chosen: NDArray[np.bool_]) -> tuple[Ints, dict[int, str]]:
        labelled, skipped = self._labelled_and_skipped()
        closed = labelled | skipped | ~chosen
        topics = self.topics or Topics.none(closed.size)
        prediction = None if self.fitted is None else self.fitted.prediction
        labels = self._single_labels()
        found = propose(_PROPOSED, closed, self.documents.order, topics, labels, prediction)
        texts = np.array([proposal.text for proposal in found], np.int64)
        return texts, {proposal.text: proposal.reason for proposal in found}

    def _sorted(self, texts: Ints, sort: str, topic: int | None) -> Ints:
        """Texts in the order asked for; what it needs but is not known yet leaves the order of the file."""
        rank = np.empty(len(self.documents), np.int64)
        rank[self.documents.order] = np.arange(rank.size)
        if sort == "random":
            return texts[np.argsort(rank[texts])]
        if sort == "typical" and self.topics is not None and self.topics.ids:
            strengths = self.topics.strengths[texts]
            column = strengths[:, [topic]] if topic is not None else strengths
            value = column.max(axis=1).toarray().ravel()
            return texts[np.argsort(-value, kind="stable")]
        if self.fitted is None or sort == "file":
            return texts
        shares = self.fitted.prediction.shares[texts]
        if sort == "uncertain":
            doubt = uncertainty(shares, self.fitted.labels.several)
            return texts[np.argsort(-doubt, kind="stable")]
        if sort == "disagreement":
            return texts[np.argsort(-self._disagreement(texts), kind="stable")]
        return texts

    def _disagreement(self, texts: Ints) -> NDArray[np.float64]:
        """How sure the model is of another class than a text's label, or than most texts of its topic: (n,)."""
        assert self.fitted is not None
        prediction = self.fitted.prediction
        column = {chosen: k for k, chosen in enumerate(prediction.ids)}
        of_topic: dict[int, str | None] = {}
        value = np.zeros(texts.size)
        for place, i in enumerate(texts.tolist()):
            ids, who = self.session.label_of(i)
            expected = ids[0] if who in ("you", "file") else None
            if expected is None and self.topics is not None and self.topics.main[i] >= 0:
                main = int(self.topics.main[i])
                if main not in of_topic:
                    of_topic[main] = self._class_of_topic(main)["class"]
                expected = of_topic[main]
            if expected in column:
                shares = prediction.shares[i]
                value[place] = shares.max() - shares[column[expected]] + (who in ("you", "file"))
                if shares.argmax() == column[expected]:
                    value[place] = 0.0
        return value

    def _view(self, name: Any) -> View:
        view = self._views.get(name) if isinstance(name, str) else None
        if view is None:
            raise GoneError("this list is no longer kept: ask for it again")
        self._views.move_to_end(name)
        return view

    def page(self, name: str, start: int, n: int) -> Json:
        """Some documents of a list."""
        with self._lock:
            view = self._view(name)
            texts = view.texts[max(start, 0) : max(start, 0) + min(n, _MAX_PAGE)]
            answers = self._decided(texts)
            items = []
            for i, answer in zip(texts.tolist(), answers, strict=True):
                items.append(
                    {**self._document(i, answer, _SNIPPET), "reason": view.reasons.get(i, "")}
                )
            return {"revision": self.session.revision, "start": start, "items": items}

    def _decided(self, texts: Ints) -> list[tuple[str, ...]]:
        if self.fitted is None:
            return [()] * texts.size
        prediction = self.fitted.prediction
        return decided(prediction.ids, prediction.shares[texts], self.fitted.labels.several)

    def _document(self, i: int, answer: tuple[str, ...], most: int) -> Json:
        text, key = self.documents.texts[i], self.documents.keys[i]
        ids, who = self.session.label_of(i)
        return {
            "document": i,
            "text": text[:most],
            "cut": len(text) > most,
            "classes": ids,
            "who": who,
            "skipped": key in self.session.state.skipped,
            "note": self.session.state.notes.get(key, ""),
            "predicted": answer,
            "confidence": self._confidence(i),
        }

    def _confidence(self, i: int) -> float | None:
        """The probability of what the model decides: of the class, or of its least certain yes or no."""
        if self.fitted is None:
            return None
        shares = self.fitted.prediction.shares[i]
        if self.fitted.labels.several:
            return float(np.maximum(shares, 1 - shares).min())
        return float(shares.max())

    def read(self, i: int) -> Json:
        """A whole document, its topics, and how probable each class is."""
        with self._lock:
            self._check_document(i)
            chances = []
            if self.fitted is not None:
                prediction = self.fitted.prediction
                chances = sorted(
                    zip(prediction.ids, prediction.shares[i].tolist(), strict=True),
                    key=lambda pair: -pair[1],
                )
            topics = []
            if self.topics is not None and self.topics.main[i] >= 0:
                main = int(self.topics.main[i])
                topics = [
                    {"topic": k, "title": self.topics.titles[k]} for k in self.topics.chain(main)
                ]
            return {
                **self._document(i, self._decided(np.array([i]))[0], _MAX_TEXT),
                "chances": chances,
                "topics": topics,
                "revision": self.session.revision,
            }

    def why(self, i: int) -> Json:
        """The words and groups of words that speak for the prediction, against the next class."""
        from tsenet.explain import explain_prediction

        with self._lock:
            self._check_document(i)
            model, fitted = self._model, self.fitted
        if model is None or fitted is None:
            raise DataError("there is no model yet: label texts of two classes")
        order = np.argsort(-fitted.prediction.shares[i])
        ids = fitted.prediction.ids
        if fitted.labels.several:
            target: Any = int(order[0]) if len(ids) > 1 else None
            chosen, other = ids[int(order[0])], None
            found = explain_prediction(model, self.documents.texts[i], target=target, n=5)
        else:
            chosen, other = ids[int(order[0])], ids[int(order[1])]
            found = explain_prediction(
                model, self.documents.texts[i], target=chosen, against=other, n=5
            )
        words = [
            {"word": part.name, "adds": part.contribution} for part in found.features[:_MAX_WORDS]
        ]
        groups = [
            {
                "words": [part.name for part in reason.features[:3]],
                "adds": reason.contribution,
            }
            for reason in [reason for reason in found.reasons if reason.topic is not None][:4]
        ]
        return {"for": chosen, "against": other, "words": words, "groups": groups}

    def _check_document(self, i: int) -> None:
        if not 0 <= i < len(self.documents):
            raise DataError(f"there is no document {i}")


def _tree_order(topics: Topics) -> list[int]:
    """The topics, each followed by those below it, the strongest first."""
    size = np.asarray(topics.strengths.sum(axis=0)).ravel()
    below: dict[int, list[int]] = {}
    for topic in np.argsort(-size, kind="stable").tolist():
        below.setdefault(int(topics.parent[topic]), []).append(topic)
    order: list[int] = []
    waiting = below.get(-1, [])[::-1]
    while waiting:
        topic = waiting.pop()
        order.append(topic)
        waiting += below.get(topic, [])[::-1]
    return order
