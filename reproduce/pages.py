"""Pages are written by hand; what stands between markers is filled from the stored runs.

``<!-- table: few-labels 100 -->…<!-- end -->`` holds a table of :data:`reproduce.analysis.TABLES`;
``<!--=few-labels/ag_news/100/tsenet-->87.29<!--/-->`` holds a number of :meth:`reproduce.analysis.Results.value`.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from reproduce.analysis import TABLES, Results, estimate

__all__ = ["fill", "pages", "stale_pages", "write_pages"]

ROOT = Path(__file__).parents[1]
CELLS = ROOT / "docs" / "results" / "cells.csv"
TABLE = re.compile(r"<!-- table: (?P<name>[^\n]+?) -->.*?<!-- end -->", re.DOTALL)
NUMBER = re.compile(r"<!--=(?P<key>[^\n]+?)-->.*?<!--/-->", re.DOTALL)


def fill(text: str, results: Results) -> str:
    """Return the text with all marked tables and numbers from the results.

    Raises
    ------
    KeyError
        If a marker names a table or a number that is not stored.
    """

    def table(match: re.Match[str]) -> str:
        name, *arguments = match["name"].split()
        return f"<!-- table: {match['name']} -->\n\n{TABLES[name](results, *arguments)}\n\n<!-- end -->"

    def number(match: re.Match[str]) -> str:
        return f"<!--={match['key']}-->{results.value(match['key'])}<!--/-->"

    return NUMBER.sub(number, TABLE.sub(table, text))


def cells_csv(results: Results) -> str:
    """Return the mean and 95 % interval of every stored cell as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    cell = ("data", "rival", "labels", "part", "measure")
    writer.writerow(
        [*cell, "metric", "seeds", "mean", "low", "high", "parameters", "cpu", "recipe"]
    )
    for key, runs in results.cells.items():
        numbers = [f"{number:.6g}" for number in estimate(runs)[:3]]
        first = runs[0]
        rest = (first.get("parameters", ""), first["cpu"], first["recipe"])
        writer.writerow([*key, first["metric"], len(runs), *numbers, *rest])
    return text.getvalue()


def pages() -> list[Path]:
    """Return the files that may have markers."""
    docs = ROOT / "docs"
    return [
        ROOT / "README.md",
        docs / "guide" / "few-labels.md",
        *sorted((docs / "results").glob("*.md")),
    ]


def stale_pages(results: Results) -> dict[Path, str]:
    """Return the pages, and the CSV file, that do not show what is stored, each with its new text."""
    texts = {page: page.read_text("utf-8") for page in pages()}
    filled = {page: fill(text, results) for page, text in texts.items() if "<!--" in text}
    filled[CELLS] = cells_csv(results)
    texts[CELLS] = CELLS.read_text("utf-8") if CELLS.exists() else ""
    return {page: text for page, text in filled.items() if text != texts[page]}


def write_pages(results: Results) -> list[Path]:
    """Fill the markers of all pages; return the pages that changed."""
    stale = stale_pages(results)
    for page, text in stale.items():
        page.write_text(text, "utf-8")
    return list(stale)
