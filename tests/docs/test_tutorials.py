"""The tutorials run, and their notebooks show what they print now."""

from __future__ import annotations

import re
import warnings
from difflib import SequenceMatcher
from typing import Any

import nbformat
import pytest

from scripts.tutorials import FOLDER, cells_of, execute
from tests.docs.test_cli_page import extension

NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def stored(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def run(source: str) -> Any:
    """Run a source; the kernel's own sockets may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return execute(source)


def printed(notebook: Any) -> list[str]:
    """The words that a notebook's cells print, numbers left out."""
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    text = "".join(o.text for o in outputs if o.output_type == "stream")
    return NUMBER.sub("#", text).split()


def shown(notebook: Any) -> list[list[str]]:
    """The kinds of output of each cell."""
    return [
        [kind for output in cell.outputs for kind in sorted(output.get("data", {}))]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_of_its_source(name: str) -> None:
    source = cells_of((FOLDER / f"{name}.py").read_text("utf-8"))
    notebook = stored(name)
    nbformat.validate(notebook)
    assert [(c.cell_type, c.source) for c in notebook.cells] == [
        (c.cell_type, c.source) for c in source
    ], "run make tutorials"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_runs_and_prints_what_its_notebook_says(name: str) -> None:
    fresh = run((FOLDER / f"{name}.py").read_text("utf-8"))
    assert shown(fresh) == shown(stored(name)), "run make tutorials"
    # Another kind of processor rounds otherwise, which may change a word of a topic, but not the text.
    alike = SequenceMatcher(None, printed(fresh), printed(stored(name)), autojunk=False).ratio()
    assert alike > 0.8, "run make tutorials"


def test_a_notebook_becomes_a_page() -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "\n", "Text."]},
            {
                "cell_type": "code",
                "source": "draw()  # A picture of x",
                "outputs": [
                    {"output_type": "stream", "text": ["a\n", "```\n"]},
                    {"output_type": "display_data", "data": {"image/png": "aGk="}},
                    {"output_type": "execute_result", "data": {"text/html": "<b>\n\nc</b>"}},
                    {"output_type": "execute_result", "data": {"text/plain": "d"}},
                ],
            },
            {"cell_type": "code", "source": "!ls", "outputs": []},
        ]
    }
    page, pictures = extension("notebooks").page_of(notebook, "name")
    assert pictures == {"name-1.png": b"hi"}
    assert page.startswith("# Title\n\n[Download this page as a notebook](name.ipynb)")
    for part in (
        "```python\ndraw()  # A picture of x\n```",
        "````{ .text .notebook-output }\na\n```\n````",
        "![A picture of x](name-1.png)",
        "<b>\nc</b>",
        "```{ .text .notebook-output }\nd\n```",
        "```sh\nls\n```",
    ):
        assert part in page
