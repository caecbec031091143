"""Predictions taken apart: the parts sum to the answer, for every kind of network, rows and target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit

from tests.explain.models import dense_rows, fitted, mixed_rows, sparse_rows, wiring
from tsenet import TopicModel, TSENetClassifier
from tsenet.errors import DataError
from tsenet.explain import PredictionExplanation, explain_prediction

CHOSEN = (0, 17, 119)


def one(X: Any, i: int) -> Any:
    return X.iloc[i : i + 1] if hasattr(X, "iloc") else X[i : i + 1]


def answers(model: Any, X: Any) -> Any:
    """(N, outputs) as the user sees them; of two classes the log-odds against and for the second."""
    values = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
    if values.ndim == 2:
        return values
    return np.stack([-values, values], axis=1) if hasattr(model, "classes_") else values[:, None]


def check_sums(found: PredictionExplanation, output: float) -> None:
    """Everything that should sum up does; no part was made by subtraction, so this can fail."""
    near = {"rel": 1e-10, "abs": 1e-10 * (1 + abs(found.output))}
    assert found.output == pytest.approx(output, rel=2e-5, abs=2e-5)
    total = found.start + sum(reason.contribution for reason in found.reasons)
    assert total == pytest.approx(found.output, **near)
    for reason in found.reasons:
        parts = sum(part.contribution for part in reason.features)
        assert parts == pytest.approx(reason.contribution, **near)
    if found.probabilities is not None:
        factor = found.probability_factor
        assert 0 < factor <= 0.25  # so a reason for it never reads as one against it
        chance = expit(found.start) + sum(factor * reason.contribution for reason in found.reasons)
        assert chance == pytest.approx(expit(found.output), abs=1e-9)


@pytest.mark.parametrize("linear_skip", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_reasons_sum_to_the_output(kind: str, linear_skip: bool) -> None:
    X = dense_rows() if kind == "dense" else sparse_rows()
    model = fitted(rows=X, linear_skip=linear_skip)
    wanted = answers(model, X)
    for i in CHOSEN:
        found = explain_prediction(model, one(X, i), target="green", against="blue")
        check_sums(found, wanted[i, 1] - wanted[i, 0])


@pytest.mark.parametrize("target", ["binary", "classes"])
def test_a_class_is_compared_with_the_next_one(target: str) -> None:
    X = dense_rows()
    model = fitted(target)
    chances = model.predict_proba(X)
    for i in CHOSEN:
        found = explain_prediction(model, X[i])
        first, second = np.argsort(-chances[i], kind="stable")[:2]
        assert (found.target, found.against) == (
            str(model.classes_[first]),
            str(model.classes_[second]),
        )
        assert found.probabilities == pytest.approx((chances[i, first], chances[i, second]))
        one_of_two = chances[i, first] / (chances[i, first] + chances[i, second])
        assert expit(found.output) == pytest.approx(one_of_two, abs=1e-5)
        check_sums(found, float(np.log(chances[i, first] / chances[i, second])))
        last = explain_prediction(model, X[i], target=model.classes_[second])
        assert last.against == found.target
        check_sums(last, -found.output)


@pytest.mark.parametrize("target", ["labels", "value", "values"])
def test_labels_and_values_are_explained_alone(target: str) -> None:
    X = dense_rows()
    model = fitted(target)
    wanted = answers(model, X)
    keys = getattr(model, "classes_", np.arange(wanted.shape[1])).tolist()
    for place, key in enumerate(keys):
        found = explain_prediction(model, X[5], target=key)
        check_sums(found, wanted[5, place])
        assert found.against is None
        assert (found.probabilities is None) == (target != "labels")
    default = explain_prediction(model, X[5])
    chosen = 0 if target.startswith("value") else int(wanted[5].argmax())
    assert default.output == pytest.approx(wanted[5, chosen], rel=1e-4)


def test_why_one_class_rather_than_another() -> None:
    X = dense_rows()
    model = fitted("classes")
    wanted = model.decision_function(X[:1])[0]
    found = explain_prediction(model, X[0], target="red", against="blue")
    assert (found.target, found.against) == ("red", "blue")
    check_sums(found, wanted[2] - wanted[0])
    two = fitted("binary")
    log_odds = two.decision_function(X[:1])[0]
    check_sums(explain_prediction(two, X[0], target="no", against="yes"), -log_odds)
    values = fitted("values")
    first, _, third = values.predict(X[:1])[0]
    check_sums(explain_prediction(values, X[0], target=2, against=0), third - first)


def test_a_factor_where_nothing_adds_to_the_start() -> None:
    level = PredictionExplanation("a", "b", 0.3, 0.3, (), (0.6, 0.4))
    assert level.probability_factor == pytest.approx(expit(0.3) * expit(-0.3))
    with pytest.raises(ValueError, match="no probability"):
        _ = PredictionExplanation("y", None, 2.0, 1.0, ()).probability_factor


SUBJECTS = ["goal referee striker keeper", "senate ballot voter mayor", "orbit comet galaxy moon"]


@pytest.fixture(scope="module")
def of_texts() -> TSENetClassifier:
    rng = np.random.default_rng(0)
    kinds = np.arange(240) % 3
    texts = [" ".join([*rng.choice(SUBJECTS[k].split(), 3, replace=False), "the"]) for k in kinds]
    topics = TopicModel(n_topics=3).fit(texts)
    topics.rename({topics.topics_of(SUBJECTS[0])["id"][0]: "Football"})
    model = TSENetClassifier(skeleton=topics, random_state=0, max_epochs=5)
    return model.fit(texts, np.array(["sport", "state", "space"])[kinds])


def test_words_of_a_topic_are_one_reason(of_texts: TSENetClassifier) -> None:
    text = "the striker and the keeper, and a comet"
    found = explain_prediction(of_texts, text)
    assert found.target == "sport"
    by_topic = {reason.topic: reason for reason in found.reasons}
    assert {part.name for part in by_topic["Football"].features} == {"striker", "keeper"}
    assert found.reasons[0] is by_topic["Football"]
    assert len(by_topic) == 2  # the comet's is the other topic, titled by its words
    title = next(topic for topic in by_topic if topic != "Football")
    assert set(str(title).split(", ")) <= set(SUBJECTS[2].split())
    check_sums(found, float(np.subtract(*np.sort(of_texts.decision_function([text])[0])[:-3:-1])))

    text = str(found)
    assert text.startswith("sport (")
    assert "striker, keeper [Football]" in text or "keeper, striker [Football]" in text
    assert "Z1" not in text
    assert "of these two" in text


def test_the_words_of_a_latent_tree_have_topics_too() -> None:
    rng = np.random.default_rng(0)
    kinds = np.arange(240) % 3
    texts = [" ".join(rng.choice(SUBJECTS[k].split(), 3, replace=False)) for k in kinds]
    model = TSENetClassifier(skeleton="hlta", random_state=0, max_epochs=5).fit(texts, kinds)
    found = explain_prediction(model, "striker keeper goal")
    assert found.reasons[0].topic is not None
    assert set(found.reasons[0].topic.split(", ")) <= set(SUBJECTS[0].split())
    assert "Z1" not in str(found)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_other_non_linearities_add_up_too(activation: str) -> None:
    X = dense_rows()
    model = fitted("classes", activation=activation)
    wanted = answers(model, X)
    for i in (3, 5):
        found = explain_prediction(model, X[i], target="green", against="red")
        check_sums(found, wanted[i, 1] - wanted[i, 2])
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_relu_is_gradient_times_input() -> None:
    X = dense_rows()
    model = fitted("classes")
    (inputs,) = model.network_inputs(X[7:8])
    x = torch.from_numpy(inputs.values).requires_grad_()
    outputs = model.net_(x)[0]
    (gradient,) = torch.autograd.grad(outputs[2] - outputs[0], x)
    wanted = (gradient * x)[0].detach().numpy()
    found = {
        part.name: part.contribution
        for part in explain_prediction(model, X[7], target="red", against="blue").features
    }
    np.testing.assert_allclose([found.get(f"x{j}", 0.0) for j in range(12)], wanted, atol=1e-5)


def test_the_baseline_of_a_dense_column_is_its_mean() -> None:
    X = dense_rows()
    model = fitted("classes")
    row = X[3].copy()
    row[4] = X[:, 4].mean()
    found = {part.name: part for part in explain_prediction(model, row).features}
    assert abs(found["x4"].contribution if "x4" in found else 0.0) < 1e-6
    assert found["x5"].value == row[5]


def test_an_absent_word_adds_nothing() -> None:
    X = sparse_rows()
    model = fitted(rows=X)
    for i in CHOSEN:
        found = explain_prediction(model, one(X, i))
        assert {part.name for part in found.features} <= {f"x{j}" for j in one(X, i).indices}
        for part in found.features:
            assert part.value == X[i, int(part.name[1:])]
    empty = explain_prediction(model, one(X, 0))
    assert empty.features == ()
    assert empty.start == pytest.approx(empty.output)


def test_categories_and_numbers() -> None:
    X = mixed_rows()
    names = [f"c{j}" for j in range(8)] + [f"colour={c}" for c in ("blue", "green", "red", "white")]
    model = fitted(rows=X, wiring=wiring(names=tuple(names)))
    for i in CHOSEN:
        found = explain_prediction(model, one(X, i), target="red", against="blue", n=20)
        outputs = model.decision_function(one(X, i))[0]
        check_sums(found, outputs[2] - outputs[0])
        assert f"colour={X['colour'].iloc[i]}\n" in str(found)
        colours = [part for part in found.features if part.name.startswith("colour=")]
        assert [part.name for part in colours] == [f"colour={X['colour'].iloc[i]}"]
        assert colours[0].value == 1.0
        for part in found.features:
            if part.name in X.columns:
                assert part.value == X[part.name].iloc[i]


class TestAnswers:
    def test_a_frame_sums_to_the_output_and_to_the_probability(self) -> None:
        found = explain_prediction(fitted(), dense_rows()[0])
        frame = found.to_frame()
        assert frame["contribution"].sum() == pytest.approx(found.output)
        assert frame["probability"].sum() == pytest.approx(expit(found.output))
        assert frame["name"].tolist()[:2] == ["(start)", found.features[0].name]
        assert "probability" not in explain_prediction(fitted("value"), dense_rows()[0]).to_frame()

    @pytest.mark.parametrize("target", ["classes", "labels", "value"])
    def test_what_is_printed_sums_up(self, target: str) -> None:
        found = explain_prediction(fitted(target), dense_rows()[0], n=2)
        head, *lines = str(found).splitlines()
        assert head.startswith(found.target)
        assert lines[0].endswith("start")
        assert lines[1].endswith(f"{found.features[0].name} = {found.features[0].value:.4g}")
        assert lines[3].endswith("(10 more)")
        *parts, total = [float(line.split()[0]) for line in lines]
        assert sum(parts) == pytest.approx(total, abs=0.3)  # of rounding, also of 1021.4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "pink"}, "target='pink' is not one of 'blue', 'green', 'red'"),
        ({"target": "red", "against": "red"}, "no difference"),
        ({"against": "pink"}, "against='pink'"),
        ({"level": 0}, "level 0"),
        ({"level": 4}, "1 to 3"),
        ({"n": 0}, "n must be"),
    ],
)
def test_bad_questions_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        explain_prediction(fitted(), dense_rows()[0], **options)


def test_several_rows_are_refused() -> None:
    with pytest.raises(DataError, match="one row can be explained at a time, not 120"):
        explain_prediction(fitted(), dense_rows())
