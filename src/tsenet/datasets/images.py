"""Images as rows of pixels between 0 and 1: idx files such as MNIST's, and scikit-learn's digits."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tsenet.data.files import opener_of, report_damage
from tsenet.datasets.catalog import Entry
from tsenet.datasets.dataset import DataCard, Dataset, Part
from tsenet.datasets.places import Found
from tsenet.datasets.split import hold_out, occurs_in
from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = ["load_digits", "load_images", "read_idx"]

# The third byte of an idx file of unsigned bytes; the fourth is the number of dimensions.
_UNSIGNED_BYTES = 0x08
_SHARE = 0.1


def load_images(entry: Entry, found: Found, progress: Progress) -> Dataset:
    """Load four idx files; a tenth of the training images is held out for validation."""
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
    """Load scikit-learn's digits: a fifth for testing, a tenth of the others for validation."""
    from sklearn.datasets import load_digits as bundled

    images, y = bundled(return_X_y=True)
    images, y = images.reshape(-1, 8, 8).astype(np.uint8), y.astype(np.int64)
    test = hold_out(y, entry.n_test)
    return _dataset(entry, (images[~test], y[~test]), (images[test], y[test]), largest=16)


def read_idx(path: Path, n_dimensions: int) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes, plain or compressed.

    Parameters
    ----------
    path : Path
        The file; ``.gz``, ``.xz`` and ``.bz2`` are decompressed.
    n_dimensions : int
        3 for images, 1 for labels.

    Returns
    -------
    ndarray of uint8

    Raises
    ------
    DataError
        If the file is damaged, truncated, or not an idx file of bytes with that many dimensions.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.datasets.images import read_idx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels-idx1-ubyte"
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    ...     read_idx(path, n_dimensions=1).tolist()
    [7, 2, 1]
    """
    with report_damage(f"{path} is damaged"), opener_of(path)(path, "rb") as file:
        content = file.read()
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
        notes=(
            "The paper does not use this set: a tenth of its training rows is held out for validation.",
        ),
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
