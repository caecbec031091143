"""An mkdocs hook: each notebook of docs/tutorials becomes a page, its pictures files beside it.

The notebooks hold their output: nothing runs while the site is built. ``make tutorials`` runs them
(``scripts/tutorials.py``), and a test compares them with what they print now.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FOLDER = "tutorials"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
DOWNLOAD = "[Download this page as a notebook]({name}){{ .notebook-download download }}"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages and their pictures to the site's files."""
    for path in sorted((Path(config.docs_dir) / FOLDER).glob("*.ipynb")):
        text, pictures = page_of(json.loads(path.read_text("utf-8")), path.stem)
        files.append(File.generated(config, f"{FOLDER}/{path.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"{FOLDER}/{name}", content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to a notebook, which lead somewhere in the repository, lead to its page."""
    if (
        page.file.src_uri.removesuffix(".md").startswith(f"{FOLDER}/")
        and "notebook-download" in markdown
    ):
        return markdown
    return re.sub(r"\]\(([\w./-]+)\.ipynb\)", r"](\1.md)", markdown)


def page_of(notebook: dict[str, Any], stem: str) -> tuple[str, dict[str, bytes]]:
    """The notebook as Markdown, and its pictures by file name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        if source.startswith("!"):
            parts.append(fenced(re.sub("^!", "", source, flags=re.MULTILINE), "sh"))
        else:
            parts.append(fenced(source, "python"))
        for kind, content in outputs_of(cell):
            if kind == "png":
                name = f"{stem}-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(content)
                parts.append(f"![{picture_title(source)}]({name}){{ .notebook-picture }}")
            elif kind == "html":
                parts.append(f'<div class="notebook-html">\n{without_empty_lines(content)}\n</div>')
            else:
                parts.append(fenced(content, "text { .notebook-output }"))
    # The link stands below the title, where a reader who wants to run the page looks first.
    first, _, rest = parts[0].partition("\n\n")
    parts[0] = f"{first}\n\n{DOWNLOAD.format(name=stem + '.ipynb')}\n\n{rest}"
    return "\n\n".join(parts) + "\n", pictures


def outputs_of(cell: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a cell shows: ("text", "html" or "png", content); neighbouring pieces of text as one."""
    text = ""
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            text += "".join(output["text"])
            continue
        if text:
            yield "text", text
            text = ""
        data = output["data"]
        if "image/png" in data:
            yield "png", "".join(data["image/png"])
        elif "text/html" in data:
            yield "html", "".join(data["text/html"])
        else:
            yield "text", "".join(data["text/plain"])
    if text:
        yield "text", text


def fenced(text: str, language: str) -> str:
    """A code block; its fence is longer than any in the text."""
    text = COLOURS.sub("", text).strip("\n")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    attributes = language if "{" not in language else "{ ." + language.replace(" { ", " ")
    return f"{fence}{attributes}\n{text}\n{fence}"


def picture_title(source: str) -> str:
    """What a picture shows: the comment that ends the last line of its cell, else that it is the cell's."""
    last = source.rstrip().rpartition("\n")[2]
    return last.partition("  # ")[2].replace("]", "") or "Picture drawn by the cell above"


def without_empty_lines(html: str) -> str:
    """HTML as one block of Markdown, which an empty line would end."""
    return "\n".join(line.strip() for line in html.splitlines() if line.strip())
