"""The check of a built site finds what is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.check_links import problems


def write(site: Path, **pages: str) -> None:
    for name, body in pages.items():
        (site / f"{name}.html").write_text(f"<html><body>{body}</body></html>", "utf-8")


def test_a_whole_site_passes(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder", index='<h1 id="top">x</h1>')
    write(
        tmp_path,
        index='<a href="folder/#top">a</a><a href="https://x.org">b</a><img src="a%20b.png">',
    )
    (tmp_path / "a b.png").write_bytes(b"")
    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="missing/">a</a>', "missing/ does not exist"),
        ('<a href="../outside.html">a</a>', "does not exist"),
        ('<a href="#nowhere">a</a>', "no such anchor"),
        ('<a href="index.html#nowhere">a</a>', "no such anchor"),
        ('<img src="missing.png">', "missing.png does not exist"),
        ('<script src="https://cdn.org/x.js"></script>', "from elsewhere"),
        ('<link rel="stylesheet" href="//cdn.org/x.css">', "from elsewhere"),
        ('<iframe src="missing.html"></iframe>', "does not exist"),
    ],
)
def test_a_broken_page_is_found(body: str, problem: str, tmp_path: Path) -> None:
    write(tmp_path, index=body)
    assert any(problem in found for found in problems(tmp_path))
