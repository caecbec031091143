"""Predictions taken apart: the parts sum to the answer, for every kind of network, rows and target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.explain.models import dense_rows, fitted, mixed_rows, sparse_rows, wiring
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
    """Everything that should sum up does; the parts were not made by subtraction, so this can fail."""
    near = {"rel": 1e-10, "abs": 1e-10 * (1 + abs(found.output))}
    assert found.output == pytest.approx(output, rel=2e-5, abs=2e-5)
    assert sum(part.contribution for part in found.features) + found.bias == pytest.approx(
        found.output, **near
    )
    by_unit = sum(unit.contribution for unit in found.units) + found.bypass + found.units_bias
    assert by_unit == pytest.approx(found.output, **near)
    for unit in found.units[: found.n]:
        assert unit.activation * unit.weight == pytest.approx(unit.contribution, **near)
        behind = sum(part.contribution for part in unit.features) + unit.bias
        assert behind == pytest.approx(unit.contribution, **near)
    # Input by input, what goes through the units and past them is what the input adds.
    through: dict[str, float] = {}
    for parts in (*(unit.features for unit in found.units), found.bypass_features):
        for part in parts:
            through[part.name] = through.get(part.name, 0.0) + part.contribution
    linear_skip = {part.name: part.contribution for part in found.features}
    for name in through.keys() | linear_skip.keys():
        assert through.get(name, 0.0) == pytest.approx(linear_skip.get(name, 0.0), **near)


@pytest.mark.parametrize("linear_skip", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_parts_sum_to_the_output(kind: str, linear_skip: bool) -> None:
    X = dense_rows() if kind == "dense" else sparse_rows()
    model = fitted(rows=X, linear_skip=linear_skip)
    wanted = answers(model, X)
    for i in CHOSEN:
        for level in (1, 2, 3, 4):
            found = explain_prediction(model, one(X, i), target="green", level=level, n=20)
            check_sums(found, wanted[i, 1])


@pytest.mark.parametrize("target", ["binary", "classes", "labels", "value", "values"])
def test_every_kind_of_target(target: str) -> None:
    X = dense_rows()
    model = fitted(target)
    wanted = answers(model, X)
    keys = getattr(model, "classes_", np.arange(wanted.shape[1])).tolist()
    for place, key in enumerate(keys):
        found = explain_prediction(model, X[5], target=key, n=20)
        check_sums(found, wanted[5, place])
    default = explain_prediction(model, X[5])
    chosen = 0 if target.startswith("value") else int(wanted[5].argmax())
    assert default.output == pytest.approx(wanted[5, chosen], rel=1e-4)


def test_why_one_class_rather_than_another() -> None:
    X = dense_rows()
    model = fitted("classes")
    wanted = model.decision_function(X[:1])[0]
    found = explain_prediction(model, X[0], target="red", against="blue", n=20)
    assert found.target == "red rather than blue"
    check_sums(found, wanted[2] - wanted[0])
    two = fitted("binary")
    log_odds = two.decision_function(X[:1])[0]
    check_sums(explain_prediction(two, X[0], target="no", against="yes", n=20), -log_odds)
    values = fitted("values")
    first, _, third = values.predict(X[:1])[0]
    check_sums(explain_prediction(values, X[0], target=2, against=0, n=20), third - first)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_other_non_linearities_add_up_too(activation: str) -> None:
    X = dense_rows()
    model = fitted("classes", activation=activation)
    wanted = answers(model, X)
    for i in (3, 5):
        for level in (1, 2, 3):
            found = explain_prediction(model, X[i], target="green", level=level, n=20)
            check_sums(found, wanted[i, 1])
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_relu_is_gradient_times_input() -> None:
    X = dense_rows()
    model = fitted("classes")
    (inputs,) = model.network_inputs(X[7:8])
    x = torch.from_numpy(inputs.values).requires_grad_()
    (gradient,) = torch.autograd.grad(model.net_(x)[0, 2], x)
    wanted = (gradient * x)[0].detach().numpy()
    found = {
        part.name: part.contribution
        for part in explain_prediction(model, X[7], target="red").features
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
    assert empty.bias == pytest.approx(empty.output)


def test_categories_and_numbers() -> None:
    X = mixed_rows()
    names = [f"c{j}" for j in range(8)] + [f"colour={c}" for c in ("blue", "green", "red", "white")]
    model = fitted(rows=X, wiring=wiring(names=tuple(names)))
    for i in CHOSEN:
        found = explain_prediction(model, one(X, i), target="red", n=20)
        check_sums(found, model.decision_function(one(X, i))[0, 2])
        colours = [part for part in found.features if part.name.startswith("colour=")]
        assert [part.name for part in colours] == [f"colour={X['colour'].iloc[i]}"]
        assert colours[0].value == 1.0
        for part in found.features:
            if part.name in X.columns:
                assert part.value == X[part.name].iloc[i]


class TestAnswers:
    def test_a_frame_whose_views_sum_to_the_output(self) -> None:
        found = explain_prediction(fitted(), dense_rows()[0])
        frame = found.to_frame()
        for _, part in frame.groupby("view"):
            assert part["contribution"].sum() == pytest.approx(found.output)
        assert frame["name"].iloc[0] == found.features[0].name

    def test_text(self) -> None:
        found = explain_prediction(fitted(linear_skip=False), dense_rows()[0], n=2)
        text = str(found).splitlines()
        assert text[0] == f"{found.target}: output {found.output:+.4g}"
        assert found.features[0].name in text[3]
        assert "(10 more)" in str(found)
        assert "by unit of level 1" in text
        assert f"{found.units[0].name}: {found.units[0].features[0].name}" in str(found)
        # What is printed sums up too, to the digits shown.
        numbers = [
            float(line.split()[0]) for line in text[3 : text.index("by unit of level 1") - 1]
        ]
        assert sum(numbers) == pytest.approx(found.output, abs=1e-3)
        numbers = [float(line.split()[0]) for line in text[text.index("by unit of level 1") + 1 :]]
        assert sum(numbers) == pytest.approx(found.output, abs=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "pink"}, "target='pink' is not one of 'blue', 'green', 'red'"),
        ({"target": "red", "against": "red"}, "no difference"),
        ({"against": "pink"}, "against='pink'"),
        ({"level": 0}, "level 0"),
        ({"level": 5}, "1 to 4"),
        ({"n": 0}, "n must be"),
    ],
)
def test_bad_questions_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        explain_prediction(fitted(), dense_rows()[0], **options)


def test_several_rows_are_refused() -> None:
    with pytest.raises(DataError, match="one row can be explained at a time, not 120"):
        explain_prediction(fitted(), dense_rows())
