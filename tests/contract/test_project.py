"""What a newcomer relies on: public names, pins, extras, findable pages, no machine's own paths."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import tsenet

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PINS = [
    line
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
FOLDERS = (".ci", ".github", "benchmarks", "docs", "scripts", "src", "tests")
MACHINE_PATH = re.compile(
    r"(?:^|[^.\w])/(?:work|farm|root|home|Users|opt|tmp/[a-z])\b", re.MULTILINE
)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def text_files() -> Iterator[tuple[Path, str]]:
    """Every text file of the project: those at the top and in its own folders."""
    paths = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        paths += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in sorted(paths):
        if "__pycache__" in path.parts or path.name == ".git":  # a file in a linked worktree
            continue
        try:
            yield path, path.read_text("utf-8")
        except UnicodeDecodeError:  # a picture
            continue


@pytest.mark.parametrize("name", tsenet.__all__)
def test_public_name_resolves_and_is_documented(name: str) -> None:
    assert (getattr(tsenet, name).__doc__ or "").strip(), f"tsenet.{name} has no docstring"


def test_constraints_are_exact_pins_and_unique() -> None:
    loose = [pin for pin in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", pin)]
    assert loose == []
    names = [canonical(pin.split("==")[0]) for pin in PINS]
    assert len(names) == len(set(names))


def test_every_requirement_is_bounded_below_and_pinned() -> None:
    extras = PROJECT["optional-dependencies"]
    pinned = {canonical(pin.split("==")[0]) for pin in PINS}
    for requirement in chain(PROJECT["dependencies"], *extras.values()):
        match = re.fullmatch(r"([A-Za-z0-9._-]+)(\[[a-z,]+\])?>=[0-9.]+", requirement)
        assert match, f"{requirement}: lower bounds only"
        assert canonical(match[1]) in pinned, f"{requirement} has no pin"


def test_every_requirement_of_an_installation_is_imported() -> None:
    modules = {"scikit-learn": "sklearn"}
    sources = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
    names = [re.split(">=", requirement)[0] for requirement in PROJECT["dependencies"]]
    for name in names:
        statement = re.compile(rf"^ *(?:import|from) {modules.get(name, name)}\b", re.MULTILINE)
        assert any(statement.search(source) for source in sources), f"{name} serves nothing"


def test_continuous_integration_fails_where_it_cannot_check_the_report_page(tmp_path: Path) -> None:
    """Without npm, and without a way to install it."""
    for name in ("bash", "dirname", "id"):
        program = shutil.which(name)
        assert program is not None
        (tmp_path / name).symlink_to(program)
    for name, code in {"sudo": 1, "apt-get": 1, "env": 1, "make": 0, "chromium": 0}.items():
        (tmp_path / name).write_text(f"#!{tmp_path}/bash\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    command = [str(tmp_path / "bash"), str(ROOT / ".ci" / "run")]
    run = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, check=False)
    assert run.returncode != 0


def test_citation_gives_this_version_and_the_paper() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {tsenet.__version__}\n" in citation
    assert "arXiv:1803.06120" in citation


def test_no_paths_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group().strip()}"
        for path, text in text_files()
        for match in MACHINE_PATH.finditer(text)
    ]
    assert not found, "\n".join(found)
