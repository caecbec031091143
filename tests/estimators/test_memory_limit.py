"""``memory_limit``: a fit that would need more is refused before any work, with advice that holds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tsenet
from tests.cli.program import run
from tsenet.errors import TooLargeError
from tsenet.memory import (
    Size,
    bytes_of,
    check_memory,
    n_outputs_of,
    network_need,
    shown_bytes,
    topics_need,
    tree_need,
)

Make = Callable[..., Any]


def wide(n_rows: int, n_columns: int) -> Any:
    """Dense rows that take no memory."""
    return np.broadcast_to(np.float32(1.0), (n_rows, n_columns))


def words(n_rows: int, n_columns: int, per_row: int) -> sp.csr_array:
    rng = np.random.default_rng(0)
    columns = rng.integers(n_columns, size=n_rows * per_row, dtype=np.int32)
    start = np.arange(0, n_rows * per_row + 1, per_row)
    ones = np.ones(columns.size, np.float32)
    table = sp.csr_array((ones, columns, start), shape=(n_rows, n_columns))
    table.sum_duplicates()
    return table


def fit(model: Any, X: Any) -> Any:
    y = np.arange(len(X) if isinstance(X, list) else X.shape[0]) % 3
    return model.fit(X, y)


@pytest.mark.parametrize(
    "make", [tsenet.TSENetClassifier, tsenet.TSENetRegressor, tsenet.LatentTreeTransformer]
)
@pytest.mark.parametrize(
    "X",
    [wide(10_000_000, 1000), pd.DataFrame(wide(10_000_000, 1000), copy=False)],
    ids=["array", "frame"],
)
def test_rows_are_refused_before_they_are_read(make: Make, X: Any) -> None:
    with pytest.raises(TooLargeError, match=r"10,000,000 rows × 1,000 columns need about \d\d\dGB"):
        fit(make(memory_limit="4GB"), X)


def test_a_list_of_rows_is_refused_too() -> None:
    row = [1.0, 2.0] * 1000
    with pytest.raises(TooLargeError, match="1,000,000 rows × 2,000 columns need about"):
        tsenet.LatentTreeTransformer(memory_limit="4GB").fit([row] * 1_000_000)


@pytest.mark.parametrize("make", [tsenet.TSENetClassifier, tsenet.TopicModel])
def test_texts_are_refused_once_their_words_are_counted(make: Make) -> None:
    with pytest.raises(TooLargeError, match="40 rows × 4 columns with 80 entries need about"):
        fit(make(memory_limit="10MB"), ["sun moon", "goal team"] * 20)


def test_the_limit_changes_nothing_where_it_suffices(tmp_path: Path) -> None:
    X, y = words(200, 20, 6), np.arange(200) % 2
    limited = tsenet.TSENetClassifier(memory_limit="1TB", random_state=0, max_epochs=1).fit(X, y)
    free = tsenet.TSENetClassifier(random_state=0, max_epochs=1).fit(X, y)
    assert np.array_equal(limited.predict_proba(X), free.predict_proba(X))
    limited.save(tmp_path / "model.tsenet")
    assert tsenet.load(tmp_path / "model.tsenet").memory_limit == "1TB"


@pytest.mark.parametrize("limit", [0, -1, "much", "2XB", True, 1.5, "0.1B"])
@pytest.mark.parametrize("make", [tsenet.TSENetClassifier, tsenet.TopicModel])
def test_what_is_no_amount_is_refused(make: Make, limit: Any) -> None:
    with pytest.raises(ValueError, match="memory_limit must be bytes, an amount such as '2GB', or"):
        fit(make(memory_limit=limit), words(30, 5, 2))


class TestAdvice:
    """Each thing that the message says would fit does fit."""

    SIZE = Size(1_000_000, 20_000, 50_000_000, True)

    @pytest.fixture(autouse=True)
    def process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process of a known size: the one that runs the tests may be of any."""
        monkeypatch.setattr("tsenet.memory._in_use", lambda: 4e8)

    def message(self, need: Any = tree_need, limit: str = "2GB", **options: Any) -> str:
        with pytest.raises(TooLargeError) as caught:
            check_memory(limit, self.SIZE, need, None, otherwise="or so", **options)
        return str(caught.value)

    def check(self, limit: Any, size: Size, need: Any, samples: int | None = None) -> None:
        check_memory(limit, size, need, samples, otherwise="or so")

    def test_names_the_stage_and_what_it_takes(self) -> None:
        found = self.message()
        assert "learning the groups takes 2.21GB" in found
        assert found.endswith("would be enough")
        assert "or so" in found

    def test_fewer_rows_for_the_structure(self) -> None:
        found = re.search(r"structure_samples=(\d+) would fit", self.message())
        assert found is not None
        samples = int(found[1])
        self.check("2GB", self.SIZE, tree_need, samples)
        with pytest.raises(TooLargeError):
            self.check("2GB", self.SIZE, tree_need, int(1.2 * samples))

    def test_fewer_columns(self) -> None:
        found = re.search(r"([\d,]+) words would fit", self.message(topics_need, columns="words"))
        assert found is not None
        n_words = int(found[1].replace(",", ""))
        self.check("2GB", self.SIZE.with_columns(n_words), topics_need)
        with pytest.raises(TooLargeError):
            self.check("2GB", self.SIZE.with_columns(int(1.2 * n_words)), topics_need)

    def test_no_sample_helps_where_another_stage_is_larger(self) -> None:
        assert "structure_samples" not in self.message(topics_need)

    def test_more_memory(self) -> None:
        found = re.search(r"memory_limit='(\S+)' would be enough", self.message())
        assert found is not None
        self.check(found[1], self.SIZE, tree_need)

    def test_nothing_fits_where_the_process_is_larger(self) -> None:
        found = self.message(limit="1MB")
        assert "would fit" not in found
        assert "would be enough" in found


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(999, "999B"), (999_600, "1MB"), (2.5e9, "2.5GB"), (12_345, "12.3kB")]
)
def test_amounts_are_shown_as_they_are_read(n_bytes: float, text: str) -> None:
    assert shown_bytes(n_bytes) == text
    read = bytes_of(text)
    assert read is not None
    assert abs(read - n_bytes) <= 0.005 * n_bytes


@pytest.mark.parametrize(
    ("X", "size"),
    [
        (np.ones((3, 2)), Size(3, 2, 6, False)),
        (sp.eye_array(4, format="csr"), Size(4, 4, 4, True)),
        (tsenet.Table.of(sp.eye_array(4, format="csr")), Size(4, 4, 4, True)),
        ([[1, 2], [3, 4], [5, 6]], Size(3, 2, 6, False)),
        (["a", "b"], None),
        ([], None),
        (np.ones(3), None),
        (None, None),
    ],
    ids=str,
)
def test_sizes_of_tables(X: Any, size: Size | None) -> None:
    assert Size.of(X) == size


@pytest.mark.parametrize(
    ("y", "classifies", "n_outputs"),
    [
        (np.arange(30) % 5, True, 5),
        (["a", "b", None], True, 3),
        (np.arange(30.0), False, 1),
        (np.zeros((30, 4)), False, 4),
        (pd.Series([1, 2, 1]), True, 2),
        (None, True, 1),
        ([[1], [2, 3]], True, 1),
    ],
    ids=str,
)
def test_outputs_are_counted_from_targets(y: Any, classifies: bool, n_outputs: int) -> None:
    assert n_outputs_of(y, classifies) == n_outputs


def test_a_network_of_more_links_and_outputs_needs_more() -> None:
    size = Size(10_000, 5000, 200_000, True)

    def training(*options: Any) -> float:
        return network_need(*options)(size, None)["training the network"]

    usual = training(2, 2, None, None)
    assert training(20, 2, None, None) > usual
    assert training(2, 16, None, None) > usual
    assert training(2, 2, 0.2, None) > usual
    assert training(2, 2, None, 10) < usual
    assert set(network_need(2, 2, None, 10)(size, None)) == {"training the network"}


def test_where_the_system_does_not_tell_what_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Path, *_: Any) -> str:
        raise FileNotFoundError(self)

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setitem(sys.modules, "tsenet.skeleton.kernels.pair_kernels", None)
    with pytest.raises(TooLargeError, match="the process without it 377MB"):
        check_memory("1MB", np.ones((3, 2)), tree_need, None, otherwise="or so")


class TestCommandLine:
    @pytest.fixture
    def data(self, tmp_path: Path) -> Path:
        frame = pd.DataFrame({"text": ["sun moon", "goal team"] * 60, "y": ["a", "b"] * 60})
        frame.to_csv(tmp_path / "news.csv", index=False)
        return tmp_path

    @pytest.mark.parametrize(
        "command", [["fit", "--target", "y", "--text", "text"], ["topics", "--no-explorer"]]
    )
    def test_too_much_is_refused(self, data: Path, command: list[str]) -> None:
        name, *options = command
        result = run(name, data / "news.csv", *options, "--out", data / "out", "--memory", "20MB")
        assert result.exit_code == 1
        assert "but memory_limit is 20MB" in result.output
        assert not (data / "out").exists()

    @pytest.mark.parametrize(
        "command", [["fit", "--target", "y", "--text", "text"], ["topics", "--no-explorer"]]
    )
    def test_no_amount(self, data: Path, command: list[str]) -> None:
        name, *options = command
        result = run(name, data / "news.csv", *options, "--out", data / "out", "--memory", "lots")
        assert result.exit_code == 2
        assert "it must be an amount such as '2GB', not 'lots'" in " ".join(result.output.split())


PROGRAM = """
import json, sys, warnings
import numpy as np, scipy.sparse as sp
import tsenet
from tsenet.memory import Size, network_need, topics_need, tree_need

def resident(field):
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field))

def words(n_rows, n_columns, per_row):
    rng = np.random.default_rng(0)
    topics = rng.integers(n_columns // 10, size=(n_rows, per_row // 5), dtype=np.int32)
    columns = 10 * np.repeat(topics, 5, axis=1) + rng.integers(10, size=(n_rows, per_row), dtype=np.int32)
    anywhere = rng.random((n_rows, per_row), np.float32) < 0.3
    columns[anywhere] = rng.integers(n_columns, size=int(anywhere.sum()), dtype=np.int32)
    start = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int32)
    ones = np.ones(columns.size, np.float32)
    table = sp.csr_array((ones, columns.ravel(), start), shape=(n_rows, n_columns))
    table.sum_duplicates()
    return table

def numbers(n_rows, n_columns, _):
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    X[:, ::2] += X[:, 1::2]
    return X

kind, shape = json.load(sys.stdin)
make = numbers if kind.endswith("dense") else words
options = {"random_state": 0, "n_jobs": 1, "max_top": 30}
stages = {
    "tree": (tsenet.LatentTreeTransformer(**options), tree_need),
    "tree dense": (tsenet.LatentTreeTransformer(**options), tree_need),
    "topics": (tsenet.TopicModel(**options), topics_need),
    "network": (tsenet.TSENetClassifier(**options, max_epochs=1), network_need(4, 2, None, None)),
    "network dense": (tsenet.TSENetClassifier(**options, max_epochs=1), network_need(4, 8, None, None)),
}
model, need = stages[kind]

def fit(X):
    names = [f"w{j}" for j in range(X.shape[1])]
    table = X if isinstance(X, np.ndarray) else tsenet.Table.of(X, names=names)
    model.fit(table, np.arange(X.shape[0]) % 4)

warnings.simplefilter("ignore")
fit(make(400, 40, 10))  # compiles the kernels
X = make(*shape)
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # the peak is that from here on
before = resident("VmRSS:")
fit(X)
stages = need(Size.of(X), None)
print(json.dumps({"measured": resident("VmHWM:") - before, "estimated": max(stages.values())}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells a peak")
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("tree", (60_000, 2000, 40)),
        ("tree dense", (30_000, 200, 0)),
        ("topics", (30_000, 2000, 20)),
        ("network", (40_000, 3000, 30)),
        ("network dense", (30_000, 200, 0)),
    ],
    ids=str,
)
def test_estimates_are_within_a_factor_of_two_of_what_fits_take(
    kind: str, shape: tuple[int, int, int]
) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([kind, shape]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    answer = json.loads(finished.stdout)
    assert 0.5 < answer["estimated"] / answer["measured"] < 2, answer
