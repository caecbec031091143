"""Few labels, many rows: rows without a label teach the network structure and first weights."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.model_selection import KFold, cross_val_score

from tests.builders import FAST
from tsenet import DataError, TSENetClassifier, TSENetRegressor

N_ROWS, N_LABELLED = 900, 9


def documents(seed: int) -> tuple[csr_array, NDArray[np.int64]]:
    """Three subjects of ten groups of four words that go together; a document has three groups of its subject."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(3, size=N_ROWS)
    counts = np.zeros((N_ROWS, 120), np.float32)
    for row, kind in enumerate(subject):
        for group in rng.choice(10, 3, replace=False):
            words = 40 * kind + 4 * group + np.arange(4)
            counts[row, words[rng.random(4) < 0.7]] += 1
        counts[row, rng.integers(120, size=3)] += 1  # noise
    return csr_array(counts), subject


@pytest.fixture(scope="module")
def data() -> tuple[csr_array, NDArray[np.int64], NDArray[np.int64]]:
    rows, subject = documents(0)
    few = np.full(N_ROWS, -1)
    few[:N_LABELLED] = subject[:N_LABELLED]
    return rows, subject, few


@pytest.fixture(scope="module")
def semi(data: tuple[csr_array, NDArray[np.int64], NDArray[np.int64]]) -> TSENetClassifier:
    rows, _, few = data
    return TSENetClassifier(unlabeled=-1, random_state=0).fit(rows, few)


def test_rows_without_labels_pay(
    semi: TSENetClassifier, data: tuple[csr_array, NDArray[np.int64], NDArray[np.int64]]
) -> None:
    rows, _, few = data
    new_rows, new_subject = documents(1)
    alone = TSENetClassifier(random_state=0).fit(rows[:N_LABELLED], few[:N_LABELLED])

    assert semi.classes_.tolist() == [0, 1, 2]
    assert semi.predict_proba(new_rows).shape == (N_ROWS, 3)
    assert semi.score(new_rows, new_subject) > alone.score(new_rows, new_subject) + 0.1
    assert semi.score(new_rows, new_subject) > 0.9
    assert semi.history_.n_epochs > 0  # never left untrained


@pytest.fixture(scope="module")
def three() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of the honest classes −1, 0 and 1; most are of class −1."""
    rows = np.random.default_rng(0).normal(size=(300, 4))
    return rows, np.digitize(rows[:, 0], [0.2, 1.0]) - 1


@pytest.mark.parametrize(
    ("kinds", "marker"), [([-1, 0, 1, -1], "-1"), (["-1", "a", "b", "-1"], "'-1'")]
)
def test_a_likely_marker_is_named(kinds: list[object], marker: str) -> None:
    y = np.resize(np.array(kinds), 40)
    says = f"class {marker} in 20 of 40 rows, .* with unlabeled={marker} "
    with pytest.warns(UserWarning, match=says) as found:
        TSENetClassifier(**FAST).fit(np.random.default_rng(0).normal(size=(40, 4)), y)
    assert found[0].filename == __file__  # points at the user's line


@pytest.mark.parametrize("kinds", [[-1, 1], [-1, 0, 1, 1], [-2, -1, 0, -1], ["-1", "a", "b", "b"]])
def test_no_warning_where_minus_one_is_clear(kinds: list[object]) -> None:
    y = np.resize(np.array(kinds), 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TSENetClassifier(**FAST).fit(np.random.default_rng(0).normal(size=(40, 4)), y)
    assert model.classes_.tolist() == sorted(set(kinds))  # type: ignore[type-var]  # of one kind each


@pytest.mark.parametrize(
    ("blank", "unlabeled"), [(None, None), (np.nan, None), ("", None), ("?", "?")]
)
def test_every_mark_gives_the_same_model(
    blank: object, unlabeled: object, three: tuple[NDArray[np.float64], NDArray[np.int64]]
) -> None:
    rows, kinds = three
    names = np.array(["low", "middle", "high"], dtype=object)[kinds + 1]
    few = names.copy()
    few[60:] = blank
    model = TSENetClassifier(**FAST, unlabeled=unlabeled).fit(rows, few)
    codes = np.where(np.arange(300) < 60, np.unique(names, return_inverse=True)[1], -1)
    same = TSENetClassifier(**FAST, unlabeled=-1).fit(rows, codes)

    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert np.array_equal(model.predict_proba(rows), same.predict_proba(rows))
    assert model.score(rows, few) == pytest.approx(np.mean(model.predict(rows)[:60] == names[:60]))
    weights = np.ones(300)
    weights[30:] = 0
    assert model.score(rows, few, weights) == np.mean(model.predict(rows)[:30] == names[:30])


def test_cross_validation_scores_labelled_rows_alone(
    three: tuple[NDArray[np.float64], NDArray[np.int64]],
) -> None:
    rows, kinds = three
    few = np.where(np.arange(300) % 3 == 0, kinds + 1, -1)
    scores = cross_val_score(TSENetClassifier(**FAST, unlabeled=-1), rows, few, cv=3)
    assert scores.min() > 0.7
    missing = np.where(few < 0, np.nan, few)
    folds = KFold(3, shuffle=True, random_state=0)
    assert cross_val_score(TSENetClassifier(**FAST), rows, missing, cv=folds).min() > 0.7


def test_targets_that_cannot_be_it_are_refused(
    three: tuple[NDArray[np.float64], NDArray[np.int64]],
) -> None:
    rows, kinds = three
    model = TSENetClassifier(**FAST).fit(rows, kinds + 1)
    with pytest.raises(DataError, match="does not hold what the model predicts: it holds 'a'"):
        model.score(rows, ["a", "b", "c"] * 100)
    with pytest.raises(DataError, match="all 300 rows are without one"):
        model.score(rows, [None] * 300)
    with pytest.raises(DataError, match=r"not there before: \[-1\].*with unlabeled=-1"):
        model.partial_fit(rows, kinds)


def test_a_regressor_learns_from_rows_without_a_value() -> None:
    rows = np.random.default_rng(3).normal(size=(200, 5))
    values = rows[:, 0] - rows[:, 1]
    few = np.where(np.arange(200) < 60, values, np.nan)
    model = TSENetRegressor(**FAST).fit(rows, few)
    assert model.score(rows, values) > 0.8
    assert model.score(rows, few) == pytest.approx(model.score(rows[:60], values[:60]))


def test_partly_known_values_and_labels() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(120, 5))
    values = np.stack([rows[:, 0], rows[:, 1] + rows[:, 2]], axis=1)
    values[30:] = np.nan
    values[5, 0] = np.nan
    model = TSENetRegressor(random_state=0).fit(rows, values)
    assert model.score(rows[:30], values[:30]) > 0.9
    labels = np.where(np.isnan(values), np.nan, values > 0)
    assert TSENetClassifier(random_state=0).fit(rows, labels).score(rows, labels) > 0.8


def test_no_label_at_all_is_an_error() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 4))
    with pytest.raises(DataError):
        TSENetClassifier().fit(rows, np.full((40, 2), np.nan))


# ---- how sure, and how good


def word_rows(seed: int, n_rows: int) -> tuple[csr_array, NDArray[np.int64]]:
    """Short documents of three classes that share most of their words."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(3, size=n_rows)
    own = np.random.default_rng(0).dirichlet(np.full(400, 0.1), size=3)
    common = np.random.default_rng(1).dirichlet(np.full(400, 0.2))
    rows = [rng.multinomial(9, 0.65 * common + 0.35 * own[k]) for k in classes]
    return csr_array(np.array(rows)), classes


def test_probabilities_of_few_labels_are_calibrated() -> None:
    counts, classes = word_rows(2, 3000)
    few = np.where(np.arange(3000) < 300, classes, -1)
    model = TSENetClassifier(unlabeled=-1, random_state=0).fit(counts, few)
    new, truth = word_rows(3, 2000)

    shares = model.predict_proba(new)

    right = shares.argmax(axis=1) == truth
    assert abs(shares.max(axis=1).mean() - right.mean()) < 0.05
    score = model.cv_score_
    assert score is not None
    assert (score.metric, score.n_rows, score.scored) == ("accuracy", 300, "teacher")
    assert score.unseen_share == 0
    assert score.low - 0.05 < right.mean() < score.high + 0.05


@pytest.mark.parametrize("n_known", [2, 3, 5])
def test_a_handful_of_labelled_rows_is_enough(n_known: int) -> None:
    """One class or value more than the fewest: a fit, or an error that says what is missing."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(100, 4))
    values = np.where(np.arange(100) < n_known, rng.normal(size=100), np.nan)
    assert np.isfinite(TSENetRegressor(random_state=0).fit(dense, values).predict(dense)).all()
    labels = np.where(np.arange(100)[:, None] < n_known, [[0.0, 1.0]], np.nan)
    labels[0, 0] = 1.0
    shares = TSENetClassifier(random_state=0).fit(dense, labels).predict_proba(dense)
    assert np.isfinite(shares).all()


@pytest.mark.parametrize("n_rows", [3, 100])
def test_one_label_of_each_class_is_enough(n_rows: int) -> None:
    """No row can be held out: the parts are blended without cross-validation."""
    rng = np.random.default_rng(0)
    words = csr_array(rng.poisson(1.0, size=(n_rows, 12)))
    vectors = rng.normal(size=(n_rows, 5))
    classes = np.where(np.arange(n_rows) < 3, np.arange(n_rows), -1)
    model = TSENetClassifier(unlabeled=-1, random_state=0, max_epochs=3)
    model.fit(words, classes, embeddings=vectors, inputs="both")
    assert model.cv_score_ is None
    assert np.isfinite(model.predict_proba(words, vectors)).all()


def test_the_score_tells_how_many_classes_have_no_label() -> None:
    """Of 400 rows of 40 classes a dozen classes have a label, most of them one: half of the rows are of others."""
    rng = np.random.default_rng(0)
    classes = rng.integers(40, size=400)
    words = csr_array(np.eye(40)[classes] + (rng.random((400, 40)) < 0.02))
    few = np.where(np.arange(400) < 20, classes, -1)
    model = TSENetClassifier(unlabeled=-1, random_state=0, max_epochs=3).fit(words, few)
    score = model.cv_score_
    assert score is not None
    unseen = ~np.isin(classes[20:], classes[:20])
    counts = np.bincount(classes[:20])
    assert score.unseen_share == (counts == 1).sum() / 20
    assert abs(score.unseen_share - unseen.mean()) < 0.25
    assert score.n_rows == 20 - (counts == 1).sum()
    assert f"about {score.unseen_share:.0%} of all rows are of classes without a label" in str(
        score
    )


def test_one_labelled_row_is_refused() -> None:
    dense = np.random.default_rng(0).normal(size=(100, 4))
    values = np.where(np.arange(100) < 1, 1.0, np.nan)
    with pytest.raises(DataError, match="label"):
        TSENetRegressor(random_state=0).fit(dense, values)
    with pytest.raises(DataError, match="label"):
        TSENetClassifier(random_state=0).fit(dense, np.stack([values, values], axis=1))


# ---- which rows to label next


def test_suggested_rows_are_unsure_and_differ() -> None:
    """Two groups of words that the labels know, three that they do not."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(5), 60)
    counts = (rng.random((300, 50)) < 0.02).astype(np.float32)
    for row, kind in enumerate(group):
        counts[row, 10 * kind + rng.choice(10, 5, replace=False)] = 1
    y = np.full(300, None)
    y[:20], y[60:80] = "a", "b"
    model = TSENetClassifier(random_state=0, max_epochs=10).fit(csr_array(counts), y)
    unlabelled = np.flatnonzero(y == None)  # noqa: E711  # entry by entry
    chosen = unlabelled[model.suggest(csr_array(counts[unlabelled]), n=6)]

    assert len(set(chosen.tolist())) == 6
    assert {2, 3, 4} <= set(group[chosen].tolist())
    assert sorted(model.suggest(csr_array(counts[:4]), n=20)) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="from 1 on"):
        model.suggest(csr_array(counts), n=0)


def test_rows_with_several_labels_are_suggested_too() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 6))
    labels = (rows[:, :2] > 0).astype(float)
    model = TSENetClassifier(random_state=0, max_epochs=10).fit(rows, labels)
    far = np.where(rows[:, :2] > 0, 4.0, -4.0)
    rows[100:, :2] = far[100:]  # far from both boundaries
    assert (model.suggest(rows, n=10) < 100).sum() >= 6
