"""Estimators that are given a folder of shards instead of a table, with a cluster or without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tsenet
from tsenet import (
    LatentTreeTransformer,
    Table,
    TopicModel,
    TSENetClassifier,
)
from tsenet.data import Blocks, write_shards
from tsenet.errors import DataError

NAMES = [f"w{j}" for j in range(60)]
QUICK: dict[str, Any] = {"random_state": 0, "max_epochs": 4, "max_top": 5, "n_jobs": 1}


@pytest.fixture(scope="module")
def subject(documents: sp.csr_array) -> list[str]:
    """Which half of the words a document has more of."""
    halves = documents[:, :30].sum(axis=1), documents[:, 30:].sum(axis=1)
    return np.where(halves[0] > halves[1], "left", "right").tolist()


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, documents: sp.csr_array, subject: list[str]
) -> Path:
    place = tmp_path_factory.mktemp("estimators") / "shards"
    labels = {"subject": subject}
    write_shards(place, documents, names=NAMES, labels=labels, rows_per_shard=170)
    return place


def same_weights(one: Any, other: Any) -> bool:
    ours, theirs = one.net_.state_dict(), other.net_.state_dict()
    return all(bool((ours[name] == theirs[name]).all()) for name in ours)


def test_a_folder_is_fitted_by_one_more_argument(
    folder: Path, documents: sp.csr_array, subject: list[str], client: Any
) -> None:
    table = Table.of(documents, NAMES)
    model = TSENetClassifier(**{**QUICK, "max_epochs": 25}).fit(Blocks(folder, client=client))
    assert model.wiring_.link_rule == "context"
    assert model.classes_.tolist() == ["left", "right"]
    assert model.score(table, subject) > 0.85
    # predictions of a folder are those of its rows
    np.testing.assert_allclose(model.predict_proba(folder), model.predict_proba(table), atol=1e-6)
    assert model.score(folder, subject) == model.score(table, subject)


def test_the_cluster_changes_nothing(folder: Path, client: Any, tmp_path: Path) -> None:
    here = TSENetClassifier(**QUICK, link_rule="balanced").fit(folder, "subject")
    there = TSENetClassifier(**QUICK, link_rule="balanced").fit(Blocks(str(folder), client=client))
    assert same_weights(here, there)
    for model, name in ((here, "here"), (there, "there")):
        model.save(tmp_path / name)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_labels_and_blocks_may_be_given(folder: Path, subject: list[str]) -> None:
    of_column = TSENetClassifier(**QUICK).fit(folder)
    with Blocks(folder) as blocks:
        assert same_weights(TSENetClassifier(**QUICK).fit(blocks, np.array(subject)), of_column)
    assert same_weights(TSENetClassifier(**QUICK).fit(folder, subject), of_column)


def test_a_tree_and_its_latents(folder: Path, documents: sp.csr_array, client: Any) -> None:
    table = Table.of(documents, NAMES)
    whole = tsenet.learn_tree(table, max_top=3, random_state=0)
    model = LatentTreeTransformer(max_top=3, random_state=0).fit(Blocks(folder, client=client))
    assert model.tree_ == whole
    assert model.n_features_in_ == 60
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.transform(folder), whole.posterior(table))
    np.testing.assert_array_equal(model.score_samples(folder), whole.log_likelihood(table))


def test_topics(folder: Path, documents: sp.csr_array, client: Any, tmp_path: Path) -> None:
    table = Table.of(documents, NAMES)
    whole = TopicModel(random_state=0).fit(table)
    model = TopicModel(random_state=0).fit(Blocks(folder, client=client))
    assert model.tree_ == whole.tree_
    assert model.n_documents_ == 900
    assert (model.transform(folder) != model.transform(table)).nnz == 0
    model.save(tmp_path / "folder")
    whole.save(tmp_path / "memory")
    assert (tmp_path / "folder").read_bytes() == (tmp_path / "memory").read_bytes()


def test_refusals(folder: Path, subject: list[str], tmp_path: Path) -> None:
    model = TSENetClassifier(**QUICK)
    for options in ({"sample_weight": np.ones(900)}, {"eval_set": (folder, subject)}):
        with pytest.raises(DataError, match=f"{next(iter(options))}.* not supported for a folder"):
            model.fit(folder, subject, **options)
    with pytest.raises(DataError, match="must be 'tfidf' or 'log-counts'"):
        TSENetClassifier(weighting="counts").fit(folder)
    with pytest.raises(DataError, match=r"one label for each of the 900 rows .*shape \(899,\)"):
        model.fit(folder, np.zeros(899))
    bare = write_shards(tmp_path / "bare", sp.eye_array(4, dtype=int))
    with pytest.raises(DataError, match="has no labels"):
        model.fit(bare)
    two = write_shards(
        tmp_path / "two", sp.eye_array(4, dtype=int), labels={"a": [0, 1, 0, 1], "b": [1, 1, 0, 0]}
    )
    with pytest.raises(DataError, match="label columns 'a', 'b': name one as y"):
        model.fit(two)
