"""``fit`` of a folder of documents: what is learned from a stream of rows, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import tsenet
from tsenet import Table, TSENetClassifier, TSENetRegressor
from tsenet.data.shards import ShardFolder, write_shards
from tsenet.errors import DataError

N_ROWS, N_WORDS = 600, 24
NAMES = [f"w{j}" for j in range(N_WORDS)]


def documents() -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Three subjects with eight words each."""
    rng = np.random.default_rng(0)
    subject = rng.integers(3, size=N_ROWS)
    rate = np.where(np.arange(N_WORDS)[None, :] // 8 == subject[:, None], 0.6, 0.1)
    return sp.csr_array(rng.poisson(rate).astype(np.int32)), subject


COUNTS, SUBJECT = documents()
ROWS = Table.of(COUNTS, NAMES)
LABELS: dict[str, list[Any]] = {
    "subject": [f"s{k}" for k in SUBJECT],
    "some": [None if i % 3 else f"s{k}" for i, k in enumerate(SUBJECT)],
    "first": (SUBJECT == 0).astype(int).tolist(),
    "second": (SUBJECT == 1).astype(int).tolist(),
    "size": (10.0 * SUBJECT + 0.5).tolist(),
}


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> ShardFolder:
    place = tmp_path_factory.mktemp("data") / "shards"
    return write_shards(place, COUNTS, names=NAMES, labels=LABELS, rows_per_shard=70)


def classifier(**parameters: Any) -> TSENetClassifier:
    chosen = {"random_state": 0, "max_epochs": 12, "n_jobs": 1, **parameters}
    return TSENetClassifier(**chosen)


def same_weights(one: Any, other: Any) -> bool:
    ours, theirs = one.net_.state_dict(), other.net_.state_dict()
    return all(bool((ours[name] == theirs[name]).all()) for name in ours)


@pytest.mark.parametrize("init", ["principal", "random"])
def test_classes_are_learned(shards: ShardFolder, init: str, tmp_path: Path) -> None:
    model = classifier(init=init).fit(shards, "subject")
    assert model.classes_.tolist() == ["s0", "s1", "s2"]
    assert model.score(ROWS, LABELS["subject"]) > 0.85
    assert len(model.history_.validation_score) == model.history_.n_epochs > 0
    assert list(model.feature_names_in_) == NAMES
    model.save(tmp_path / "model.tsenet")
    again = tsenet.load(tmp_path / "model.tsenet")
    np.testing.assert_array_equal(again.predict_proba(ROWS), model.predict_proba(ROWS))


def test_the_same_seed_gives_the_same_bytes(shards: ShardFolder) -> None:
    one, other = (classifier(max_epochs=2).fit(shards, "subject") for _ in "ab")
    assert same_weights(one, other)
    different = classifier(max_epochs=2, random_state=1).fit(shards, "subject")
    assert not same_weights(one, different)


def test_labels_that_hold_together_and_values(shards: ShardFolder) -> None:
    model = classifier().fit(shards, ["first", "second"])
    right = model.predict(ROWS) == np.stack([LABELS["first"], LABELS["second"]], axis=1)
    assert right.mean() > 0.85
    regressor = TSENetRegressor(random_state=0, max_epochs=12, n_jobs=1)
    assert regressor.fit(shards, "size").score(ROWS, LABELS["size"]) > 0.5


def test_rows_without_a_label_serve_the_structure(shards: ShardFolder) -> None:
    model = classifier(max_epochs=2).fit(shards, "some")
    whole = classifier(max_epochs=2).fit(shards, "subject")
    assert model.wiring_ == whole.wiring_
    assert model.classes_.tolist() == ["s0", "s1", "s2"]


def test_informed_learns_the_same_structure_and_weights_from_a_folder(shards: ShardFolder) -> None:
    options: dict[str, Any] = {"density": 0.3, "random_state": 0, "n_jobs": 1}
    model = TSENetClassifier.informed(**options).fit(shards, "subject")
    assert model.wiring_.has_log_odds
    assert model.wiring_ == TSENetClassifier.informed(**options).fit(ROWS, SUBJECT).wiring_
    assert model.scaling_.scale.tolist() == [1.0] * N_WORDS
    assert model.score(ROWS, LABELS["subject"]) > 0.85


def test_a_given_wiring_and_class_weights(shards: ShardFolder) -> None:
    first = classifier(max_epochs=1).fit(shards, "subject")
    model = classifier(wiring=first.wiring_, class_weight="balanced", max_epochs=2)
    model.fit(shards, "subject")
    assert model.tree_ is None
    assert model.wiring_ is first.wiring_
    counts = np.bincount(SUBJECT)
    by_hand = dict(zip(("s0", "s1", "s2"), (N_ROWS / (3 * counts)).tolist(), strict=True))
    other = classifier(wiring=first.wiring_, class_weight=by_hand, max_epochs=2)
    assert same_weights(model, other.fit(shards, "subject"))


@pytest.mark.parametrize(
    ("parameters", "target", "message"),
    [
        ({"linear_skip": True}, "subject", "linear_skip=True needs all rows"),
        ({}, "missing", r"has no label 'missing'; it has 'subject', 'some'"),
        ({}, [], "or name a label column"),
    ],
)
def test_refusals(
    shards: ShardFolder, parameters: dict[str, Any], target: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        classifier(**parameters).fit(shards, target)


def test_an_unfinished_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a finished folder of shards"):
        classifier().fit(tmp_path, "y")
