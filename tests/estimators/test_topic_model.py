"""TopicModel: documents in, topics out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info, threadpool_limits

import tsenet
from tests.cli.program import SUBJECTS, make_documents
from tests.estimators.topics import QUICK, subject_of
from tsenet import TopicModel
from tsenet.data import count_words
from tsenet.errors import DataError


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


def test_new_documents_change_sizes_only(model: TopicModel) -> None:
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


def test_short_texts_are_a_warning() -> None:
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
