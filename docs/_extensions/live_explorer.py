"""An mkdocs hook: the explorer's page of a small model, fitted while the site is built; explorer.md embeds it.

So the site always shows the explorer of this version. ``mkdocs serve`` fits once and keeps the page in memory.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGE = "explorer-live.html"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the explorer's page to the site's files."""
    files.append(File.generated(config, PAGE, content=explorer()))
    return files


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
        title = "Docstrings of SciPy and scikit-learn"
        model.report("report.html", counts, labels, texts=texts, title=title)
        return Path("report.html").read_text("utf-8")
