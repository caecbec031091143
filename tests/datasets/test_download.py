"""Downloads from a real server that cuts connections, cannot resume, or has another file."""

from __future__ import annotations

import hashlib
import logging
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.server import Site, serving
from tsenet.datasets.download import download
from tsenet.errors import DataError
from tsenet.progress import CallbackProgress, Progress

CONTENT = np.random.default_rng(0).bytes(1_000_000)
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(Site({"data.bin": CONTENT})) as running:
        yield running


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "data.bin"


def get(site: Site, target: Path, digest: str | None = DIGEST) -> None:
    download(f"{site.url}/data.bin", target, digest, Progress(), pause=0.0)


def names(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


def ranges(site: Site) -> list[str | None]:
    return [wanted for _, wanted in site.asked]


@pytest.mark.parametrize("digest", [DIGEST, f"md5:{hashlib.md5(CONTENT).hexdigest()}", None])
def test_whole(site: Site, target: Path, digest: str | None) -> None:
    get(site, target, digest)
    assert target.read_bytes() == CONTENT
    assert names(target) == ["data.bin"]
    get(site, target, digest)
    assert len(site.asked) == 1  # there already


def test_cut_connection_is_resumed(site: Site, target: Path) -> None:
    site.cut_after = [300_000, 200_000]
    get(site, target)
    assert target.read_bytes() == CONTENT
    assert ranges(site) == [None, "bytes=300000-", "bytes=500000-"]
    assert names(target) == ["data.bin"]


def test_next_call_goes_on_where_the_last_one_stopped(site: Site, target: Path) -> None:
    site.cut_after = [400_000, 0, 0, 0]
    with pytest.raises(ConnectionError, match="400,000 of 1,000,000 bytes"):
        get(site, target)
    assert names(target) == ["data.bin.part", "data.bin.part.tag"]
    site.asked.clear()
    get(site, target)
    assert ranges(site) == ["bytes=400000-"]
    assert target.read_bytes() == CONTENT
    assert names(target) == ["data.bin"]


def test_server_that_cannot_resume(site: Site, target: Path) -> None:
    site.ranges, site.cut_after = False, [300_000]
    get(site, target)
    assert ranges(site) == [None, "bytes=300000-"]
    assert target.read_bytes() == CONTENT


def test_without_a_tag_it_starts_again(site: Site, target: Path) -> None:
    """Nothing would tell whether the rest belongs to the same file."""
    site.tag, site.cut_after = "", [300_000]
    get(site, target)
    assert ranges(site) == [None, None]
    assert target.read_bytes() == CONTENT


def test_file_that_changed_meanwhile_is_not_mixed(site: Site, target: Path) -> None:
    site.cut_after = [300_000, 0, 0, 0]
    with pytest.raises(ConnectionError):
        get(site, target, None)
    newer = CONTENT[::-1]
    site.files["data.bin"], site.tag = newer, '"two"'
    get(site, target, None)
    assert target.read_bytes() == newer


def test_part_that_is_complete_already(site: Site, target: Path) -> None:
    target.parent.mkdir()
    target.with_name("data.bin.part").write_bytes(CONTENT)
    target.with_name("data.bin.part.tag").write_text('"one"')
    get(site, target)
    assert ranges(site) == [f"bytes={len(CONTENT)}-"]
    assert target.read_bytes() == CONTENT


def test_part_that_is_too_long_starts_again(site: Site, target: Path) -> None:
    target.parent.mkdir()
    target.with_name("data.bin.part").write_bytes(CONTENT + b"more")
    target.with_name("data.bin.part.tag").write_text('"one"')
    get(site, target)
    assert ranges(site)[1:] == [None]
    assert target.read_bytes() == CONTENT


def test_another_part_than_asked_for(site: Site, target: Path) -> None:
    site.cut_after, site.wrong_part = [300_000], True
    get(site, target)
    assert ranges(site) == [None, "bytes=300000-", None]
    assert target.read_bytes() == CONTENT


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


@pytest.mark.parametrize(("code", "n_asked"), [(404, 1), (403, 1), (503, 4), (429, 4)])
def test_only_what_may_pass_is_tried_again(
    site: Site, target: Path, code: int, n_asked: int
) -> None:
    site.codes = [code] * 10
    with pytest.raises(urllib.error.HTTPError, match=str(code)):
        get(site, target)
    assert len(site.asked) == n_asked


def test_passing_failure(site: Site, target: Path) -> None:
    site.codes = [503, 500]
    get(site, target)
    assert target.read_bytes() == CONTENT


def test_progress_counts_bytes(site: Site, target: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    progress = CallbackProgress(lambda *step: seen.append(step))
    download(f"{site.url}/data.bin", target, DIGEST, progress)
    assert seen[0] == ("downloading data.bin", 0, len(CONTENT))
    assert seen[-1] == ("downloading data.bin", len(CONTENT), len(CONTENT))


def test_pooch_stays_silent(site: Site, target: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import pooch

    before = pooch.get_logger().level
    get(site, target, None)
    assert capfd.readouterr() == ("", "")
    assert pooch.get_logger().level == before
    assert logging.getLogger("pooch").level == before
