"""The demo: what it prints, what it draws, and what it says when it cannot."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image
from numpy.typing import NDArray

import tsenet
from tsenet import demo
from tsenet.errors import DataError
from tsenet.explain.plots import connected_share, pixel_groups

NUMBER = r"(-\d+\.\d+)"


def idx_bytes(images: NDArray[np.uint8]) -> bytes:
    head = b"\0\0\x08\x03" + np.array(images.shape, ">i4").tobytes()
    return head + images.tobytes()


@pytest.fixture
def small_mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as TSENET_DATA: images of 4 × 6 pixels, each half of which is mostly all on or all off."""
    rng = np.random.default_rng(0)
    half = rng.random((500, 1, 2)) < 0.5
    noise = rng.random((500, 4, 6)) < 0.1
    images = ((np.repeat(half, 3, axis=2) ^ noise) * 255).astype(np.uint8)
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    for name, part in (("train", images[:400]), ("t10k", images[400:])):
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx_bytes(part)))
    monkeypatch.setenv("TSENET_DATA", str(folder.parent))
    return folder


def test_digits_are_learned_printed_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo.main(["--out", str(tmp_path / "new" / "folder")]) == 0
    printed = capsys.readouterr()
    (picture,) = (tmp_path / "new" / "folder").iterdir()
    assert picture.name == "digits-groups.png"
    assert str(picture) in printed.out
    height, width, _ = image.imread(picture).shape
    assert width > 2 * height > 1000  # the mean image and two levels, side by side
    sizes = re.search(r"Learned (64 – \d+ – \d+) in", printed.out)
    assert sizes
    assert "islands" in printed.err  # the progress bars
    # One line per level: number, groups, sizes, share in one piece, share when shuffled.
    levels = re.findall(r"^ +(\d) +(\d+) +\d+ to \d+ +(\d+)% +(\d+)%$", printed.out, re.MULTILINE)
    assert [f"{level[1]}" for level in levels] == sizes[1].split(" – ")[1:]
    assert all(int(whole) > 1.5 * int(shuffled) for _, _, whole, shuffled in levels)
    # One line per network: accuracy, parameters, seconds of training, milliseconds of inference.
    networks = re.findall(
        r"^(\S.*?) +([\d.]+)% ± [\d.]+% +([\d,]+) +[\d.]+ s +[\d.]+ ms$", printed.out, re.MULTILINE
    )
    accuracy = {name: float(share) for name, share, _ in networks}
    size = {name: int(number.replace(",", "")) for name, _, number in networks}
    tse, backbone, by_chance, dense = accuracy
    assert (tse, by_chance) == ("TSE-Net", "TSE-Net, random links")
    assert accuracy[backbone] > 85
    assert min(accuracy[tse], accuracy[by_chance], accuracy[dense]) > 94
    assert size[backbone] < size[tse] == size[by_chance] < size[dense] / 10
    assert "Dense FNN" in printed.err


def test_printed_likelihoods_are_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--structure-only", "--out", str(tmp_path)]) == 0
    found = re.search(
        rf"{NUMBER} with the tree, {NUMBER} if pixels", " ".join(capsys.readouterr().out.split())
    )
    assert found
    images = demo.digits()
    tree = tsenet.learn_tree(images.train, max_top=images.max_top, random_state=0)
    train, held_out = tree.binary(images.train).to_dense(), tree.binary(images.held_out).to_dense()
    rate = (train.sum(axis=0) + 0.5) / (len(train) + 1)
    independent = np.log(np.where(held_out, rate, 1 - rate)).sum(axis=1).mean()
    assert float(found[1]) == pytest.approx(tree.log_likelihood(images.held_out).mean(), abs=0.006)
    assert float(found[2]) == pytest.approx(independent, abs=0.006)
    assert float(found[1]) > float(found[2])


def test_maps_show_the_partition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--structure-only", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Level 1  "))
    letters = np.array([line.split()[:8] for line in lines[start + 1 : start + 9]])
    images = demo.digits()
    tree = tsenet.learn_tree(images.train, max_top=images.max_top, random_state=0)
    groups = pixel_groups(tree, (8, 8), 1)
    assert set(letters[groups < 0]) == {"·"}
    pairs = set(zip(letters.ravel().tolist(), groups.ravel().tolist(), strict=True))
    assert len(pairs) == np.unique(groups).size  # letters and groups correspond one to one


def test_digits_are_parted_into_train_and_held_out() -> None:
    images = demo.digits()
    assert images.train.shape == (1438, 64)
    assert images.held_out.shape == (359, 64)


def test_mnist_files_are_used(
    small_mnist: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo.main(["--mnist", "--out", str(tmp_path / "out")]) == 0
    assert "400 images of 24 pixels" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mnist-groups.png"]


def test_mnist_pixels_are_read_row_by_row(small_mnist: Path) -> None:
    images = demo.mnist(small_mnist)
    assert images.shape == (4, 6)
    assert images.held_out.shape == (100, 24)
    tree = tsenet.learn_tree(images.train, random_state=0)
    groups = pixel_groups(tree, images.shape, 1)
    assert not set(groups[:, :3].ravel()) & set(groups[:, 3:].ravel())  # the halves stay apart


@pytest.mark.parametrize("value", [None, ""])
def test_mnist_without_data_says_what_to_set(
    value: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("TSENET_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("TSENET_DATA", value)
    assert demo.main(["--mnist", "--out", str(tmp_path / "out")]) == 1
    assert "set TSENET_DATA" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "there is no file"),
        (b"not gzipped", "damaged or not gzipped"),
        (gzip.compress(idx_bytes(np.zeros((3, 2, 2), np.uint8)))[:-9], "damaged or not gzipped"),
        (gzip.compress(b"\0\0\x08\x01" + bytes(12)), "not an idx file of images"),
        (gzip.compress(idx_bytes(np.zeros((3, 2, 2), np.uint8))[:-1]), "11 bytes"),
        (gzip.compress(idx_bytes(np.zeros((3, 2, 2), np.uint8)) + b"\0"), "13 bytes"),
        (gzip.compress(b"\0\0\x08\x03\0\0"), "not an idx file of images"),
    ],
    ids=["missing", "plain", "cut off", "labels", "too short", "too long", "no head"],
)
def test_bad_idx_files_are_refused(content: bytes | None, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "images.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        demo.read_idx(path)


def test_idx_images_come_back(tmp_path: Path) -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    (tmp_path / "images.gz").write_bytes(gzip.compress(idx_bytes(images)))
    assert np.array_equal(demo.read_idx(tmp_path / "images.gz"), images)


def test_an_interrupt_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tsenet, "learn_tree", interrupted)
    assert demo.main(["--out", str(tmp_path / "out")]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert demo.main(["--out", str(tmp_path / "file")]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ")
    assert "file" in error


def test_runs_as_a_program_and_writes_to_demo(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tsenet.demo"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["digits-groups.png"]


@pytest.mark.data
def test_mnist_groups_are_patches() -> None:
    images = demo.mnist(Path(os.environ["TSENET_DATA"]) / "mnist")
    tree = tsenet.learn_tree(images.train, max_top=images.max_top, random_state=0)
    shares = [connected_share(pixel_groups(tree, images.shape, level)) for level in (1, 2, 3)]
    assert min(shares) > 0.85
