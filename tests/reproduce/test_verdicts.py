"""Verdicts follow the figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reproduce.verdicts import CLAIMS, verdicts

NOTES = Path(__file__).parents[2] / "reproduce" / "notes"


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("level with", "reproduced"),
        ("behind", "reproduced"),
        ("ahead of", "not reproduced"),
        (None, "*not run*"),
    ],
)
def test_a_comparison_decides(value: str | None, verdict: str) -> None:
    values = {} if value is None else {"ag_news/fnn:is": value}
    assert verdicts(values)["verdict:comparable"] == verdict


@pytest.mark.parametrize(
    ("value", "verdict"),
    [("−1.23", "not reproduced"), ("−0.40", "reproduced"), ("+0.10", "reproduced")],
)
def test_a_difference_decides(value: str, verdict: str) -> None:
    values = {"ag_news/backbone-paper:difference": value}
    assert verdicts(values)["verdict:backbone"] == verdict


def test_every_verdict_that_a_text_names_is_there() -> None:
    named = {
        name
        for path in NOTES.glob("*.md")
        for name in re.findall(r"\{verdict:([^{}\s]+)\}", path.read_text("utf-8"))
    }
    assert named
    assert named <= set(CLAIMS)
