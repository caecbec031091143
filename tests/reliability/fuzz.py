"""Random damage that every hash agrees with: mutants of model files, and tables of all kinds.

``python -m tests.reliability.fuzz --mutants 100000`` (``make fuzz``) runs mutants in a process of their own, one after
the other. A mutant may be accepted, or refused by ``ModelFileError`` or ``DataError``. Any other exception, a crash of
the process, or more than five seconds for one mutant is a failure; its number repeats it:
``python -m tests.reliability.fuzz --only tables:1234``.
"""

from __future__ import annotations

import argparse
import io
import os
import select
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 5.0
TARGETS = ("files", "tables")
_ROOT = Path(__file__).parents[2]

Rng = np.random.Generator

INTEGERS = (0, 1, -1, 2, 7, 127, 255, -128, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32 + 3)
INTEGERS = (*INTEGERS, 2**53, 2**63 - 1, -(2**63), 2**64, 10**8, 10**30)
FLOATS = (0.0, -0.0, 0.5, -1.0, 1e-320, 1e-30, 1e30, 3.4e38, 1e160, 1e300, -1e300)
JSON = (*INTEGERS, *FLOATS, None, True, False, "", "x", "<U536870911", "\ud800", "9" * 50)
JSON = (*JSON, [], {}, [1, 2], ["a", "a"], [[]], {"a": 1}, "x" * 3000)


def pick(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


# ---- model files


def mutated_json(rng: Rng, value: Any) -> Any:
    """The value with one change somewhere inside."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = pick(rng, sorted(value))
        changed = {**value, key: mutated_json(rng, value[key])}
        if rng.random() < 0.05:
            del changed[key]
        return changed
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = int(rng.integers(len(value)))
        what = rng.random()
        if what < 0.5:
            return [*value[:at], mutated_json(rng, value[at]), *value[at + 1 :]]
        if what < 0.65:
            return [*value[:at], *value[at + 1 :]]
        if what < 0.8:
            return [*value[:at], value[at], *value[at:]]
        return value[::-1]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.7:
        return pick(rng, (value + 1, value - 1, value * 2, *INTEGERS))
    if isinstance(value, float) and rng.random() < 0.7:
        return pick(rng, (value * 2, -value, *FLOATS))
    return pick(rng, JSON)


def mutated_array(rng: Rng, array: Any) -> Any:
    """The array with another number in it, or of another type, shape or length."""
    what = rng.random()
    if what < 0.65 and array.size:
        changed = array.copy()
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(array.size))
            if array.dtype.kind == "b":
                changed.flat[at] = not changed.flat[at]
            elif array.dtype.kind == "f":
                with np.errstate(over="ignore"):
                    changed.flat[at] = pick(rng, (*FLOATS, np.nan, np.inf, changed.flat[at] * 2))
            else:
                limits = np.iinfo(array.dtype)
                number = pick(
                    rng, (*INTEGERS, int(changed.flat[at]) + 1, int(changed.flat[at]) - 1)
                )
                changed.flat[at] = min(max(number, limits.min), limits.max)
        return changed
    if what < 0.7:
        return array.astype(pick(rng, ("f4", "f8", "i4", "i8", "u1", "?")))
    if what < 0.75:
        return pick(rng, (array.ravel(), array[None], array.T.copy()))
    if what < 0.85:
        return array[: int(rng.integers(len(array) + 1))] if array.ndim else array[None]
    if what < 0.95:
        return np.concatenate([array, array]) if array.ndim else array
    return rng.permutation(array) if array.ndim else array


def mutated_file(rng: Rng, path: Path) -> None:
    """Write a mutant of one of the models, sealed with hashes that fit."""
    from tests.store.models import models, parts_of
    from tsenet.store import save_parts

    kind, meta, arrays = parts_of(pick(rng, sorted(models())))
    for _ in range(int(rng.integers(1, 4))):
        what = rng.random()
        name = pick(rng, sorted(arrays)) if arrays else ""
        if what < 0.5:
            meta = mutated_json(rng, meta) if meta else {}
            meta = meta if isinstance(meta, dict) else {}
        elif what < 0.9 and arrays:
            arrays[name] = mutated_array(rng, arrays[name])
        elif what < 0.93 and arrays:
            del arrays[name]
        elif what < 0.96 and arrays:
            other = pick(rng, sorted(arrays))
            arrays[name], arrays[other] = arrays[other], arrays[name]
        elif what < 0.98:
            arrays[pick(rng, ("extra", "0.indptr", "net.top.weight"))] = np.zeros(3)
        else:
            kind = pick(rng, ("LatentTree", "Wiring", "TSENetRegressor", "LatentTreeTransformer"))
    save_parts(path, kind, meta, arrays)
    if rng.random() < 0.1:  # damage without a new seal
        content = bytearray(path.read_bytes())
        for _ in range(int(rng.integers(1, 4))):
            content[int(rng.integers(len(content)))] = int(rng.integers(256))
        path.write_bytes(
            content[: int(rng.integers(len(content)))] if rng.random() < 0.3 else content
        )


def use(model: Any) -> None:
    """Ask a loaded model all it can answer; answers must be finite."""
    from tsenet import LatentTree, Table, Wiring
    from tsenet.network.tsenet import TSENet

    repr(model)
    if isinstance(model, Wiring):
        TSENet(model, 2, skip_units=1, feature_units=1)
        return
    tree = model if isinstance(model, LatentTree) else getattr(model, "tree_", None)
    rule = tree.rule if tree is not None else model.binary_rule_
    values = np.zeros((3, rule.n_columns_in))
    values[1:] = [[1.0], [0.0]]
    levels = tuple(None if found is None else found or ("none",) for found in rule.levels)
    values[:, [found is not None for found in levels]] = 0.0
    table = Table(values, rule.names_in, levels, rule.named)
    if tree is not None:
        repr(tree)
        assert np.isfinite(tree.posterior(table)).all()
        assert np.isfinite(tree.marginals()).all()
        tree.log_likelihood(table)
    if isinstance(model, LatentTree) or not hasattr(model, "net_"):
        return
    repr(model.history_)
    model.get_feature_names_out()
    assert np.isfinite(model.transform(table)).all()
    if hasattr(model, "classes_"):
        assert np.isfinite(model.predict_proba(table)).all()
        model.predict(table)
    else:
        assert np.isfinite(model.predict(table)).all()


def try_file(rng: Rng, folder: Path) -> None:
    """Write, load and use one mutant."""
    from tsenet.store import load

    path = folder / "mutant.tsenet"
    try:
        mutated_file(rng, path)
    except (TypeError, ValueError, OverflowError):
        return  # nothing that a file can hold
    use(load(path))


# ---- tables


def random_values(rng: Rng) -> Any:
    """Numbers of any type and size."""
    shape = (int(rng.integers(0, 9)), pick(rng, (0, 1, 2, 7, 8, 8, 8, 8)))
    values = rng.integers(-3, 4, shape).astype(
        pick(rng, ("f8", "f8", "f4", "i8", "i4", "u1", "?", "f2"))
    )
    if values.dtype.kind == "f" and values.size and rng.random() < 0.5:
        with np.errstate(over="ignore"):
            values.flat[int(rng.integers(values.size))] = pick(rng, (*FLOATS, np.nan, np.inf))
            values *= pick(rng, (1.0, 1.0, 1e-300, 1e160, 1e300))
    return values


def random_table(rng: Rng) -> Any:
    """What somebody might give as rows."""
    import pandas as pd
    import scipy.sparse as sp

    values = random_values(rng)
    what = rng.random()
    if what < 0.25:
        return values
    if what < 0.75:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wide = np.float64 if values.dtype == np.float16 else values.dtype
            matrix = sp.csr_array(values.astype(wide)).asformat(
                pick(rng, ("csr", "csr", "csr", "csc", "coo", "bsr", "dia", "lil", "dok"))
            )
        for part in ("indices", "indptr", "data", "row", "col", "offsets"):
            if hasattr(matrix, part) and rng.random() < 0.3 and matrix.format != "lil":
                changed = mutated_array(rng, np.asarray(getattr(matrix, part)))
                if matrix.format == "coo" and part in ("row", "col"):
                    coords = dict(zip(("row", "col"), matrix.coords, strict=True))
                    matrix.coords = tuple({**coords, part: changed}.values())
                else:
                    setattr(matrix, part, changed)
        if matrix.format == "lil" and matrix.rows.size and rng.random() < 0.5:
            matrix.rows[0] = list(pick(rng, ([9], [-1], ["a"], [0, 0], [2**40])))
        return matrix
    if what < 0.85:
        frame = pd.DataFrame(values.astype(np.float64))
        if frame.shape[1] and rng.random() < 0.7:
            frame[pick(rng, (0, "a", "x"))] = pick(rng, ("text", None, "7", 1e300, True))
        if rng.random() < 0.3:
            frame.columns = pick(rng, (["a"] * frame.shape[1], list("abcdefghi")[: frame.shape[1]]))
        return frame
    if what < 0.95:
        rows = values.tolist()
        if rows and rng.random() < 0.6:
            at = int(rng.integers(len(rows)))
            rows[at] = pick(rng, (None, [], "text", [1], rows[at][:-1], ["a"] * len(rows[at]), 5))
        return rows
    return pick(
        rng, (None, 3, "text", values[0:0].ravel(), values[None], object(), {"a": 1}, [[1j]])
    )


def try_table(rng: Rng, folder: Path) -> None:
    """Read one table, and ask every model about it."""
    import scipy.sparse as sp

    from tests.store.models import models
    from tsenet import BinaryRule, Table
    from tsenet.data import Scaling
    from tsenet.errors import DataError

    def scaled(rows: Any) -> Any:
        table = Table.of(rows)
        values = Scaling.learn(table).apply(table).values
        if table.is_sparse:
            return values
        return np.where(np.isnan(table.values), 0, values)  # missing values stay missing

    given = random_table(rng)
    failures = 0
    for ask in (
        models()["transformer"].transform,
        models()["labels"].predict_proba,
        models()["regressor"].predict,
        models()["classifier"].predict,
        scaled,
        lambda rows: BinaryRule.learn(Table.of(rows)).apply(Table.of(rows)).to_dense(),
    ):
        try:
            answer = ask(given)
        except DataError:
            failures += 1
            continue
        numbers = answer.data if sp.issparse(answer) else answer
        assert numbers.dtype.kind == "U" or np.isfinite(numbers).all(), "an answer is not finite"
    if failures == 6:
        raise DataError("refused by all")


# ---- running them


@dataclass
class Outcome:
    """What happened to some mutants."""

    accepted: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)


def attempt(target: str, number: int, folder: Path) -> tuple[str, str]:
    """Run one mutant: ``accepted``, ``refused`` or ``failed``, and why."""
    from tsenet.errors import DataError, ModelFileError

    rng = np.random.default_rng([TARGETS.index(target), number])
    try:
        {"files": try_file, "tables": try_table}[target](rng, folder)
    except (DataError, ModelFileError) as error:
        return "refused", type(error).__name__
    except BaseException:
        return "failed", traceback.format_exc()
    return "accepted", ""


def work(target: str, first: int, stop: int) -> None:
    """In the worker: run mutants and tell the parent about each."""
    from tests.store.models import models

    warnings.simplefilter("ignore")
    models()
    with tempfile.TemporaryDirectory() as folder:
        print("ready", flush=True)
        for number in range(first, stop):
            kind, why = attempt(target, number, Path(folder))
            print(kind, repr(why), flush=True)


def fuzz(target: str, first: int, stop: int, seconds: float = SECONDS) -> Outcome:
    """Run the mutants ``first`` to ``stop`` in a worker; a new one takes over after a crash or a hang."""
    outcome = Outcome()
    number = first
    while number < stop:
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.reliability.fuzz"]
        command += ["--work", target, str(number), str(stop)]
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(
                command,
                cwd=_ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(),
                bufsize=0,
            ) as worker,
        ):
            for line in lines_of(worker, seconds):
                kind, _, why = line.partition(" ")
                if kind == "failed":
                    outcome.failures.append(f"{target}:{number}\n{eval(why)}")
                outcome.accepted += kind == "accepted"
                outcome.refused += kind == "refused"
                number += 1
            worker.kill()
            worker.wait()
            if number < stop:
                errors.seek(0)
                last = errors.read()[-1500:].decode("utf-8", "replace")
                outcome.failures.append(f"{target}:{number} crashed or hung\n{last}")
                number += 1
    return outcome


def lines_of(worker: Any, seconds: float) -> Iterator[str]:
    """The worker's lines after its first, until it ends or says nothing for too long."""
    stream = worker.stdout
    assert isinstance(stream, io.FileIO)  # a buffer would keep lines that select does not see
    if not stream.readline():
        return
    os.set_blocking(stream.fileno(), False)
    rest = b""
    while True:
        ready, _, _ = select.select([stream], [], [], seconds)
        found = os.read(stream.fileno(), 65536) if ready else b""
        if not found:
            return
        *lines, rest = (rest + found).split(b"\n")
        yield from (line.decode() for line in lines)


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(_ROOT / "src"), str(_ROOT)]),
    }


def main() -> int:
    """Run mutants of both kinds, half each, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--only", help="one mutant in this process, such as files:17")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], int(options.work[1]), int(options.work[2]))
        return 0
    if options.only:
        target, _, number = options.only.partition(":")
        with tempfile.TemporaryDirectory() as folder:
            print(*attempt(target, int(number), Path(folder)))
        return 0
    n_failures = 0
    for target in TARGETS:
        outcome = fuzz(target, options.first, options.first + options.mutants // len(TARGETS))
        n_failures += len(outcome.failures)
        for failure in outcome.failures[:20]:
            print(failure)
        print(
            f"{target}: {outcome.accepted:,} accepted, {outcome.refused:,} refused, "
            f"{len(outcome.failures):,} failures"
        )
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
