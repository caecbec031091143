"""Runs, their results, and the file that stores both."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import reproduce

__all__ = ["Result", "Run", "RunStore", "is_stale", "line_of", "versions"]

logger = logging.getLogger("tsenet")

Settings = Mapping[str, Any]
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch")


@dataclass(frozen=True)
class Run:
    """One training: everything that decides its result.

    Attributes
    ----------
    experiment, dataset, method : str
    settings : mapping
        Parameters of the method; plain values that JSON can hold.
    seed : int
        Of the structure, the weights, and of which rows keep their labels.
    n_labels : int or None
        Number of training rows with a label; None: all.
    quick : bool
        On the small version of the data set.
    final : bool
        Whether the settings are chosen, so that the test rows may be looked at. Runs that choose never see them.
    """

    experiment: str
    dataset: str
    method: str
    settings: Settings = field(default_factory=dict)
    seed: int = 0
    n_labels: int | None = None
    quick: bool = False
    final: bool = True

    def __post_init__(self) -> None:
        # As they will be read back: tuples become lists, and what JSON cannot hold is refused now.
        object.__setattr__(self, "settings", json.loads(canonical(dict(self.settings))))

    @cached_property
    def key(self) -> str:
        """Short name that no other run has: a hash of the fields in canonical JSON."""
        return hashlib.sha256(canonical(asdict(self)).encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        told = [self.dataset, self.method]
        plain = ((k, v) for k, v in sorted(self.settings.items()) if not isinstance(v, dict))
        told += [f"{name}={value}" for name, value in plain]
        if self.n_labels is not None:
            told.append(f"{self.n_labels} labels")
        return " ".join([*told, f"seed {self.seed}", "" if self.final else "(choosing)"]).strip()


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes
    ----------
    validation : float or None
        Score on the validation rows: accuracy, or mean area under the curve. None: training diverged.
    test : float or None
        Score on the test rows; None for runs that choose.
    n_parameters : int
        Trained numbers.
    cpu_seconds, wall_seconds : float
        Of the whole method, with what it shares with other runs (structure, the network it starts from).
    versions : mapping
        Of Python and the packages, and the commit of tsenet's code.
    extra : mapping
        Further values: areas under the curves, which test rows were predicted right, the sizes of the structure.
    recipe : int
        :data:`reproduce.RECIPE` at the time of the run.
    """

    validation: float | None
    test: float | None
    n_parameters: int
    cpu_seconds: float
    wall_seconds: float
    versions: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    recipe: int = field(default_factory=lambda: reproduce.RECIPE)


class RunStore:
    """A file of JSON lines, one per finished run, written the moment the run ends.

    A line is written by one call and flushed to the disk, so a kill costs at most the run under way. A line that is
    torn all the same (a full disk, a power cut) is left out and reported. Of two lines for one run the later counts.

    Parameters
    ----------
    path : path
        It need not exist; its folder is made when the first run ends.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._done: dict[str, tuple[Run, Result]] = {}
        self.n_torn = 0
        self.reload()

    def reload(self) -> None:
        """Read the file again: another process may have added to it."""
        self._done.clear()
        self.n_torn = 0
        if not self.path.exists():
            return
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                run, result = _parse(line)
            except (ValueError, TypeError, KeyError):
                self.n_torn += 1
                logger.warning(
                    "%s, line %d is not whole: that run is done again", self.path, number
                )
                continue
            self._done[run.key] = (run, result)

    def __contains__(self, run: Run) -> bool:
        return run.key in self._done

    def __len__(self) -> int:
        return len(self._done)

    def get(self, run: Run) -> Result | None:
        """The result of a run, None if it is not done."""
        found = self._done.get(run.key)
        return None if found is None else found[1]

    def items(self) -> list[tuple[Run, Result]]:
        """All finished runs, in the order they were first finished."""
        return list(self._done.values())

    def add(self, run: Run, result: Result) -> None:
        """Write a finished run to the disk, then remember it."""
        line = line_of(run, result)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torn = self.path.exists() and not _ends_with_newline(self.path)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            # A torn line is closed first: the rest of it can no longer come.
            _write_all(descriptor, (("\n" if torn else "") + line).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._done[run.key] = (run, result)

    def set_aside(self) -> Path | None:
        """Rename the file so that the next run starts from nothing, and return the new name; no result is deleted."""
        self._done.clear()
        if not self.path.exists():
            return None
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.{number}")).exists():
            number += 1
        os.replace(self.path, aside)
        return aside


def line_of(run: Run, result: Result) -> str:
    """A finished run as the store writes it."""
    return canonical({"key": run.key, "run": asdict(run), "result": asdict(result)}) + "\n"


def canonical(value: Any) -> str:
    """JSON with one spelling: keys sorted, no spaces. Refuses NaN, which JSON lacks."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
    )


def versions() -> dict[str, str]:
    """Versions of Python and the packages whose numbers a result depends on, the commit, and the kind of machine."""
    import tsenet

    found = {"tsenet": tsenet.__version__, "commit": _commit(), "python": platform.python_version()}
    found.update({name: metadata.version(name) for name in _PACKAGES})
    return {**found, "machine": platform.machine()}


def is_stale(result: Result) -> bool:
    """Whether a result was measured with another recipe than the current one."""
    return result.recipe != reproduce.RECIPE


@cache
def _commit() -> str:
    """The last commit of tsenet and reproduce, with a plus if files differ from it; empty outside a checkout."""
    import tsenet

    def git(*command: str) -> str:
        done = subprocess.run(
            ["git", *command, "--", *code],
            cwd=code[0],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    code = [Path(file).resolve().parent for file in (__file__, tsenet.__file__)]
    try:
        found = git("log", "-1", "--format=%h")
        return found + ("+" if found and git("status", "--porcelain") else "")
    except OSError:  # no git
        return ""


def _parse(line: bytes) -> tuple[Run, Result]:
    """The run and result of a line; a ValueError, TypeError or KeyError if it is not one."""
    read = json.loads(line)
    run = Run(**{f.name: read["run"][f.name] for f in fields(Run)})
    if run.key != read["key"]:
        raise ValueError("the key is not that of the run")
    return run, Result(**{f.name: read["result"][f.name] for f in fields(Result)})


def _ends_with_newline(path: Path) -> bool:
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
