"""Images from idx files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.datasets.makers import idx, write, write_mnist
from tsenet.datasets import load
from tsenet.datasets.images import read_idx
from tsenet.errors import DataError


@pytest.fixture
def image() -> NDArray[np.uint8]:
    return np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
@pytest.mark.parametrize("suffix", [".gz", "", ".xz", ".bz2"])
def test_load(tmp_path: Path, name: str, suffix: str) -> None:
    folder = write_mnist(tmp_path / name, suffix=suffix)
    dataset = load(name, home=tmp_path)
    assert [len(part) for part in dataset.parts.values()] == [54, 6, 20]
    assert dataset.test.y.tolist() == [k % 10 for k in range(20)]
    raw = read_idx(folder / f"t10k-images-idx3-ubyte{suffix}", 3)
    assert dataset.test.X.dtype == np.float32
    np.testing.assert_array_equal(dataset.test.X, raw.reshape(20, 784) / np.float32(255))
    assert dataset.train.X.max() == 1.0
    assert dataset.feature_names[28 * 3 + 5] == "row3col5"
    assert dataset.card.n_duplicates == 0
    assert len(dataset.class_names) == 10


def test_training_and_validation_are_the_training_file(tmp_path: Path) -> None:
    folder = write_mnist(tmp_path)
    dataset = load("mnist", home=tmp_path)
    raw = read_idx(folder / "train-images-idx3-ubyte.gz", 3).reshape(60, 784)
    together = np.vstack([dataset.train.X, dataset.validation.X]) * 255
    assert sorted(map(tuple, together.round())) == sorted(map(tuple, raw))


def test_duplicates(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    train = read_idx(tmp_path / "train-images-idx3-ubyte.gz", 3)
    test = read_idx(tmp_path / "t10k-images-idx3-ubyte.gz", 3).copy()
    test[4], test[9] = train[0], train[59]
    write(tmp_path / "t10k-images-idx3-ubyte.gz", idx(test))
    mask = load("mnist", home=tmp_path).card.in_training
    assert np.flatnonzero(mask).tolist() == [4, 9]


def test_idx_bytes(tmp_path: Path, image: NDArray[np.uint8]) -> None:
    """The bytes of the format, written out by hand."""
    content = b"\x00\x00\x08\x03" + b"\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04"
    path = write(tmp_path / "a", content + bytes(range(24)))
    assert np.array_equal(read_idx(path, 3), image)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_damaged(tmp_path: Path, image: NDArray[np.uint8], suffix: str) -> None:
    whole = idx(image)
    wrong = {
        "should hold 24 bytes": whole[:-1],
        "should hold 24 bytes of data, not 25": whole + b"x",
        "not an idx file of bytes in 3": whole[:10],
        "not an idx file": b"",
        "idx file of bytes": b"\x00\x00\x0d\x03" + whole[4:],
        "in 3 dimensions": idx(image[0]),
    }
    for message, content in wrong.items():
        with pytest.raises(DataError, match=message):
            read_idx(write(tmp_path / f"b{suffix}", content), 3)


def test_damaged_gzip(tmp_path: Path, image: NDArray[np.uint8]) -> None:
    path = tmp_path / "c.gz"
    for content in (gzip.compress(idx(image))[:-12], b"plain"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"c\.gz is damaged"):
            read_idx(path, 3)


def test_inconsistent_files(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    write(tmp_path / "t10k-labels-idx1-ubyte.gz", idx(np.zeros(19, np.uint8)))
    with pytest.raises(DataError, match="20 images, 19 labels"):
        load("mnist", home=tmp_path)
    write(tmp_path / "t10k-labels-idx1-ubyte.gz", idx(np.full(20, 10, np.uint8)))
    with pytest.raises(DataError, match="the label 10 is too high"):
        load("mnist", home=tmp_path)
