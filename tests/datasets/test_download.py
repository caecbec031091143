"""Downloads from a real server that cuts connections, is busy, or has another file."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pooch
import pytest

from tests.datasets.server import Site, serving
from tsenet.datasets.download import download, reason_of
from tsenet.errors import DataError
from tsenet.progress import CallbackProgress, Progress

CONTENT = np.random.default_rng(0).bytes(1_000_000)
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(pooch.core.time, "sleep", lambda seconds: None)
    with serving(Site({"data.bin": CONTENT})) as running:
        yield running


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "data.bin"


def get(site: Site, target: Path, digest: str | None = DIGEST) -> None:
    download(f"{site.url}/data.bin", target, digest, Progress())


def names(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


@pytest.mark.parametrize("digest", [DIGEST, f"md5:{hashlib.md5(CONTENT).hexdigest()}", None])
def test_whole_file(site: Site, target: Path, digest: str | None) -> None:
    get(site, target, digest)
    assert target.read_bytes() == CONTENT
    assert names(target) == ["data.bin"]
    get(site, target, digest)
    assert len(site.asked) == 1  # the file is already there


def test_damaged_file_is_downloaded_again(site: Site, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(CONTENT[:-1])
    get(site, target)
    assert target.read_bytes() == CONTENT


def test_cut_connection_is_tried_again(site: Site, target: Path) -> None:
    site.cut_after = [300_000, 0]
    get(site, target)
    assert target.read_bytes() == CONTENT
    assert len(site.asked) == 3
    assert names(target) == ["data.bin"]


def test_connection_that_is_always_cut_leaves_nothing(site: Site, target: Path) -> None:
    site.cut_after = [300_000] * 10
    with pytest.raises(OSError, match="300000 bytes read") as caught:
        get(site, target, None)
    assert "700000 more expected" in reason_of(caught.value)
    assert len(site.asked) == 3
    assert names(target) == []


def test_wrong_digest_is_refused_and_not_kept(site: Site, target: Path) -> None:
    site.files["data.bin"] = b"something else"
    with pytest.raises(DataError, match=r"not the expected file \(sha256:"):
        get(site, target)
    assert names(target) == []


def test_wrong_digest_leaves_the_old_file(site: Site, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(b"old")
    site.files["data.bin"] = b"something else"
    with pytest.raises(DataError):
        get(site, target)
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize(("code", "n_asked"), [(404, 1), (403, 1), (503, 3), (429, 3)])
def test_only_transient_failures_are_tried_again(
    site: Site, target: Path, code: int, n_asked: int
) -> None:
    site.codes = [code] * 10
    with pytest.raises(OSError, match=str(code)):
        get(site, target)
    assert len(site.asked) == n_asked


def test_transient_failure(site: Site, target: Path) -> None:
    site.codes = [503, 500]
    get(site, target)
    assert target.read_bytes() == CONTENT


def test_progress_counts_bytes(site: Site, target: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    progress = CallbackProgress(lambda *step: seen.append(step))
    download(f"{site.url}/data.bin", target, DIGEST, progress)
    assert seen[0] == ("downloading data.bin", 0, len(CONTENT))
    assert seen[-1] == ("downloading data.bin", len(CONTENT), len(CONTENT))
    done = [step[1] for step in seen]
    assert done == sorted(done)
    assert len(set(done)) > 3


def test_progress_of_unknown_size(site: Site, target: Path) -> None:
    site.sized = False
    seen: list[tuple[str, int, int | None]] = []
    progress = CallbackProgress(lambda *step: seen.append(step))
    download(f"{site.url}/data.bin", target, DIGEST, progress)
    assert seen[0] == ("downloading data.bin", 0, None)
    assert seen[-1][1] >= len(CONTENT)


def test_pooch_stays_silent(site: Site, target: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = pooch.get_logger().level
    get(site, target, None)
    assert capfd.readouterr() == ("", "")
    assert pooch.get_logger().level == before
    assert logging.getLogger("pooch").level == before
