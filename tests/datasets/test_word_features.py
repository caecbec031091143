"""Data sets of documents from small files in the official formats; weights; no leaks from test rows."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from tests.datasets.makers import csv_text, documents, titled, write, write_tar
from tsenet.data.text import words_of
from tsenet.datasets import Dataset, load
from tsenet.datasets.catalog import CATALOG
from tsenet.datasets.corpora import body_of
from tsenet.datasets.word_features import weigh
from tsenet.errors import DataError

Rows = list[tuple[int, str]]


def put_ag(folder: Path, train: Rows, test: Rows, suffix: str = "") -> Path:
    write(folder / f"train.csv{suffix}", csv_text(titled(train)))
    write(folder / f"test.csv{suffix}", csv_text(titled(test)))
    return folder


@pytest.fixture
def ag(tmp_path: Path) -> Dataset:
    put_ag(tmp_path / "ag", documents(80, 4), documents(16, 4, seed=1))
    return load("ag_news", home=tmp_path / "ag")


def same_rows(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and (one != other).nnz == 0)


class TestZhang:
    def test_parts(self, ag: Dataset) -> None:
        assert [len(part) for part in ag.parts.values()] == [72, 8, 16]
        assert ag.class_names == ("World", "Sports", "Business", "Sci/Tech")
        assert ag.task == "classes"
        assert np.bincount(ag.validation.y).tolist() == [2, 2, 2, 2]
        assert sp.issparse(ag.train.X)
        assert ag.train.texts is not None
        for text, number in zip(ag.train.texts, ag.train.y, strict=True):
            assert f"number{number}" in text  # text and class stay together
        rows = {text for part in ag.parts.values() for text in part.texts or ()}
        assert rows == {t for _, t in documents(80, 4)} | {t for _, t in documents(16, 4, seed=1)}
        assert set(ag.feature_names) >= {"football", "senate", "telescope", "sugar"}
        assert "the" not in ag.feature_names

    def test_partial_file_is_noted(self, ag: Dataset) -> None:
        assert "The training file holds 80 rows, not the official 120,000" in ag.card.notes[0]

    def test_official_number_of_rows_gets_the_papers_validation(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from dataclasses import replace

        monkeypatch.setitem(
            CATALOG, "ag_news", replace(CATALOG["ag_news"], n_train=80, n_validation=13)
        )
        put_ag(tmp_path, documents(80, 4), documents(8, 4, seed=1))
        dataset = load("ag_news", home=tmp_path)
        assert (len(dataset.train), len(dataset.validation)) == (67, 13)
        assert not any("official" in note for note in dataset.card.notes)

    @pytest.mark.parametrize("suffix", [".gz", ".xz"])
    def test_compressed(self, ag: Dataset, tmp_path: Path, suffix: str) -> None:
        put_ag(tmp_path / "b", documents(80, 4), documents(16, 4, seed=1), suffix)
        other = load("ag_news", home=tmp_path / "b")
        assert same_rows(ag.train.X, other.train.X)
        assert ag.test.texts == other.test.texts

    @pytest.mark.parametrize("ending", ["tgz", "tar.gz"])
    def test_archive(self, tmp_path: Path, ending: str) -> None:
        train, test = documents(56, 14), documents(14, 14, seed=1)
        write_tar(
            tmp_path / "dbpedia" / f"dbpedia_csv.{ending}",
            {
                "dbpedia_csv/readme.txt": "hello",
                "dbpedia_csv/train.csv": csv_text(titled(train)),
                "dbpedia_csv/test.csv": csv_text(titled(test)),
            },
        )
        dataset = load("dbpedia", home=tmp_path)
        assert [len(part) for part in dataset.parts.values()] == [50, 6, 14]
        assert dataset.test.texts == tuple(text for _, text in test)
        assert dataset.class_names[13] == "WrittenWork"
        assert dataset.test.y.tolist() == list(range(14))

    def test_columns_and_escapes(self, tmp_path: Path) -> None:
        """Yelp has the text alone, Yahoo! three columns; both write a line break as backslash and n."""
        yelp = [(1 + k % 5, f'said ""good{k % 7}\\nfood') for k in range(40)]
        write(tmp_path / "yelp_review_full/train.csv", csv_text(yelp))
        write(tmp_path / "yelp_review_full/test.csv", csv_text(yelp[:5]))
        dataset = load("yelp_review_full", home=tmp_path)
        assert dataset.test.texts is not None
        assert dataset.test.texts[0] == 'said ""good0\nfood'
        assert "food" in dataset.feature_names
        assert "nfood" not in dataset.feature_names
        yahoo = [(1 + k % 10, "title", "" if k % 2 else "question", "answer") for k in range(40)]
        write(tmp_path / "yahoo_answers/train.csv", csv_text(yahoo))
        write(tmp_path / "yahoo_answers/test.csv", csv_text(yahoo[:2]))
        dataset = load("yahoo_answers", home=tmp_path)
        assert dataset.test.texts == ("title question answer", "title answer")

    def test_sogou(self, tmp_path: Path) -> None:
        rows = [
            (1 + k % 5, f"2008 nian2 zi4{k % 3}", f"che1 zha3n\\nkua4i xu4n{k}") for k in range(40)
        ]
        write(tmp_path / "sogou_news/train.csv", csv_text(rows))
        write(tmp_path / "sogou_news/test.csv", csv_text(rows[:5]))
        dataset = load("sogou_news", home=tmp_path)
        assert {"nian2", "che1", "kua4i"} <= set(dataset.feature_names)
        assert dataset.card.n_duplicates == 5

    @pytest.mark.parametrize("number", ["0", "5", "one", ""])
    def test_unknown_class(self, tmp_path: Path, number: str) -> None:
        put_ag(tmp_path, documents(20, 4), documents(4, 4))
        write(tmp_path / "test.csv", csv_text([(number, "title", "text")]))
        with pytest.raises(DataError, match="column 1 is not one of 1 to 4"):
            load("ag_news", home=tmp_path)

    def test_damaged_archive(self, tmp_path: Path) -> None:
        path = write_tar(
            tmp_path / "dbpedia_csv.tgz",
            {"dbpedia_csv/train.csv": csv_text(titled(documents(2000, 14)))},
        )
        whole = path.read_bytes()
        with pytest.raises(DataError, match=r"does not hold dbpedia_csv/test\.csv"):
            load("dbpedia", home=tmp_path)
        for content in (whole[: len(whole) // 2], b"no archive", gzip.compress(b"no tar" * 1000)):
            path.write_bytes(content)
            with pytest.raises(DataError, match="damaged or not a tar archive"):
                load("dbpedia", home=tmp_path)


class TestNewsgroups:
    POST = (
        "From: someone@example.org\nSubject: engines\n\n"
        "In article <1@x> other writes:\n> old words\n| older\n"
        "My {word} engine{k} runs.\nAnd well.\n\n--\nSignature of {k}\n"
    )

    def post(self, k: int) -> str:
        return self.POST.format(k=k, word=("turbo", "diesel", "steam")[k % 3])

    def test_csv(self, tmp_path: Path) -> None:
        rows = [(1 + k % 20, 1000 + k, self.post(k)) for k in range(60)]
        write(tmp_path / "20newsgroups/train.csv.xz", csv_text(rows[:40]))
        write(tmp_path / "20newsgroups/test.csv.xz", csv_text(rows[40:]))
        dataset = load("20newsgroups", home=tmp_path)
        assert [len(part) for part in dataset.parts.values()] == [36, 4, 20]
        assert dataset.test.texts is not None
        assert dataset.test.texts[0] == "My diesel engine40 runs.\nAnd well.\n"
        assert dataset.class_names[19] == "talk.religion.misc"

    def test_archive(self, tmp_path: Path) -> None:
        groups = CATALOG["20newsgroups"].classes
        files: dict[str, str | bytes] = {}
        for part, rows in (("train", range(40)), ("test", range(40, 60))):
            for k in rows:
                name = f"20news-bydate-{part}/{groups[k % 20]}/{1000 + k}"
                # the real files are Latin-1, not UTF-8
                files[name] = self.post(k).replace("well", "w\xe9ll").encode("latin-1")
        write_tar(tmp_path / "20news-bydate.tar.gz", dict(reversed(files.items())))
        dataset = load("20newsgroups", home=tmp_path)
        assert [len(part) for part in dataset.parts.values()] == [36, 4, 20]
        assert dataset.test.texts is not None
        assert dataset.test.texts[0] == "My diesel engine40 runs.\nAnd w\xe9ll.\n"
        assert dataset.test.y.tolist() == list(range(20))

    @pytest.mark.parametrize(
        "post",
        [
            "H: x\n\nbody\n\nfooter",
            "H: x\n\nbody only",
            "H: x\n\n\n\nbody\n---\nfooter\n\n\n",
            "H: x\n\nHe said: no\nyes\n  --  \nname",
            "H: x\n\n> a\n| b\nQuoted from c\nd wrote:\ne\n\n",
            "no header at all",
            "",
            "H: x\n\n\n",
            "H: x\n\n--\nall footer",
            "H\n\na\n\nb\n\n>c",
        ],
    )
    def test_bodies_as_scikit_learn_strips_them(self, post: str) -> None:
        from sklearn.datasets import _twenty_newsgroups as sk

        theirs = sk.strip_newsgroup_header(post)
        theirs = sk.strip_newsgroup_quoting(sk.strip_newsgroup_footer(theirs))
        assert body_of(post) == theirs


class TestImdb:
    def test_archive(self, tmp_path: Path) -> None:
        files: dict[str, str | bytes] = {
            "aclImdb/README": "hello",
            "aclImdb/train/unsup/0_0.txt": "x",
        }
        for name in ("train", "test"):
            for k in range(20):
                folder = ("neg", "pos")[k % 2]
                files[f"aclImdb/{name}/{folder}/{k}_{k % 10}.txt"] = (
                    f"{('awful', 'great')[k % 2]} movie film{k % 4} {name}"
                )
        write_tar(tmp_path / "imdb" / "aclImdb_v1.tar.gz", files)
        dataset = load("imdb", home=tmp_path)
        assert [len(part) for part in dataset.parts.values()] == [18, 2, 20]
        assert dataset.class_names == ("negative", "positive")
        for part in dataset.parts.values():
            assert part.texts is not None
            for text, number in zip(part.texts, part.y, strict=True):
                assert text.startswith(("awful", "great")[number])

    def test_empty_part(self, tmp_path: Path) -> None:
        write_tar(tmp_path / "aclImdb_v1.tar.gz", {"aclImdb/train/neg/1_1.txt": "bad film"})
        with pytest.raises(DataError, match="holds no documents in aclImdb/test"):
            load("imdb", home=tmp_path)


class TestWeights:
    @pytest.fixture
    def counts(self, ag: Dataset) -> list[Any]:
        """Counts by scikit-learn, on the words of the data set."""
        counter = CountVectorizer(analyzer=words_of, vocabulary=list(ag.feature_names))
        return [sp.csr_array(counter.transform(part.texts)) for part in ag.parts.values()]

    def test_tfidf(self, ag: Dataset, counts: list[Any]) -> None:
        train = counts[0].toarray()
        idf = 1 + np.log((1 + len(train)) / (1 + (train > 0).sum(axis=0)))
        for part, count in zip(ag.parts.values(), counts, strict=True):
            dense = count.toarray()
            weights = np.where(dense > 0, 1 + np.log(np.maximum(dense, 1)), 0) * idf
            length = np.linalg.norm(weights, axis=1, keepdims=True)
            expected = np.divide(weights, length, out=np.zeros_like(weights), where=length > 0)
            assert part.X.dtype == np.float32
            np.testing.assert_allclose(part.X.toarray(), expected, rtol=1e-6, atol=1e-7)

    @pytest.mark.parametrize("weighting", ["counts", "binary"])
    def test_counts_and_binary(
        self, ag: Dataset, counts: list[Any], tmp_path: Path, weighting: Any
    ) -> None:
        dataset = load("ag_news", home=tmp_path / "ag", weighting=weighting)
        for part, count in zip(dataset.parts.values(), counts, strict=True):
            expected = count.toarray() if weighting == "counts" else count.toarray() > 0
            assert np.array_equal(part.X.toarray(), expected)
        assert counts[0].max() > 1  # or both would be the same

    def test_words_are_the_most_frequent_in_training(self, ag: Dataset, tmp_path: Path) -> None:
        few = load("ag_news", home=tmp_path / "ag", n_words=7)
        assert few.n_features == 7
        words = [word for text in ag.train.texts or () for word in words_of(text)]
        rest = set(ag.feature_names) - set(few.feature_names)
        assert min(map(words.count, few.feature_names)) >= max(map(words.count, rest))

    def test_empty_rows_stay_empty(self) -> None:
        counts = sp.csr_array(np.array([[0, 0], [2, 1]], np.int32))
        (weighed,) = weigh([counts], "tfidf")
        assert weighed.toarray()[0].tolist() == [0, 0]
        assert np.isfinite(weighed.toarray()).all()

    @pytest.mark.parametrize(
        "options", [{"n_words": 0}, {"weighting": "bm25"}], ids=["words", "weighting"]
    )
    def test_wrong_options(self, options: Any) -> None:
        with pytest.raises(DataError, match=next(iter(options))):
            load("ag_news", **options)


class TestNoLeaks:
    """Validation and test rows do not change the training features."""

    def change(self, tmp_path: Path, alter: Callable[[Rows, Rows, Dataset], None]) -> list[Dataset]:
        train, test = documents(80, 4), documents(16, 4, seed=1)
        put_ag(tmp_path / "a", train, test)
        before = load("ag_news", home=tmp_path / "a")
        alter(train, test, before)
        put_ag(tmp_path / "b", train, test)
        return [before, load("ag_news", home=tmp_path / "b")]

    def assert_same_training(self, before: Dataset, after: Dataset) -> None:
        assert before.feature_names == after.feature_names
        assert before.train.texts == after.train.texts
        assert same_rows(before.train.X, after.train.X)

    def test_test_rows(self, tmp_path: Path) -> None:
        def alter(train: Rows, test: Rows, before: Dataset) -> None:
            test[:] = [(1, "football novelty novelty galaxy") for _ in range(500)]

        before, after = self.change(tmp_path, alter)
        self.assert_same_training(before, after)
        assert same_rows(before.validation.X, after.validation.X)
        assert len(after.test) == 500
        assert "novelty" not in after.feature_names

    def test_validation_rows(self, tmp_path: Path) -> None:
        def alter(train: Rows, test: Rows, before: Dataset) -> None:
            held = set(before.validation.texts or ())
            for place, (number, text) in enumerate(train):
                if text in held:
                    train[place] = (number, "football novelty novelty galaxy")

        before, after = self.change(tmp_path, alter)
        self.assert_same_training(before, after)
        assert same_rows(before.test.X, after.test.X)
        assert not same_rows(before.validation.X, after.validation.X)

    def test_training_rows_do_change_it(self, tmp_path: Path) -> None:
        def alter(train: Rows, test: Rows, before: Dataset) -> None:
            chosen = (before.train.texts or ())[:2]
            for place, (number, text) in enumerate(train):
                if text in chosen:
                    train[place] = (number, "football novelty novelty galaxy")

        before, after = self.change(tmp_path, alter)
        assert "novelty" in after.feature_names
        assert not np.array_equal(before.test.X.data, after.test.X.data)

    def test_duplicates_are_marked(self, tmp_path: Path) -> None:
        train, test = documents(80, 4), documents(16, 4, seed=1)
        for place, copied in ((3, 10), (7, 50)):
            test[place] = (test[place][0], train[copied][1].upper())
        put_ag(tmp_path, train, test)
        card = load("ag_news", home=tmp_path).card
        assert np.flatnonzero(card.in_training).tolist() == [3, 7]
        assert "duplicates: 2 test rows also in training" in card.report()


class TestCache:
    def made(self, folder: Path) -> list[Path]:
        return sorted((folder / "made").iterdir())

    def test_second_time_from_the_cache(
        self, ag: Dataset, tmp_path: Path, own_folders: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO, "tsenet"):
            again = load("ag_news", home=tmp_path / "ag", weighting="binary")
        assert "reading documents" not in caplog.text
        assert again.train.texts == ag.train.texts
        assert np.array_equal(again.train.X.indices, ag.train.X.indices)
        assert again.card.recipe != ag.card.recipe
        assert again.card.notes == ag.card.notes
        assert len(self.made(own_folders)) == 1  # counts are cached, weights are not

    def test_other_content_or_words_are_built_again(
        self, ag: Dataset, tmp_path: Path, own_folders: Path
    ) -> None:
        load("ag_news", home=tmp_path / "ag", n_words=5)
        assert len(self.made(own_folders)) == 2
        put_ag(tmp_path / "ag", documents(80, 4, seed=5), documents(16, 4, seed=1))
        assert load("ag_news", home=tmp_path / "ag").train.texts != ag.train.texts
        assert len(self.made(own_folders)) == 3

    def test_damaged_cache(
        self, ag: Dataset, tmp_path: Path, own_folders: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (path,) = self.made(own_folders)
        path.write_bytes(path.read_bytes()[:-100])
        with caplog.at_level(logging.WARNING, "tsenet"):
            again = load("ag_news", home=tmp_path / "ag")
        assert "building it again" in caplog.text
        assert same_rows(again.train.X, ag.train.X)


def test_progress_is_reported(tmp_path: Path) -> None:
    put_ag(tmp_path, documents(20, 4), documents(4, 4))
    stages: list[str] = []
    load("ag_news", home=tmp_path, progress=lambda stage, done, total: stages.append(stage))
    assert list(dict.fromkeys(stages)) == ["reading documents", "counting words"]
