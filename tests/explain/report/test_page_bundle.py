"""The committed program is built from the committed sources, and carries its licences."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "explorer-src"
ASSETS = ROOT / "src" / "tsenet" / "explain" / "report" / "assets"


def stamp() -> str:
    """As build.mjs computes it: names and contents of everything the bundle is made of."""
    names = ["build.mjs", "package.json", "package-lock.json"]
    names += [
        path.relative_to(SOURCES).as_posix()
        for path in (SOURCES / "src").rglob("*")
        if path.is_file()
    ]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\n".encode())
        digest.update((SOURCES / name).read_bytes())
    return digest.hexdigest()


@pytest.mark.parametrize("name", ["explorer.js", "explorer.css"])
def test_the_bundle_is_up_to_date(name: str) -> None:
    found = re.search(r"from sources ([0-9a-f]{64})", (ASSETS / name).read_text("utf-8"))
    assert found is not None
    assert found[1] == stamp(), "explorer-src changed: run make explorer"


def test_the_bundle_can_stand_inside_a_page() -> None:
    script = (ASSETS / "explorer.js").read_text("utf-8").lower()
    assert "</script" not in script
    assert "<!--" not in script
    assert "</style" not in (ASSETS / "explorer.css").read_text("utf-8").lower()


def test_the_licences_travel_with_the_program() -> None:
    notice = (ASSETS / "LICENSE-d3.txt").read_text("utf-8")
    assert "Mike Bostock" in notice
    assert "d3-zoom" in notice
    assert notice.strip() in (ASSETS / "explorer.js").read_text("utf-8")


def test_text_is_only_ever_set_as_text() -> None:
    forbidden = re.compile(
        r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function|fetch|"
        r"XMLHttpRequest|WebSocket|importScripts|sendBeacon)\b"
    )
    for path in (SOURCES / "src").rglob("*.js"):
        assert not forbidden.search(path.read_text("utf-8")), path.name


@pytest.fixture
def packages() -> None:
    """What the checks need; where TSENET_REQUIRE_EXPLORER is set, as in continuous integration, it must be there."""
    if shutil.which("npm") is None or not (SOURCES / "node_modules").is_dir():
        message = "needs Node.js and `cd explorer-src && npm ci`"
        if os.environ.get("TSENET_REQUIRE_EXPLORER"):
            pytest.fail(message)
        pytest.skip(message)


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("script", ["check", "lint", "test"])
def test_sources_pass(script: str) -> None:
    """The bundle built again is the committed one; the linter and the program's own tests are content."""
    done = subprocess.run(
        ["npm", "run", "--silent", script], cwd=SOURCES, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
