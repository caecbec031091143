"""The page: nothing of the data runs, nothing is fetched, and it stays small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import tsenet
from tests.builders import cpt_of, level_of
from tests.explain.report.corpus import classifier, documents, table, tree
from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.explain.report import report_payload, write_report
from tsenet.explain.report.page import render
from tsenet.skeleton.tree import LatentTree

HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "<!--<script>",
    "&lt;b&gt; & 'quotes' \"both\"",
    "{{ 7 * 7 }} {% raw %}",
    "שלום \u202e right to left",
    "🚀 emoji 👩‍🚀",
    "line\u2028and\u2029paragraph\x00\x1b",
    "__proto__",
    "]]>",
)


def hostile_tree() -> LatentTree:
    """A tree over words that would like to be programs."""
    n = len(HOSTILE)
    sizes = (n, 2)
    parent = np.array([n + k % 2 for k in range(n)] + [-1, n], np.int32)
    cpt = cpt_of(parent, np.tile([0.1, 0.7], (n + 2, 1)))
    rule = BinaryRule.learn(Table.of(np.eye(n + 1, n), names=HOSTILE))
    names = (*HOSTILE, "<Z1.0>", "</style>Z1.1")
    return LatentTree(parent, level_of(sizes), cpt, names, rule)


class Elements(HTMLParser):
    """Start tags with their attributes, and the text inside script and style elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", {}))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style"):
            tag, attributes, text = self.inside[-1]
            self.inside[-1] = (tag, attributes, text + data)


@pytest.fixture(scope="module")
def page() -> str:
    texts = [f"text of {HOSTILE[k % len(HOSTILE)]}" for k in range(40)]
    rows = np.random.default_rng(0).integers(2, size=(40, len(HOSTILE)))
    along = [HOSTILE[k % 3] for k in range(40)]
    payload = report_payload(
        hostile_tree(),
        Table.of(rows, names=HOSTILE),
        texts=texts,
        along=along,
        along_name="</script>",
    )
    payload["title"] = "</title><script>alert(2)</script>"
    return render(payload)


class TestSafety:
    def test_only_the_pages_own_scripts_are_there(self, page: str) -> None:
        found = Elements(page)
        scripts = [attributes for tag, attributes in found.tags if tag == "script"]
        assert scripts == [{"type": "application/json", "id": "payload"}, {}]
        assert [tag for tag, _ in found.tags].count("style") == 1
        assert "img" not in [tag for tag, _ in found.tags]

    def test_the_policy_names_exactly_what_is_inside(self, page: str) -> None:
        found = Elements(page)
        (policy,) = [
            attributes["content"]
            for tag, attributes in found.tags
            if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
        ]
        assert policy is not None
        parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
        assert parts["default-src"] == "'none'"
        assert parts["img-src"] == "data:"
        for tag, directive in (("script", "script-src"), ("style", "style-src")):
            (text,) = [t for name, given, t in found.inside if name == tag and "type" not in given]
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert parts[directive] == f"'sha256-{digest}'"

    def test_the_payload_comes_back_whole(self, page: str) -> None:
        (text,) = [t for _, given, t in Elements(page).inside if given.get("id") == "payload"]
        payload = json.loads(text)
        assert tuple(payload["names"][: len(HOSTILE)]) == HOSTILE
        assert payload["title"] == "</title><script>alert(2)</script>"
        assert not re.search("[<>&\u2028\u2029]", text)

    def test_half_a_character_does_not_stop_the_report(self, tmp_path: Path) -> None:
        texts, _ = documents()
        broken = ["\ud83d half", *texts[1:]]
        write_report(tmp_path / "r.html", tree(), table(), texts=broken, n_rows=240)
        assert "? half" in (tmp_path / "r.html").read_text("utf-8")

    def test_the_words_are_escaped_for_readers_without_javascript(self, page: str) -> None:
        outline = page[page.index("<noscript>") : page.index("</noscript>")]
        assert "&lt;Z1.0&gt;" in outline
        assert "<script>" not in outline


class TestFile:
    def test_the_estimators_write_it(self, tmp_path: Path) -> None:
        texts, subjects = documents()
        path = tmp_path / "report.html"
        classifier().report(path, table(), subjects, texts=texts, title="Three subjects", n_rows=2)
        assert "<title>Three subjects · tsenet</title>" in path.read_text("utf-8")
        options = {"max_top": 2, "max_island": 4, "refine_steps": 1, "random_state": 0}
        transformer = tsenet.LatentTreeTransformer(**options).fit(table())
        transformer.report(path, table(), texts=texts, along=subjects, along_name="subject")
        (text,) = [t for _, g, t in Elements(path.read_text("utf-8")).inside if g.get("id")]
        assert json.loads(text)["along"]["name"] == "subject"

    def test_an_unknown_option_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="colour"):
            classifier().report(tmp_path / "r.html", colour="red")
        assert not list(tmp_path.iterdir())
