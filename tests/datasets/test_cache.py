"""Cached arrays are built once, and again if the cache file is damaged."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.datasets.cache import Arrays, cache_folder, cached, pack_strings, unpack_strings


class Builder:
    """Counts how often it is called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Arrays:
        self.calls += 1
        return {"numbers": np.arange(1000), "sparse": np.zeros(0, np.float32)}


@pytest.fixture
def build() -> Builder:
    return Builder()


def the_file(folder: Path) -> Path:
    (path,) = (folder / "made").iterdir()
    return path


def test_built_once(build: Builder, own_folders: Path) -> None:
    first = cached("thing", {"n": 1}, build)
    again = cached("thing", {"n": 1}, build)
    assert build.calls == 1
    assert first.keys() == again.keys()
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert [name.dtype for name in first.values()] == [name.dtype for name in again.values()]
    assert the_file(own_folders).name.startswith("thing-")


def test_other_inputs_are_other_files(build: Builder) -> None:
    for made_from in ({"n": 1}, {"n": 2}, {"n": 1, "recipe": 2}):
        cached("thing", made_from, build)
    assert build.calls == 3
    cached("thing", {"recipe": 2, "n": 1}, build)  # the order of the keys does not matter
    assert build.calls == 3


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "text", "pickle"])
def test_damaged_file_is_built_again(
    harm: str, build: Builder, own_folders: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cached("thing", {"n": 1}, build)
    path = the_file(own_folders)
    content = bytearray(path.read_bytes())
    if harm == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "flip":
        content[len(content) // 3] ^= 0xFF
        path.write_bytes(content)
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "text":
        path.write_text("no npz at all")
    else:
        np.savez(path, numbers=np.array([{"an": "object"}], dtype=object))
    with caplog.at_level(logging.WARNING, "tsenet.datasets"):
        again = cached("thing", {"n": 1}, build)
    assert build.calls == 2
    assert np.array_equal(again["numbers"], np.arange(1000))
    assert "building it again" in caplog.text
    cached("thing", {"n": 1}, build)
    assert build.calls == 2


def test_file_with_another_key_is_not_used(build: Builder, own_folders: Path) -> None:
    cached("thing", {"n": 1}, build)
    right = the_file(own_folders)
    cached("thing", {"n": 2}, build)
    (other,) = set((own_folders / "made").iterdir()) - {right}
    os.replace(right, other)
    cached("thing", {"n": 2}, build)
    assert build.calls == 3


def test_unwritable_cache_is_no_error(
    build: Builder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TSENET_CACHE", str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.WARNING, "tsenet.datasets"):
        assert np.array_equal(cached("thing", {"n": 1}, build)["numbers"], np.arange(1000))
    assert "cannot write to the cache" in caplog.text


def test_default_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    import pooch

    monkeypatch.delenv("TSENET_CACHE")
    assert cache_folder() == Path(pooch.os_cache("tsenet"))


@given(st.lists(st.text(st.characters(codec=None))))
def test_strings_come_back(strings: list[str]) -> None:
    assert unpack_strings("s", pack_strings("s", strings)) == tuple(strings)
