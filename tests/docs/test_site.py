"""The site builds without a warning, and the docstrings' references are links in it."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.check_links import problems

ROOT = Path(__file__).parents[2]
ROLE = re.compile(r":(?:py:)?(?:class|func|meth|mod|attr|data|const|exc|obj|ref|doc|term):")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def text_of(page: Path) -> str:
    return html.unescape(page.read_text("utf-8"))


@pytest.mark.slow
def test_no_role_or_reference_is_left_as_text(site: Path) -> None:
    explorer = site / "explorer-live.html"  # which quotes documents
    pages = sorted({*site.rglob("*.html")} - {explorer})
    assert len(pages) > 30
    left = {
        str(page.relative_to(site)): found
        for page in pages
        if (found := ROLE.findall(text_of(page)) + re.findall("</?autoref", text_of(page)))
    }
    assert left == {}
    link = '<a class="autorefs'
    assert sum(text_of(page).count(link) for page in (site / "api").rglob("*.html")) > 50


@pytest.mark.slow
def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert problems(site) == []
