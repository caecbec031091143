"""``tsenet export``: files for other programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tsenet
from tests.cli.program import error_of, fine


class TestExport:
    def test_bif(self, news: Path, tmp_path: Path) -> None:
        bif = tmp_path / "tree.bif"
        fine("export", news / "model.tsenet", "--bif", bif)
        tree = tsenet.load(news / "model.tsenet").tree_
        content = bif.read_text(encoding="ascii")
        assert content.count("\nprobability ") == tree.n_nodes
        assert "add --force" in error_of("export", news / "model.tsenet", "--bif", bif)
        printed = fine("export", news / "model.tsenet", "--bif", bif, "--force", "--json")
        assert json.loads(printed)["out"] == str(bif)

    def test_models_of_the_wrong_kind(self, news: Path, tmp_path: Path) -> None:
        topics, out = news / "topics" / "model.tsenet", tmp_path / "x"
        assert "only a TSENetClassifier" in error_of("export", topics, "--onnx", out)
        assert "to_tree(texts)" in error_of("export", topics, "--bif", out)
        assert "cannot be loaded" in error_of("export", news / "news.csv", "--bif", out)
        message = error_of("predict", topics, news / "news.csv")
        assert f"tsenet topics DATA --model {topics}" in message
        assert not out.exists()

    def test_onnx(self, news: Path, tmp_path: Path) -> None:
        pytest.importorskip("onnx")
        fine("export", news / "model.tsenet", "--onnx", tmp_path / "m.onnx")
        assert (tmp_path / "m.onnx").stat().st_size > 1000
