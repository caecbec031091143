"""Data sets: what a fold holds, that nothing leaks from held-out rows, and clear errors."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reproduce.data import (
    DATA,
    SUBJECTS,
    TOX21_LABELS,
    Fold,
    Part,
    Rows,
    check_files,
    count_words,
    fold_of,
    is_drawn,
    label_order,
    load,
)
from tsenet.data import vectorize
from tsenet.errors import DataError


def test_a_text_becomes_counts_of_words(text: Fold) -> None:
    assert text.X.shape == (120, 18)
    assert text.names[0] == "atom"
    raw = load("subj", "train").X[0].split()
    row = dict(zip(text.names, text.X[[0]].toarray()[0].tolist(), strict=True))
    assert {word: n for word, n in row.items() if n} == Counter(raw)
    assert set(text.y.tolist()) == {0.0, 1.0, 2.0}
    assert text.metric == "accuracy"


def test_categories_of_a_table_become_columns(dense: Fold) -> None:
    assert dense.names == ("a", "b", "c", "kind_x", "kind_y")
    assert dense.X.shape == (60, 5)
    assert dense.X_held.shape == (20, 5)


def test_held_out_rows_change_nothing_in_training(folder: Path, text: Fold) -> None:
    path = folder / "suite" / "subj-test.csv.xz"
    frame = pd.read_csv(path)
    frame["text"] = "entirely other words goal"
    frame["label"] = "unseen"
    frame.to_csv(path, index=False)
    changed = fold_of("subj", "test", 0)
    assert changed.names == text.names
    assert (changed.X != text.X).nnz == 0
    assert np.array_equal(changed.y, text.y)
    assert (changed.y_held == -1).all()  # a class that was never seen is never right


def test_validation_reads_no_test_rows(folder: Path) -> None:
    (folder / "suite" / "subj-test.csv.xz").unlink()
    fold = fold_of("subj", "validation", 0)
    assert fold.X.shape[0] == 90
    assert fold.X_held.shape[0] == 30


def test_some_of_the_rows_have_the_classes_in_their_shares(folder: Path) -> None:
    fold = fold_of("subj@30", "test", 0)
    assert fold.X.shape[0] == 30
    assert Counter(fold.y) == {0.0: 10, 1.0: 10, 2.0: 10}
    assert fold.X_held.shape[0] == 60
    with pytest.raises(DataError, match="500 rows were asked for, and there are 120"):
        fold_of("subj@500", "test", 0)


def test_html_and_stop_words_are_treated_as_in_fit() -> None:
    texts = ["<b>goal</b> and the &amp; referee"] * 3
    words = count_words(texts, texts)[2]
    with pytest.warns(UserWarning, match="HTML was removed"):
        vocabulary = vectorize(texts).names
    assert words == vocabulary
    assert "amp" not in words
    assert count_words(texts, texts, stop_words="english")[2] == ("goal", "referee")


def test_seeds_draw_other_held_out_rows(folder: Path) -> None:
    first, again, other = (fold_of("sonar", "test", seed) for seed in (0, 0, 1))
    assert np.array_equal(first.X_held, again.X_held)
    assert not np.array_equal(first.X_held, other.X_held)


@pytest.mark.parametrize(
    ("name", "part"),
    [("subj", "test"), ("subj", "validation"), ("subj@60", "test"), ("sonar", "test")],
)
def test_a_fold_is_the_same_for_all_seeds_unless_rows_are_drawn(
    folder: Path, name: str, part: Part
) -> None:
    first, second = (fold_of(name, part, seed) for seed in (0, 1))
    same = (first.X != second.X).sum() == 0 if first.X.shape == second.X.shape else False
    assert is_drawn(name, part) == (not same or not np.array_equal(first.y, second.y))


def test_labels_are_nested_and_balanced(text: Fold) -> None:
    few, more = (text.with_labels(n, seed=0) for n in (6, 12))
    known = [set(np.flatnonzero(~np.isnan(fold.y))) for fold in (few, more)]
    assert known[0] < known[1]
    assert Counter(more.y[list(known[1])]) == {0.0: 4, 1.0: 4, 2.0: 4}
    assert text.with_labels(None, 0) is text


@given(arrays(np.int64, st.integers(1, 60), elements=st.integers(0, 4)), st.integers(0, 3))
def test_every_class_comes_first(y: np.ndarray, seed: int) -> None:
    order = label_order(y, seed)
    assert sorted(order) == list(range(y.size))
    n_classes = np.unique(y).size
    assert np.unique(y[order[:n_classes]]).size == n_classes


def test_too_many_labels_are_refused(text: Fold, dense: Fold) -> None:
    with pytest.raises(DataError, match="cannot draw 2 labels"):
        text.with_labels(2, 0)
    with pytest.raises(DataError, match="cannot draw 61 labels"):
        dense.with_labels(61, 0)


def test_rows_can_have_labels_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = Rows(["a", "b", "c", "d"], np.array(["1", "7", "19", "20"]))
    several = np.full((3, len(TOX21_LABELS)), np.nan)
    several[:2, TOX21_LABELS.index("SR-p53")] = [1, 0]
    several_rows = Rows(np.arange(3)[:, None], several)
    rows = {"20newsgroups": groups, "tox21": several_rows}
    for name, found in rows.items():
        source = replace(DATA[name], n_train=found.y.shape[0], read=lambda side, found=found: found)
        monkeypatch.setitem(DATA, name, source)
    subjects = load("20newsgroups/subjects", "train")
    assert subjects.y.tolist() == ["religion", "for sale", "politics", "religion"]
    assert subjects.X == groups.X
    assert sum(len(numbers) for numbers in SUBJECTS.values()) == 20
    task = load("tox21/SR-p53", "train")  # the structure is learned from all rows
    assert task.X[:, 0].tolist() == [0, 1, 2]
    assert task.y[:2].tolist() == [1.0, 0.0]
    assert np.isnan(task.y[2])
    monkeypatch.setitem(
        DATA, "tox21", replace(DATA["tox21"], n_test=3, read=lambda side: several_rows)
    )
    assert load("tox21/SR-p53", "test").y.tolist() == [1.0, 0.0]  # the others cannot be scored
    with pytest.raises(DataError, match="20newsgroups/topics: the labels are subjects"):
        load("20newsgroups/topics", "train")


def test_rows_without_a_label_of_a_kind_stay_to_be_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    several = np.full((40, len(TOX21_LABELS)), np.nan)
    column = TOX21_LABELS.index("NR-AR")
    several[:30, column] = rng.permutation(np.repeat([0.0, 1.0], 15))
    keys = np.arange(40)
    sides = {
        "train": Rows(rng.normal(size=(40, 3)), several, keys=keys),
        # one test row repeats a row with a label, one a row without, and one has no label itself
        "test": Rows(
            rng.normal(size=(4, 3)), several[[0, 1, 2, 39]], keys=np.array([3, 35, 99, 4])
        ),
    }
    source = replace(DATA["tox21"], n_train=40, n_test=4, read=sides.__getitem__)
    monkeypatch.setitem(DATA, "tox21", source)
    fold = fold_of("tox21/NR-AR", "test", 0)
    assert fold.X.shape == (40, 3)
    assert np.isnan(fold.y[30:]).all()
    assert np.array_equal(fold.y[:30], several[:30, column])
    assert fold.repeated.tolist() == [True, False, False]
    few = fold.with_labels(10, 0)
    assert Counter(few.y[~np.isnan(few.y)]) == {0.0: 5, 1.0: 5}
    with pytest.raises(DataError, match="cannot draw 31 labels"):
        fold.with_labels(31, 0)
    inner = fold_of("tox21/NR-AR", "validation", 0)
    assert not np.isnan(inner.y_held).any()
    assert np.isnan(inner.y).any()
    assert fold_of("tox21/NR-AR@20", "test", 0).n_classes == 2


def test_errors_say_what_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no data set 'nothing'"):
        load("nothing", "train")
    with pytest.raises(DataError, match=r"imdb needs .*imdb-train"):
        load("imdb", "train")
    with pytest.raises(DataError, match="no official test rows"):
        load("sonar", "test")
    frame = pd.read_csv(folder / "suite" / "subj-train.csv.xz")
    frame[:50].to_csv(folder / "suite" / "subj-train.csv.xz", index=False)
    with pytest.raises(DataError, match="50 train rows, expected 120"):
        load("subj", "train")
    monkeypatch.delenv("TSENET_DATA")
    with pytest.raises(DataError, match="TSENET_DATA is not set"):
        load("subj", "train")


def test_files_are_compared_with_their_digests(folder: Path) -> None:
    status = check_files()
    assert status["suite/sonar.csv.xz"] == "differs"
    assert status["tox21/tox21.csv.gz"] == "missing"


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name in DATA if name != "fashion_mnist"])
def test_real_data_have_their_rows(name: str) -> None:
    fold = fold_of(name, "validation", 0)
    assert fold.X.shape[0] == fold.y.shape[0]
    assert fold.X.shape[1] == fold.X_held.shape[1] == len(fold.names)


@pytest.mark.data
def test_real_files_are_the_documented_ones() -> None:
    assert set(check_files().values()) == {"ok"}


def test_vectors_of_a_file_are_kept_on_disk_and_follow_their_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSENET_CACHE", str(folder))
    kept = np.random.default_rng(0).random((120, 4))
    np.save(folder / "minilm-subj-train.npy", kept)
    fold = fold_of("subj", "validation", 0)
    vectors, held = fold.vectors()
    texts = load("subj", "train").X
    row = {tuple(vector): k for k, vector in enumerate(kept)}
    for part, counts in ((vectors, fold.X), (held, fold.X_held)):
        words = [texts[row[tuple(vector)]].split() for vector in part]
        assert [len(line) for line in words] == counts.sum(axis=1).tolist()
