"""What units stand for: features, rows, shares and effects, each against a plain computation or a planted truth."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from tests.builders import one_latent_rows
from tests.explain.models import counts_as_read, dense_rows, fitted, mixed_rows, sparse_rows, wiring
from tests.explain.test_affine import whole_pass
from tests.explain.test_correlation import by_numpy
from tsenet import LatentTreeTransformer, Table, TSENetClassifier
from tsenet.baselines import DenseClassifier, DenseRegressor
from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain.units import Feature, Unit, Units, describe_units


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted(rows=sparse_rows())


@pytest.fixture(scope="module")
def units(model: Any) -> Units:
    return describe_units(model, sparse_rows(), n_features=12, n_rows=4, batch_size=50)


class TestNames:
    def test_units_are_the_columns_of_transform(self, model: Any, units: Units) -> None:
        assert [unit.name for unit in units.units] == model.get_feature_names_out().tolist()
        assert len(units) == model.transform(sparse_rows()).shape[1] == 33
        assert units["Z2.3"].name == "Z2.3"

    def test_levels(self, units: Units) -> None:
        assert units.levels == (1, 2, 3, 4)
        assert [len(units.level(k)) for k in units.levels] == [7, 5, 3, 18]
        assert {unit.name.split(".")[0] for unit in units.level(4)} == {
            "skip0",
            "skip1",
            "skip2",
            "top",
        }
        assert units.level(9) == ()

    def test_classes_are_named(self, units: Units) -> None:
        assert units.class_names == ("blue", "green", "red")
        two = describe_units(fitted("binary"), dense_rows())
        assert two.class_names == ("yes",)
        assert {len(unit.classes or ()) for unit in two.units} == {1}
        assert describe_units(fitted("labels"), dense_rows()).class_names == ("0", "1", "2")
        assert describe_units(fitted("value"), dense_rows()).class_names is None

    def test_own_names_for_features(self, model: Any) -> None:
        names = [f"word{j}" for j in range(12)]
        found = describe_units(model, sparse_rows(), feature_names=names)
        assert found.feature_names == tuple(names)
        assert {f.name for unit in found.units for f in unit.features} <= set(names)
        with pytest.raises(DataError, match="3 feature_names"):
            describe_units(model, sparse_rows(), feature_names=names[:3])

    def test_names_of_a_table_are_used(self) -> None:
        names = tuple(f"word{j}" for j in range(12))
        rows = Table.of(sparse_rows(), names)
        model = TSENetClassifier(
            wiring=wiring(names=names),
            max_epochs=1,
            random_state=0,
            skip_units=2,
            feature_units=2,
            n_jobs=1,
        ).fit(rows, np.arange(120) % 2)
        assert describe_units(model, rows).feature_names == names

    def test_numbers_by_column_and_categories_by_level(self) -> None:
        levels = tuple(f"colour={name}" for name in ("blue", "green", "red", "white"))
        columns = tuple(f"c{j}" for j in range(8))
        model = fitted(rows=mixed_rows(), wiring=wiring(names=columns + levels))
        assert describe_units(model, mixed_rows()).feature_names == columns + levels


class TestFeatures:
    def test_they_are_the_strongest_correlations(self, model: Any, units: Units) -> None:
        wanted = by_numpy(model.transform(sparse_rows()), counts_as_read(sparse_rows()))
        for unit, row in zip(units.units, wanted, strict=True):
            found = {f.name: f.correlation for f in unit.features}
            assert found == pytest.approx(
                {f"x{j}": row[j] for j in range(12) if row[j] != 0}, abs=3e-6
            )
            sizes = [abs(f.correlation) for f in unit.features]
            assert sizes == sorted(sizes, reverse=True)

    def test_only_so_many_are_kept(self, model: Any, units: Units) -> None:
        few = describe_units(model, sparse_rows(), n_features=3, batch_size=50)
        for short, full in zip(few.units, units.units, strict=True):
            assert short.features == full.features[:3]

    def test_signed_order_is_the_papers(self, model: Any) -> None:
        wanted = by_numpy(model.transform(sparse_rows()), counts_as_read(sparse_rows()))
        found = describe_units(model, sparse_rows(), n_features=5, order="signed")
        for unit, row in zip(found.units, wanted, strict=True):
            best = [f"x{j}" for j in np.argsort(-row, kind="stable")[:5] if row[j] > 0]
            assert [f.name for f in unit.features] == best

    def test_weights_are_those_of_direct_links(self, model: Any, units: Units) -> None:
        first = next(iter(model.net_.layers))
        dense = first.dense_weight().detach().numpy()
        layer = model.wiring_.layers[0]
        for u, unit in enumerate(units.level(1)):
            linked = set(layer.indices[layer.indptr[u] : layer.indptr[u + 1]].tolist())
            for feature in unit.features:
                j = int(feature.name[1:])
                if j in linked:
                    assert feature.weight == pytest.approx(float(dense[u, j]))
                else:
                    assert feature.weight is None
        skip = next(iter(model.net_.skips)).weight.detach().numpy()
        for feature in units["skip0.2"].features:
            assert feature.weight == pytest.approx(float(skip[int(feature.name[1:]), 2]))
        for name in ("Z2.0", "skip1.0", "top.0"):
            assert all(feature.weight is None for feature in units[name].features)

    def test_labels_are_short_and_signed(self, units: Units) -> None:
        for unit in units.units:
            if unit.features:
                parts = unit.label.split(", ")
                assert len(parts) == min(3, len(unit.features))
                for part, feature in zip(parts, unit.features, strict=False):
                    assert part == ("" if feature.correlation > 0 else "−") + feature.name
            else:
                assert unit.label == "(constant)"

    def test_words_of_a_level(self, units: Units) -> None:
        assert units.words(2) == [
            [f.name for f in u.features] for u in units.level(2) if u.features
        ]
        assert len(units.words()) == sum(bool(unit.features) for unit in units.units)

    def test_a_planted_group_is_found(self) -> None:
        """A unit that reads five of fifteen words goes with those."""
        rows = one_latent_rows(np.random.default_rng(0), 600, (5, 5, 5)).astype(float)
        found = describe_units(lambda X: X[:, 5:10].sum(axis=1, keepdims=True), rows, n_features=5)
        assert {feature.name for feature in found.units[0].features} == {
            f"x{j}" for j in range(5, 10)
        }


class TestActivity:
    @pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
    def test_mean_and_share(self, activation: str) -> None:
        X = dense_rows()
        model = fitted(activation=activation)
        active = model.transform(X)
        found = describe_units(model, X, batch_size=33)
        np.testing.assert_allclose([u.mean for u in found.units], active.mean(0), atol=1e-5)
        least = 0.0 if activation == "relu" else active.astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(
            [u.active for u in found.units], (active > least).mean(0), atol=0.01
        )

    def test_rows_that_activate_it_most(self, model: Any, units: Units) -> None:
        active = model.transform(sparse_rows())
        for unit, values in zip(units.units, active.T, strict=True):
            best = np.sort(values)[::-1][:4]
            assert [r.activation for r in unit.rows] == pytest.approx(
                best[best > 0].tolist(), abs=1e-5
            )
            for row in unit.rows:
                assert values[row.row] == pytest.approx(row.activation, abs=1e-5)
            assert len({row.row for row in unit.rows}) == len(unit.rows)

    def test_a_unit_that_is_off_has_no_rows(self) -> None:
        X = np.arange(20.0).reshape(10, 2)
        found = describe_units(lambda rows: np.maximum(rows - 17, 0), X, n_rows=3)
        assert [(r.row, r.activation) for r in found.units[0].rows] == [(9, 1.0)]
        assert found.units[0].active == 0.1
        assert (
            describe_units(lambda rows: rows - 50, X, n_rows=3).units[0].rows[0].activation == -32
        )

    def test_no_rows_wanted(self, model: Any) -> None:
        assert all(u.rows == () for u in describe_units(model, sparse_rows(), n_rows=0).units)


class TestEffects:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"linear_skip": False},
            {"activation": "tanh"},
            {"activation": "sigmoid"},
        ],
    )
    def test_they_are_autograds(self, options: dict[str, Any]) -> None:
        X = dense_rows()
        model = fitted(**options)
        net = model.net_
        (inputs,) = model.network_inputs(X)
        layers, outputs = whole_pass(net, torch.from_numpy(inputs.values))
        found = describe_units(model, X)
        sd = np.concatenate([layer.detach().numpy().std(axis=0) for layer in layers])
        for k in range(3):
            gradients = torch.autograd.grad(outputs[:, k].sum(), layers, retain_graph=True)
            wanted = np.concatenate([g.numpy().mean(axis=0) for g in gradients]) * sd
            ours = [(unit.classes or ())[k] for unit in found.units]
            np.testing.assert_allclose(ours, wanted, atol=2e-5)

    def test_the_sign_of_a_toy_network(self) -> None:
        """One unit per input; the first output likes the first and dislikes the second, and the other way round."""
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
        with torch.no_grad():
            net[0].weight.copy_(torch.eye(2))
            net[2].weight.copy_(torch.tensor([[2.0, -1.0], [-2.0, 1.0]]))
            for layer in (net[0], net[2]):
                layer.bias.zero_()
        X = np.abs(np.random.default_rng(0).normal(size=(50, 2))) + 0.1
        first, second = describe_units(net, X, layers={"hidden": net[1]}).units
        assert first.classes == pytest.approx((2 * X[:, 0].std(), -2 * X[:, 0].std()), rel=1e-5)
        assert second.classes == pytest.approx((-X[:, 1].std(), X[:, 1].std()), rel=1e-5)

    def test_a_regressors_are_in_units_of_the_target(self) -> None:
        X = dense_rows()
        model = fitted("values")
        (inputs,) = model.network_inputs(X)
        layers, outputs = whole_pass(model.net_, torch.from_numpy(inputs.values))
        scale = model.predict(X).std(axis=0) / outputs.detach().numpy().std(axis=0)
        assert scale.min() > 10  # the targets vary by far more than the raw outputs
        sd = np.concatenate([layer.detach().numpy().std(axis=0) for layer in layers])
        found = describe_units(model, X)
        for k in range(3):
            gradients = torch.autograd.grad(outputs[:, k].sum(), layers, retain_graph=True)
            wanted = np.concatenate([g.numpy().mean(axis=0) for g in gradients]) * sd * scale[k]
            ours = [(unit.classes or ())[k] for unit in found.units]
            np.testing.assert_allclose(ours, wanted, atol=2e-5 * scale[k])

    def test_a_dense_network_has_them_too(self) -> None:
        X = sparse_rows()
        y = X.toarray()[:, 0] + 10.0
        model = DenseRegressor(
            hidden=(8,), max_epochs=40, random_state=0, n_jobs=1, dropout=0.0
        ).fit(X, y)
        found = describe_units(model, X)
        assert found.levels == (1,)
        assert found.units[0].name == "hidden1.0"
        # What a unit does to y has the sign of its correlation with y, for the unit that does most.
        strongest = max(found.units, key=lambda unit: abs((unit.classes or (0.0,))[0]))
        agreement = {f.name: f.correlation for f in strongest.features}["x0"]
        assert np.sign(agreement) == np.sign((strongest.classes or (0.0,))[0])


class TestOtherModels:
    def test_latents_of_a_tree(self) -> None:
        rows = one_latent_rows(np.random.default_rng(0), 300, (4, 4, 4))
        tree = LatentTreeTransformer(random_state=0, n_jobs=1).fit(rows)
        found = describe_units(tree, rows)
        assert [unit.name for unit in found.units] == list(tree.tree_.latent_names)
        assert found.units[0].level == 1
        assert found.units[0].classes is None
        wanted = by_numpy(tree.transform(rows), rows)
        best = int(np.abs(wanted[0]).argmax())
        assert found.units[0].features[0].correlation == pytest.approx(wanted[0, best], abs=1e-6)

    def test_two_hidden_layers_of_a_dense_network(self) -> None:
        X = dense_rows()
        model = DenseClassifier(hidden=(5, 4), max_epochs=1, random_state=0, n_jobs=1)
        found = describe_units(model.fit(X, np.arange(120) % 3), X)
        assert [len(found.level(k)) for k in found.levels] == [5, 4]
        assert all(feature.weight is not None for feature in found.units[0].features)
        assert all(feature.weight is None for feature in found.units[-1].features)

    def test_hooks_leave_the_module_as_it_was(self) -> None:
        net = nn.Sequential(
            nn.Linear(12, 4), nn.Dropout(0.5), nn.ReLU(inplace=True), nn.Linear(4, 1)
        )
        net.train()
        net[3].eval()
        X = dense_rows()
        found = describe_units(net, X, layers={"sums": net[0], "bent": net[2]})
        assert [part.training for part in net] == [True, True, True, False]
        assert not any(part._forward_hooks for part in net.modules())
        assert found.levels == (1, 2)
        assert [unit.name for unit in found.level(1)] == [f"sums.{k}" for k in range(4)]
        with torch.no_grad():
            sums = net[0](torch.from_numpy(X).float()).numpy()
        np.testing.assert_allclose([u.mean for u in found.level(1)], sums.mean(0), rtol=1e-4)
        np.testing.assert_allclose(
            [u.mean for u in found.level(2)], np.maximum(sums, 0).mean(0), rtol=1e-4
        )

    def test_hooks_on_sparse_rows(self) -> None:
        net = nn.Sequential(nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        X = sparse_rows()
        one = describe_units(net, X, layers={"h": net[1]}, batch_size=25)
        two = describe_units(net, X.toarray(), layers={"h": net[1]}, batch_size=25)
        for a, b in zip(one.units, two.units, strict=True):
            assert [f.name for f in a.features] == [f.name for f in b.features]
            assert a.classes == pytest.approx(b.classes)

    def test_channels_of_images(self) -> None:
        """A channel is active as the mean over its places, and its effect is that of raising all places."""
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3 * 4 * 4, 2))
        images = np.random.default_rng(0).normal(size=(40, 1, 6, 6)).astype(np.float32)
        found = describe_units(net, images, layers={"channel": net[1]}, n_features=36)
        with torch.no_grad():
            maps = net[1](net[0](torch.from_numpy(images))).numpy()
        assert len(found) == 3
        assert len(found.feature_names) == 36
        np.testing.assert_allclose([u.mean for u in found.units], maps.mean((0, 2, 3)), rtol=1e-5)
        raised = net[3].weight.detach().numpy().reshape(2, 3, 16).sum(axis=2)  # (outputs, channels)
        sd = maps.mean(axis=(2, 3)).std(axis=0)
        np.testing.assert_allclose([u.classes for u in found.units], (raised * sd).T, rtol=1e-4)

    def test_a_module_without_layers_is_refused(self) -> None:
        with pytest.raises(DataError, match="say which units"):
            describe_units(nn.Linear(12, 2), dense_rows())
        with pytest.raises(DataError, match="layers is empty"):
            describe_units(nn.Linear(12, 2), dense_rows(), layers={})
        with pytest.raises(DataError, match="'other' gave no output"):
            describe_units(nn.Linear(12, 2), dense_rows(), layers={"other": nn.ReLU()})
        with pytest.raises(DataError, match="layers is for torch modules"):
            describe_units(fitted(), dense_rows(), layers={"a": nn.ReLU()})


class TestAnswers:
    def test_a_frame(self, units: Units) -> None:
        frame = units.to_frame()
        assert frame["unit"].tolist() == [unit.name for unit in units.units]
        assert frame["effect on red"].tolist() == [(u.classes or ())[2] for u in units.units]
        plain = describe_units(lambda X: X, dense_rows()).to_frame()
        assert "effect on red" not in plain.columns

    def test_without_pandas(self, units: Units, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(MissingDependencyError, match="pip install pandas"):
            units.to_frame()

    def test_repr_counts(self, units: Units) -> None:
        assert repr(units) == (
            "Units(33 units: 7 of level 1, 5 of level 2, 3 of level 3, 18 of level 4; 120 rows)"
        )

    @pytest.mark.parametrize(
        "options", [{"n_features": 0}, {"n_rows": -1}, {"batch_size": 0}, {"order": "up"}]
    )
    def test_bad_options_are_refused(self, model: Any, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(options))):
            describe_units(model, sparse_rows(), **options)

    def test_progress(self, model: Any) -> None:
        seen: list[str] = []
        describe_units(model, sparse_rows(), progress=lambda stage, *_: seen.append(stage))
        assert list(dict.fromkeys(seen)) == [
            "reading activations",
            "correlating units with features",
        ]

    def test_units_can_be_made_by_hand(self) -> None:
        unit = Unit("Z1.0", 1, "a", (Feature("a", 0.5, None),), 0.1, 0.2, (), None)
        assert Units((unit,), None, 10)["Z1.0"] is unit
        with pytest.raises(KeyError):
            Units((unit,), None, 10)["Z1.1"]


def test_sparse_rows_for_a_network_of_dense_ones() -> None:
    """The estimator makes such rows dense, slab by slab; so does this."""
    X = dense_rows()
    model = fitted()
    one, two = describe_units(model, X), describe_units(model, sp.csr_array(X))
    assert [u.features for u in one.units] == [u.features for u in two.units]


def test_a_latent_of_several_units_is_one() -> None:
    """Its leading unit stands for it, with the effects of all its units."""
    model = fitted(units_per_latent=3)
    X = dense_rows()
    found = describe_units(model, X)
    names = [name for level in model.wiring_.names[1:] for name in level]
    for name in names[:4]:
        latent = found[name]
        units = [found[f"{name}/{j}"] for j in (1, 2, 3)]
        assert latent.name == name
        assert latent.features == units[0].features
        assert latent.classes == pytest.approx(np.sum([unit.classes for unit in units], axis=0))
    with pytest.raises(KeyError):
        found["no such unit"]
    assert len(found) == model.transform(X).shape[1]
