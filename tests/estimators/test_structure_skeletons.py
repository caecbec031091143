"""Networks that grow from topics, or from a tree that is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import tsenet
from tests.builders import QUICK
from tsenet import TopicModel, TSENetClassifier, TSENetRegressor
from tsenet.data import vectorize, word_vectorizer
from tsenet.errors import DataError
from tsenet.explain.report import report_payload

#: Two fields of three subjects each, which have six words of their own.
SUBJECTS = [
    *("goal referee striker keeper penalty stadium", "racket serve volley umpire baseline court"),
    *("bicycle sprint peloton stage climb rider", "senate ballot voter candidate campaign mayor"),
    *("tax budget deficit treasury spending minister", "verdict judge jury lawyer trial appeal"),
]
FAST = {**QUICK, "max_epochs": 3}


def documents(n: int = 480) -> tuple[list[str], NDArray[np.str_]]:
    """Texts about one subject each, and their fields: sport, or politics and law."""
    rng = np.random.default_rng(0)
    kinds = np.arange(n) % len(SUBJECTS)
    texts = [
        " ".join([*rng.choice(SUBJECTS[kind].split(), 4, replace=False), "the report"])
        for kind in kinds
    ]
    return texts, np.where(kinds < 3, "sport", "state")


TEXTS, FIELDS = documents()


@pytest.fixture(scope="module")
def topics() -> TopicModel:
    return TopicModel(n_topics=6).fit(TEXTS)


@pytest.fixture(scope="module")
def grown(topics: TopicModel) -> TSENetClassifier:
    """A network of topics of which two are renamed, two merged."""
    curated = TopicModel(n_topics=6).fit(TEXTS)
    at = {curated.topics_of(words)["id"].tolist()[-1]: words for words in SUBJECTS}
    assert len(at) == 6
    (football, tennis, cycling, *_) = at
    curated.merge([tennis, cycling]).rename({football: "Football", tennis: "Other sports"})
    return TSENetClassifier(skeleton=curated, **FAST).fit(TEXTS, FIELDS)


def test_topics_become_levels_of_units_with_their_titles() -> None:
    model = TSENetClassifier(skeleton="topics", **FAST).fit(TEXTS, FIELDS)
    words, lowest, *_ = model.wiring_.names
    assert set(words) == set(model.vectorizer_.get_feature_names_out())
    assert len(lowest) == 12  # these few texts have no more
    assert all(set(name.split(", ")) <= set(words) for name in lowest)
    assert model.score(TEXTS, FIELDS) > 0.95
    first = model.get_feature_names_out()[0]
    assert first.startswith(f"{lowest[0]}/")


def test_learned_topics_have_two_levels_of_which_the_top_is_a_quarter() -> None:
    rng = np.random.default_rng(0)
    subjects = [[f"word{kind}of{number}" for number in range(6)] for kind in range(40)]
    texts = [" ".join(rng.choice(subjects[row % 40], 4, replace=False)) for row in range(400)]

    model = TSENetClassifier(skeleton="topics", **FAST).fit(texts, [row % 2 for row in range(400)])

    assert model.wiring_.layer_sizes == (240, 40, 10)  # a topic for ten documents


def test_edited_topics_are_units_with_the_names_that_were_given(
    grown: TSENetClassifier, topics: TopicModel
) -> None:
    lowest = grown.wiring_.names[1]
    assert {"Football", "Other sports"} <= set(lowest)
    assert len(lowest) == 5  # one less than before they were merged
    assert grown.vectorizer_ is not None
    assert "the" not in grown.feature_names_in_  # the words are the topics' own
    assert grown.score(TEXTS, FIELDS) > 0.95

    unit = tsenet.explain.describe_units(grown, TEXTS)["Football"]
    assert unit.features[0].name in SUBJECTS[0].split()
    merged = lowest.index("Other sports")
    links = grown.learned_wiring_.layers[0]
    own = links.indices[links.indptr[merged] : links.indptr[merged + 1]]
    tied = own[links.from_tree[links.indptr[merged] : links.indptr[merged + 1]]]
    words = {grown.wiring_.names[0][word] for word in tied}
    assert words == {*SUBJECTS[1].split(), *SUBJECTS[2].split()}


def test_a_network_of_topics_predicts_the_same_after_saving(
    grown: TSENetClassifier, tmp_path: Path
) -> None:
    path = tmp_path / "grown.tsenet"
    grown.save(path)
    loaded = tsenet.load(path)
    np.testing.assert_allclose(
        loaded.predict_proba(TEXTS[:20]), grown.predict_proba(TEXTS[:20]), atol=1e-6
    )
    assert loaded.wiring_.names == grown.wiring_.names
    assert loaded.skeleton == grown.tree_  # a topic model comes back as its tree …
    again = clone(loaded).set_params(max_epochs=3).fit(TEXTS, FIELDS)
    assert again.learned_wiring_ == grown.learned_wiring_  # … and grows the same network


def test_a_file_with_a_given_skeleton_needs_its_tree(
    grown: TSENetClassifier, tmp_path: Path
) -> None:
    meta, arrays = grown.to_parts()
    assert meta["has_skeleton"] is True
    without = {name: array for name, array in arrays.items() if not name.startswith("tree.")}
    with pytest.raises(ValueError, match="grew from a given one"):
        TSENetClassifier.from_parts({**meta, "tree": None}, without)
    plain = TSENetClassifier(skeleton="hlta", **FAST).fit(TEXTS, FIELDS)
    plain.save(tmp_path / "plain.tsenet")
    assert tsenet.load(tmp_path / "plain.tsenet").skeleton == "hlta"


def test_a_clone_keeps_the_fitted_topics(topics: TopicModel) -> None:
    model = TSENetClassifier(skeleton=topics, **FAST)
    copy = clone(model)
    assert copy.get_params()["skeleton"] is topics
    assert copy.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert not hasattr(copy, "history_")
    scores = cross_val_score(model, TEXTS, FIELDS, cv=2)
    assert scores.min() > 0.9
    assert copy.set_params(skeleton="hlta").skeleton == "hlta"


def test_a_tree_over_a_table_is_a_skeleton(topics: TopicModel) -> None:
    rng = np.random.default_rng(0)
    hidden = np.repeat(rng.random((300, 3)) < 0.5, 4, axis=1)
    rows = np.where(hidden, 2.0, 0.0) + rng.normal(size=hidden.shape)
    target = rows[:, :4].sum(axis=1)
    tree = tsenet.learn_tree(rows, max_top=3, random_state=0)
    model = TSENetRegressor(skeleton=tree, random_state=0).fit(rows, target)
    assert model.tree_ is tree
    assert model.wiring_.names[1] == tree.latent_names
    assert model.score(rows, target) > 0.8


def test_texts_are_counted_by_the_words_of_a_given_tree() -> None:
    table = vectorize(TEXTS, word_vectorizer(stop_words="english"))
    tree = tsenet.learn_tree(table, random_state=0)
    model = TSENetClassifier(skeleton=tree, **FAST).fit(TEXTS, FIELDS)
    assert model.feature_names_in_.tolist() == list(table.names)
    assert model.score(TEXTS, FIELDS) > 0.95


def test_a_report_shows_what_each_topic_votes_for() -> None:
    seeded = TopicModel(seed_words={"Football": ["goal", "referee"]}, n_topics=6).fit(TEXTS)
    model = TSENetClassifier(skeleton=seeded, **QUICK).fit(TEXTS, FIELDS)
    payload = report_payload(model, TEXTS, FIELDS)
    topic = payload["units"]["label"].index("Football")
    assert payload["classes"]["names"] == ["sport", "state"]
    votes = payload["classes"]["of"][topic]  # a class, its effect, the next class, its effect
    effect = dict(zip(votes[::2], votes[1::2], strict=True))
    assert effect[0] > 0 > effect[1]  # for sport


def test_the_default_is_a_latent_tree_of_the_columns() -> None:
    default = TSENetClassifier(**FAST).fit(TEXTS, FIELDS)
    named = TSENetClassifier(skeleton="hlta", **FAST).fit(TEXTS, FIELDS)
    assert default.learned_wiring_ == named.learned_wiring_


def test_topics_of_one_title_stay_apart() -> None:
    model = TopicModel(n_topics=6).fit(TEXTS)
    first, second = model.topics_.query("level == 1")["id"][:2]
    model.rename({first: "Same", second: "Same"})
    names = TSENetClassifier(skeleton=model, **FAST).fit(TEXTS, FIELDS).wiring_.names[1]
    assert {"Same", f"Same ({second})"} <= set(names)


class TestErrors:
    def test_topics_that_are_not_fitted(self) -> None:
        with pytest.raises(DataError, match="TopicModel given as skeleton is not fitted"):
            TSENetClassifier(skeleton=TopicModel()).fit(TEXTS, FIELDS)

    @pytest.mark.parametrize("skeleton", ["tree", 3, tsenet.LatentTreeTransformer()])
    def test_what_is_no_skeleton(self, skeleton: Any) -> None:
        with pytest.raises(ValueError, match="skeleton must be 'hlta', 'topics'"):
            TSENetClassifier(skeleton=skeleton).fit(TEXTS, FIELDS)

    def test_a_skeleton_beside_a_wiring(self, grown: TSENetClassifier) -> None:
        both = TSENetClassifier(skeleton="topics", wiring=grown.wiring_)
        with pytest.raises(ValueError, match="skeleton or wiring, not both"):
            both.fit(TEXTS, FIELDS)

    def test_topics_of_a_table_of_numbers(self) -> None:
        with pytest.raises(DataError, match="skeleton='topics' needs texts"):
            TSENetClassifier(skeleton="topics").fit(np.eye(20), [0, 1] * 10)

    def test_a_tree_over_other_words(self, topics: TopicModel) -> None:
        table = vectorize(["one two three", "two three four"] * 20)
        with pytest.raises(DataError, match=r"a tree over 37 columns.*the rows lack its 'appeal'"):
            TSENetClassifier(skeleton=topics).fit(table, [0, 1] * 20)

    def test_texts_without_any_of_the_words(self, topics: TopicModel) -> None:
        with pytest.raises(DataError, match="none of the words of the skeleton"):
            TSENetClassifier(skeleton=topics).fit(["one two", "three four"] * 20, [0, 1] * 20)
