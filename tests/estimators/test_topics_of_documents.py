"""The topics of documents: strengths, times, classes, scores, the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import tsenet
from tests.cli.program import SUBJECTS
from tests.estimators.topics import page_payload, subject_of
from tsenet import TopicModel
from tsenet.errors import DataError
from tsenet.explain import every_topic


class TestDocuments:
    def test_strengths(self, fitted: TopicModel, texts: list[str]) -> None:
        strengths = fitted.transform(texts, min_strength=0).toarray()
        for column, (_, topic) in zip(strengths.T, fitted.topics_.iterrows(), strict=True):
            words = set(SUBJECTS[subject_of(topic["words"])])
            occurs = np.array([not words.isdisjoint(text.split()) for text in texts])
            assert (occurs | (column < 0.5)).all()
        has_topic = strengths.any(axis=1)
        assert (strengths[has_topic].max(axis=1) > 0.5).all()
        few = fitted.transform(texts, min_strength=0.5)
        assert few.nnz < np.count_nonzero(strengths)
        assert few.data.min() >= 0.5

    def test_an_empty_document_has_no_topic(self, fitted: TopicModel) -> None:
        assert fitted.transform(["", "unknown words"], min_strength=0).nnz == 0
        assert fitted.topics_of("", min_strength=0).empty

    def test_documents_that_fit_no_topic_are_outliers(
        self, fitted: TopicModel, texts: list[str], tmp_path: Path
    ) -> None:
        main = fitted.predict(texts)
        strengths = fitted.transform(texts).toarray()
        low = np.flatnonzero(fitted.topics_["level"] == 1)
        assert np.array_equal(main < 0, ~strengths.any(axis=1))
        fitting = main >= 0
        expected = low[strengths[:, low].argmax(axis=1)]
        assert main[fitting].tolist() == expected[fitting].tolist()
        assert fitted.n_outliers_ == np.count_nonzero(~fitting) <= 0.03 * len(texts)
        assert np.array_equal(fitted.predict(), main)

        weather = "showers tomorrow turning sleet over higher ground dusk wind rain"
        strange = [f"{weather} goal", "goal goal goal", weather, ""]
        assert (fitted.predict(strange) < 0).tolist() == [True, False, True, True]
        nearest = fitted.assign_outliers(strange)
        assert nearest[0] == nearest[1] == fitted.predict(strange)[1]
        assert nearest[2:].tolist() == [-1, -1]
        assert (fitted.assign_outliers(texts)[fitting] == main[fitting]).all()

        fitted.save(tmp_path / "m.tsenet")
        loaded = tsenet.load(tmp_path / "m.tsenet")
        assert loaded.predict([*texts, *strange]).tolist() == [*main, *fitted.predict(strange)]
        assert loaded.n_outliers_ == fitted.n_outliers_

    def test_main_topics_of_a_level_or_of_those_shown(
        self, model: TopicModel, texts: list[str]
    ) -> None:
        for level in (1, None):
            main = model.predict(texts, level=level)
            assert set(model.topics_["level"].iloc[main[main >= 0]]) == {1}
        with pytest.raises(DataError, match="no topic of level 5"):
            model.predict(texts, level=5)
        chosen = model.reduce(2).predict(texts)
        assert set(chosen) <= {-1, 0, 1}
        strengths = model.transform(texts).toarray()
        is_main = strengths[chosen >= 0].max(axis=1)
        assert (strengths[np.flatnonzero(chosen >= 0), chosen[chosen >= 0]] == is_main).all()

    def test_new_documents_are_counted_among_the_outliers(
        self, model: TopicModel, texts: list[str]
    ) -> None:
        before = model.n_outliers_
        model.partial_fit(["showers sleet goal dusk wind rain", texts[0], ""])
        assert model.n_outliers_ == before + 2
        assert np.count_nonzero(model.predict() < 0) == model.n_outliers_

    def test_the_page_lists_outliers(self, model: TopicModel, tmp_path: Path) -> None:
        for texts, listed in (
            (["goal referee goal", "", "sleet dusk"], "2: documents 1, 2"),
            (["sleet dusk"], "1: document 0"),
        ):
            facts = dict(page_payload(model, tmp_path / "page.html", texts)["data"])
            assert facts["Documents without a topic (outliers)"] == listed

    def test_fit_transform_is_fit_and_transform(self, fitted: TopicModel, texts: list[str]) -> None:
        assert (clone(fitted).fit_transform(texts) != fitted.transform(texts)).nnz == 0

    def test_every_share_is_a_share_of_documents(
        self, fitted: TopicModel, texts: list[str]
    ) -> None:
        present = fitted.transform(texts).toarray() >= 0.5
        assert fitted.topics_["share"].tolist() == pytest.approx(present.mean(axis=0))
        groups = np.arange(300) % 2
        for found in (fitted.per_class(groups), fitted.over_time(groups)):
            for group in (0, 1):
                share = present[groups == group].mean(axis=0)
                assert found.loc[group].tolist() == pytest.approx(share)
        name = fitted.topics_["id"][0]
        documents = fitted.documents_of(name, n_documents=300)["document"]
        assert sorted(documents) == np.flatnonzero(present[:, 0]).tolist()
        has = {w: np.array([w in text.split() for text in texts]) for w in fitted.vocabulary_}
        for topic, column in zip(every_topic(fitted.view_.topics), present.T, strict=True):
            for word in topic.words:
                assert word.inside == pytest.approx(has[word.word][column].mean())
                assert word.outside == pytest.approx(has[word.word][~column].mean())

    def test_topics_of_one_label_are_told_apart(self, model: TopicModel) -> None:
        first, second = model.topics_["id"][:2]
        model.rename({first: "Same", second: "Same"})
        columns = model.per_class([0] * 300).columns[:2].tolist()
        assert columns == [f"Same ({first})", f"Same ({second})"]

    def test_transform_takes_the_documents_of_fit_by_default(
        self, model: TopicModel, texts: list[str]
    ) -> None:
        assert (model.transform() != model.transform(texts)).nnz == 0
        frame = model.set_output(transform="pandas").transform(texts)
        assert frame.columns.tolist() == model.topics_["id"].tolist()
        low = model.transform(texts, level=1)
        assert low.columns.tolist() == model.topics_.query("level == 1")["id"].tolist()
        assert model.topics_of(texts[0])["strength"].iloc[0] == frame.to_numpy()[0].max()
        model.set_output(transform="default")
        assert np.array_equal(model.transform(texts).toarray(), frame.to_numpy())
        with pytest.raises(DataError, match="'polars'"):
            model.set_output(transform="polars")

    def test_topics_of_one_text(self, fitted: TopicModel) -> None:
        found = fitted.topics_of("A goal in the last minute; the referee and the stadium")
        assert subject_of(fitted.topics_.set_index("id").loc[found["id"][0], "words"]) == 0
        assert found["strength"][0] > 0.75
        assert found["strength"].is_monotonic_decreasing

    def test_classes_and_time(self, fitted: TopicModel, texts: list[str]) -> None:
        labels = ["space" if "galaxy" in text else "other" for text in texts]
        table = fitted.per_class(labels, level=1)
        low = fitted.topics_[fitted.topics_["level"] == 1]
        (space,) = [t["label"] for _, t in low.iterrows() if subject_of(t["words"]) == 2]
        assert table.index.tolist() == ["other", "space"]
        assert table.loc["space", space] > 2 * table.loc["other", space]
        years = fitted.over_time(np.arange(300) // 100, level=1)
        assert years.index.tolist() == [0, 1, 2]
        assert years.columns.tolist() == low["label"].tolist()
        dates = [f"2024-01-{1 + k % 30:02d}" for k in range(300)]
        assert len(fitted.over_time(dates, n_bins=None)) == 30
        weeks = fitted.over_time(dates, n_bins=20).index
        assert [str(day.date()) for day in weeks[:2]] == ["2024-01-01", "2024-01-08"]
        months = pd.date_range("2019-12-30", periods=300, freq="3D")
        quarters = fitted.over_time(months, n_bins=12).index
        assert [str(day.date()) for day in quarters[:2]] == ["2019-10-01", "2020-01-01"]
        decades = fitted.over_time(1900 + np.arange(300) % 100, n_bins=12).index
        assert decades.tolist() == list(range(1900, 2000, 10))
        with pytest.raises(DataError, match="dates or numbers"):
            fitted.over_time(["soon"] * 300)
        with pytest.raises(DataError, match="2 values for 300 documents"):
            fitted.per_class(["a", "b"])


def test_report(fitted: TopicModel, texts: list[str], tmp_path: Path) -> None:
    fitted.report(tmp_path / "a.html", texts, title="Three subjects")
    assert "<title>Three subjects" in (tmp_path / "a.html").read_text(encoding="utf-8")
    said = {}
    for name, quote in (("yes", True), ("no", False), ("other", ["a secret"] * 300)):
        fitted.report(tmp_path / "q.html", texts, quote=quote)
        page = (tmp_path / "q.html").read_text("utf-8")
        said[name] = (texts[fitted.topics_["documents"][0][0]] in page, "a secret" in page)
    assert said == {"yes": (True, False), "no": (False, False), "other": (False, True)}


def test_a_report_shows_the_topics_of_the_model(
    model: TopicModel, texts: list[str], tmp_path: Path
) -> None:
    shown = model.topics_.sort_values("share")
    first = shown["id"].iloc[-1]
    model.set_params(min_size=float(shown["share"].iloc[:2].mean())).rename({first: "My topic"})
    folded = {topic.name for topic, _ in model.view_.folded}
    assert folded
    payload = page_payload(model, tmp_path / "m.html", texts)
    n_words = payload["layers"][0]
    topics = model.topics_.set_index("id").loc[payload["names"][n_words:]]
    assert (payload["title"], topics.loc[first, "label"]) == ("Topics", "My topic")
    assert len(topics) == len(model.topics_)
    assert payload["units"]["label"] == topics["label"].tolist()
    assert payload["units"]["share"] == pytest.approx(topics["share"].tolist(), rel=5e-3)
    alone = [payload["names"][k] for k in range(n_words) if payload["parent"][k] < 0]
    assert sorted(alone) == sorted(model.ungrouped_)


def test_the_number_of_topics_is_chosen_by_cross_validation(four_subjects: list[str]) -> None:
    search = GridSearchCV(TopicModel(), {"n_topics": [1, 2, 4]}, cv=2, error_score="raise")
    search.fit(four_subjects)
    assert search.best_params_ == {"n_topics": 4}
    scores = search.cv_results_["mean_test_score"]
    assert (scores < 0).all()
    assert scores[0] < scores[1] < scores[2]
