"""Every example in README.md and docs/ runs, in the order of its page, and prints what the page says."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shlex
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.builders import random_tree
from tsenet.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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


def run_page(page: str, name: str) -> None:
    """Run the blocks of a page in one namespace, in the current folder."""
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
        if block.output is not None:
            assert printed.getvalue() == block.output, f"{name}, below line {block.line}"


@pytest.fixture
def reader_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with what the pages take for granted: docs.csv and a saved tree."""
    rng = np.random.default_rng(0)
    with (tmp_path / "docs.csv").open("w", newline="", encoding="utf-8") as file:
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
    random_tree(rng, (6, 2)).save(tmp_path / "tree.tsenet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TSENET_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks_of(page.read_text("utf-8"))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_the_examples_run(page: Path, reader_folder: Path) -> None:
    run_page(page.read_text("utf-8"), page.name)


def test_the_pages_that_teach_have_examples() -> None:
    for page in ("README.md", "docs/index.md", "docs/guide/topics.md", "docs/guide/tables.md"):
        languages = [block.language for block in blocks_of((ROOT / page).read_text("utf-8"))]
        assert "python" in languages, page


def test_the_commands_are_found() -> None:
    block = Block("console", "$ make demo\n$ tsenet topics 'a b.csv' --out x\n12 documents\n", 0)
    assert commands_of(block) == [["topics", "a b.csv", "--out", "x"]]


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ("```python\nraise KeyError\n```", KeyError),
        ("```python\na = 1\n```\ntext\n```python\nassert a == 2\n```", AssertionError),
        ("```python\nprint(1)\n```\n\n```text\n2\n```", AssertionError),
        ("```console\n$ tsenet topics missing.csv --text text --out x\n```", AssertionError),
    ],
)
def test_a_wrong_page_is_caught(page: str, error: type[Exception], reader_folder: Path) -> None:
    with pytest.raises(error):
        run_page(page, "page")


def test_a_right_page_passes(reader_folder: Path) -> None:
    run_page(
        "```python\nprint(1)\n```\n\n```text\n1\n```\n```\nnot run\n```\n```sh\nexit 1\n```", "page"
    )


def test_links_of_the_readme_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert any(link.endswith(".png") for link in links)
    assert [link for link in links if not (ROOT / link).is_file()] == []
