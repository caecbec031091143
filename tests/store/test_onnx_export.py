"""ONNX models answer as the models they were written from."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import tsenet
from tests.cli.program import run
from tests.store.models import SMALL, models, rows
from tsenet import TSENetClassifier, TSENetRegressor
from tsenet.errors import DataError, MissingDependencyError

Answers = dict[str, NDArray[Any]]


def session(path: Path) -> onnxruntime.InferenceSession:
    """The model in onnxruntime, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


def answers(model: Any, X: Any, folder: Path) -> Answers:
    """What onnxruntime makes of dense rows."""
    path = folder / "model.onnx"
    model.to_onnx(path)
    made = session(path)
    names = [output.name for output in made.get_outputs()]
    found = made.run(names, {"X": np.asarray(X, np.float32)})
    return dict(zip(names, found, strict=True))


def assert_same(model: Any, X: Any, found: Answers, given: Any = None) -> None:
    """The classes of all rows, and probabilities to 1e-5."""
    given = X if given is None else given
    assert found["label"].tolist() == model.predict(given).tolist()
    assert np.abs(found["probabilities"] - model.predict_proba(given)).max() <= 1e-5


def numbers(n_rows: int = 400, seed: int = 1) -> NDArray[np.float64]:
    """Columns of several scales, some values missing."""
    rng = np.random.default_rng(seed)
    values = np.float32(rng.normal(size=(n_rows, 8)) * [1, 10, 0.01, 5, 1, 1, 3e4, 1] + 7)
    values[:, 7] += 1e6  # far from 0, where float32 has no digits to lose
    values[rng.random(values.shape) < 0.05] = np.nan
    return np.asarray(values, np.float64)


def counts(n_rows: int = 300, seed: int = 0) -> NDArray[np.int64]:
    """Counts of 60 words about six subjects; the first rows have none."""
    rng = np.random.default_rng(seed)
    about = np.repeat(rng.random((n_rows, 6)) < 0.3, 10, axis=1)
    found = (rng.random((n_rows, 60)) < 0.05 + 0.4 * about) * rng.integers(1, 5, (n_rows, 60))
    found[:3] = 0
    return found


@pytest.fixture(scope="module")
def words() -> Any:
    X = counts()
    y = np.array(["no", "some", "much"])[np.minimum((X[:, :10] > 0).sum(axis=1) // 2, 2)]
    return TSENetClassifier(**SMALL, max_top=3, linear_skip=False).fit(sp.csr_array(X), y)


def test_two_classes_of_dense_rows_with_missing_values(tmp_path: Path) -> None:
    X = numbers()
    y = np.nan_to_num(X[:, 0]) > 7
    model = TSENetClassifier(**SMALL).fit(X[:200], y[:200])
    found = answers(model, X, tmp_path)
    assert_same(model, X, found)
    assert found["label"].dtype == bool
    assert 0.1 < found["label"].mean() < 0.9


def test_counts_of_sparse_rows(words: Any, tmp_path: Path) -> None:
    assert words.scaling_.counts
    assert len(list(words.net_.layers)) > 1
    X = counts(300, seed=5)
    found = answers(words, X, tmp_path)
    assert_same(words, X, found, sp.csr_array(X))
    assert len(set(found["label"].tolist())) > 1


def test_features_that_read_every_level_but_not_the_input(words: Any, tmp_path: Path) -> None:
    X = counts()
    options = {**SMALL, "skip_units": None, "linear_skip": False, "wiring": words.wiring_}
    model = TSENetClassifier(**options).fit(sp.csr_array(X), X[:, 0] > 0)
    assert list(model.net_.skips) == ["1"]
    assert_same(model, X, answers(model, X, tmp_path), sp.csr_array(X))
    model.save(tmp_path / "model.tsenet")
    read = tsenet.load(tmp_path / "model.tsenet")
    assert np.array_equal(read.predict_proba(X), model.predict_proba(X))
    assert list(read.net_.skips) == ["1"]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_other_non_linearities(activation: Any, tmp_path: Path) -> None:
    X = numbers()
    y = np.nan_to_num(X[:, 0]) > 7
    options = {"activation": activation, "linear_skip": False}
    model = TSENetClassifier(**SMALL, **options).fit(X[:200], y[:200])
    assert_same(model, X, answers(model, X, tmp_path))
    model.save(tmp_path / "model.tsenet")
    read = tsenet.load(tmp_path / "model.tsenet")
    assert np.array_equal(read.predict_proba(X), model.predict_proba(X))
    relu = TSENetClassifier(**SMALL, wiring=model.wiring_, linear_skip=False)
    assert not np.array_equal(relu.fit(X[:200], y[:200]).predict_proba(X), model.predict_proba(X))


def test_log_counts(words: Any, tmp_path: Path) -> None:
    X = counts()
    y = (X[:, :20] > 0).sum(axis=1) > 5
    model = TSENetClassifier(**SMALL, wiring=words.wiring_, weighting="log-counts")
    model.fit(sp.csr_array(X), y)
    assert_same(model, X, answers(model, X, tmp_path), sp.csr_array(X))
    model.save(tmp_path / "model.tsenet")
    read = tsenet.load(tmp_path / "model.tsenet")
    assert read.scaling_ == model.scaling_
    assert read.scaling_.length == 1


def test_linear_skip(words: Any, tmp_path: Path) -> None:
    X = counts()
    model = TSENetClassifier(**SMALL, wiring=words.wiring_, linear_skip=True).fit(
        sp.csr_array(X), (X[:, :20] > 0).sum(axis=1) > 5
    )
    assert model.net_.linear_skip is not None
    assert bool(model.net_.linear_skip.any())
    assert_same(model, X, answers(model, X, tmp_path), sp.csr_array(X))


def test_sparse_layers_keep_files_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 400), density=0.05, rng=rng, format="csr")
    links = tsenet_wiring(400, 200, 4, rng)
    model = TSENetClassifier(**SMALL, wiring=links).fit(X, np.arange(60) % 2)
    found = answers(model, X.toarray(), tmp_path)
    assert_same(model, X, found)
    dense = 4 * 400 * 200 * model.net_.units_per_latent
    assert (tmp_path / "model.onnx").stat().st_size < dense / 4


def tsenet_wiring(n_inputs: int, n_latents: int, most: int, rng: np.random.Generator) -> Any:
    """One level whose latents read between one and ``most`` inputs."""
    from tsenet.expansion.wiring import Wiring, WiringLayer

    degree = rng.integers(1, most + 1, n_latents)
    chosen = [np.sort(rng.choice(n_inputs, size, replace=False)) for size in degree]
    indices = np.concatenate(chosen).astype(np.int32)
    layer = WiringLayer(
        np.concatenate([[0], np.cumsum(degree)]),
        indices,
        np.zeros(indices.size, bool),
        n_inputs,
    )
    names = tuple(f"x{j}" for j in range(n_inputs)), tuple(f"Z1.{j}" for j in range(n_latents))
    return Wiring((layer,), names, "random")


def test_labels_of_sparse_rows(tmp_path: Path) -> None:
    model = models()["labels"]
    assert_same(model, rows(), answers(model, rows(), tmp_path))


def test_pruned(tmp_path: Path) -> None:
    X = numbers(200)
    y = np.arange(200) % 3
    model = TSENetClassifier(**SMALL).fit(X, y).prune(40, X)
    found = answers(model, X, tmp_path)
    assert_same(model, X, found)
    assert found["label"].dtype == np.int64


@pytest.mark.parametrize("n_targets", [1, 2])
def test_values_have_their_own_unit(n_targets: int, tmp_path: Path) -> None:
    X = numbers(300)
    filled = np.where(np.isnan(X), 7.0, X)
    y = 1000 + 50 * filled[:, 0] if n_targets == 1 else filled[:, :2] * [3, 1e5]
    model = TSENetRegressor(**SMALL).fit(X, y)
    values = answers(model, X, tmp_path)["values"]
    wanted = model.predict(X)
    assert values.shape == wanted.shape
    assert (np.abs(values - wanted) / wanted.std(axis=0)).max() <= 1e-5


def test_categories_are_columns_of_0_and_1(tmp_path: Path) -> None:
    model = models()["classifier"]
    X = rows()
    frame = pd.DataFrame(X[:, :6], columns=list("abcdef")).assign(
        colour=np.where(X[:, 6] > 0, "red", "blue")
    )
    columns = np.column_stack([X[:, :6], X[:, 6] == 0, X[:, 6] > 0])
    assert_same(model, columns, answers(model, columns, tmp_path), frame)
    about = session(tmp_path / "model.onnx").get_modelmeta().custom_metadata_map
    assert json.loads(about["columns"]) == [*"abcdef", "colour=blue", "colour=red"]
    assert json.loads(about["classes"]) == ["no", "yes"]
    assert about["targets"] == "classes"


def test_numbers_beyond_float32_are_refused(tmp_path: Path) -> None:
    X = rows()
    model = TSENetRegressor(**SMALL).fit(X, X[:, 0] * 1e60)
    with pytest.raises(DataError, match="float32"):
        model.to_onnx(tmp_path / "model.onnx")


def test_without_onnx(words: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match="pip install onnx"):
        words.to_onnx(tmp_path / "model.onnx")


class TestCommand:
    def test_a_model(self, words: Any, tmp_path: Path) -> None:
        words.save(tmp_path / "m.tsenet")
        result = run("export", tmp_path / "m.tsenet", "--onnx", tmp_path / "m.onnx", "--json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["bytes"] == (tmp_path / "m.onnx").stat().st_size
        words.to_onnx(tmp_path / "same.onnx")
        assert (tmp_path / "m.onnx").read_bytes() == (tmp_path / "same.onnx").read_bytes()

    def test_a_tree_is_none(self, words: Any, tmp_path: Path) -> None:
        words.tree_.save(tmp_path / "tree.tsenet")
        result = run("export", tmp_path / "tree.tsenet", "--onnx", tmp_path / "m.onnx")
        assert result.exit_code == 1
        assert "holds a LatentTree" in result.stderr
