"""What units stand for: features, rows, shares and effects, each against a plain computation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from tests.builders import one_latent_rows
from tests.explain.models import (
    counts_as_read,
    dense_rows,
    fitted,
    mixed_rows,
    sparse_rows,
    whole_pass,
    wiring,
)
from tsenet import LatentTreeTransformer, TSENetClassifier
from tsenet.data import count_words
from tsenet.errors import DataError
from tsenet.explain import Units, describe_units
from tsenet.explain.report import write_report

COLOURS = ("blue", "green", "red", "white")


def by_numpy(activations: Any, features: Any) -> NDArray[np.float64]:
    """``np.corrcoef`` (units, features), and 0 where it has no answer."""
    units = np.asarray(activations, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = np.corrcoef(units.T, np.asarray(features, np.float64).T)
    return np.nan_to_num(whole[: units.shape[1], units.shape[1] :])


def correlations(units: Units) -> NDArray[np.float64]:
    """All correlations that were kept, (units, features); 0 for the others."""
    column = {name: j for j, name in enumerate(units.feature_names)}
    table = np.zeros((len(units), len(column)))
    for k, unit in enumerate(units.units):
        for feature in unit.features:
            table[k, column[feature.name]] = feature.correlation
    return table


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted(rows=sparse_rows())


@pytest.fixture(scope="module")
def units(model: Any) -> Units:
    return describe_units(model, sparse_rows(), n_features=12, n_rows=4)


def test_rows_are_what_the_model_was_fitted_on(tmp_path: Path) -> None:
    """Texts, as well as the counts of their words."""
    texts = ["the cat sat on the mat", "a dog barks loud", "cats and dogs", "the moon is bright"]
    texts *= 15
    model = TSENetClassifier(random_state=0, max_epochs=2).fit(texts, [0, 1, 0, 1] * 15)
    of_texts = describe_units(model, texts)
    assert of_texts == describe_units(model, count_words(texts, model.vectorizer_))
    assert of_texts == describe_units(model, iter(texts))
    write_report(tmp_path / "page.html", model, texts)
    for wrong, says in (
        (texts[0], "one text: give a list"),
        (tmp_path, "rows in memory"),
    ):
        with pytest.raises(DataError, match=says):
            describe_units(model, wrong)
    with pytest.raises(DataError, match="fitted on a table"):
        describe_units(fitted(), texts)


class TestNames:
    def test_units_are_the_columns_of_transform(self, model: Any, units: Units) -> None:
        assert [unit.name for unit in units.units] == model.get_feature_names_out().tolist()
        assert [len(units.level(k)) for k in (1, 2, 3, 4, 9)] == [7, 5, 3, 18, 0]
        groups = {unit.name.split(".")[0] for unit in units.level(4)}
        assert groups == {"skip0", "skip1", "skip2", "top"}
        assert repr(units) == (
            "Units(33 units: 7 of level 1, 5 of level 2, 3 of level 3, 18 of level 4; 120 rows)"
        )

    def test_classes_are_named(self, units: Units) -> None:
        assert units.class_names == ("blue", "green", "red")
        two = describe_units(fitted("binary"), dense_rows())
        assert two.class_names == ("yes",)
        assert {len(unit.classes or ()) for unit in two.units} == {1}
        assert describe_units(fitted("value"), dense_rows()).class_names is None

    def test_a_latent_of_several_units_is_one(self) -> None:
        model = fitted(units_per_latent=3)
        found = describe_units(model, dense_rows())
        for name in [name for level in model.wiring_.names[1:] for name in level][:4]:
            units = [found[f"{name}/{j}"] for j in (1, 2, 3)]
            assert found[name].name == name
            assert found[name].features == units[0].features
            effects = np.sum([unit.classes for unit in units], axis=0)
            assert found[name].classes == pytest.approx(effects)
        with pytest.raises(KeyError):
            found["no such unit"]


class TestFeatures:
    @pytest.mark.parametrize("n_tables", [1, 20])  # of 120 rows: one batch, and three
    def test_correlations_are_numpys(self, n_tables: int) -> None:
        model = fitted(rows=dense_rows())
        X = np.concatenate([dense_rows(seed) for seed in range(n_tables)])
        found = describe_units(model, X, n_features=12)
        np.testing.assert_allclose(correlations(found), by_numpy(model.transform(X), X), atol=3e-6)

    @pytest.mark.parametrize("n_tables", [1, 20])
    def test_correlations_of_counts_are_numpys(self, n_tables: int) -> None:
        model = fitted(rows=sparse_rows())
        X = sp.vstack([sparse_rows(seed) for seed in range(n_tables)], format="csr")
        found = describe_units(model, X, n_features=12)
        expected = by_numpy(model.transform(X), counts_as_read(X, sparse_rows()))
        np.testing.assert_allclose(correlations(found), expected, atol=3e-6)

    def test_categories_are_seen_one_by_one(self) -> None:
        X = mixed_rows()
        names = tuple(f"c{j}" for j in range(8)) + tuple(f"colour={c}" for c in COLOURS)
        model = fitted(rows=X, wiring=wiring(names=names))
        inputs = np.column_stack([X.iloc[:, :8], *(X["colour"] == c for c in COLOURS)])
        found = describe_units(model, X, n_features=12)
        assert found.feature_names == names
        np.testing.assert_allclose(
            correlations(found), by_numpy(model.transform(X), inputs), atol=3e-6
        )

    def test_the_strongest_come_first_and_name_the_unit(self, units: Units) -> None:
        for unit in units.units:
            sizes = [abs(feature.correlation) for feature in unit.features]
            assert sizes == sorted(sizes, reverse=True)
            label = [("" if f.correlation > 0 else "−") + f.name for f in unit.features[:3]]
            assert unit.label == (", ".join(label) or "(constant)")

    def test_weights_of_links(self, model: Any, units: Units) -> None:
        dense = next(iter(model.net_.layers)).dense_weight().detach().numpy()
        layer = model.wiring_.layers[0]
        for u, unit in enumerate(units.level(1)):
            linked = layer.indices[layer.indptr[u] : layer.indptr[u + 1]].tolist()
            for feature in unit.features:
                j = int(feature.name[1:])
                assert feature.weight == (dense[u, j] if j in linked else None)
        assert all(f.weight is None for unit in units.level(2) for f in unit.features)


class TestActivity:
    def test_mean_share_and_rows(self) -> None:
        X = np.concatenate([dense_rows(seed) for seed in range(20)])  # three batches
        model = fitted()
        active = model.transform(X)
        found = describe_units(model, X, n_rows=4)
        np.testing.assert_allclose([u.mean for u in found.units], active.mean(0), atol=1e-5)
        share = (active > 0).mean(0)
        np.testing.assert_allclose([u.active for u in found.units], share, atol=0.01)
        for unit, values in zip(found.units, active.T, strict=True):
            best = np.sort(values)[::-1][:4]
            best = best[best > 0]  # a row in which the unit is off does not show it
            assert [row.activation for row in unit.rows] == pytest.approx(best.tolist(), abs=1e-5)
            for row in unit.rows:
                assert values[row.row] == pytest.approx(row.activation, abs=1e-5)
            assert len({row.row for row in unit.rows}) == len(unit.rows)


class TestEffects:
    @pytest.mark.parametrize(
        ("kind", "options"),
        [
            ("classes", {}),
            ("classes", {"linear_skip": False}),
            ("values", {}),
        ],
    )
    def test_they_are_autograds(self, kind: str, options: dict[str, Any]) -> None:
        X = dense_rows()
        model = fitted(kind, **options)
        (inputs,) = model.network_inputs(X)
        layers, outputs = whole_pass(model.net_, torch.from_numpy(inputs.values))
        scale = np.ones(3)  # a regressor's effects are in units of the target
        if kind == "values":
            scale = model.predict(X).std(axis=0) / outputs.detach().numpy().std(axis=0)
            assert scale.min() > 10
        found = describe_units(model, X)
        deviation = np.concatenate([layer.detach().numpy().std(axis=0) for layer in layers])
        for k in range(3):
            gradients = torch.autograd.grad(outputs[:, k].sum(), layers, retain_graph=True)
            mean = np.concatenate([gradient.numpy().mean(axis=0) for gradient in gradients])
            ours = [(unit.classes or ())[k] for unit in found.units]
            expected = mean * deviation * scale[k]
            np.testing.assert_allclose(ours, expected, atol=2e-5 * scale[k])


def test_latents_of_a_tree() -> None:
    rows = one_latent_rows(np.random.default_rng(0), 300, (4, 4, 4))
    transformer = LatentTreeTransformer(random_state=0, n_jobs=1).fit(rows)
    found = describe_units(transformer, rows, n_features=12)
    assert describe_units(transformer.tree_, rows, n_features=12) == found
    assert [unit.name for unit in found.units] == list(transformer.tree_.latent_names)
    assert (found.units[0].level, found.units[0].classes) == (1, None)
    posterior = transformer.transform(rows)
    np.testing.assert_allclose(correlations(found), by_numpy(posterior, rows), atol=1e-5)
    share = (posterior > 0.5).mean(axis=0)
    assert [unit.active for unit in found.units] == pytest.approx(share)


@pytest.mark.parametrize("options", [{"n_features": 0}, {"n_rows": -1}, {"order": "up"}])
def test_bad_options(model: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        describe_units(model, sparse_rows(), **options)


@pytest.mark.parametrize("model", [3, TSENetClassifier(), lambda rows: rows])
def test_other_models_are_refused(model: Any) -> None:
    with pytest.raises(DataError, match="cannot be explained"):
        describe_units(model, dense_rows())
