"""An mkdocs hook: the explorer's page of a small model, fitted while the site is built, and embedded in explorer.md.

So the site always shows the explorer of this version. ``mkdocs serve`` fits once and keeps the page in memory.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGE = "explorer-live.html"
PLACE = "<!-- live explorer -->"  # in explorer.md, whose links then lead somewhere in the repository, too
TITLE = "Docstrings of SciPy and scikit-learn"
FRAME = f"""<iframe class="live-explorer" src="../{PAGE}" title="The explorer: {TITLE}" loading="lazy"></iframe>

[Open it in a full window]({PAGE}){{ .md-button }}"""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the explorer's page to the site's files."""
    files.append(File.generated(config, PAGE, content=explorer()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Embed the explorer."""
    return markdown.replace(PLACE, FRAME)


@functools.cache
def explorer() -> str:
    """Fit a classifier of the docstrings that the tutorials use, by module; return its report."""
    from tsenet import TSENetClassifier
    from tsenet.data import load_docstrings, vectorize, word_vectorizer

    docs = load_docstrings()
    texts, labels = docs["text"].tolist(), docs["module"].tolist()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        counts = vectorize(
            texts, word_vectorizer(n_words=2000, stop_words="english", min_documents=5)
        )
        # Without a linear skip every decision goes through units that the page can show.
        model = TSENetClassifier(max_top=20, linear_skip=False, max_epochs=30, random_state=0)
        model.fit(counts, labels)
        model.report("report.html", counts, labels, texts=texts, title=TITLE)
        return Path("report.html").read_text("utf-8")
