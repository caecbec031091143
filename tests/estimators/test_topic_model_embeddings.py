"""Topics learned from texts and vectors of an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score as nmi
from sklearn.model_selection import GridSearchCV

import tsenet
from tsenet import TopicModel
from tsenet.data import count_words, shard_documents
from tsenet.errors import DataError, ModelFileError
from tsenet.estimators.structure import tree_of_topics
from tsenet.store import save_parts

N_SUBJECTS, N_WORDS = 4, 40
ENCODER = np.random.default_rng(7).normal(size=(N_SUBJECTS, 16))


def titles(n: int, seed: int) -> tuple[list[str], NDArray[np.float32], NDArray[np.int64]]:
    """Titles of three words, most of them of their subject, vectors near a direction for each subject, the subjects."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(N_SUBJECTS, size=n)
    of_word = np.where(rng.random((n, 3)) < 0.85, subject[:, None], rng.integers(4, size=(n, 3)))
    texts = [
        " ".join(
            f"{'abcd'[k]}word{word}"
            for k, word in zip(of_title, rng.choice(N_WORDS, 3, replace=False), strict=True)
        )
        for of_title in of_word
    ]
    vectors = ENCODER[subject] + 0.5 * rng.normal(size=(n, 16))
    return texts, vectors.astype(np.float32), subject


TEXTS, VECTORS, SUBJECT = titles(600, 0)
NEW_TEXTS, NEW_VECTORS, NEW_SUBJECT = titles(300, 1)


@pytest.fixture(scope="module")
def with_vectors() -> TopicModel:
    return TopicModel(levels=(N_SUBJECTS,)).fit(TEXTS, embeddings=VECTORS)


@pytest.fixture(scope="module")
def saved(with_vectors: TopicModel, tmp_path_factory: pytest.TempPathFactory) -> TopicModel:
    path = tmp_path_factory.mktemp("models") / "m.tsenet"
    with_vectors.save(path)
    return tsenet.load(path)


def agreement(strengths: Any, subject: NDArray[np.int64]) -> float:
    return float(nmi(subject, strengths.toarray().argmax(axis=1)))


def test_vectors_tell_the_subjects_of_titles(with_vectors: TopicModel) -> None:
    words = TopicModel(levels=(N_SUBJECTS,)).fit(TEXTS)
    alone = agreement(words.transform(NEW_TEXTS), NEW_SUBJECT)
    together = agreement(with_vectors.transform(NEW_TEXTS, embeddings=NEW_VECTORS), NEW_SUBJECT)
    assert together > 0.9
    assert alone < 0.7


def test_without_vectors_the_words_tell_and_a_warning_says_so(with_vectors: TopicModel) -> None:
    with pytest.warns(UserWarning, match="learned with embeddings, and none are given"):
        by_words = with_vectors.transform(NEW_TEXTS)
    assert agreement(by_words, NEW_SUBJECT) > 0.7
    nowhere = np.zeros_like(NEW_VECTORS)  # a vector of zeros says nothing
    assert (by_words != with_vectors.transform(NEW_TEXTS, embeddings=nowhere)).nnz == 0


def test_vectors_tell_which_documents_fit(with_vectors: TopicModel) -> None:
    assert with_vectors.n_outliers_ == 6  # one in a hundred
    own = with_vectors.predict(NEW_TEXTS, embeddings=NEW_VECTORS)
    assert np.mean(own < 0) < 0.1
    others = np.random.default_rng(3).normal(size=NEW_VECTORS.shape)  # of the same words
    assert np.mean(with_vectors.predict(NEW_TEXTS, embeddings=others) < 0) > 0.9
    nearest = with_vectors.assign_outliers(NEW_TEXTS, embeddings=others)
    assert np.mean(nearest >= 0) > 0.95
    unknown = with_vectors.predict(["nothing"] * 300, embeddings=NEW_VECTORS)
    assert nmi(NEW_SUBJECT, unknown) > 0.9  # no word is known


def test_nobody_sees_hidden_words(with_vectors: TopicModel, tmp_path: Path) -> None:
    known = {word for text in TEXTS for word in text.split()}
    assert set(with_vectors.vocabulary_) == known
    topics = with_vectors.topics_
    assert {word for words in topics["words"] for word, _ in words} <= known
    assert {word for members in topics["members"] for word in members} <= known
    assert set(with_vectors.to_tree().names) == known | set(topics["id"])
    with_vectors.report(tmp_path / "page.html", quote=TEXTS)
    assert "</html>" in (tmp_path / "page.html").read_text("utf-8")
    assert with_vectors.evaluate()["npmi"].notna().all()
    share = (with_vectors.transform() >= 0.5).mean(axis=0)
    assert np.allclose(share, topics["share"])


def test_a_network_of_words_is_built_on_topics_of_vectors(with_vectors: TopicModel) -> None:
    words = count_words(NEW_TEXTS, with_vectors.vectorizer_)
    tree = tree_of_topics(with_vectors, words)  # without a warning: no network reads vectors
    assert set(tree.rule.names) == set(with_vectors.vocabulary_)
    assert len(tree.latent_names) == N_SUBJECTS


def test_the_number_of_topics_is_found() -> None:
    topics = TopicModel().fit(TEXTS, embeddings=VECTORS).topics_
    lowest = topics[topics["level"] == 1]
    assert N_SUBJECTS <= len(lowest) <= 2 * N_SUBJECTS
    for words in lowest["words"]:  # each is of one subject
        assert len({word[0] for word, _ in words}) == 1


def test_methods_that_take_documents_take_their_vectors(saved: TopicModel) -> None:
    given = {"texts": NEW_TEXTS, "embeddings": NEW_VECTORS}
    strengths = saved.transform(**given)
    name = saved.topics_["id"][0]
    first = saved.documents_of(name, **given, n_documents=1)
    assert first["strength"][0] == strengths[:, [0]].max()
    one = saved.topics_of(NEW_TEXTS[0], embedding=NEW_VECTORS[0])
    assert one["strength"][0] == pytest.approx(strengths[[0]].max())
    classes = saved.per_class(NEW_SUBJECT, **given)
    assert np.allclose(np.sort(classes.to_numpy(), axis=1)[:, -1], 1.0, atol=0.1)
    assert saved.over_time(NEW_SUBJECT, **given).to_numpy() == pytest.approx(classes.to_numpy())
    assert len(saved.evaluate(**given)) == 1
    seen = []
    saved.label_with(lambda words, texts: seen.append(texts) or "", **given)
    assert all(len({text[0] for text in texts}) == 1 for texts in seen)


def test_edits_take_vectors(with_vectors: TopicModel, tmp_path: Path) -> None:
    with_vectors.save(tmp_path / "m.tsenet")
    model = tsenet.load(tmp_path / "m.tsenet")
    names = model.topics_["id"].tolist()
    model.merge(names[:2], NEW_TEXTS, embeddings=NEW_VECTORS)
    assert len(model.topics_) == N_SUBJECTS - 1
    model.split(names[0], NEW_TEXTS, embeddings=NEW_VECTORS)
    assert len(model.topics_) == N_SUBJECTS
    nearest = model.assign_outliers(NEW_TEXTS, embeddings=NEW_VECTORS)
    assert nmi(NEW_SUBJECT, nearest) > 0.9
    main = model.predict(NEW_TEXTS, embeddings=NEW_VECTORS)
    assert np.mean(main < 0) < 0.1  # mixed titles
    assert (main == nearest)[main >= 0].all()


def test_fit_transform_and_partial_fit() -> None:
    model = TopicModel(levels=(N_SUBJECTS,))
    strengths = model.fit_transform(TEXTS, embeddings=VECTORS)
    assert (strengths != model.transform(TEXTS, embeddings=VECTORS)).nnz == 0
    model.partial_fit(NEW_TEXTS, embeddings=NEW_VECTORS)
    assert model.n_documents_ == 900
    assert model.transform().shape[0] == 900
    assert agreement(model.transform(), np.concatenate([SUBJECT, NEW_SUBJECT])) > 0.9
    again = TopicModel(levels=(N_SUBJECTS,)).partial_fit(TEXTS, embeddings=VECTORS)
    assert (again.transform() != strengths).nnz == 0


def test_the_same_documents_give_the_same_topics(with_vectors: TopicModel) -> None:
    again = TopicModel(levels=(N_SUBJECTS,)).fit(TEXTS, embeddings=VECTORS.astype(float).tolist())
    assert again.topics_.equals(with_vectors.topics_)


def test_scores_need_no_vectors(with_vectors: TopicModel) -> None:
    words = TopicModel(levels=(N_SUBJECTS,)).fit(TEXTS)
    assert with_vectors.score(NEW_TEXTS) > words.score(NEW_TEXTS)
    search = GridSearchCV(TopicModel(), {"n_topics": [1, N_SUBJECTS]}, cv=2)
    search.fit(TEXTS, embeddings=VECTORS)
    assert search.best_params_ == {"n_topics": N_SUBJECTS}


def test_stability_with_vectors() -> None:
    model = TopicModel(levels=(N_SUBJECTS,))
    alone = model.stability(TEXTS, n_seeds=2)["ami"][0]
    together = model.stability(TEXTS, embeddings=VECTORS, n_seeds=2)["ami"][0]
    assert together > 0.9 > alone


# ---- files


def test_a_model_with_vectors_is_saved(with_vectors: TopicModel, tmp_path: Path) -> None:
    with_vectors.save(tmp_path / "m.tsenet")
    loaded = tsenet.load(tmp_path / "m.tsenet")
    new = {"texts": NEW_TEXTS, "embeddings": NEW_VECTORS}
    assert (loaded.transform(**new) != with_vectors.transform(**new)).nnz == 0
    loaded.save(tmp_path / "again.tsenet")
    assert (tmp_path / "again.tsenet").read_bytes() == (tmp_path / "m.tsenet").read_bytes()


def test_forged_centres_are_refused(with_vectors: TopicModel, tmp_path: Path) -> None:
    meta, arrays = with_vectors.to_parts()
    centres = arrays["cells.centres"]
    for wrong in (
        centres[:-1],
        centres.ravel(),
        centres[:, :0],
        centres.astype(np.float64),
        np.full_like(centres, np.nan),
    ):
        save_parts(tmp_path / "m.tsenet", "TopicModel", meta, {**arrays, "cells.centres": wrong})
        with pytest.raises(ModelFileError):
            tsenet.load(tmp_path / "m.tsenet")
    for wrong in (np.array([np.nan]), np.array([-1.0]), np.array([1.0, 1.0])):
        save_parts(tmp_path / "m.tsenet", "TopicModel", meta, {**arrays, "cells.radius": wrong})
        with pytest.raises(ModelFileError):
            tsenet.load(tmp_path / "m.tsenet")
    for missing in ("cells.centres", "cells.radius"):
        others = {name: array for name, array in arrays.items() if name != missing}
        save_parts(tmp_path / "m.tsenet", "TopicModel", meta, others)
        with pytest.raises(ModelFileError):
            tsenet.load(tmp_path / "m.tsenet")


# ---- wrong input


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (VECTORS[1:], "each of the 600 rows; these have the shape"),
        (VECTORS[:, 0], "these have the shape"),
        (np.where(VECTORS > 1, np.inf, VECTORS), "finite numbers"),
        (np.full_like(VECTORS, 1e300, dtype=float), "finite numbers"),
        ("minilm", "must be an array of numbers"),
    ],
)
def test_wrong_vectors_are_refused(wrong: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TopicModel().fit(TEXTS, embeddings=wrong)


def test_vectors_that_do_not_fit_the_model_are_refused(with_vectors: TopicModel) -> None:
    with pytest.raises(DataError, match=r"of 3 numbers a row were given, but .* with 16"):
        with_vectors.transform(NEW_TEXTS, embeddings=NEW_VECTORS[:, :3])
    with pytest.raises(DataError, match="each of the 300 rows"):
        with_vectors.transform(NEW_TEXTS, embeddings=NEW_VECTORS[:-1])
    with pytest.raises(DataError, match="need the texts that they are of"):
        with_vectors.transform(embeddings=NEW_VECTORS)
    with pytest.raises(DataError, match="learned from words alone"):
        TopicModel(levels=(2,)).fit(TEXTS).transform(NEW_TEXTS, embeddings=NEW_VECTORS)


def test_folders_have_no_vectors(tmp_path: Path) -> None:
    (tmp_path / "titles.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    folder = shard_documents([tmp_path / "titles.txt"], tmp_path / "shards")
    with pytest.raises(DataError, match="not supported for a folder"):
        TopicModel().fit(folder, embeddings=VECTORS)
