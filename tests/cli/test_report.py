"""``tsenet report``, and the page of ``tsenet topics``."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tsenet
from tests.builders import planted_tree
from tests.cli.program import error_of, fine
from tests.explain.report.corpus import documents


def payload_of(page: Path) -> dict[str, Any]:
    found = re.search(r'id="payload">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found is not None
    payload: dict[str, Any] = json.loads(found[1])
    return payload


class TestModel:
    def test_without_data(self, news: Path, tmp_path: Path) -> None:
        out = tmp_path / "report.html"
        printed = fine("report", news / "model.tsenet", "-o", out, "--quiet", "--json")
        assert json.loads(printed) == {"out": str(out)}
        payload = payload_of(out)
        assert (payload["kind"], payload["title"]) == ("classifier", "model")
        assert payload["nouns"]["input"] == ["word", "words"]
        assert payload["rows"] is None
        assert "add --force" in error_of("report", news / "model.tsenet", "-o", out)

    def test_with_data(self, news: Path, tmp_path: Path) -> None:
        command = ("report", news / "model.tsenet", "--data", news / "news.csv", "--quiet")
        fine(*command, "-o", tmp_path / "r.html", "--title", "News")
        payload = payload_of(tmp_path / "r.html")
        assert payload["title"] == "News"
        texts, subjects = documents()
        rows = payload["rows"]
        assert rows["texts"] == {row: texts[int(row)] for row in rows["texts"]}
        truth = {row: subjects[int(row)] for row in rows["truth"]}
        assert rows["truth"] == truth  # rows without a label have no truth
        assert not any(int(row) % 10 == 0 for row in truth)
        assert payload["classes"]["names"] == ["politics", "space", "sport"]
        fine(*command, "-o", tmp_path / "ids.html", "--show", "id")
        shown = payload_of(tmp_path / "ids.html")["rows"]["texts"]
        assert shown == {row: f"n{row}" for row in shown}
        assert "--text is for topic models" in error_of(*command, "-o", "x", "--text", "id")

    def test_without_the_targets_column_there_is_no_truth(self, news: Path, tmp_path: Path) -> None:
        data, out = tmp_path / "bare.csv", tmp_path / "report.html"
        with data.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text"], *([text] for text in documents()[0])])
        command = ("report", news / "model.tsenet", "--data", data, "-o", out, "--quiet")
        fine(*command)
        payload = payload_of(out)
        assert payload["rows"]["truth"] == {}
        assert payload["rows"]["predicted"]
        assert "no column 'subject'" in error_of(*command, "--target", "subject", "--force")


class TestTopics:
    def test_the_page_is_among_the_results(self, news: Path) -> None:
        payload = payload_of(news / "topics" / "topics.html")
        assert (payload["kind"], payload["title"]) == ("tree", "news")
        along = payload["along"]
        assert (along["name"], along["kind"]) == ("month", "dates")
        assert along["bins"] == ["2024-01", "2024-02", "2024-03", "2024-04"]
        assert along["counts"] == [60] * 4
        row, text = next(iter(payload["rows"]["texts"].items()))
        assert text == documents()[0][int(row)]

    def test_report_makes_the_same_page(self, news: Path, tmp_path: Path) -> None:
        command = ("report", news / "topics" / "model.tsenet", "--data", news / "news.csv")
        out = tmp_path / "again.html"
        fine(*command, "--along", "month", "--title", "news", "-o", out, "--quiet")
        assert out.read_bytes() == (news / "topics" / "topics.html").read_bytes()
        fine(*command, "--show", "month", "-o", tmp_path / "months.html", "--quiet")
        known, shown = payload_of(out), payload_of(tmp_path / "months.html")
        assert shown["units"] == known["units"]
        assert {text[:5] for text in shown["rows"]["texts"].values()} == {"2024-"}

    def test_one_model_file_shows_the_topics_of_the_page(self, news: Path, tmp_path: Path) -> None:
        fine("report", news / "topics" / "model.tsenet", "-o", tmp_path / "model.html", "--quiet")
        page = payload_of(news / "topics" / "topics.html")
        shown = payload_of(tmp_path / "model.html")
        assert len(page["units"]["label"]) > 1
        for what in ("units", "names", "parent", "strength"):
            assert shown[what] == page[what]  # titles, words and shares, without the documents
        listed = json.loads((news / "topics" / "topics.json").read_text(encoding="utf-8"))
        titles = {topic["title"]: topic["size"] for topic in listed["topics"]}
        shares = dict(zip(page["units"]["label"], page["units"]["share"], strict=True))
        assert {title: shares[title] for title in titles} == pytest.approx(titles, rel=5e-3)

    def test_a_tree_over_columns(self, tmp_path: Path) -> None:
        tree = planted_tree(np.random.default_rng(0), (6, 2))
        tsenet.save(tree, tmp_path / "tree.tsenet")
        rows = np.random.default_rng(1).integers(2, size=(20, 6))
        with (tmp_path / "rows.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([tree.names[:6], *rows.tolist()])
        command = ("report", tmp_path / "tree.tsenet", "--data", tmp_path / "rows.csv", "--quiet")
        fine(*command, "-o", tmp_path / "rows.html")
        assert payload_of(tmp_path / "rows.html")["nouns"]["row"] == ["row", "rows"]

    def test_a_tree_over_words(self, news: Path, tmp_path: Path) -> None:
        tsenet.load(news / "model.tsenet").tree_.save(tmp_path / "tree.tsenet")
        command = ("report", tmp_path / "tree.tsenet", "--data", news / "news.csv")
        out = ("-o", tmp_path / "r.html", "--quiet")
        assert "column" in error_of(*command, *out)
        assert "holds a tree only" in error_of(*command, *out, "--target", "subject")
