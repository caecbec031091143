"""What the page shows and does: documents, topics, classes, predictions, proposals and estimates, for any window."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
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
    random_sample,
)
from tsenet.labelling.learner import TOPIC_WEIGHT, TrainingLabels
from tsenet.labelling.lists import SORTS, Situation, View, Views
from tsenet.labelling.propose import pure_topics
from tsenet.labelling.session import Session
from tsenet.labelling.state import MAX_TITLE, NONE
from tsenet.labelling.text_topics import Topics
from tsenet.labelling.worker import Failed, Fitted, Job, Message, Ready, Worker
from tsenet.training.scores import wilson_interval

__all__ = ["Workspace"]

_SNIPPET = 280  # characters of a text in the list
_MAX_TEXT = 100_000  # characters of a text that is read
_MAX_PAGE = 200  # texts that are asked for at once
_MAX_WORDS = 8  # in the reasons of a prediction
_MAX_GROUPS = 4  # of words, in the reasons
_CURVE = 40  # points of the learning curve

Json = dict[str, Any]


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
        #: Called without arguments after each change.
        self.changed: Callable[[], None] = lambda: None
        self.version = 0

        # What was learned so far.
        self.topics = Topics.none(len(self.documents))
        self.stage = "topics"  # then "structure", then "ready"
        self.fitted: Fitted | None = None
        self.failure = ""
        self._model: Any = None

        self._views = Views()
        self._lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="tsenet-label-")
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
                    self.stage = "structure"
                case Ready():
                    self.stage = "ready"
                    self._learn()
                case Fitted():
                    self._keep_model(message)
                case Measurement():
                    self.session.record(asdict(message))
                case Failed(reason=reason):
                    self.failure = reason
            self._bump()

    def _keep_model(self, fitted: Fitted) -> None:
        self._model = tsenet.load(fitted.path)
        fitted.path.unlink()
        self.fitted = fitted
        self.failure = ""

    def _learn(self) -> None:
        """Ask for a model of the labels that there are."""
        if self.stage == "ready":
            job = Job(self.session.revision, self.training_labels(), self._random_sample())
            self._worker.learn(job)

    @property
    def situation(self) -> Situation:
        """What there is at this moment."""
        prediction = None if self.fitted is None else self.fitted.prediction
        return Situation(self.session, self.topics, prediction)

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
        labels = self.session.labels
        state = self.session.state
        by_topic = np.array([who == "topic" for _, who in labels.values()], bool)
        return TrainingLabels(
            np.array(list(labels), np.int64),
            [ids for ids, _ in labels.values()],
            np.where(by_topic, TOPIC_WEIGHT, 1.0),
            list(state.classes),
            state.several,
        )

    def _random_sample(self) -> NDArray[np.int64]:
        """The documents on which an estimate may rest."""
        session = self.session
        return random_sample(self.documents.order, session.is_labelled, session.is_skipped)

    def act(self, action: Any, by: str, seen: int | None) -> Json:
        """Do what a window asks for; ``view`` stands for all documents of a list, ``topic`` for all of a topic."""
        with self._lock:
            number = self.session.do(self._with_documents(action), by, seen)

            event = self.session.journal.events[number]
            is_undo = event["do"] == "undo"
            if is_undo:  # the answer says what was undone
                event = self.session.journal.events[event["event"]]
            if event["do"] in ("label", "topic", "merge", "several", "skip"):
                self._learn()
            self._bump()

            numbers = self.documents.number
            changed = [numbers[key] for key in event.get("documents", ()) if key in numbers]
            return {
                "revision": self.session.revision,
                "did": event["do"],
                "undone": is_undo,
                "class": event.get("class"),
                "n": len(changed),
                "documents": changed[:1],
            }

    def _with_documents(self, action: Any) -> Any:
        """An action with the documents that its topic or list stands for."""
        if not isinstance(action, dict):
            return action
        if action.get("do") == "topic":
            topic = self._topic(action.get("topic"))
            members = self.topics.members(topic).tolist()
            title = self.topics.titles[topic][:MAX_TITLE]
            return {**action, "documents": members, "topic": title}
        if "view" in action:
            return {**action, "documents": self._views.of(action["view"]).texts.tolist()}
        return action

    # ---- the whole

    def state(self) -> Json:
        """What the page shows apart from documents and topics."""
        with self._lock:
            session = self.session
            return {
                "name": self.name,
                "version": self.version,
                "revision": session.revision,
                "documents": len(self.documents),
                "several": session.state.several,
                "classes": self._classes(),
                "labelled": len(session.single_labels),
                "by_topic": len(session.labels) - len(session.single_labels),
                "skipped": int(session.is_skipped.sum()),
                "elsewhere": session.n_elsewhere,
                "learner": self._learner_state(),
                "estimate": self._estimate(),
            }

    def _classes(self) -> list[Json]:
        """The classes, and how many documents have each: by their own labels, by their topics, by the model."""
        state = self.session.state
        single = Counter[str]()
        by_topic = Counter[str]()
        for ids, who in self.session.labels.values():
            (by_topic if who == "topic" else single).update(ids)
        predicted = self._predicted_counts()

        return [
            {
                "id": chosen,
                "name": state.name_of(chosen),
                "colour": None if chosen == NONE else state.classes[chosen].colour,
                "labelled": single[chosen],
                "topic": by_topic[chosen],
                "predicted": predicted.get(chosen),
            }
            for chosen in [*state.classes, NONE]
        ]

    def _predicted_counts(self) -> dict[str, int]:
        """How many texts the model puts into each class."""
        if self.fitted is None:
            return {}
        prediction = self.fitted.prediction
        return dict(zip(prediction.ids, prediction.counts().tolist(), strict=True))

    def _learner_state(self) -> Json:
        fitted = self.fitted
        return {
            "stage": self.stage,
            "failure": self.failure,
            "topics": self.stage != "topics",
            "fitted": None if fitted is None else fitted.revision,
            "labels": None if fitted is None else int((fitted.labels.weights == 1).sum()),
            "seconds": None if fitted is None else round(fitted.seconds, 1),
        }

    def _estimate(self) -> Json:
        """Accuracy on random texts, with its interval and what more labels would bring."""
        measured = self.session.state.measured
        n_random = int(self._random_sample().size)
        estimate: Json = {"random": n_random, "least": LEAST_RANDOM, "curve": []}
        for result in measured[-_CURVE:]:
            accuracy = result["right"] / result["n"]
            interval = wilson_interval(accuracy, result["n"])
            estimate["curve"].append([result["n_labels"], accuracy, *interval])
        if not measured:
            return estimate

        last = measured[-1]
        accuracy = last["right"] / last["n"]
        low, high = wilson_interval(accuracy, last["n"])
        gain, error = expected_gain(last)
        return estimate | {
            "accuracy": accuracy,
            "low": low,
            "high": high,
            "n": last["n"],
            "labels": last["n_labels"],
            "gain": gain,
            "gain_error": error,
            "per_class": last["per_class"],
        }

    # ---- topics

    def topic_tree(self) -> list[Json]:
        """The topics in the order of a tree, with their labels and the class that the model sees in them."""
        with self._lock:
            topics = self.topics
            situation = self.situation
            pure = pure_topics(topics, self.session.single_labels)
            labelled, weak = self._labels_by_topic()

            tree = []
            for topic in topics.in_tree_order():
                n = int(topics.members(topic).size)
                chosen, share = situation.class_of_topic(topic)
                tree.append(
                    {
                        "topic": topic,
                        "parent": int(topics.parent[topic]),
                        "level": int(topics.level[topic]),
                        "title": topics.titles[topic],
                        "words": topics.words[topic],
                        "n": n,
                        "share": n / max(len(self.documents), 1),
                        "labelled": labelled[topic],
                        "weak": dict(weak[topic]),
                        "pure": pure.get(topic),
                        "class": chosen,
                        "class_share": share,
                    }
                )
            return tree

    def _labels_by_topic(self) -> tuple[list[int], list[Counter[str]]]:
        """Of each topic, how many documents were labelled themselves, and the classes of the others."""
        n_topics = len(self.topics.ids)
        labelled = [0] * n_topics
        weak = [Counter[str]() for _ in range(n_topics)]
        for i, (ids, who) in self.session.labels.items():
            main = int(self.topics.main[i])
            for topic in self.topics.chain(main) if main >= 0 else ():
                if who == "topic":
                    weak[topic].update(ids)
                else:
                    labelled[topic] += 1
        return labelled, weak

    def _topic(self, topic: Any) -> int:
        n_topics = len(self.topics.ids)
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
        after: str = "",
        n_read: int = 0,
    ) -> Json:
        """Make a list of documents that stays as it is; its name, and how many they are.

        Proposals may go on ``after`` a list of which the first ``n_read`` were read: these begin the new one, as far as
        it keeps them (``kept``).
        """
        if sort not in SORTS:
            raise DataError(f"sort is one of {', '.join(SORTS)}")

        n_documents = len(self.documents)
        chosen = np.ones(n_documents, bool)
        if query.strip():  # outside the lock: it may take two seconds
            chosen = self.documents.find(query)

        with self._lock:
            situation = self.situation
            if topic is not None:
                inside = np.zeros(n_documents, bool)
                inside[self.topics.members(self._topic(topic))] = True
                chosen &= inside
            chosen &= situation.shown(shown)

            begun = View.empty()
            if sort == "proposed":
                if after:
                    begun = self._views.of(after).begun(n_read)
                view = situation.proposals(chosen, begun)
            else:
                view = View(situation.in_order(np.flatnonzero(chosen), sort, topic), {})
            name = self._views.keep(view)
            return {"view": name, "n": int(view.texts.size), "kept": int(begun.texts.size)}

    def page(self, name: str, start: int, n: int) -> Json:
        """Some documents of a list."""
        with self._lock:
            view = self._views.of(name)
            start = max(start, 0)
            items = [
                {**self._document(i, _SNIPPET), "reason": view.reasons.get(i, "")}
                for i in view.texts[start : start + min(n, _MAX_PAGE)].tolist()
            ]
            return {"revision": self.session.revision, "start": start, "items": items}

    def _document(self, i: int, most: int) -> Json:
        """A document, at most so many characters of it."""
        text = self.documents.texts[i]
        key = self.documents.keys[i]
        ids, who = self.session.label_of(i)
        document: Json = {
            "document": i,
            "text": text[:most],
            "cut": len(text) > most,
            "classes": ids,
            "who": who,
            "skipped": key in self.session.state.skipped,
            "note": self.session.state.notes.get(key, ""),
            "predicted": (),
            "confidence": None,
        }
        if self.fitted is not None:
            prediction = self.fitted.prediction
            document["predicted"] = prediction.answers(np.array([i]))[0]
            document["confidence"] = prediction.confidence(i)
        return document

    # ---- one document

    def read(self, i: int) -> Json:
        """A whole document, its topics, and how probable each class is."""
        with self._lock:
            self._check_document(i)
            main = int(self.topics.main[i])
            chain = self.topics.chain(main) if main >= 0 else []
            return {
                **self._document(i, _MAX_TEXT),
                "chances": [] if self.fitted is None else self.fitted.prediction.chances(i),
                "topics": [{"topic": k, "title": self.topics.titles[k]} for k in chain],
                "revision": self.session.revision,
            }

    def why(self, i: int) -> Json:
        """The words and groups of words that speak for the prediction, against the next class."""
        from tsenet.explain import explain_prediction

        with self._lock:
            self._check_document(i)
            model = self._model
            fitted = self.fitted
        if model is None or fitted is None:
            raise DataError("there is no model yet: label texts of two classes")

        prediction = fitted.prediction
        first, *others = np.argsort(-prediction.shares[i]).tolist()
        chosen = prediction.ids[first]
        target: Any = chosen
        against = None if prediction.several else prediction.ids[others[0]]
        if prediction.several:  # an output for each class; without a number where there is one
            target = first if others else None
        text = self.documents.texts[i]
        reasons = explain_prediction(model, text, target=target, against=against, n=5)

        words = [
            {"word": feature.name, "adds": feature.contribution}
            for feature in reasons.features[:_MAX_WORDS]
        ]
        of_topics = [reason for reason in reasons.reasons if reason.topic is not None]
        groups = [
            {
                "words": [feature.name for feature in reason.features[:3]],
                "adds": reason.contribution,
            }
            for reason in of_topics[:_MAX_GROUPS]
        ]
        return {"for": chosen, "against": against, "words": words, "groups": groups}

    def _check_document(self, i: int) -> None:
        if not 0 <= i < len(self.documents):
            raise DataError(f"there is no document {i}")
