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
from tests.cli.program import QUICK_TOPICS, run
from tests.explain.report.corpus import documents

FIT = ["--max-top", "2", "--max-epochs", "2", "--skip-units", "4", "--jobs", "1", "--quiet"]


def payload_of(page: Path) -> dict[str, Any]:
    found = re.search(r'id="payload">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found is not None
    payload: dict[str, Any] = json.loads(found[1])
    return payload


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """News as csv with a subject and a month, a model of it, and its topics."""
    folder = tmp_path_factory.mktemp("report")
    texts, subjects = documents()
    with (folder / "news.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "subject", "month"])
        for k, (text, subject) in enumerate(zip(texts, subjects, strict=True)):
            writer.writerow([f"n{k}", text, subject, f"2024-{k % 4 + 1:02d}"])
    made = run(
        *("fit", folder / "news.csv", "--text", "text", "--target", "subject"),
        *("-o", folder / "model.tsenet", *FIT),
    )
    assert made.exit_code == 0, made.output
    made = run(
        *("topics", folder / "news.csv", "--text", "text", "--along", "month"),
        *("--out", folder / "topics", *QUICK_TOPICS),
    )
    assert made.exit_code == 0, made.output
    return folder


class TestModel:
    def test_without_data(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "report.html"
        result = run("report", folder / "model.tsenet", "-o", out, "--quiet")
        assert result.exit_code == 0, result.output
        assert result.stdout == f"written to {out}\n"
        payload = payload_of(out)
        assert (payload["kind"], payload["title"]) == ("classifier", "model")
        assert payload["nouns"]["input"] == ["word", "words"]
        assert payload["rows"] is None

    def test_with_data(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "report.html"
        data = folder / "news.csv"
        result = run(
            *("report", folder / "model.tsenet", "--data", data, "-o", out),
            *("--title", "News", "--quiet"),
        )
        assert result.exit_code == 0, result.output
        payload = payload_of(out)
        assert payload["title"] == "News"
        texts, subjects = documents()
        row, text = next(iter(payload["rows"]["texts"].items()))
        assert text == texts[int(row)]
        assert payload["rows"]["truth"][row] == subjects[int(row)]
        assert payload["classes"]["names"] == ["politics", "space", "sport"]
        assert dict(payload["data"])["Target"] == "subject"

    def test_another_column_can_stand_for_a_row(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "report.html"
        data = folder / "news.csv"
        result = run(
            *("report", folder / "model.tsenet", "--data", data, "-o", out, "--show", "id"),
            "--quiet",
        )
        assert result.exit_code == 0, result.output
        rows = payload_of(out)["rows"]["texts"]
        assert rows == {row: f"n{row}" for row in rows}

    def test_without_the_targets_column_there_is_no_truth(
        self, folder: Path, tmp_path: Path
    ) -> None:
        data = tmp_path / "bare.csv"
        with data.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text"], *([text] for text in documents()[0])])
        out = tmp_path / "report.html"
        arguments = ("report", folder / "model.tsenet", "--data", data, "-o", out, "--quiet")
        assert run(*arguments).exit_code == 0
        payload = payload_of(out)
        assert payload["rows"]["truth"] == {}
        assert payload["rows"]["predicted"]
        missing = run(*arguments, "--target", "subject", "--force")
        assert missing.exit_code == 1
        assert "has no column 'subject'" in missing.stderr

    def test_an_existing_file_is_kept(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "report.html"
        out.write_text("mine")
        result = run("report", folder / "model.tsenet", "-o", out)
        assert result.exit_code == 1
        assert "add --force" in result.stderr
        assert out.read_text() == "mine"
        assert run("report", folder / "model.tsenet", "-o", out, "--force").exit_code == 0
        assert payload_of(out)["kind"] == "classifier"

    @pytest.mark.parametrize("option", ["--target", "--text", "--along", "--show"])
    def test_columns_need_data(self, folder: Path, tmp_path: Path, option: str) -> None:
        out = tmp_path / "report.html"
        result = run("report", folder / "model.tsenet", "-o", out, option, "subject")
        assert result.exit_code == 2
        assert "add --data" in result.stderr

    @pytest.mark.parametrize(
        ("option", "message"),
        [("--text", "--text is for topic trees"), ("--along", "along shows the topics of a tree")],
    )
    def test_options_of_trees_are_refused(
        self, folder: Path, tmp_path: Path, option: str, message: str
    ) -> None:
        out = tmp_path / "report.html"
        model, data = folder / "model.tsenet", folder / "news.csv"
        result = run("report", model, "--data", data, "-o", out, option, "subject", "--quiet")
        assert result.exit_code == 1
        assert message in result.stderr
        assert not out.exists()


class TestTopics:
    def test_the_page_is_among_the_results(self, folder: Path) -> None:
        payload = payload_of(folder / "topics" / "topics.html")
        assert (payload["kind"], payload["title"]) == ("tree", "news")
        assert payload["nouns"] == {
            "input": ["word", "words"],
            "row": ["document", "documents"],
            "unit": ["topic", "topics"],
        }
        along = payload["along"]
        assert (along["name"], along["kind"]) == ("month", "dates")
        assert along["bins"] == ["2024-01", "2024-02", "2024-03", "2024-04"]
        assert along["counts"] == [60] * 4
        row, text = next(iter(payload["rows"]["texts"].items()))
        assert text == documents()[0][int(row)]

    def test_report_makes_the_same_page(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "again.html"
        result = run(
            *("report", folder / "topics" / "model.tsenet", "--data", folder / "news.csv"),
            *("--text", "text", "--along", "month", "--title", "news", "-o", out, "--quiet"),
        )
        assert result.exit_code == 0, result.output
        assert out.read_bytes() == (folder / "topics" / "topics.html").read_bytes()

    def test_another_column_is_quoted_not_read(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "months.html"
        result = run(
            *("report", folder / "topics" / "model.tsenet", "--data", folder / "news.csv"),
            *("--text", "text", "--show", "month", "-o", out, "--quiet"),
        )
        assert result.exit_code == 0, result.output
        known, found = payload_of(folder / "topics" / "topics.html"), payload_of(out)
        assert found["units"] == known["units"]
        assert {text[:5] for text in found["rows"]["texts"].values()} == {"2024-"}

    def test_can_be_left_out(self, folder: Path, tmp_path: Path) -> None:
        arguments = ("topics", folder / "news.csv", "--text", "text", "--out", tmp_path / "t")
        result = run(*arguments, "--no-explorer", *QUICK_TOPICS)
        assert result.exit_code == 0, result.output
        assert not (tmp_path / "t" / "topics.html").exists()
        assert "topics.html" not in result.stdout
        refused = run(*arguments, "--no-explorer", "--along", "month", *QUICK_TOPICS)
        assert refused.exit_code == 2

    def test_an_unknown_column_is_refused_before_the_work(
        self, folder: Path, tmp_path: Path
    ) -> None:
        result = run(
            *("topics", folder / "news.csv", "--text", "text", "--along", "year"),
            *("--out", tmp_path / "t", *QUICK_TOPICS),
        )
        assert result.exit_code == 1
        assert "year" in result.stderr
        assert not (tmp_path / "t").exists()

    def test_counts_have_no_column_to_go_along(self, tmp_path: Path) -> None:
        texts = [text[4:-1].split() for text in documents()[0]]
        words = sorted({word for text in texts for word in text})
        counts = [(d, w, text.count(word)) for d, text in enumerate(texts, 1)
                  for w, word in enumerate(words, 1) if word in text]  # fmt: skip
        head = f"{len(texts)}\n{len(words)}\n{len(counts)}\n"
        data = tmp_path / "docword.docs.txt"
        data.write_text(head + "".join(f"{d} {w} {n}\n" for d, w, n in counts))
        (tmp_path / "vocab.docs.txt").write_text("\n".join(words) + "\n")
        arguments = ("topics", data, "--out", tmp_path / "t", *QUICK_TOPICS)
        assert run(*arguments, "--along", "month").exit_code == 2
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        payload = payload_of(tmp_path / "t" / "topics.html")
        assert payload["nouns"]["input"] == ["word", "words"]
        assert payload["rows"]["texts"] == {}
        assert any(payload["rows"]["of"])

    def test_a_tree_over_columns(self, tmp_path: Path) -> None:
        tree = planted_tree(np.random.default_rng(0), (6, 2))
        tsenet.save(tree, tmp_path / "tree.tsenet")
        rows = np.random.default_rng(1).integers(2, size=(20, 6))
        np.savez(tmp_path / "rows.npz", X=rows)
        out = tmp_path / "r.html"
        model = tmp_path / "tree.tsenet"
        result = run("report", model, "--data", tmp_path / "rows.npz", "-o", out, "--quiet")
        assert result.exit_code == 0, result.output
        assert payload_of(out)["nouns"]["row"] == ["row", "rows"]
        named = tmp_path / "rows.csv"
        with named.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([tree.names[:6], *rows.tolist()])
        again = tmp_path / "again.html"
        result = run("report", model, "--data", named, "-o", again, "--quiet")
        assert result.exit_code == 0, result.output
        assert payload_of(again)["rows"]["of"] == payload_of(out)["rows"]["of"]

    def test_a_missing_column_of_words_is_explained(self, folder: Path, tmp_path: Path) -> None:
        result = run(
            *("report", folder / "topics" / "tree.tsenet", "--data", folder / "news.csv"),
            *("-o", tmp_path / "r.html", "--quiet"),
        )
        assert result.exit_code == 1
        assert "with --text" in result.stderr
        refused = run(
            *("report", folder / "topics" / "tree.tsenet", "--data", folder / "news.csv"),
            *("--target", "subject", "-o", tmp_path / "r.html", "--quiet"),
        )
        assert "holds a tree only" in refused.stderr
