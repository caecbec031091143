"""Finding, fetching and verifying the files of a data set."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.datasets.makers import csv_text, documents, write, write_mnist
from tests.datasets.server import Site, serving
from tsenet.datasets import fetch, is_available, load, verify
from tsenet.datasets.catalog import CATALOG, Entry, Remote
from tsenet.datasets.places import download_folder, find
from tsenet.errors import DataError

TRAIN = csv_text(documents(40, 4)).encode()
TEST = csv_text(documents(12, 4, seed=1)).encode()


def md5(content: bytes) -> str:
    return f"md5:{hashlib.md5(content).hexdigest()}"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(Site({"train.csv": TRAIN, "test.csv": TEST})) as running:
        yield running


@pytest.fixture
def tiny(site: Site, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """A catalog entry with files on the local server; test.csv has no published digest."""
    entry = replace(
        CATALOG["ag_news"],
        name="tiny",
        text_columns=(2,),
        remotes=(
            Remote("train.csv", f"{site.url}/train.csv", md5(TRAIN)),
            Remote("test.csv", f"{site.url}/test.csv"),
        ),
    )
    monkeypatch.setitem(CATALOG, "tiny", entry)
    return entry


def test_fetch_and_load(tiny: Entry, site: Site, own_folders: Path) -> None:
    assert not is_available("tiny")
    paths = fetch("tiny")
    assert paths == [own_folders / "files/tiny/train.csv", own_folders / "files/tiny/test.csv"]
    assert is_available("tiny")
    assert [check.status for check in verify("tiny")] == ["official", "as recorded"]
    fetch("tiny")
    assert len(site.asked) == 2
    dataset = load("tiny")
    assert len(dataset.test) == 12
    assert "No published digest is known for test.csv." in dataset.card.notes


def test_load_fetches_what_is_missing(tiny: Entry, site: Site) -> None:
    with pytest.raises(DataError, match=r"the files of tiny are missing"):
        load("tiny", download=False)
    assert site.asked == []
    assert len(load("tiny").test) == 12
    assert len(site.asked) == 2


def test_wrong_file_is_refused(tiny: Entry, site: Site) -> None:
    site.files["train.csv"] = b"<html>please log in</html>"
    with pytest.raises(DataError, match="not the expected file"):
        load("tiny")
    assert not is_available("tiny")


def test_second_download_must_equal_the_first(tiny: Entry, site: Site) -> None:
    (download_folder(tiny) / "test.csv").unlink(missing_ok=True)
    fetch("tiny")
    (download_folder(tiny) / "test.csv").unlink()
    site.files["test.csv"] = TEST + b'"1","one more"\n'
    with pytest.raises(DataError, match="not the expected file"):
        fetch("tiny")


def test_without_network(monkeypatch: pytest.MonkeyPatch, own_folders: Path) -> None:
    """Without name resolution there is one attempt, and the message says which file to get and where to put it."""
    url = "http://no-such-host.invalid/train.csv"
    entry = replace(CATALOG["ag_news"], name="tiny", remotes=(Remote("train.csv", url),))
    monkeypatch.setitem(CATALOG, "tiny", entry)
    monkeypatch.setenv("TSENET_DATA", str(own_folders / "data"))

    asked = []

    def no_network(*arguments: object, **options: object) -> None:
        asked.append(arguments)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    with pytest.raises(DataError) as caught:
        load("tiny")
    message = str(caught.value)
    assert "train.csv" in message
    assert url in message
    assert str(own_folders / "files" / "tiny") in message
    assert str(own_folders / "data" / "tiny") in message
    assert "Name or service not known" in message
    assert len(asked) == 1


class TestPlaces:
    def put(self, folder: Path, suffix: str = "") -> Path:
        for name in ("train.csv", "test.csv"):
            write(folder / f"{name}{suffix}", csv_text(documents(20, 4)))
        return folder

    def test_order(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_folders: Path
    ) -> None:
        entry = CATALOG["ag_news"]
        home, data = tmp_path / "home", tmp_path / "data"
        monkeypatch.setenv("TSENET_DATA", str(data))
        assert find(entry, home) is None
        for folder, suffix in (
            (own_folders / "files" / "ag_news", ""),
            (data / "ag_news_csv", ".xz"),
            (data / "ag_news", ".gz"),
            (home / "ag_news", ""),
            (home, ".bz2"),
        ):
            self.put(folder, suffix)
            found = find(entry, home)
            assert found is not None
            assert found["train.csv"] == folder / f"train.csv{suffix}"
            assert found["test.csv"] == folder / f"test.csv{suffix}"

    def test_incomplete_set_is_not_found(self, tmp_path: Path) -> None:
        self.put(tmp_path / "ag_news")
        (tmp_path / "ag_news" / "test.csv").unlink()
        assert find(CATALOG["ag_news"], tmp_path) is None
        (tmp_path / "ag_news" / "ag_news_csv.tgz").write_bytes(b"")
        found = find(CATALOG["ag_news"], tmp_path)
        assert found is not None
        assert list(found.paths) == ["ag_news_csv.tgz"]


class TestVerify:
    def test_compressed_content_is_compared(self, tiny: Entry, tmp_path: Path) -> None:
        folder = tmp_path / "home"
        write(folder / "train.csv.xz", TRAIN)
        write(folder / "test.csv", TEST)
        assert [check.status for check in verify("tiny", home=folder)] == ["official", "recorded"]

    def test_differs(self, tiny: Entry, tmp_path: Path) -> None:
        for name in ("train.csv", "train.csv.gz"):
            folder = tmp_path / name
            write(folder / name, TRAIN + b"more")
            write(folder / "test.csv", TEST)
            check = verify("tiny", home=folder)[0]
            assert (check.status, check.digest) == ("differs", md5(TRAIN + b"more"))
            assert not check.good

    @pytest.mark.parametrize("opener", [gzip, lzma])
    def test_damaged(self, tiny: Entry, tmp_path: Path, opener: object) -> None:
        suffix = ".gz" if opener is gzip else ".xz"
        write(tmp_path / "test.csv", TEST)
        path = write(tmp_path / f"train.csv{suffix}", TRAIN)
        path.write_bytes(path.read_bytes()[:-30])
        check = verify("tiny", home=tmp_path)[0]
        assert (check.status, check.good) == ("damaged", False)

    def test_change_is_noticed(self, tiny: Entry, tmp_path: Path) -> None:
        write(tmp_path / "train.csv", TRAIN)
        write(tmp_path / "test.csv", TEST)
        seen = []
        for content in (TEST, TEST, TEST + b"more", TEST):
            write(tmp_path / "test.csv", content)
            seen.append(verify("tiny", home=tmp_path)[1].status)
        assert seen == ["recorded", "as recorded", "changed", "as recorded"]

    def test_official_mnist_digests_are_of_the_content(self, tmp_path: Path) -> None:
        folder = write_mnist(tmp_path / "mnist")
        assert {check.status for check in verify("mnist", home=tmp_path)} == {"differs"}
        assert len(list(folder.iterdir())) == 4

    def test_missing_files(self) -> None:
        assert verify("imdb") == []
        assert verify("digits") == []

    def test_damaged_record(self, tiny: Entry, tmp_path: Path, own_folders: Path) -> None:
        write(tmp_path / "train.csv", TRAIN)
        write(tmp_path / "test.csv", TEST)
        verify("tiny", home=tmp_path)
        record = own_folders / "seen.json"
        assert str((tmp_path / "test.csv").resolve()) in json.loads(record.read_text())
        record.write_text("{")
        with pytest.raises(DataError, match=r"seen\.json is damaged"):
            verify("tiny", home=tmp_path)
