"""``tsenet suggest``: the rows to label next."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tests.cli.program import (
    error_of,
    fine,
)


def test_suggest_prints_rows_to_label(folder: Path, frame: pd.DataFrame) -> None:
    printed = fine("suggest", folder / "kind.tsenet", folder / "d.csv", "-n", 5).splitlines()
    rows = [int(line.split("\t")[0]) - 1 for line in printed]
    assert len(set(rows)) == 5
    assert all(not frame["kind"][row].strip() for row in rows)
    assert [line.split("\t")[1] for line in printed] == [frame["key"][row] for row in rows]
    assert "needs a classifier" in error_of("suggest", folder / "amount.tsenet", folder / "d.csv")
    labelled = frame[frame["kind"].str.strip() != ""]
    labelled.to_csv(folder / "known.csv", index=False)
    assert "nothing to label" in error_of(
        "suggest", folder / "kind.tsenet", folder / "known.csv", "--quiet"
    )
