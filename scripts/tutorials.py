"""Run the tutorials: each ``docs/tutorials/NAME.py`` becomes the notebook ``NAME.ipynb`` with its output.

The sources are Python with ``# %%`` above a cell of code and ``# %% [markdown]`` above a cell of text, as editors and
jupytext read them; ``# %% include NAME`` stands for the cells of ``shared/NAME.py``. A cell that raises, or whose
shell command fails, ends the program. ``make tutorials`` runs all, or those in ARGS by name.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode, v4

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
MARK = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)
INCLUDE = re.compile(r"^# %% include (\w+)\n", re.MULTILINE)
# What the kernel runs first: IPython goes on after a shell command that failed.
CHECKED_SHELL = """
def _check_shell(shell):
    run = shell.system

    def checked(command):
        run(command)
        if shell.user_ns["_exit_code"] != 0:
            raise RuntimeError(f"{command} ended with {shell.user_ns['_exit_code']}")

    shell.system = checked


_check_shell(get_ipython())
del _check_shell
"""


def cells_of(source: str) -> list[NotebookNode]:
    """The cells of a source; text in front of the first mark is for readers of the source alone."""
    source = INCLUDE.sub(lambda mark: shared_cells(mark[1]), source)
    pieces = MARK.split(source)[1:]
    cells = []
    for number, (kind, text) in enumerate(zip(pieces[::2], pieces[1::2], strict=True), start=1):
        if kind:
            lines = [line.removeprefix("#").removeprefix(" ") for line in text.strip().split("\n")]
            cell = v4.new_markdown_cell("\n".join(lines))
        else:
            # A shell command is a comment to Python, so that the source is a program all the same.
            cell = v4.new_code_cell(re.sub(r"^# !", "!", text.strip(), flags=re.MULTILINE))
        cell["id"] = f"cell-{number}"  # the same each time
        cells.append(cell)
    return cells


def shared_cells(name: str) -> str:
    """Cells that several tutorials have, from ``shared/NAME.py``, marks included."""
    text = (FOLDER / "shared" / f"{name}.py").read_text("utf-8")
    return text[text.index("# %%") :]


def notebook_of(source: str) -> NotebookNode:
    """A notebook that has not run."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return v4.new_notebook(cells=cells_of(source), metadata=metadata)


def execute(source: str, timeout: int = 600) -> NotebookNode:
    """Run a source's cells in a new kernel, in an empty folder; a cell that raises or fails is an error here."""
    notebook = notebook_of(source)
    language: dict[str, Any] = dict(notebook.metadata.language_info)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as apart:
        startup = Path(apart, "startup.py")
        startup.write_text(CHECKED_SHELL, encoding="utf-8")
        client = NotebookClient(
            notebook,
            timeout=timeout,
            record_timing=False,
            resources={"metadata": {"path": folder}},
        )
        # The shell commands of a tutorial are those of this interpreter's environment.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        client.execute(env={**os.environ, "PATH": path, "PYTHONSTARTUP": str(startup)})
    notebook.metadata.language_info = language  # the kernel's says which Python it was
    nbformat.validate(notebook)
    return notebook


def main() -> None:
    """Run the tutorials named on the command line, or all."""
    parser = argparse.ArgumentParser(description="Run tutorials and store their output.")
    parser.add_argument("names", nargs="*", help="such as topics; all if none is given")
    names = parser.parse_args().names or sorted(path.stem for path in FOLDER.glob("*.py"))
    for name in names:
        notebook = execute((FOLDER / f"{name}.py").read_text("utf-8"))
        nbformat.write(notebook, FOLDER / f"{name}.ipynb")
        size = (FOLDER / f"{name}.ipynb").stat().st_size
        print(f"{name}.ipynb: {len(notebook.cells)} cells, {size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
