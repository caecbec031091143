"""Figures of earlier recipes whose runs were not kept: they stay on the page, marked as stale."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduce.render import Row, counted, shown
from reproduce.stats import spread

__all__ = ["EarlierRow", "earlier_rows"]


@dataclass(frozen=True)
class EarlierRow:
    """A method on a data set: its test scores and sizes by seed, and the commit of the page that recorded them."""

    title: str
    method: str
    metric: str
    tests: tuple[float, ...]
    clean: tuple[float, ...]
    n_parameters: tuple[int, ...]
    cpu_seconds: tuple[float, ...]
    commit: str

    def page_row(self) -> Row:
        """For the page of table 3."""
        return [
            f"{self.title}, *stale*",
            shown(spread(self.tests), self.metric),
            len(self.tests),
            "–",
            counted(sum(self.n_parameters) / len(self.n_parameters)),
            *["–"] * 6,
            shown(spread(self.clean), self.metric),
            f"{sum(self.cpu_seconds) / len(self.cpu_seconds):.1f}",
            self.commit,
        ]

    def file_row(self, dataset: str) -> Row:
        """For programs."""
        found, clean = spread(self.tests), spread(self.clean)
        assert found is not None
        values: list[Any] = [
            dataset,
            f"{self.method} (stale)",
            len(self.tests),
            *found[:2],
            "",
            "",
            round(sum(self.n_parameters) / len(self.n_parameters)),
            *[""] * 6,
            "" if clean is None else clean.mean,
            round(sum(self.cpu_seconds) / len(self.cpu_seconds), 1),
            self.commit,
        ]
        return values


def earlier_rows(folder: Path) -> dict[str, list[EarlierRow]]:
    """The rows of ``runs/table3-earlier.csv`` by data set, in the order of the file; none without it."""
    path = folder / "runs" / "table3-earlier.csv"
    if not path.exists():
        return {}
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            groups.setdefault((line["dataset"], line["method"], line["commit"]), []).append(line)
    rows: dict[str, list[EarlierRow]] = {}
    for (dataset, method, commit), lines in groups.items():
        rows.setdefault(dataset, []).append(
            EarlierRow(
                lines[0]["title"],
                method,
                "auc" if dataset.startswith("tox21") else "accuracy",
                tuple(float(line["test"]) for line in lines),
                tuple(float(line["test_without_duplicates"]) for line in lines),
                tuple(int(line["n_parameters"]) for line in lines),
                tuple(float(line["cpu_seconds"]) for line in lines),
                commit,
            )
        )
    return rows
