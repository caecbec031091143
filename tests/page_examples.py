"""Run the examples of a page: its Python and console blocks, in order, with the output shown below them.

Used by ``tests/test_docs.py``, and by ``make dist`` with the interpreter of an environment that holds the wheel and
its dependencies only: ``python -P tests/page_examples.py README.md``. So it imports nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import os
import re
import shlex
import tempfile
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from tsenet.cli.app import app

FENCE = re.compile(r"^```([a-z]*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SUBJECTS = (
    ("football", "goal", "referee", "stadium", "striker"),
    ("election", "senate", "ballot", "candidate", "voters"),
    ("galaxy", "telescope", "orbit", "comet", "planet"),
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text and line, and the output shown right below it, if any."""

    language: str
    text: str
    line: int
    output: str | None = None


def blocks_of(page: str) -> list[Block]:
    """The Python and console blocks of a page; a ``text`` block right below one is its output."""
    fences = list(FENCE.finditer(page))
    found = []
    for fence, following in zip_longest(fences, fences[1:]):
        if fence[1] not in ("python", "console"):
            continue
        output = None
        if following is not None and following[1] == "text":
            between = page[fence.end() : following.start()]
            output = following[2] if not between.strip() else None
        found.append(Block(fence[1], fence[2], page[: fence.start(2)].count("\n"), output))
    return found


def commands_of(block: Block) -> list[list[str]]:
    """The ``$ tsenet …`` lines of a console block, as arguments; other programs are not ours to run."""
    lines = [line[2:] for line in block.text.splitlines() if line.startswith("$ tsenet ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def assert_alike(printed: str, shown: str, where: str) -> None:
    """Words must be equal; numbers may differ by a tenth: another processor trains to slightly different ones."""
    number = r"\d[\d,.]*"
    assert re.sub(number, "N", printed) == re.sub(number, "N", shown), where
    values, expected = (
        [float(found.replace(",", "").rstrip(".")) for found in re.findall(number, text)]
        for text in (printed, shown)
    )
    np.testing.assert_allclose(values, expected, rtol=0.1, err_msg=where)


def run_page(page: str, name: str, exactly: bool = True) -> None:
    """Run the blocks of a page in one namespace, in the current folder; they print what the page shows.

    ``exactly`` is for pages that show what Python prints; other pages also show what commands print, about.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page):
        printed = io.StringIO()
        if block.language == "python":
            # Empty lines in front make a traceback show the line of the page.
            code = compile("\n" * block.line + block.text, name, "exec")
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)
        for command in commands_of(block) if block.language == "console" else []:
            result = CliRunner().invoke(app, [*command])
            assert result.exit_code == 0, f"{name}: tsenet {command}: {result.output}"
            printed.write(result.stdout)
        where = f"{name}, below line {block.line}"
        if exactly and block.output is not None:
            assert printed.getvalue() == block.output, where
        elif not exactly:
            lines = (block.output or block.text).splitlines(keepends=True)
            shown = "".join(line for line in lines if not line.startswith("$"))
            assert_alike(printed.getvalue(), shown, where)


def write_documents(folder: Path, rng: np.random.Generator) -> None:
    """Write docs.csv, which the pages take for granted: 300 short documents on three subjects."""
    with (folder / "docs.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        for number in range(300):
            own = int(rng.integers(len(SUBJECTS)))
            words = [
                word
                for subject, vocabulary in enumerate(SUBJECTS)
                for word in vocabulary
                if rng.random() < (0.7 if subject == own else 0.05)
            ]
            writer.writerow([number, f"The {' '.join(words)}."])


def main() -> None:
    """Run the examples of the pages named on the command line, each in an empty folder with docs.csv."""
    parser = argparse.ArgumentParser(description="Run the examples of pages.")
    parser.add_argument("pages", nargs="+", type=Path)
    for page in [page.resolve() for page in parser.parse_args().pages]:
        text = page.read_text("utf-8")
        if not blocks_of(text):
            raise SystemExit(f"{page.name} has no example")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            os.environ["TSENET_CACHE"] = str(Path(folder) / "cache")
            write_documents(Path(folder), np.random.default_rng(0))
            run_page(text, page.name, exactly=False)
        print(f"{page.name}: {len(blocks_of(text))} examples run")


if __name__ == "__main__":
    main()
