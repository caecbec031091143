"""Models without torch: the same answers as the full package."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

import tsenet
from tests.network.wirings import random_wiring
from tests.store.models import SMALL, forged, models, rows
from tsenet.errors import DataError, MissingDependencyError, ModelFileError
from tsenet.network.array_net import ArrayNet, parameter_shapes
from tsenet.network.batches import Inputs
from tsenet.network.compact import used_network
from tsenet.network.forward import ForwardPass, network_outputs
from tsenet.network.options import NetworkOptions
from tsenet.network.tsenet import TSENet
from tsenet.store.runtime.plain_pass import PlainPass, add_products

TEXTS = ["goal referee goal stadium", "senate ballot voters", "striker goal", "ballot"] * 15
SUBJECTS = ["sport", "politics", "sport", "politics"] * 15

IN_ANOTHER_PROCESS = """
import json, sys
import tsenet
model = tsenet.load(sys.argv[1], runtime=sys.argv[3])

def answer(texts):
    found = model.predict_proba(texts)
    there = [name for name in ("torch", "sklearn", "pandas", "numba") if name in sys.modules]
    return there, [share.hex() for share in found.ravel().tolist()]

def megabytes():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1000 for line in status if line.startswith("VmHWM:"))
    except OSError:
        return 0.0

texts = json.loads(sys.argv[2])
first, memory = answer(texts), megabytes()
print(json.dumps([memory, first, answer(texts * 40), answer(texts)]))
"""

Runtime = Literal["light", "plain"]
both = pytest.mark.parametrize("runtime", ["light", "plain"])


def light(model: Any, folder: Path, runtime: Runtime = "light") -> Any:
    model.save(folder / "m.tsenet")
    return tsenet.load(folder / "m.tsenet", runtime=runtime)


@pytest.fixture(scope="module")
def of_texts() -> Any:
    return tsenet.TSENetClassifier(**SMALL).fit(TEXTS, SUBJECTS)


def test_categories(tmp_path: Path) -> None:
    model = models()["classifier"]
    X = rows()
    frame = pd.DataFrame(X[:, :6], columns=list("abcdef")).assign(
        colour=np.where(X[:, 6] > 0, "red", "green")
    )
    made = light(model, tmp_path)
    assert made.predict(frame).tolist() == model.predict(frame).tolist()
    assert made.classes_.tolist() == ["no", "yes"]
    with pytest.raises(DataError, match="features"):
        made.predict(X)


@both
@pytest.mark.parametrize("sparse", [True, False])
def test_labels_have_the_same_bits(sparse: bool, runtime: Runtime, tmp_path: Path) -> None:
    model = models()["labels"]
    X = sp.csr_array(rows()) if sparse else rows()
    made = light(model, tmp_path, runtime)
    assert np.array_equal(made.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(made.predict(X), model.predict(X))


def test_classes_and_values_have_the_same_bits(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(150, 6))
    X[::7, 2] = np.nan
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = tsenet.TSENetClassifier(**SMALL, activation="tanh").fit(X, y)
    assert np.array_equal(light(model, tmp_path).predict_proba(X), model.predict_proba(X))
    regressor = tsenet.TSENetRegressor(**SMALL).fit(X, 100 + 5 * X[:, 0])
    made = light(regressor, tmp_path)
    assert np.array_equal(made.predict(X), regressor.predict(X))
    assert np.array_equal(
        made.predict(sp.csr_array(np.nan_to_num(X))), regressor.predict(np.nan_to_num(X))
    )
    with pytest.raises(AttributeError, match="regressor"):
        made.predict_proba(X)
    far = np.full((1, 6), 1e300)
    with pytest.warns(UserWarning, match="in another unit"):
        assert np.isfinite(made.predict(far)).all()


@pytest.mark.parametrize(("runtime", "loaded"), [("light", ["numba"]), ("plain", [])])
def test_texts_without_torch_and_scikit_learn(
    of_texts: Any, runtime: Runtime, loaded: list[str], tmp_path: Path
) -> None:
    of_texts.save(tmp_path / "m.tsenet")
    new = ["the referee saw a goal", "a ballot", ""]
    run = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, tmp_path / "m.tsenet", json.dumps(new), runtime],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    memory, first, many, last = json.loads(run.stdout)
    assert memory < 120  # of the first answer; 65 when this was written
    bits = [share.hex() for share in of_texts.predict_proba(new).ravel().tolist()]
    assert first == [[], bits]  # few rows are answered before numba would be there
    assert many == [loaded, 40 * bits]
    assert last == [loaded, bits]


def test_rows_are_counted_until_kernels_are_worth_it(
    of_texts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = light(of_texts, tmp_path)
    monkeypatch.delitem(sys.modules, "numba")
    for _ in range(100):
        assert isinstance(made._pass_for(1), PlainPass)
    assert isinstance(made._pass_for(1), ForwardPass)
    assert "_plain_pass" not in vars(made)
    one_batch = light(of_texts, tmp_path)
    assert isinstance(one_batch._pass_for(101), ForwardPass)
    where_numba_is_loaded = light(of_texts, tmp_path)
    monkeypatch.undo()
    assert isinstance(where_numba_is_loaded._pass_for(1), ForwardPass)


def test_units_whose_bits_would_differ_have_kernels_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).normal(size=(80, 4))
    model = tsenet.TSENetClassifier(**SMALL, activation="tanh").fit(X, X[:, 0] > 0)
    made = light(model, tmp_path)
    monkeypatch.delitem(sys.modules, "numba")
    assert isinstance(made._pass_for(1), ForwardPass)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("k", [1, 2])
def test_numpy_and_kernels_give_the_same_bits(sparse: bool, k: int) -> None:
    """Three levels, skip groups, linear skip and feature units that no output reads; rows of 0 to 40 values."""
    rng = np.random.default_rng(k)
    X = rng.normal(size=(300, 40)) * (rng.random((300, 1)) > rng.random(40))
    X[0], X[1] = 0, 1
    inputs = Inputs(sp.csr_array(X.astype(np.float32)) if sparse else X.astype(np.float32))
    options = NetworkOptions(skip_units=3, feature_units=5, linear_skip=True, units_per_latent=k)
    wiring = random_wiring(rng, (40, 20, 9), 0.3)
    shapes = parameter_shapes(wiring, options, 3)
    arrays = {name: rng.normal(size=shape).astype("f4") for name, shape in shapes.items()}
    arrays["output.weight"][-2:] = 0
    net = TSENet(wiring, 3, **options.to_dict())
    net.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    small = used_network(ArrayNet.of(wiring, options, arrays))
    assert small.top.bias.size == 3
    wanted = network_outputs(net.eval(), inputs)
    found = PlainPass(small).outputs(inputs)
    assert np.array_equal(found, wanted)
    assert np.array_equal(PlainPass(small).outputs(inputs, np.array([7, 0])), wanted[[7, 0]])
    with pytest.raises(ValueError, match="rows of 39 columns for a network of 40 inputs"):
        PlainPass(small).outputs(Inputs(inputs.values[:, :39]))


def test_plain_answers_of_other_units_agree_to_the_last_bits(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(90, 6))
    for activation in ("tanh", "sigmoid"):
        model = tsenet.TSENetClassifier(**SMALL, activation=activation).fit(X, X[:, 0] > 0)
        made = light(model, tmp_path, "plain")
        assert np.allclose(made.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-6)


def test_products_are_added_with_one_rounding() -> None:
    """Against exact fractions; half of the sums end so near the middle that rounding twice would go wrong."""
    rng = np.random.default_rng(0)
    total = rng.normal(size=400).astype(np.float32)
    a = rng.normal(size=400).astype(np.float32)
    b = rng.normal(size=400).astype(np.float32)
    step = 2.0**-23
    size = 2.0 ** rng.integers(-3, 4, 400)
    a[::2], b[::2] = (size * (1 + step))[::2], 2.0**-24 * (1 - step)  # 2⁻⁴⁶ below the middle
    total[::2] = (size * (1 + step * rng.integers(0, 5, 400)))[::2]
    a[::4] *= -1
    total[::4] *= -1
    found = add_products(total, a.astype(np.float64), b.astype(np.float64))
    for one, x, y, answer in zip(total, a, b, found, strict=True):
        exact = Fraction(float(one)) + Fraction(float(x)) * Fraction(float(y))
        around = [np.nextafter(answer, np.float32(side)) for side in (-np.inf, np.inf)]
        off = abs(Fraction(float(answer)) - exact)
        others = [abs(Fraction(float(other)) - exact) for other in around]
        assert off <= min(others)
        if off == min(others):  # a tie goes to the even number
            assert answer.view(np.int32) % 2 == 0
    twice = (a.astype(np.float64) * b + total).astype(np.float32)
    assert (twice != found).any()


def test_what_has_no_light_form(tmp_path: Path) -> None:
    with pytest.raises(MissingDependencyError, match="batch normalisation"):
        light(models()["regressor"], tmp_path)
    with pytest.raises(DataError, match="holds a LatentTree, which predicts nothing"):
        light(models()["tree"], tmp_path)
    with pytest.raises(ValueError, match="runtime"):
        tsenet.load(tmp_path / "m.tsenet", runtime="heavy")  # type: ignore[arg-type]  # as users may


@pytest.mark.parametrize("name", ["net.top.weight", "net.layers.0.bias", "scaling.scale"])
def test_forged_shapes_are_refused(name: str, tmp_path: Path) -> None:
    def shorten(_: Any, arrays: Any) -> None:
        arrays[name] = np.ascontiguousarray(arrays[name][:-1])

    forged(tmp_path / "m.tsenet", "classifier", shorten)
    with pytest.raises(ModelFileError):
        tsenet.load(tmp_path / "m.tsenet", runtime="light")
