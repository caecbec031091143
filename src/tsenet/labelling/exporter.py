"""The files to leave with: all rows with their labels, a model fitted to them, and its page."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

import tsenet
from tsenet._system.atomic import atomic_write
from tsenet.errors import DataError
from tsenet.labelling.learner import TOPIC_WEIGHT, TrainingLabels, decided
from tsenet.labelling.session import Session

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Exporter"]

_MULTIPLE = "; "  # between several classes of a text


@dataclass(frozen=True)
class Exporter:
    """Writes the files, next to the input.

    Attributes
    ----------
    columns : DataFrame
        The cells of the input.
    source : Path
        The input.
    text : str
        Its column of texts.
    target : str or None
        Its column of labels, if it has one.
    write_table : callable
        ``write_table(frame, stream)`` writes a csv file.
    embeddings : Path or None, default=None
        The npy file with an embedding of each row.
    """

    columns: pd.DataFrame
    source: Path
    text: str
    target: str | None
    write_table: Callable[[Any, IO[str]], None]
    embeddings: Path | None = None

    @property
    def table_path(self) -> Path:
        """The csv file of all rows."""
        return self._path(".labelled.csv")

    @property
    def model_path(self) -> Path:
        """The model."""
        return self._path(".tsenet")

    @property
    def report_path(self) -> Path:
        """The page that explains the model."""
        return self._path(".report.html")

    def _path(self, suffix: str) -> Path:
        name = self.source.name.partition(".")[0]
        return self.source.parent / (name + suffix)

    def run(self, session: Session, labels: TrainingLabels, stage: Callable[[str], None]) -> Any:
        """Write the table of labels, fit a model to it by the command that repeats it, and add its predictions.

        Parameters
        ----------
        session : Session
        labels : TrainingLabels
        stage : callable
            Called with the name of each step.

        Raises
        ------
        DataError
            If there is nothing to learn yet, or a command fails.
        """
        if not labels.can_be_fitted:
            raise DataError("label texts of two classes: then there is a model to save")

        stage("Writing the table")
        frame, targets = self.labelled(session, labels)
        weighted = bool((labels.weights != 1).any())
        self._write(frame)

        stage("Fitting the model to all rows")
        vectors = None if self.embeddings is None else self.embeddings.resolve()
        command = self._command(self.table_path, self.model_path, targets, weighted, vectors)
        _run([*command, "--force", "--quiet"])

        stage("Predicting all rows")
        model = tsenet.load(self.model_path)
        self._add_predictions(frame, session, model, labels)
        self._write(frame)

        stage("Writing the page")
        data = ["--data", str(self.table_path), "--title", self.source.name]
        out = ["--out", str(self.report_path), "--force", "--quiet"]
        _run(["tsenet", "report", str(self.model_path), *data, *out])

        # The command as seen from the folder of the files.
        table = Path(self.table_path.name)
        saved = Path(self.model_path.name)
        if vectors is not None and vectors.parent == self.source.parent.resolve():
            vectors = Path(vectors.name)
        return {
            "files": [path.name for path in (self.table_path, self.model_path, self.report_path)],
            "folder": str(self.source.parent.resolve()),
            "command": shlex.join(self._command(table, saved, targets, weighted, vectors)),
            "python": self._python_lines(targets, weighted, vectors),
        }

    def _command(
        self, table: Path, model: Path, targets: list[str], weighted: bool, vectors: Path | None
    ) -> list[str]:
        """The command that fits the model."""
        options = [part for target in targets for part in ("--target", target)]
        options += ["--weights", "weight"] if weighted else []
        options += [] if vectors is None else ["--embeddings", str(vectors)]
        return ["tsenet", "fit", str(table), "--text", self.text, *options, "--out", str(model)]

    def _python_lines(self, targets: list[str], weighted: bool, vectors: Path | None) -> str:
        """The same in Python."""
        y = f"table[{targets[0]!r}]" if len(targets) == 1 else f"table[{targets!r}]"
        if targets[0].startswith("label: "):
            y += '.replace("", None).astype(float)'
        given = [f"table[{self.text!r}].tolist()", y]
        given += ['table["weight"].astype(float)'] if weighted else []
        given += [] if vectors is None else [f"embeddings=np.load({str(vectors)!r})"]

        imports = ["import pandas as pd", "import tsenet"]
        if vectors is not None:
            imports.insert(0, "import numpy as np")
        return "\n".join(
            [
                *imports,
                "",
                f"table = pd.read_csv({self.table_path.name!r}, dtype=str, keep_default_na=False)",
                "model = tsenet.TSENetClassifier(random_state=0)",
                f"model.fit({', '.join(given)})",
                f"model.save({self.model_path.name!r})",
            ]
        )

    def labelled(self, session: Session, labels: TrainingLabels) -> tuple[pd.DataFrame, list[str]]:
        """All rows with their labels and who gave them, and the names of the columns to predict."""
        state = session.state
        of_row = session.documents.document
        rows = [session.label_of(i) if i >= 0 else ((), "") for i in of_row.tolist()]

        frame = self.columns.copy()
        label = self.target or _free("label", frame)
        frame[label] = [_MULTIPLE.join(map(state.name_of, ids)) for ids, _ in rows]
        targets = [label]

        if labels.several:  # a column of 0 and 1 for each class
            targets = [_free(f"label: {state.name_of(i)}", frame) for i in labels.model_ids]
            values = labels.targets(len(session.documents)).reshape(len(session.documents), -1)
            for name, column in zip(targets, values.T, strict=True):
                cells = np.where(np.isnan(column), "", np.where(column == 1, "1", "0"))
                frame[name] = np.where(of_row >= 0, cells[of_row], "")

        keys = session.documents.keys
        frame["source"] = [
            who or ("skipped" if i >= 0 and keys[i] in state.skipped else "")
            for (_, who), i in zip(rows, of_row.tolist(), strict=True)
        ]

        if (labels.weights != 1).any():
            frame["weight"] = [str(TOPIC_WEIGHT) if who == "topic" else "1" for _, who in rows]
        if state.notes:
            frame["note"] = [
                state.notes.get(keys[i], "") if i >= 0 else "" for i in of_row.tolist()
            ]
        return frame, targets

    def _add_predictions(
        self, frame: pd.DataFrame, session: Session, model: Any, labels: TrainingLabels
    ) -> None:
        of_row = session.documents.document
        texts = [session.documents.texts[i] if i >= 0 else "" for i in of_row.tolist()]
        shares = model.predict_proba(texts)

        if labels.several:
            if len(labels.model_ids) == 1:
                shares = shares[:, 1:]
            answers = decided(labels.model_ids, shares, several=True)
            names = [_MULTIPLE.join(map(session.state.name_of, ids)) for ids in answers]
            sure = np.maximum(shares, 1 - shares).min(axis=1)
        else:
            names = [str(name) for name in model.classes_[shares.argmax(axis=1)]]
            sure = shares.max(axis=1)

        frame["prediction"] = np.where(of_row < 0, "", names)
        frame["confidence"] = np.where(of_row < 0, "", [f"{share:.4f}" for share in sure])

    def _write(self, frame: pd.DataFrame) -> None:
        with atomic_write(self.table_path, "w") as stream:
            self.write_table(frame, stream)


def _free(name: str, frame: pd.DataFrame) -> str:
    """A name that no column has."""
    while name in frame.columns:
        name += "_"
    return name


def _run(command: list[str]) -> None:
    """Run a command of this program in a process of its own."""
    program = [sys.executable, "-m", "tsenet", *command[1:]]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason was given"]
        raise DataError(f"{shlex.join(command)}: {lines[-1].removeprefix('error: ')}")
