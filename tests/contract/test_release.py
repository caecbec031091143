"""What a release relies on: links that work outside the repository, a complete source archive."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dist() -> ModuleType:
    """The program of ``make dist``."""
    spec = importlib.util.spec_from_file_location("dist", ROOT / "scripts" / "dist.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def description() -> str:
    """The description that the build writes into the metadata: README.md after pyproject's substitutions."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hook = settings["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = "".join((ROOT / part["path"]).read_text("utf-8") for part in hook["fragments"])
    for change in hook["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    return text


def test_the_description_has_no_relative_link_and_keeps_its_words(dist: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert dist.relative_links(readme)  # what there is to replace
    assert dist.relative_links(description()) == []
    assert "https://arxiv.org/abs/1803.06120" in description()
    for heading in re.findall("^## .+$", readme, re.MULTILINE):
        assert heading in description()


def test_the_source_archive_has_the_files_that_make_and_the_tests_read() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packed = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    named = re.findall(r"\b([\w-]+\.(?:txt|toml|yml|md))\b", (ROOT / "Makefile").read_text("utf-8"))
    wanted = {name for name in named if (ROOT / name).is_file()} - {"pyproject.toml", "README.md"}
    assert "constraints-oldest.txt" in wanted
    assert {f"/{name}" for name in wanted | {".github", ".pre-commit-config.yaml"}} <= set(packed)
    assert [path for path in packed if not (ROOT / path[1:]).exists()] == []
