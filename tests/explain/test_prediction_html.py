"""What notebooks show: escaped, small, and without styles that a theme would break."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from tsenet.explain import FeatureContribution, PredictionExplanation

EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Text and tags of a piece of HTML; complains about tags that are not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def explanation(n_features: int) -> PredictionExplanation:
    parts = tuple(FeatureContribution(f"{EVIL}{k}", 1.0, 1.0 / (k + 1)) for k in range(n_features))
    return PredictionExplanation(EVIL, 2.0, parts, -0.5, 1, (), 0.25, (), 2.0, n=10)


def test_is_safe_knows_no_theme_and_folds_its_tail() -> None:
    found = explanation(810)
    html = found._repr_html_()
    read = Reader(html)
    assert read.tags <= {"div", "strong", "pre", "table", "tr", "th", "td"}
    assert "class=" not in html
    assert "style=" not in html
    assert len(html) < 20_000
    rest = sum(part.contribution for part in found.features[10:])
    assert "(800 more)" in read.text
    assert f"{rest:+.4f}" in read.text
    assert f"{EVIL}9" in read.text
    assert f"{EVIL}10" not in read.text
