"""Changes of a fitted topic model: labels, pins, merged, split and fewer topics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tsenet
from tsenet import TopicModel
from tsenet.errors import DataError


def test_rename(model: TopicModel) -> None:
    name = model.topics_["id"][0]
    assert model.rename({name: "Mine"}).topics_["label"][0] == "Mine"
    with pytest.raises(DataError, match=r"no topic 'Z9\.9'"):
        model.rename({"Z9.9": "?"})


def test_merge(model: TopicModel, texts: list[str]) -> None:
    first, second = model.topics_.loc[model.topics_["level"] == 1, "id"][:2]
    n_low = int((model.topics_["level"] == 1).sum())
    before = model.transform(texts, min_strength=0).toarray()
    names = model.get_feature_names_out().tolist()
    model.merge([first, second])
    assert (model.topics_["level"] == 1).sum() == n_low - 1
    after = model.transform(texts, min_strength=0).toarray()
    merged = after[:, model.get_feature_names_out().tolist().index(first)]
    either = before[:, [names.index(first), names.index(second)]].max(axis=1)
    assert ((merged > 0.5) == (either > 0.5)).mean() > 0.9


def test_reduce(model: TopicModel, texts: list[str]) -> None:
    everything = model.topics_
    names = model.get_feature_names_out().tolist()
    before = model.transform(texts)
    model.reduce(2)
    assert len(model.topics_) == 2
    columns = [names.index(name) for name in model.topics_["id"]]
    assert (model.transform(texts) != before[:, columns]).nnz == 0  # the same probabilities
    assert model.reduce(None).topics_.equals(everything)
    with pytest.raises(DataError, match="from 1 on"):
        model.reduce(0)


def test_renamed_merged_and_pinned_topics_survive_a_refit(four_subjects: list[str]) -> None:
    texts = four_subjects
    model = TopicModel(random_state=0).fit(texts)
    topic = {
        name: next(row.id for row in model.topics_.itertuples() if name in dict(row.words))
        for name in ("moon", "team", "oven")
    }
    model.rename({topic["moon"]: "Space"}).merge([topic["team"], topic["oven"]])
    again = TopicModel.from_parts(*model.to_parts())
    for fitted in (model.fit(texts[:300]), again.fit(texts[::-1])):
        labels = fitted.topics_.set_index("label")["words"]
        assert {word for word, _ in labels["Space"]} == {"orbit", "moon", "rocket"}
        mixed = next(words for words in labels if "oven" in dict(words))
        assert "team" in dict(mixed)


def test_a_pinned_topic_of_a_level_that_is_gone_is_said(four_subjects: list[str]) -> None:
    model = TopicModel(levels=(2, 4)).fit(four_subjects)
    model.pin(model.topics_.query("level == 2")["id"]).set_params(levels=(4,))
    with pytest.warns(UserWarning, match="2 pinned topics of higher levels"):
        model.fit(four_subjects)


def test_a_function_of_ones_own_titles_topics(four_subjects: list[str], tmp_path: Path) -> None:
    model = TopicModel(random_state=0).fit(four_subjects)
    given: list[tuple[list[str], list[str]]] = []

    def title(words: list[str], documents: list[str]) -> str:
        given.append((words, documents))
        return "Space " if "moon" in words else ""

    before = model.topics_["label"].tolist()
    model.label_with(title, four_subjects, n_documents=2)
    assert [len(documents) for _, documents in given] == [2] * len(model.topics_)
    for words, documents in given:
        assert set(words) & set(" ".join(documents).split())
    for old, new, words in zip(before, model.topics_["label"], model.topics_["words"], strict=True):
        assert new == ("Space" if "moon" in dict(words) else old)
    model.save(tmp_path / "m.tsenet")
    assert "Space" in set(tsenet.load(tmp_path / "m.tsenet").topics_["label"])
    assert not model._pins
    with pytest.raises(DataError, match="must return a title, not 7"):
        model.label_with(lambda *_: 7)  # type: ignore[arg-type, return-value]  # what is tested


def test_a_split_topic_stays_split(four_subjects: list[str], tmp_path: Path) -> None:
    def subjects(model: TopicModel) -> list[set[str]]:
        return [{word for word, _ in words} for words in model.topics_["words"]]

    model = TopicModel(levels=(4,)).fit(four_subjects)
    two = [
        row.id for row in model.topics_.itertuples() if {"moon", "oven"} & dict(row.words).keys()
    ]
    model.merge(two).rename({two[0]: "Mixed"})
    assert any({"moon", "oven"} <= words for words in subjects(model))
    model.split(two[0])
    assert len(model.topics_) == 4
    assert not any({"moon", "oven"} <= words for words in subjects(model))
    assert "Mixed" not in set(model.topics_["label"])
    assert len(set(model.topics_["id"])) == 4
    model.save(tmp_path / "m.tsenet")
    again = tsenet.load(tmp_path / "m.tsenet")
    np.testing.assert_array_equal(
        again.transform(four_subjects).toarray(), model.transform(four_subjects).toarray()
    )
    for refitted in (model.fit(four_subjects[:300]), again.fit(four_subjects)):
        assert len(refitted.topics_) == 4
        assert not any({"moon", "oven"} <= words for words in subjects(refitted))
    with pytest.raises(DataError, match="holds no documents"):
        tsenet.load(tmp_path / "m.tsenet").split(two[0])
