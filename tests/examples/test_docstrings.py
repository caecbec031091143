"""The example of the docstrings: the topics and the comparison that it prints, and the page that it writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from examples import docstrings

MODULES = ["networkx", "scipy.special", "scipy.stats", "matplotlib.pyplot"]


def test_topics_and_classifiers_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    assert docstrings.main(["--out", str(out), "--modules", *MODULES]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"[\d,]+ docstrings of networkx, scipy and matplotlib", printed)
    topics = re.findall(r"^[├└]── +\d+% (.*)$", printed, re.MULTILINE)
    assert any("graph" in topic for topic in topics)
    scores = re.findall(r"^(TSE-Net|Logistic regression) .* ([\d.]+)% ", printed, re.MULTILINE)
    assert [name for name, _ in scores] == ["TSE-Net", "Logistic regression"]
    assert float(scores[0][1]) > 90
    (page,) = out.iterdir()
    assert str(page) in printed
    assert "networkx" in page.read_text("utf-8")
