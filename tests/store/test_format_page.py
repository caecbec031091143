"""The specification's own example reads what the program writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tsenet.skeleton.tree import LatentTree
from tsenet.store import save
from tsenet.store.files import DTYPES, FORMAT_VERSION, KINDS

PAGE = Path(__file__).parents[2] / "docs" / "file-format.md"


def test_the_example_runs(
    tree: LatentTree,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    save(tree, tmp_path / "tree.tsenet")
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == f"LatentTree {list(tree.names[:5])} {tree.parent[:5]}\n"


def test_the_page_names_what_the_program_knows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"format version {FORMAT_VERSION}." in text
    assert all(f"`{name}`" in text for name in DTYPES)
    assert all(f'`"{kind}"`' in text for kind in KINDS)
