"""An mkdocs hook: the site's home is the README, its links as seen from docs/."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGE = "index.md"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the page to the site's files."""
    readme = Path(config.config_file_path).with_name("README.md").read_text("utf-8")
    files.append(File.generated(config, PAGE, content=page(readme)))
    return files


def page(readme: str) -> str:
    """Return the README with links into docs/ made relative, and those to other files as plain text."""
    inside = readme.replace("](docs/", "](")
    return "---\nhide: [navigation]\n---\n\n" + re.sub(r"\[([^\]]+)\]\([A-Z][^)]*\)", r"\1", inside)
