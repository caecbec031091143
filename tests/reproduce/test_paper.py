"""The paper's figures: whose they are, and whether they fit together."""

from __future__ import annotations

import re
from pathlib import Path

from reproduce import paper

ROOT = Path(__file__).parents[2]
TITLE = "Learning Sparse Deep Feedforward Networks via Tree Skeleton Expansion"


def test_the_authors_are_those_of_the_citation() -> None:
    named = re.search(rf"^(.+): {TITLE}", paper.__doc__ or "", re.MULTILINE)
    assert named
    assert named[1] == "Zhourong Chen, Xiaopeng Li, Nevin L. Zhang"
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    own = citation[citation.index(TITLE) :].split("references:")[0]
    people = zip(
        re.findall(r"given-names: (.+)", own), re.findall(r"family-names: (.+)", own), strict=True
    )
    assert named[1] == ", ".join(f"{given} {family}" for given, family in people)


def test_pruned_networks_have_the_size_of_tse_nets() -> None:
    assert set(paper.TABLE3) == {paper.TOX21_AVERAGE, *paper.TEXT_DATASETS}
    for figures in paper.TABLE3.values():
        assert figures["pruned"].n_parameters == figures["tsenet"].n_parameters
        assert figures["backbone"].n_parameters < figures["tsenet"].n_parameters
        assert figures["tsenet"].n_parameters < figures["fnn"].n_parameters
