"""Topics of the docstrings of installed packages, and a classifier that learns from 100 labels.

Run it with ``make demo`` or ``python examples/docstrings.py``. The documents are the docstrings of seven scientific
packages; nothing is downloaded. It ends with a page to open in a browser. It uses public names of tsenet only.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.tree import Tree
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

import tsenet
from tsenet.data import load_docstrings
from tsenet.progress import BarProgress

PACKAGES = {
    "matplotlib": "axes colors patches pyplot transforms",
    "networkx": "algorithms.approximation algorithms.bipartite algorithms.community",
    "numpy": "fft linalg ma random",
    "pandas": "api.types",
    "scipy": "cluster.hierarchy fft integrate interpolate linalg ndimage optimize signal sparse spatial special stats",
    "sklearn": "cluster datasets decomposition ensemble linear_model metrics model_selection neighbors preprocessing",
    "torch": "distributions fft linalg nn nn.functional optim special",
}
MODULES = [
    *PACKAGES,
    *(f"{package}.{name}" for package in PACKAGES for name in PACKAGES[package].split()),
]
N_LABELS = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the example; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the page")
    parser.add_argument("--modules", nargs="+", default=MODULES, help="whose docstrings to read")
    chosen = parser.parse_args(arguments)
    try:
        run(Console(highlight=False), chosen.out, chosen.modules)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (tsenet.TSENetError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def run(console: Console, out: Path, modules: Sequence[str]) -> None:
    """Collect the documents, show their topics, compare two classifiers and write the page."""
    documents = load_docstrings(*modules)
    documents["package"] = documents["module"].str.partition(".")[0]
    packages = documents["package"].unique().tolist()
    console.print(
        f"[bold]{len(documents):,} docstrings[/bold] of {', '.join(packages[:-1])} and {packages[-1]}\n"
    )
    with BarProgress() as progress:
        progress.start("compiling", None)  # up to a minute the first time, later read from a cache
        tsenet.warmup()
        model = tsenet.TopicModel(random_state=0, progress=progress).fit(documents["text"])
    show_topics(console, model.topics_)
    compare_classifiers(console, documents)
    out.mkdir(parents=True, exist_ok=True)
    page = out / "docstrings.html"
    model.report(
        page,
        documents["text"],
        along=documents["package"],
        along_name="package",
        title="Docstrings of scientific packages",
    )
    console.print(f"\nAll topics, words and documents: open [bold]{page}[/bold]", soft_wrap=True)


def show_topics(console: Console, topics: pd.DataFrame) -> None:
    """Print the two upper levels of the hierarchy."""
    levels = ", ".join(map(str, topics.groupby("level").size()))
    shown = Tree(f"[bold]Topics[/bold], found without labels ({levels} of them per level)")
    for top in topics[topics["parent"].isna()].itertuples():
        branch = shown.add(f"{top.share:4.0%} [bold]{top.label}[/bold]")
        for below in topics[topics["parent"] == top.id].itertuples():
            words = ", ".join(word for word, _ in below.words[:6])
            branch.add(f"{below.share:4.0%} {words}")
    console.print(shown)
    console.print("[dim]Per cent of the documents; a document may have several topics.[/dim]\n")


def compare_classifiers(console: Console, documents: pd.DataFrame) -> None:
    """Predict the package of a docstring from few labels, with and without the documents that have none."""
    rows = np.random.default_rng(0).permutation(len(documents))
    test, train = np.split(rows, [len(rows) // 4])
    texts, packages = documents["text"].to_numpy(), documents["package"].to_numpy()
    y = np.where(np.arange(len(train)) < N_LABELS, packages[train], None)
    labelled = train[:N_LABELS]
    strength = {"C": np.logspace(-1, 3, 5)}
    chosen = GridSearchCV(LogisticRegression(max_iter=1000), strength, cv=KFold(5))
    linear = make_pipeline(TfidfVectorizer(sublinear_tf=True, stop_words="english"), chosen)
    fits: dict[str, Callable[[], Any]] = {
        "TSE-Net": lambda: tsenet.TSENetClassifier(random_state=0).fit(texts[train], y),
        "Logistic regression": lambda: linear.fit(texts[labelled], packages[labelled]),
    }
    lines = Table("Classifier", "Learns from", box=None, pad_edge=False, header_style="bold")
    for heading in ("Accuracy", "Seconds"):
        lines.add_column(heading, justify="right")
    for name, fit in fits.items():
        started = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - started
        without = len(train) - N_LABELS if name == "TSE-Net" else 0
        source = f"{N_LABELS} labels" + f" and {without:,} texts without" * (without > 0)
        score = model.score(texts[test], packages[test])
        lines.add_row(name, source, f"{score:.1%}", f"{seconds:.1f}")
    console.print(f"[bold]Which package is it from?[/bold] {N_LABELS} labels\n")
    console.print(lines)
    console.print(f"[dim]Accuracy on {len(test):,} other docstrings.[/dim]")


if __name__ == "__main__":
    sys.exit(main())
