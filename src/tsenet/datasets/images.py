"""Images as rows of pixels between 0 and 1: the idx files of MNIST and its likes, and scikit-learn's digits."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.datasets.catalog import Entry
from tsenet.datasets.dataset import DataCard, Dataset, Part
from tsenet.datasets.places import Found
from tsenet.datasets.split import hold_out, occurs_in
from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = ["load_digits", "load_images", "read_idx"]

# The third and fourth byte of an idx file: unsigned bytes, and the number of dimensions.
_UNSIGNED_BYTES = 0x08
_SHARE = 0.1


def load_images(entry: Entry, found: Found, progress: Progress) -> Dataset:
    """A data set of the four idx files; a tenth of the training images validates."""
    progress.start("reading images", None)
    rows = {}
    for part, name in (("train", "train"), ("test", "t10k")):
        images = read_idx(found[f"{name}-images-idx3-ubyte"], n_dimensions=3)
        labels = read_idx(found[f"{name}-labels-idx1-ubyte"], n_dimensions=1)
        if len(images) != len(labels):
            raise DataError(
                f"{found[f'{name}-images-idx3-ubyte']}: {len(images)} images, {len(labels)} labels"
            )
        if labels.size and labels.max() >= len(entry.classes):
            raise DataError(
                f"{found[f'{name}-labels-idx1-ubyte']}: the label {labels.max()} is too high"
            )
        rows[part] = (images, labels.astype(np.int64))
    progress.finish(f"{len(rows['train'][0]):,} training, {len(rows['test'][0]):,} test")
    return _dataset(entry, rows["train"], rows["test"], largest=255)


def load_digits(entry: Entry) -> Dataset:
    """scikit-learn's bundled digits: a fifth of them tests, a tenth of the others validates."""
    from sklearn.datasets import load_digits as bundled

    images, y = bundled(return_X_y=True)
    images, y = images.reshape(-1, 8, 8).astype(np.uint8), y.astype(np.int64)
    test = hold_out(y, entry.n_test)
    return _dataset(entry, (images[~test], y[~test]), (images[test], y[test]), largest=16)


def read_idx(path: Path, n_dimensions: int) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes, plain or compressed.

    Raises
    ------
    DataError
        If it is damaged, cut short, or of another kind.
    """
    opener: Any = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    try:
        with opener(path, "rb") as file:
            content = file.read()
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{path} is damaged: {error}") from error
    start = 4 + 4 * n_dimensions
    if content[:4] != bytes([0, 0, _UNSIGNED_BYTES, n_dimensions]) or len(content) < start:
        raise DataError(f"{path} is not an idx file of bytes in {n_dimensions} dimensions")
    shape = np.frombuffer(content, ">u4", n_dimensions, offset=4).tolist()
    size = int(np.prod(shape, dtype=object))
    if len(content) - start != size:
        raise DataError(f"{path} should hold {size:,} bytes of data, not {len(content) - start:,}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _dataset(
    entry: Entry,
    train: tuple[NDArray[np.uint8], NDArray[np.int64]],
    test: tuple[NDArray[np.uint8], NDArray[np.int64]],
    largest: int,
) -> Dataset:
    images, y = train
    held = hold_out(y, round(_SHARE * len(y)))
    height, width = images.shape[1:]
    parts = [
        Part(_pixels(images[~held], largest), y[~held]),
        Part(_pixels(images[held], largest), y[held]),
        Part(_pixels(test[0], largest), test[1]),
    ]
    card = DataCard(
        entry.source,
        entry.licence,
        entry.citation,
        recipe=f"grey values divided by {largest}",
        n_train=len(parts[0]),
        n_validation=len(parts[1]),
        n_test=len(parts[2]),
        in_training=occurs_in(map(_key, test[0]), map(_key, images)),
        notes=("The paper does not use this set: a tenth of its training rows validates.",),
    )
    names = tuple(f"row{i}col{j}" for i in range(height) for j in range(width))
    return Dataset(
        entry.name, entry.title, "classes", parts[0], parts[1], parts[2],
        names, entry.classes, card,
    )  # fmt: skip


def _pixels(images: NDArray[np.uint8], largest: int) -> NDArray[np.float32]:
    return images.reshape(len(images), -1).astype(np.float32) / np.float32(largest)


def _key(image: NDArray[np.uint8]) -> bytes:
    return hashlib.blake2b(image.tobytes(), digest_size=16).digest()
