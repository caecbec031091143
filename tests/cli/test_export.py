"""``tsenet export``."""

from __future__ import annotations

from pathlib import Path

import tsenet
from tests.cli.program import QUICK_TOPICS, run


class TestExport:
    def test_bif(self, data: Path, out: Path, tmp_path: Path) -> None:
        run("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS)
        bif = tmp_path / "tree.bif"
        result = run("export", out / "tree.tsenet", "--bif", bif)
        assert result.exit_code == 0, result.output
        tree = tsenet.load(out / "tree.tsenet")
        assert bif.read_text(encoding="ascii").count("\nprobability ") == tree.n_nodes

        bif.write_text("mine")
        result = run("export", out / "tree.tsenet", "--bif", bif)
        assert result.exit_code == 1
        assert bif.read_text() == "mine"
        assert run("export", out / "tree.tsenet", "--bif", bif, "--force").exit_code == 0
        assert bif.read_text() != "mine"

    def test_not_a_model(self, data: Path, tmp_path: Path) -> None:
        result = run("export", data, "--bif", tmp_path / "tree.bif")
        assert result.exit_code == 1
        assert "cannot be loaded" in result.stderr
