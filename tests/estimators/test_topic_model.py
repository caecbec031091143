"""TopicModel: documents in, topics out."""

from __future__ import annotations

import copy
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info, threadpool_limits

import tsenet
from tests.cli.program import SUBJECTS, make_documents
from tsenet import Table, TopicModel
from tsenet.data import count_words, load_docstrings
from tsenet.errors import DataError, ModelFileError
from tsenet.explain import every_topic

QUICK: dict[str, Any] = {"levels": (3,)}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return make_documents(300)


@pytest.fixture(scope="module")
def fitted(texts: list[str]) -> TopicModel:
    return TopicModel(**QUICK).fit(texts)


@pytest.fixture
def model(fitted: TopicModel) -> TopicModel:
    """A fitted model of the test's own, with its documents."""
    return copy.deepcopy(fitted)


def subject_of(words: list[tuple[str, float]]) -> int:
    (found,) = {k for k, subject in enumerate(SUBJECTS) for word, _ in words if word in subject}
    return found


def page_payload(model: TopicModel, page: Path, texts: Any) -> Any:
    model.report(page, texts)
    content = page.read_text("utf-8")
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', content, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


class TestTopics:
    def test_one_topic_for_each_subject(self, fitted: TopicModel) -> None:
        topics = fitted.topics_
        assert topics.columns.tolist() == [
            *(
                "id",
                "level",
                "parent",
                "kinship",
                "label",
                "words",
                "share",
                "n_documents",
                "members",
            ),
            *("coherence", "documents"),
        ]
        low = topics[topics["level"] == 1]
        assert sorted(map(subject_of, low["words"])) == [0, 1, 2]
        assert ((low["share"] > 0.2) & (low["share"] < 0.45)).all()
        assert (low["coherence"] > 0.2).all()
        for words, label in zip(low["words"], low["label"], strict=True):
            weights = [weight for _, weight in words]
            assert weights == sorted(weights, reverse=True)
            assert set(label.replace(",", "").split()) <= dict(words).keys()

    def test_typical_documents_are_about_the_topic(
        self, fitted: TopicModel, texts: list[str]
    ) -> None:
        for _, topic in fitted.topics_.iterrows():
            words = set(SUBJECTS[subject_of(topic["words"])])
            assert len(topic["documents"]) == 3
            assert all(len(words & set(texts[d].split())) >= 2 for d in topic["documents"])
            found = fitted.documents_of(topic["id"], n_documents=3)
            assert found["document"].tolist() == topic["documents"]

    def test_words_and_words_of_no_group(self, fitted: TopicModel) -> None:
        assert sorted(fitted.vocabulary_) == sorted(w for subject in SUBJECTS for w in subject)
        rng = np.random.default_rng(0)
        noisy = [t + (" noise" if rng.random() < 0.3 else " ") for t in make_documents(200)]
        assert TopicModel(**QUICK).fit(noisy).ungrouped_ == ("noise",)

    def test_words_that_describe_a_topic_are_not_in_no_topic(self, tmp_path: Path) -> None:
        docs = load_docstrings("scipy.signal", "scipy.stats")
        model = TopicModel(random_state=0).fit(docs["text"])
        described = {word for words in model.topics_["words"] for word, _ in words}
        members = {word for words in model.topics_["members"] for word in words}
        assert described
        assert members
        assert not described & set(model.ungrouped_)
        payload = page_payload(model, tmp_path / "page.html", docs["text"])
        alone = [payload["names"][k] for k, above in enumerate(payload["parent"]) if above < 0]
        assert described.isdisjoint(alone)

    def test_any_seed_same_topics(self, fitted: TopicModel, texts: list[str]) -> None:
        again = clone(fitted).set_params(random_state=7).fit(texts)
        assert again.topics_.equals(fitted.topics_)
        strengths = [model.transform(texts).toarray() for model in (again, fitted)]
        np.testing.assert_array_equal(*strengths)

    def test_guided_topics(self, texts: list[str]) -> None:
        seeds = {"mixed": ["goal", "comet", "zzz"]}
        with (
            pytest.warns(UserWarning, match="vocabulary are left out: zzz"),
            pytest.warns(UserWarning, match="contradict .*: goal, comet hardly ever"),
        ):
            model = TopicModel(**QUICK, seed_words=seeds).fit(texts)
        (name,) = model.topics_.query("label == 'mixed'")["id"]
        (members,) = model.topics_.query("label == 'mixed'")["members"]
        assert {"goal", "comet"} <= set(members)
        tree = model.to_tree()
        below = {tree.names[v] for v in tree.children(tree.names.index(name))}
        assert below == set(members)

    def test_rare_seed_words_stay_and_do_not_drift_to_a_larger_subject(self) -> None:
        rng = np.random.default_rng(0)
        texts = make_documents(600)
        for k in range(0, 60, 3):  # next to one of the subjects, and much rarer
            texts[k] += " " + " ".join(rng.choice(["retina", "glaucoma", "cornea", "lens"], 2))
        seeds = {"eye": ["retina", "glaucoma", "cornea"]}
        topics = TopicModel(levels=(2, 4), seed_words=seeds).fit(texts).topics_
        (words,) = topics.query("label == 'eye'")["words"]
        assert {"retina", "glaucoma", "cornea"} == {word for word, _ in words[:3]}
        assert len({word for word, _ in words} & {word for s in SUBJECTS for word in s}) <= 4

    @pytest.mark.filterwarnings("ignore:the documents contradict")
    @pytest.mark.parametrize("seeds", [{"a": ["goal", "comet"]}, [["goal", "comet"]]])
    def test_a_seeded_topic_is_always_shown(
        self, texts: list[str], tmp_path: Path, seeds: Any
    ) -> None:
        floors: dict[str, Any] = {"min_size": 0.99, "min_coherence": 1.0}
        model = TopicModel(**QUICK, **floors, seed_words=seeds).fit(texts)
        (seeded,) = model.topics_["id"]
        assert "goal" in model.topics_["members"][0]
        model.save(tmp_path / "m.tsenet")
        assert tsenet.load(tmp_path / "m.tsenet").topics_["id"].tolist() == [seeded]

    @pytest.mark.parametrize("seeds", [{"a": ["zzz", "yyy"]}, [["goal", "zzz"]], [[]]])
    def test_seed_words_that_cannot_be_a_topic(self, texts: list[str], seeds: Any) -> None:
        with pytest.raises(DataError, match="seed words"):
            TopicModel(**QUICK, seed_words=seeds).fit(texts)

    def test_few_words_in_topics_are_a_warning(self) -> None:
        few = [f"w{k} w{k + 1}" for k in range(30)]
        with pytest.warns(UserWarning, match=r"of [\d,]+ words are in a topic"):
            TopicModel().fit(few)


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


class TestChanges:
    def test_rename(self, model: TopicModel) -> None:
        name = model.topics_["id"][0]
        assert model.rename({name: "Mine"}).topics_["label"][0] == "Mine"
        with pytest.raises(DataError, match=r"no topic 'Z9\.9'"):
            model.rename({"Z9.9": "?"})

    def test_merge(self, model: TopicModel, texts: list[str]) -> None:
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

    def test_reduce(self, model: TopicModel, texts: list[str]) -> None:
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

    def test_what_is_shown_can_be_changed(self, model: TopicModel) -> None:
        n_topics = len(model.topics_)
        smallest = float(model.topics_["share"].min())
        assert len(model.set_params(min_size=smallest * 1.001).topics_) < n_topics
        assert len(model.set_params(min_size=0).topics_) >= n_topics

    def test_new_documents_change_sizes_only(self, model: TopicModel) -> None:
        before = model.topics_.set_index("id")
        space = ["galaxy telescope orbit"] * 200
        model.partial_fit(space)
        after = model.topics_.set_index("id")
        assert model.n_documents_ == 500
        for name, topic in before.iterrows():
            if topic["level"] == 1:
                grows = subject_of(topic["words"]) == 2
                assert (after.loc[name, "share"] > topic["share"]) is np.bool_(grows)
        assert TopicModel(**QUICK).partial_fit(make_documents(100)).n_documents_ == 100


class TestFiles:
    def test_a_loaded_model_reads_texts(
        self, model: TopicModel, texts: list[str], tmp_path: Path
    ) -> None:
        model.rename({model.topics_["id"][0]: "Mine"}).reduce(2)
        model.save(tmp_path / "m.tsenet")
        loaded = tsenet.load(tmp_path / "m.tsenet")
        assert loaded.topics_.equals(model.topics_)
        assert (loaded.transform(texts) != model.transform(texts)).nnz == 0
        loaded.save(tmp_path / "again.tsenet")
        assert (tmp_path / "again.tsenet").read_bytes() == (tmp_path / "m.tsenet").read_bytes()
        name = loaded.topics_["id"][0]
        with pytest.raises(DataError, match="holds no documents"):
            loaded.documents_of(name)
        assert len(loaded.documents_of(name, texts, n_documents=4)) == 4

    def test_forged_files_are_refused(self, fitted: TopicModel, tmp_path: Path) -> None:
        from tsenet.store import save_parts

        meta, arrays = fitted.to_parts()
        forged = [
            *((meta, {**arrays, f"facts.{name}": np.array([2.0])}) for name in ("share", "words")),
            (meta, {**arrays, "facts.share": arrays["facts.share"] + 2.0}),
            (meta, {**arrays, "facts.words": arrays["facts.words"] + 99}),
            (meta, {**arrays, "topics.columns": arrays["topics.columns"] + 99}),
            (meta, {**arrays, "topics.starts": arrays["topics.starts"][::-1].copy()}),
            (meta, {**arrays, "topics.parent": arrays["topics.parent"] * 0}),
            (meta, {**arrays, "topics.weight": arrays["topics.weight"] * np.nan}),
            ({**meta, "seeded": ["Z9.9"]}, arrays),
            *(
                ({**meta, "params": {**meta["params"], name: "much"}}, arrays)
                for name in ("min_coherence", "min_size", "top_words", "n_topics")
            ),
        ]
        for wrong_meta, wrong_arrays in forged:
            save_parts(tmp_path / "m.tsenet", "TopicModel", wrong_meta, wrong_arrays)
            with pytest.raises(ModelFileError):
                tsenet.load(tmp_path / "m.tsenet")

    def test_report(self, fitted: TopicModel, texts: list[str], tmp_path: Path) -> None:
        fitted.report(tmp_path / "a.html", texts, title="Three subjects")
        assert "<title>Three subjects" in (tmp_path / "a.html").read_text(encoding="utf-8")
        said = {}
        for name, quote in (("yes", True), ("no", False), ("other", ["a secret"] * 300)):
            fitted.report(tmp_path / "q.html", texts, quote=quote)
            page = (tmp_path / "q.html").read_text("utf-8")
            said[name] = (texts[fitted.topics_["documents"][0][0]] in page, "a secret" in page)
        assert said == {"yes": (True, False), "no": (False, False), "other": (False, True)}

    def test_a_report_shows_the_topics_of_the_model(
        self, model: TopicModel, texts: list[str], tmp_path: Path
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


class TestRepeatedTexts:
    """Many copies of one text, such as a reply that a program sends."""

    REPLY = (
        "currently office vacation return reply urgent contact colleague mailbox desk assistance"
    )

    @pytest.mark.parametrize("n_copies", [4, 7, 8, 13, 16, 28, 60, 120])
    def test_they_are_a_topic_however_many_there_are(self, n_copies: int, tmp_path: Path) -> None:
        model = TopicModel().fit([*make_documents(266), *[self.REPLY] * n_copies])
        of_reply = [
            topic["share"]
            for _, topic in model.topics_.iterrows()
            if {word for word, _ in topic["words"]} <= set(self.REPLY.split())
        ]
        assert of_reply == [pytest.approx(n_copies / (266 + n_copies))]
        model.save(tmp_path / "m.tsenet")
        assert tsenet.load(tmp_path / "m.tsenet").topics_.equals(model.topics_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(2, 60), n_words=st.integers(1, 20))
def test_any_fitted_model_can_be_saved_and_loaded(seed: int, n_rows: int, n_words: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_words)) < rng.random(n_words)
    X[:, rng.random(n_words) < 0.1] = True  # a word of every document
    if n_words > 2:
        X[:, 1] = X[:, 0]  # always meet
        X[:, 2] = ~X[:, 0]  # never meet
    X = X[rng.integers(n_rows, size=n_rows + rng.integers(40))]  # repeated documents
    table = Table.of(sp.csr_array(X.astype(int)), names=[f"w{k}" for k in range(n_words)])
    model = TopicModel().fit(table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.tsenet")
        model.save(path)
        loaded = tsenet.load(path)
    assert loaded.topics_.equals(model.topics_)
    assert (loaded.transform(table) != model.transform(table)).nnz == 0


GERMAN = "das und nicht auch können aus eine werden sich haben"


class TestLanguages:
    def test_stop_words_of_the_language_of_the_texts(self, texts: list[str]) -> None:
        rng = np.random.default_rng(0)
        words = np.array(GERMAN.split())
        german = [f"{text} {' '.join(words[rng.random(10) < 0.7])}" for text in texts]
        with pytest.warns(UserWarning, match="stop_words='german'"):
            model = TopicModel(**QUICK).fit(german)
        assert sorted(model.vocabulary_) == sorted(w for subject in SUBJECTS for w in subject)
        asked = TopicModel(**QUICK, stop_words="german").fit(german)
        assert not {"das", "und"} & set(asked.vocabulary_)
        kept = TopicModel(**QUICK, stop_words=None).fit(german)
        assert {"das", "und"} <= set(kept.vocabulary_)

    def test_short_texts_are_a_warning(self) -> None:
        rng = np.random.default_rng(0)
        titles = [" ".join(f"w{k}" for k in rng.zipf(1.3, 4) % 2000) for _ in range(3000)]
        with pytest.warns(UserWarning, match="topics of so short texts are poor"):
            TopicModel().fit(titles)


class TestInput:
    def test_no_words_are_left(self) -> None:
        with pytest.raises(DataError, match="min_documents=5 of them; give more documents"):
            TopicModel(min_documents=5).fit(["one text", "another one"])
        with pytest.raises(DataError, match="other than stop words"):
            TopicModel().fit(["the", "of the"])

    def test_word_counts(self, fitted: TopicModel, texts: list[str]) -> None:
        table = count_words(texts, fitted.vectorizer_)
        counted = TopicModel(**QUICK).fit(table)
        # a table of counts has no phrases, so that only labels may differ
        assert counted.topics_.drop(columns="label").equals(fitted.topics_.drop(columns="label"))
        assert counted.vectorizer_ is None
        with pytest.raises(DataError, match="got texts, but the model was fitted on a table"):
            counted.transform(texts)
        with pytest.raises(DataError, match="expected documents"):
            TopicModel().fit(Table.of(np.eye(3)))

    def test_missing_texts_are_empty_documents(self, texts: list[str]) -> None:
        with pytest.warns(UserWarning, match=f"2 of {len(texts) + 2} texts are missing"):
            model = TopicModel(**QUICK).fit([*texts, None, float("nan")])
        assert model.n_documents_ == len(texts) + 2
        with pytest.warns(UserWarning, match="1 of 2 texts are missing"):
            assert model.transform([texts[0], None]).shape[0] == 2

    def test_a_vectorizer(self, texts: list[str], tmp_path: Path) -> None:
        words = CountVectorizer(ngram_range=(1, 2), min_df=3, max_features=30)
        model = TopicModel(**QUICK, vectorizer=words).fit(texts)
        assert set(model.vocabulary_) == set(clone(words).fit(texts).vocabulary_)
        model.save(tmp_path / "m.tsenet")
        loaded = tsenet.load(tmp_path / "m.tsenet")
        assert loaded.vectorizer.ngram_range == (1, 2)
        np.testing.assert_array_equal(
            loaded.transform(texts).toarray(), model.transform(texts).toarray()
        )

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ([], "there is none"),
            ([1, 2], "the first is 1"),
            ("one text", "give a list of strings"),
            (pd.DataFrame({"body": ["a text", "more"]}), r"such as frame\['body'\]"),
        ],
    )
    def test_what_are_no_documents(self, given: object, says: str) -> None:
        with pytest.raises(DataError, match=says):
            TopicModel().fit(given)

    @pytest.mark.parametrize(
        "wrong",
        [
            *({"min_size": "1"}, {"min_coherence": 2}, {"top_words": 0}),
            *({"levels": 8}, {"n_topics": 0}),
        ],
    )
    def test_parameters_are_checked(self, wrong: dict[str, Any]) -> None:
        (name,) = wrong
        with pytest.raises(ValueError, match=f"{name}.*must be"):
            TopicModel(**wrong).fit(["a text", "a text"])

    @pytest.mark.parametrize(
        ("levels", "match"),
        [((), "levels"), ((8, 10), "at least twice"), ((0, 4), "levels"), ((2.5, 9), "levels")],
    )
    def test_levels_are_checked(self, texts: list[str], levels: Any, match: str) -> None:
        with pytest.raises(DataError, match=match):
            TopicModel(levels=levels).fit(texts)
        with pytest.raises(DataError, match="leave out n_topics"):
            TopicModel(levels=(2, 4), n_topics=4).fit(texts)
        with pytest.raises(DataError, match="ask for fewer"):
            TopicModel(n_topics=50).fit(texts)

    @pytest.mark.parametrize(
        "use",
        [
            lambda model: model.transform(["a text"]),
            lambda model: model.topics_,
            lambda model: model.rename({}),
            lambda model: model.report("page.html"),
        ],
    )
    def test_an_unfitted_model_says_so(self, use: Callable[[TopicModel], Any]) -> None:
        with pytest.raises(NotFittedError):
            use(TopicModel())

    def test_what_there_is_not(self, fitted: TopicModel) -> None:
        with pytest.raises(DataError, match="no topic of level 9"):
            fitted.transform(["goal"], level=9)
        with pytest.raises(DataError, match="one text"):
            fitted.topics_of(["goal"])  # type: ignore[arg-type]  # what is tested
        for wrong in ("5", 2.5, 0, True):
            with pytest.raises(DataError, match="n_topics must be a whole number"):
                fitted.reduce(wrong)  # type: ignore[arg-type]  # what is tested
        with pytest.raises(DataError, match=r"no topic 'Z7\.7'"):
            fitted.documents_of("Z7.7")


@pytest.fixture(scope="module")
def four_subjects() -> list[str]:
    rng = np.random.default_rng(0)
    subjects = [
        "goal team referee",
        "orbit moon rocket",
        "senate ballot voters",
        "flour oven yeast",
    ]
    return [
        " ".join(word for word in subjects[i % 4].split() if rng.random() < 0.8) for i in range(400)
    ]


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


def test_stability_tells_subjects_from_noise(texts: list[str]) -> None:
    rng = np.random.default_rng(0)
    words = [f"word{number}" for number in range(60)]
    noise = [" ".join(rng.choice(words, 8)) for _ in texts]
    stable = TopicModel(**QUICK).stability(texts, n_seeds=2)
    assert stable["level"].tolist() == list(range(len(stable), 0, -1))
    assert stable["ami"].iloc[0] > 0.9
    assert TopicModel(random_state=0).stability(noise, n_seeds=2)["ami"].max() < 0.5
    with pytest.raises(DataError, match="n_seeds"):
        TopicModel(**QUICK).stability(texts, n_seeds=1)


def test_titles_show_phrases_and_are_those_of_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    subjects = ["clinical trial dose patients", "goal team league referee"]
    texts = []
    for k in range(200):
        chosen = [word for word in subjects[k % 2].split()[2:] if rng.random() < 0.8]
        first = subjects[k % 2].split()[:2] if rng.random() < 0.9 else []
        texts.append(" ".join([*first, *chosen]))
    model = TopicModel(levels=(2,)).fit(texts)
    labels = model.topics_["label"]
    assert sum("clinical trial" in label for label in labels) == 1
    model.save(tmp_path / "m.tsenet")
    assert tsenet.load(tmp_path / "m.tsenet").topics_["label"].tolist() == labels.tolist()
    merged = tsenet.load(tmp_path / "m.tsenet").merge(model.topics_["id"], texts)
    assert "clinical trial" in merged.topics_["label"][0]


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


def test_the_number_of_topics_is_chosen_by_cross_validation(four_subjects: list[str]) -> None:
    search = GridSearchCV(TopicModel(), {"n_topics": [1, 2, 4]}, cv=2, error_score="raise")
    search.fit(four_subjects)
    assert search.best_params_ == {"n_topics": 4}
    scores = search.cv_results_["mean_test_score"]
    assert (scores < 0).all()
    assert scores[0] < scores[1] < scores[2]


def test_print_shows_the_tree(four_subjects: list[str]) -> None:
    model = TopicModel(levels=(2, 4))
    assert str(model) == repr(model)
    text = str(model.fit(four_subjects))
    assert text.splitlines()[0] == "6 topics of 400 documents, 12 words"
    for row in model.topics_.itertuples():
        (line,) = (line for line in text.splitlines() if line.endswith(f"  {row.id}"))
        assert row.label in line
        assert line.startswith(("├─ ", "└─ ")) is (row.level == 1)


def test_addresses_are_words_only_if_asked(four_subjects: list[str], tmp_path: Path) -> None:
    texts = [f"From: joe@mail.org\nDate: today\n\n{text} #fun @joe" for text in four_subjects]
    model = TopicModel().fit(texts)
    assert set(model.vocabulary_) == set(" ".join(four_subjects).split())
    model.save(tmp_path / "m.tsenet")
    loaded = tsenet.load(tmp_path / "m.tsenet")
    np.testing.assert_array_equal(
        loaded.transform(texts).toarray(), model.transform(texts).toarray()
    )
    kept = TopicModel(keep_urls=True).fit(texts)
    assert {"mail", "fun", "joe", "today"} <= set(kept.vocabulary_)
    with pytest.raises(ValueError, match=r"keep_urls.*must be"):
        TopicModel(keep_urls="no").fit(texts)


def test_blas_has_one_thread_while_topics_are_learned(texts: list[str]) -> None:
    """How BLAS divides a sum among threads would be seen in the last bits of a model."""
    seen: list[set[int]] = []

    def note(stage: str, done: int, total: int | None) -> None:
        libraries = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
        seen.append({lib["num_threads"] for lib in libraries})

    with threadpool_limits(2, "blas"):
        TopicModel(progress=note, **QUICK).fit(
            count_words(texts, TopicModel().fit(texts).vectorizer_)
        )
    assert seen
    assert all(threads == {1} for threads in seen)
