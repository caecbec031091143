"""The catalog and the parts of a data set are consistent."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tsenet.datasets import Dataset, Part, entry_of, is_available, load, names
from tsenet.datasets.catalog import CATALOG, TOX21_LABELS
from tsenet.errors import DataError

DIGEST = re.compile(r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}")


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits")


def test_names() -> None:
    paper = {"ag_news", "dbpedia", "yelp_review_full", "yahoo_answers", "sogou_news", "tox21"}
    others = {"mnist", "fashion_mnist", "20newsgroups", "imdb", "digits", "20newsgroups_headers"}
    assert set(CATALOG) == paper | others
    assert set(names()) == set(CATALOG) | {f"tox21/{label}" for label in TOX21_LABELS}
    assert len(TOX21_LABELS) == 12
    assert entry_of("tox21/NR-AR") is CATALOG["tox21"]


@pytest.mark.parametrize("name", list(CATALOG))
def test_entry_can_be_fetched_and_found(name: str) -> None:
    """The files to download are one of the sets of files that are searched for."""
    entry = CATALOG[name]
    fetched = {remote.name.removesuffix(".gz") for remote in entry.remotes} | {
        remote.name for remote in entry.remotes
    }
    assert entry.kind == "bundled" or any(set(form) <= fetched for form in entry.forms)
    digests = [*entry.digests.values(), *(r.digest for r in entry.remotes if r.digest)]
    assert all(DIGEST.fullmatch(digest) for digest in digests)
    assert entry.licence
    assert entry.source.startswith("http")
    assert entry.citation
    # no published digest is known of the Tox21 files alone
    assert (name == "tox21") == any(remote.digest is None for remote in entry.remotes)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("ag_news", (110_000, 10_000, 7_600, 4)),
        ("dbpedia", (549_990, 10_010, 70_000, 14)),
        ("yelp_review_full", (640_000, 10_000, 50_000, 5)),
        ("yahoo_answers", (1_390_000, 10_000, 60_000, 10)),
        ("sogou_news", (440_000, 10_000, 60_000, 5)),
    ],
)
def test_sizes_are_those_of_the_paper(name: str, rows: tuple[int, int, int, int]) -> None:
    entry = CATALOG[name]
    assert entry.n_validation is not None
    left = entry.n_train - entry.n_validation
    assert (left, entry.n_validation, entry.n_test, len(entry.classes)) == rows


@pytest.mark.parametrize(
    ("name", "hint"),
    [("mnsit", "did you mean mnist"), ("tox21/NR", "tox21/NR-"), ("xyzzy", "there are ag_news")],
)
def test_unknown_name(name: str, hint: str) -> None:
    for function in (load, is_available, entry_of):
        with pytest.raises(DataError, match=hint):
            function(name)


def test_reached_from_the_package() -> None:
    import tsenet

    assert tsenet.datasets.load is load


def test_digits(digits: Dataset) -> None:
    from sklearn.datasets import load_digits

    images, y = load_digits(return_X_y=True)
    assert [len(part) for part in digits.parts.values()] == [1294, 144, 359]
    assert sum(len(part) for part in digits.parts.values()) == len(y)
    assert is_available("digits")
    together = np.vstack([part.X for part in digits.parts.values()])
    assert together.dtype == np.float32
    assert sorted(map(tuple, together.tolist())) == sorted(map(tuple, (images / 16).tolist()))
    for part in digits.parts.values():
        # classes are as frequent in each part as in the whole
        np.testing.assert_allclose(
            np.bincount(part.y) / len(part), np.bincount(y) / len(y), atol=0.01
        )


def test_same_parts_every_time(digits: Dataset) -> None:
    again = load("digits")
    for name, part in digits.parts.items():
        assert np.array_equal(part.X, again.parts[name].X)


def test_repr_and_report(digits: Dataset) -> None:
    assert repr(digits) == "Dataset('digits', 1,294 + 144 + 359 rows × 64 features, 10 classes)"
    assert repr(digits.test) == "Part(359 rows × 64 dense features)"
    report = digits.card.report()
    assert "rows: 1,294 training, 144 validation, 359 test" in report
    assert "licence: CC BY 4.0" in report
    assert digits.n_features == 64
    assert digits.n_classes == 10


def test_rows_of_a_part() -> None:
    part = Part(np.arange(8, dtype=np.float32).reshape(4, 2), np.arange(4), ("a", "b", "c", "d"))
    chosen = part.rows(np.array([True, False, True, False]))
    assert chosen.texts == ("a", "c")
    assert chosen.y.tolist() == [0, 2]
    assert part.rows(np.array([3, 0])).X.tolist() == [[6, 7], [0, 1]]
    assert part.rows(np.array([3, 0])).texts == ("d", "a")


def changed(dataset: Dataset, **fields: Any) -> Dataset:
    return replace(dataset, train=replace(dataset.train, **fields))


def test_validate_finds_inconsistent_parts(digits: Dataset) -> None:
    digits.validate()
    train = digits.train
    wrong = {
        "not float32": changed(digits, X=train.X.astype(np.float64)),
        "has shape": changed(digits, X=train.X[:, 1:]),
        "y is float64": changed(digits, y=train.y.astype(np.float64)),
        "outside 0 to 9": changed(digits, y=train.y + 1),
        "1 texts": changed(digits, texts=("one",)),
        "another number of rows": replace(digits, train=train.rows(np.arange(10))),
        "mask": replace(digits, card=replace(digits.card, in_training=np.zeros(3, bool))),
        "y is int64": replace(digits, task="labels"),
    }
    for message, dataset in wrong.items():
        with pytest.raises(DataError, match=message):
            dataset.validate()


def test_validate_labels(digits: Dataset) -> None:
    labels = {
        name: replace(part, y=np.where(np.arange(10) == part.y[:, None], np.nan, 1.0))
        for name, part in digits.parts.items()
    }
    replace(digits, task="labels", **labels).validate()  # type: ignore[arg-type]  # by name
    labels["test"] = replace(labels["test"], y=labels["test"].y * 2)
    with pytest.raises(DataError, match=r"test\.y holds values outside 0 to 1"):
        replace(digits, task="labels", **labels).validate()  # type: ignore[arg-type]  # by name
