"""The real files, where TSENET_DATA has them."""

from __future__ import annotations

import numpy as np
import pytest

from tsenet.datasets import Dataset, is_available, load, verify
from tsenet.datasets.catalog import CATALOG

pytestmark = pytest.mark.data


def real(name: str) -> Dataset:
    if not is_available(name):
        pytest.skip(f"{name} is not available")
    return load(name, download=False)


def test_ag_news() -> None:
    dataset = real("ag_news")
    assert len(dataset.test) == 7_600
    assert dataset.n_features == 10_000
    assert np.bincount(dataset.test.y).tolist() == [1_900] * 4
    texts = dataset.test.texts
    assert texts is not None
    assert texts[0].startswith("Fears for T N pension after talks Unions representing workers")
    assert {check.path.name.split(".")[0]: check.status for check in verify("ag_news")}[
        "test"
    ] == "official"


def test_newsgroups() -> None:
    dataset = real("20newsgroups")
    assert len(dataset.train) + len(dataset.validation) == 11_314
    assert len(dataset.test) == 7_532
    assert dataset.card.n_duplicates < 100
    # a few quote the header of another post in their body
    headed = sum("Subject:" in text[:20] for text in dataset.test.texts or ())
    assert headed < 0.01 * len(dataset.test)


def test_mnist() -> None:
    dataset = real("mnist")
    assert [len(part) for part in dataset.parts.values()] == [54_000, 6_000, 10_000]
    assert dataset.test.y[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    pixels = np.concatenate([dataset.train.X.ravel(), dataset.validation.X.ravel()])
    # as in many tutorials
    assert pixels.mean(dtype=np.float64) == pytest.approx(0.1307, abs=1e-4)
    assert {check.status for check in verify("mnist")} == {"official"}


def test_tox21(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes about two minutes: all molecules are described."""
    dataset = real("tox21")
    assert [len(part) for part in dataset.parts.values()] == [11_761, 296, 645]
    assert dataset.card.n_duplicates == 9
    assert 1_000 <= dataset.n_features <= 2_000
    assert CATALOG["tox21"].n_test - len(dataset.test) == 2  # RDKit cannot read them
    assert len(real("tox21/NR-AhR").test) == 608
