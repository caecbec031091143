"""A process of its own that learns topics and models, so that the page never waits.

The server sends the labels that there are (`Worker.learn`); the process fits the latest of them, and answers with
topics, predictions, a model file and measurements, which the server gets as calls of one function in a thread.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.labelling.estimate import LEAST_RANDOM, Measurement, measure
from tsenet.labelling.learner import Learner, Prediction, TrainingLabels
from tsenet.labelling.text_topics import Topics, learn_topics

__all__ = ["Failed", "Fitted", "Ready", "Worker"]

# A measurement takes six fits: it is worth it when there are so many more labels than at the last one.
_MORE = 5
_MORE_SHARE = 0.1
_NICE = 5  # the page and the rest of the machine come first

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Job:
    """Labels to fit a model to: the revision that they are of, and the random texts among them."""

    revision: int
    labels: TrainingLabels
    sample: Ints


@dataclass(frozen=True)
class Ready:
    """The structure of the network is known: from now on, a fit is quick."""

    seconds: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model was fitted: to the labels of a revision, and where its file is."""

    revision: int
    labels: TrainingLabels
    prediction: Prediction
    path: Path
    seconds: float


@dataclass(frozen=True)
class Failed:
    """Something went wrong; the process goes on."""

    reason: str


Message = Topics | Ready | Fitted | Measurement | Failed


class Worker:
    """The process, and the thread that listens to it.

    Parameters
    ----------
    texts : sequence of str
    order : int64 (N,)
        The texts in random order.
    folder : Path
        For model files; a file is there until the next model comes.
    receive : callable
        Called with each message, in a thread.
    n_jobs : int or None, default=None
        Threads of the process.
    embeddings : array (N, d), optional
        Vectors of the texts from a pretrained encoder.
    """

    def __init__(
        self,
        texts: Sequence[str],
        order: Ints,
        folder: Path,
        receive: Callable[[Message], None],
        n_jobs: int | None = None,
        embeddings: NDArray[Any] | None = None,
    ) -> None:
        self._receive = receive

        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self._connection, other = context.Pipe()
        self._process = context.Process(
            target=_run, args=(other, list(texts), order, folder, n_jobs, embeddings), daemon=True
        )
        self._process.start()
        other.close()

        self._thread = threading.Thread(target=self._listen, name="learner", daemon=True)
        self._thread.start()

    def learn(self, job: Job) -> None:
        """Ask for a model of these labels, in place of those asked for before."""
        with suppress(OSError):  # the process is gone, which the thread reports
            self._connection.send(job)

    def close(self) -> None:
        """End the process."""
        self._receive = lambda _: None
        self._process.terminate()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._connection.close()

    def _listen(self) -> None:
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                self._process.join(1)
                code = self._process.exitcode
                self._receive(Failed(f"the learning process ended with code {code}: start again"))
                return
            self._receive(message)


# ---- in the process


def _run(
    connection: Connection,
    texts: list[str],
    order: Ints,
    folder: Path,
    n_jobs: int | None,
    embeddings: NDArray[Any] | None,
) -> None:
    """Learn until the server is gone."""
    with suppress(OSError, AttributeError):
        os.nice(_NICE)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        loop = _Loop(connection, folder)
        loop.prepare(texts, order, n_jobs, embeddings)
        loop.run()


class _Loop:
    """Fit the latest labels; in between, measure how good the models are."""

    def __init__(self, connection: Connection, folder: Path) -> None:
        self.connection = connection
        self.folder = folder
        self.learner: Learner | None = None
        self.measuring: Iterator[Measurement | None] = iter(())
        self.n_measured = 0

    def prepare(
        self,
        texts: list[str],
        order: Ints,
        n_jobs: int | None,
        embeddings: NDArray[Any] | None,
    ) -> None:
        """Learn topics, then the structure of the network."""
        try:
            self.connection.send(learn_topics(texts, embeddings))
            start = time.perf_counter()
            learner = Learner(texts, order, n_jobs, embeddings)
            _ = learner.wiring
            self.learner = learner
            self.connection.send(Ready(time.perf_counter() - start))
        except Exception as error:
            self.fail(error)

    def run(self) -> None:
        """Answer jobs; go on with a measurement while there is none."""
        busy = False
        while True:
            job = self.latest(wait=not busy)
            try:
                if job is not None and self.learner is not None:
                    busy = self.fit(self.learner, job) or busy
                elif busy:
                    busy = self.measure()
            except Exception as error:
                busy = False
                self.fail(error)

    def latest(self, wait: bool) -> Job | None:
        """The last job that was sent, if any; the others are out of date."""
        job = self.connection.recv() if wait else None
        while self.connection.poll():
            job = self.connection.recv()
        return job

    def fit(self, learner: Learner, job: Job) -> bool:
        """Fit a model to the labels of a job; whether a measurement begins."""
        if not job.labels.can_be_fitted:
            return False

        start = time.perf_counter()
        model = learner.fit(job.labels)
        prediction = learner.predict(model, job.labels)

        path = self.folder / f"{job.revision}.tsenet"
        model.save(path)
        seconds = time.perf_counter() - start
        self.connection.send(Fitted(job.revision, job.labels, prediction, path, seconds))

        n_labels = int((job.labels.weights == 1).sum())
        more = n_labels - self.n_measured
        enough = more < 0 or more >= max(_MORE, _MORE_SHARE * n_labels)
        if job.sample.size < LEAST_RANDOM or not enough:
            return False
        self.n_measured = n_labels
        self.measuring = measure(learner, job.labels, job.sample)
        return True

    def measure(self) -> bool:
        """Go on with a measurement by one model; whether it goes on after that."""
        measurement = next(self.measuring, None)
        if measurement is not None:
            self.connection.send(measurement)
        return measurement is None

    def fail(self, error: Exception) -> None:
        """Say what went wrong; the traceback goes to standard error."""
        traceback.print_exception(error)
        self.connection.send(Failed(f"{type(error).__name__}: {error}"))
